"""The tree of episodes that were restored from states of others: where each branches off, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STEP, LANE, LEFT, RIGHT, TOP = 34, 30, 14, 190, 16
"""Pixels: of a step, between two lanes, and around them."""


@dataclass(frozen=True)
class Lane:
    """One episode as a line from left to right.

    Attributes:
        number: which episode of the page, from 1.
        start: pixels from the left where it branches off, or begins.
        end: where it ends.
        y: pixels from the top.
        fork: the path from its parent's lane, "" for one that has none.
        dots: where its steps are.
        outcome: how it ended.
        label: what stands at its end.
        says: the same for who does not see it.
        position: the step of the episode that is shown first.
    """

    number: int
    start: int
    end: int
    y: int
    fork: str
    dots: tuple[int, ...]
    outcome: str
    label: str
    says: str
    position: int


@dataclass(frozen=True)
class Tree:
    """All lanes, and the size of the picture in pixels."""

    lanes: tuple[Lane, ...]
    width: int
    height: int


def tree_of(summaries: Sequence[Mapping[str, Any]]) -> Tree | None:
    """The tree of a page's episodes; None where none branches off another one."""
    places = {str(each["folder"]): k for k, each in enumerate(summaries)}
    parents: dict[int, tuple[int, int]] = {}
    for k, each in enumerate(summaries):
        of, step = each.get("branch") or ("", 0)
        if of in places and places[of] != k:
            parents[k] = places[of], step
    if not parents:
        return None
    children: dict[int, list[int]] = {}
    for k, (parent, _) in parents.items():
        children.setdefault(parent, []).append(k)
    lanes: list[Lane] = []
    ys: dict[int, int] = {}

    waiting = [k for k in reversed(range(len(summaries))) if k in children and k not in parents]
    while waiting:
        k = waiting.pop()
        ys[k] = TOP + LANE * len(lanes)
        parent, first = parents.get(k, (-1, 0))
        lanes.append(_lane(k, summaries[k], first, ys[k], parent, ys.get(parent, 0)))
        waiting += sorted(children.get(k, ()), key=lambda child: (parents[child][1], -child))
    if not lanes:
        return None
    return Tree(tuple(lanes), max(lane.end for lane in lanes) + RIGHT, TOP * 2 + LANE * (len(lanes) - 1))


def _lane(k: int, summary: Mapping[str, Any], first: int, y: int, parent: int, above: int) -> Lane:
    """An episode's lane at ``y``, which branches off at a step of a parent, whose lane is ``above``; -1: of none."""
    steps = int(summary["steps"])
    start, end = LEFT + STEP * first, LEFT + STEP * (first + steps)
    outcome, score = str(summary["outcome"]), summary["score"]
    label = outcome if score is None else f"{outcome} {score:g}"
    origin = f", from episode {parent + 1} at its step {first}" if parent >= 0 else ""
    return Lane(
        number=k + 1,
        start=start,
        end=end,
        y=y,
        fork=f"M{start} {above} V{y - 8} q0 8 8 8" if parent >= 0 else "",
        dots=tuple(range(start + STEP, end + 1, STEP)),
        outcome=outcome,
        label=f"{k + 1}: {label}",
        says=f"episode {k + 1}, {summary['task']}: {label} after {first + steps} steps{origin}",
        position=min(1, steps) if parent >= 0 else 0,
    )
