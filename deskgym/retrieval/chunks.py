"""Cuts a text into chunks of whole sentences that overlap a little."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deskgym.wrappers.observation.text_budget import Measure

_PIECES = re.compile(r".+?(?:(?<=[.!?])\s+|(?<=>)|\n+|\Z)", re.DOTALL)
_WORDS = re.compile(r"\s*\S+\s*")


def split(text: str, size: int, overlap: int, length: Measure) -> Iterator[str]:
    """Chunks of at most ``size`` tokens; each begins with the last sentences of the one before, up to ``overlap``.

    A sentence that is longer than a chunk is cut between words; a word never is.

    Args:
        text: to cut: sentences end with a full stop, a line or a tag.
        size: of a chunk, in tokens.
        overlap: in tokens, less than ``size``.
        length: how many tokens a text has.

    Raises:
        ValueError: the numbers do not fit.

    Examples:
        >>> list(split("One two. Three four. Five six.", 4, 2, lambda text: len(text.split())))
        ['One two. Three four.', 'Three four. Five six.']
    """
    if not 0 <= overlap < size:
        raise ValueError(f"chunks of {size} tokens with an overlap of {overlap}; legal is 0 <= overlap < size")
    chunk: list[tuple[str, int]] = []
    fresh = False
    for piece, cost in _pieces(text, size, length):
        if chunk and fresh and sum(each for _, each in chunk) + cost > size:
            yield _joined(chunk)
            chunk, fresh = _tail(chunk, overlap), False
        while chunk and not fresh and sum(each for _, each in chunk) + cost > size:
            chunk.pop(0)  # what is repeated gives way to what is new
        chunk.append((piece, cost))
        fresh = True
    if fresh and _joined(chunk):
        yield _joined(chunk)


def _joined(chunk: list[tuple[str, int]]) -> str:
    return "".join(piece for piece, _ in chunk).strip()


def _pieces(text: str, size: int, length: Measure) -> Iterator[tuple[str, int]]:
    for piece in _PIECES.findall(text):
        cost = length(piece)
        if cost <= size:
            yield piece, cost
        else:
            yield from ((word, min(length(word), size)) for word in _WORDS.findall(piece))


def _tail(chunk: list[tuple[str, int]], overlap: int) -> list[tuple[str, int]]:
    kept: list[tuple[str, int]] = []
    for piece, cost in reversed(chunk):
        if sum(each for _, each in kept) + cost > overlap:
            break
        kept.insert(0, (piece, cost))
    return kept
