"""Parts of the screen: a box, and a few of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations

Box = tuple[int, int, int, int]  # left, top, right, bottom

MOST = 8
"""Boxes that are kept apart; of more, those that are near each other become one."""


def union(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def around(boxes: Iterable[Box]) -> Box | None:
    """The smallest box around all; None around nothing."""
    each = list(boxes)
    return reduce(union, each) if each else None


def area_of(box: Box) -> int:
    """Its pixels."""
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(a: Box, b: Box) -> bool:
    """Whether they have a pixel in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def inside(a: Box, b: Box) -> bool:
    """Whether ``a`` lies in ``b``, give or take a pixel."""
    return a[0] >= b[0] - 1 and a[1] >= b[1] - 1 and a[2] <= b[2] + 1 and a[3] <= b[3] + 1


def added(boxes: tuple[Box, ...], more: Iterable[Box]) -> tuple[Box, ...]:
    """At most ``MOST`` boxes that hold all of these; what lies between boxes that are far apart stays out."""
    for box in more:
        if any(_holds(each, box) for each in boxes):
            continue
        boxes = (*(each for each in boxes if not _holds(box, each)), box)
        if len(boxes) > MOST:
            a, b = min(combinations(boxes, 2), key=_waste)
            boxes = (*(each for each in boxes if each is not a and each is not b), union(a, b))
    return boxes


def _holds(a: Box, b: Box) -> bool:
    return union(a, b) == a


def _waste(pair: tuple[Box, Box]) -> int:
    """The pixels that a union takes without need."""
    return area_of(union(*pair)) - area_of(pair[0]) - area_of(pair[1])
