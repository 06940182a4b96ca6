"""Wrong demonstrations made of a right one, for the task of validation (WONDERBREAD, section 4.2).

A recording alternates state, action, ..., state; a state is what the screen showed. Its states are numbered from 0, and
one stands in the recording at twice its number. A *truncated* recording ends too early, so that the workflow is not
complete; one with a *skip* lacks two states in a row, and in a *shuffled* one two states have changed places.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["truncate", "skip", "shuffle"]
KINDS: tuple[Kind, ...] = ("truncate", "skip", "shuffle")


@dataclass(frozen=True)
class Negative:
    """One change.

    Attributes:
        kind: what is done.
        states: to which ones, by number: the first one that is left out of a truncated recording, the two that are
            skipped, or the two that change places.
    """

    kind: Kind
    states: tuple[int, ...]

    def of(self, events: Sequence[Any]) -> list[Any]:
        """The wrong recording.

        Args:
            events: of the right one: states and actions in turn, with a state at both ends.
        """
        if len(events) % 2 == 0 or not 0 <= max(self.states) * 2 < len(events):
            legal = "state, action, ..., state, with each state that is changed"
            raise ValueError(f"{len(events)} events for {self.kind} of states {self.states}; legal are {legal}")
        if self.kind == "truncate":
            return list(events[: 2 * self.states[0] - 1])
        if self.kind == "skip":  # with the actions that led to them
            left_out = {place for state in self.states for place in (2 * state - 1, 2 * state)}
            return [event for place, event in enumerate(events) if place not in left_out]
        one, other = self.states
        found = list(events)
        for here, there in ((one, other), (other, one)):  # each with the action that follows it
            found[2 * here : 2 * here + 2] = events[2 * there : 2 * there + 2]
        return found


def negatives(name: str, states: int, count: int = 3) -> list[Negative]:
    """The changes that WONDERBREAD makes to a demonstration; [] where it is too short for ``count`` of each kind.

    The draw is the published one, so that these are the very negatives that its models were asked about.

    Args:
        name: of the demonstration's folder, such as ``"179 @ 2023-12-28-11-13-06"``.
        states: how many it has.
        count: how many of each kind.
    """
    ends, firsts = list(range(1, states - 1)), list(range(states - 2))
    if min(len(ends), len(firsts)) < count:
        return []
    _published_random(f"{name}_truncation").shuffle(ends)
    found = [Negative("truncate", (end,)) for end in ends[:count]]
    skips = firsts.copy()
    _published_random(f"{name}_skip").shuffle(skips)
    found += [Negative("skip", (first, first + 1)) for first in skips[:count]]
    draw = _published_random(f"{name}_shuffle")
    draw.shuffle(firsts)
    for first in firsts[:count]:
        found.append(
            Negative("shuffle", (first, draw.choice([other for other in range(states - 1) if other != first])))
        )
    return found


def _published_random(text: str) -> random.Random:
    return random.Random(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 9_999_999)
