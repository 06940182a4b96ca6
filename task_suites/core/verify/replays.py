"""Which tasks are played again, when code has changed, to see that it still does what it did.

At most ten tasks for each changed symbol, of as many programs as there are, the quick ones first; one task of
each program when the platform has changed; and a share of all tasks, another one each time, so that ``shares`` turns
play everything. A symbol counts as seen once so many tasks have been played with it as it is now.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

from deskgym.task_suites.core.verify.inputs import ProofInputs
from deskgym.task_suites.core.verify.ledger import Proof

USERS = 10
"""Tasks that are played for each changed symbol."""
SHARES = 16
"""Runs that play everything."""
TURN_HOURS = 4
"""How long a turn lasts: runs in it play the same share."""
MINUTES = 6.0
"""What the replays of changed symbols may take beyond the first of each symbol."""
FEW = 2
"""Steps of an oracle that shows little: it answers, or says FAIL."""
_ATTEMPT, _STEP = 3.0, 0.7
"""Seconds of an attempt and of one of its steps, where no proof says how long it took."""


@dataclass(frozen=True)
class Candidate:
    """A task with a proof.

    Attributes:
        suite: what ``deskgym verify`` calls its suite, with the interface and the source: ``("science", "gui", "")``.
        task: its id.
        proof: as the ledger has it.
        inputs: what it depends on now.
    """

    suite: tuple[str, str, str]
    task: str
    proof: Proof
    inputs: ProofInputs

    @cached_property
    def changed(self) -> list[str]:
        """The symbols that it was not played with."""
        own = ":".join(self.suite)
        return [key if ":" in key else f"{key} ({own})" for key in self.proof.changed(self.inputs)]

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """What the platform must still play with it."""
        return tuple(self.inputs.programs) or (self.suite[0],)

    @property
    def seconds(self) -> float:
        """What a replay takes, about."""
        if self.proof.seconds is not None:
            return self.proof.seconds
        return (2 + self.proof.wrong) * (_ATTEMPT + _STEP * (self.proof.steps or 5))

    @property
    def rank(self) -> tuple[bool, float, str]:
        """The order in which tasks are picked: the quick ones first, after them those whose oracle hardly acts."""
        return (self.proof.steps or FEW + 1) <= FEW, self.seconds, self.task


@dataclass
class Replay:
    """A task to play again, and why: changed symbols, ``"platform: NAME"``, ``"share"``."""

    candidate: Candidate
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReplayPlan:
    """What is played again.

    Attributes:
        replays: in the order in which they are played: those of changed symbols first.
        stale: how many proofs are stale.
        changed: how many tasks reach each changed symbol.
        unseen: changed symbols that no task of the plan or of the ledger was played with, for want of time.
    """

    replays: Sequence[Replay]
    stale: int
    changed: Mapping[str, int]
    unseen: Sequence[str]


def plan_replays(
    candidates: Sequence[Candidate], platform: str, *, shares: int, turn: int, seconds: float
) -> ReplayPlan:
    """Choose the replays.

    Args:
        candidates: all tasks with a proof that is not void.
        platform: digest of the platform as it is now.
        shares: how many turns play everything; 0 plays no share.
        turn: the number of this turn.
        seconds: what the replays of changed symbols may take, beyond the first user of each.
    """
    users: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        for key in candidate.changed:
            users[key].append(candidate)
    chosen: dict[int, Replay] = {}
    seen = _seen(users, candidates)
    left = seconds
    for wanted in range(1, USERS + 1):
        for key in sorted(users, key=lambda key: (len(users[key]), key)):
            free = [user for user in users[key] if id(user) not in chosen and (wanted == 1 or user.seconds <= left)]
            if seen[key] >= wanted or not free:
                continue
            picked = _pick(key, free, chosen)
            left -= picked.seconds
            chosen[id(picked)] = Replay(picked, [*picked.changed])
            seen.update(picked.changed)
    _add_platform(chosen, candidates, platform)
    if shares:
        for candidate in candidates:
            if _share(candidate, shares) == turn % shares:
                chosen.setdefault(id(candidate), Replay(candidate)).reasons.append("share")
    replays = sorted(chosen.values(), key=_order)
    unseen = [key for key in sorted(users) if not seen[key]]
    stale = sum(bool(candidate.changed) for candidate in candidates)
    return ReplayPlan(replays, stale, {key: len(each) for key, each in sorted(users.items())}, unseen)


def this_turn(now: float | None = None) -> int:
    """The number of the present turn."""
    return int((time.time() if now is None else now) // (TURN_HOURS * 3600))


def _seen(users: Mapping[str, Sequence[Candidate]], candidates: Iterable[Candidate]) -> Counter[str]:
    """How many tasks were played with each changed symbol as it is now."""
    seen: Counter[str] = Counter()
    digests = {symbol: key for each in users.values() for symbol, key in each[0].inputs.symbols.items() if key in users}
    for candidate in candidates:
        seen.update(key for symbol, key in digests.items() if candidate.proof.has(symbol))
    return seen


def _pick(key: str, free: Sequence[Candidate], chosen: Mapping[int, Replay]) -> Candidate:
    """The quickest of the users whose programs have had the fewest replays for a symbol."""
    had = Counter(
        program for replay in chosen.values() if key in replay.reasons for program in replay.candidate.programs
    )
    return min(free, key=lambda user: (min(had[program] for program in user.programs), *user.rank))


def _add_platform(chosen: dict[int, Replay], candidates: Sequence[Candidate], platform: str) -> None:
    """Add one task of each program that no task of the ledger was played with on this platform."""
    played = {name for each in candidates if each.proof.platform == platform for name in each.programs}
    names = sorted({name for each in candidates for name in each.programs} - played)
    for name in names:
        users = [each for each in candidates if name in each.programs]
        already = [each for each in users if id(each) in chosen]
        picked = min(already or users, key=lambda user: user.rank)
        chosen.setdefault(id(picked), Replay(picked)).reasons.append(f"platform: {name}")


def _share(candidate: Candidate, shares: int) -> int:
    name = " ".join((*candidate.suite, candidate.task))
    return int.from_bytes(blake2b(name.encode(), digest_size=4).digest()) % shares


def _order(replay: Replay) -> tuple[int, float, str]:
    """Changed symbols first, then the platform, then the share; the quick ones first."""
    first = replay.reasons[0]
    rank = 2 if first == "share" else 1 if first.startswith("platform: ") else 0
    return rank, replay.candidate.seconds, replay.candidate.task
