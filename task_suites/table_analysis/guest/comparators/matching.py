"""Pairing the parts of two results when their order does not count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any


def pairing(golds: Sequence[Any], gots: Sequence[Any], same: Callable[[Any, Any], bool]) -> list[int] | None:
    """For each gold the place of a part that is the same, each part used once; None when there is no such pairing.

    A maximum matching by augmenting paths; parts in the same place are tried first.
    """
    if len(golds) > len(gots):
        return None

    @cache
    def fits(gold: int, got: int) -> bool:
        return same(golds[gold], gots[got])

    owner: dict[int, int] = {}

    def place(gold: int, seen: set[int]) -> bool:
        order = sorted(range(len(gots)), key=lambda got: (got != gold, got in owner))
        for got in order:
            if got in seen or not fits(gold, got):
                continue
            seen.add(got)
            if got not in owner or place(owner[got], seen):
                owner[got] = gold
                return True
        return False

    if not all(place(gold, set()) for gold in range(len(golds))):
        return None
    return sorted(owner, key=lambda got: owner[got])
