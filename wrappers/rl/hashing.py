"""Texts as short arrays of numbers, by feature hashing: no vocabulary to fit, the same numbers in every process.

Feature hashing and its signs: Weinberger et al., "Feature Hashing for Large Scale Multitask Learning" (ICML 2009),
section 2. A feature's bucket and sign come from its CRC-32, which, unlike ``hash()``, is the same in all processes.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_TOKEN = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)|\w+|[:<>=!]=|[-=]>|\*\*|[^\w\s]")
NUMBER, WORD, SYMBOL = 1.5, 1.0, 0.3
"""Weights of whole tokens. What a task asks for is told by its numbers, then its words; symbols are everywhere."""
WHOLE = 1.5
"""Weight of what stands between spaces and is made of several tokens: a formula, a path, an assignment."""
PAIR = 0.3
"""Weight of two tokens side by side in one line."""
PIECES = 0.5
"""Norm of all character trigrams of one word together, so that a long word counts no more than a short one."""
_LONG = 512  # characters of the longest text or line that is kept
_STEM = 32  # characters of a word whose trigrams count
_SIGN = 31  # the bit of the CRC-32 that is the sign


def hashed(text: str, size: int) -> NDArray[np.float32]:
    """The text's words, numbers and symbols, pairs of them, formulas as wholes, and trigrams of longer words, hashed.

    The product of two such arrays tells how much two texts have in common. Case does not count.

    Args:
        text: any text.
        size: how many numbers; at 64, unrelated texts have a product of about 0 +- 0.13.

    Returns:
        float32 (size,) of L2 norm 1, or zeros where there is no token. It is shared and read-only: copy it to keep it.

    Raises:
        ValueError: ``size`` is less than 1.

    Examples:
        >>> asked = hashed("set speed to 42", 64)
        >>> bool(asked @ hashed("speed:=42", 64) > asked @ hashed("speed:=24", 64))
        True
    """
    return _short(text, size) if len(text) <= _LONG else _hashed(text, size)


def tokens(text: str) -> list[str]:
    """The tokens of a text: words and identifiers, numbers, and operators, in lower case.

    Examples:
        >>> tokens("Speed:=4.5*x_1")
        ['speed', ':=', '4.5', '*', 'x_1']
    """
    return _TOKEN.findall(text.casefold())


def _hashed(text: str, size: int) -> NDArray[np.float32]:
    if size < 1:
        raise ValueError(f"hashed size={size!r}; legal is a number from 1 up")
    result = np.zeros(size, np.float32)
    for line in text.splitlines():
        result += _line(line, size) if len(line) <= _LONG else _line.__wrapped__(line, size)
    norm = float(np.sqrt(result @ result))
    if norm > 0:
        result = np.clip(result / norm, -1, 1)  # a single feature may round to just over 1
    result.setflags(write=False)
    return result


_short = lru_cache(16384)(_hashed)


@lru_cache(16384)
def _line(line: str, size: int) -> NDArray[np.float32]:
    """One line's features, summed: a long text changes in a few lines only."""
    found = tokens(line)
    hashes: list[int] = []
    weights: list[float] = []
    for token in found:
        own, heavy = _features(token)
        hashes += own
        weights += heavy
    wholes = [whole for whole in map(_trimmed, line.casefold().split()) if len(tokens(whole)) > 1]
    hashes += [zlib.crc32(f"#{whole}".encode("utf-8", "surrogatepass")) for whole in wholes]
    weights += [WHOLE] * len(wholes)
    pairs = [zlib.crc32(f"{one} {two}".encode("utf-8", "surrogatepass")) for one, two in pairwise(found)]
    numbers = np.array(hashes + pairs, np.int64)
    signed = np.array(weights + [PAIR] * len(pairs)) * (1 - 2 * (numbers >> _SIGN))
    return np.bincount(numbers % size, signed, size).astype(np.float32)


def _trimmed(whole: str) -> str:
    """Without the quotes and the punctuation around it."""
    return whole.strip("\"'`“”").rstrip(".,;:!?\"'`“”")


@lru_cache(16384)
def _features(token: str) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """The hashes and weights of a token itself and of its trigrams."""
    first = token[0]
    weight = NUMBER if first.isdigit() else WORD if first.isalnum() or first == "_" else SYMBOL
    stem = token[:_STEM] if len(token) > 3 and not first.isdigit() else ""
    pieces = [stem[k : k + 3] for k in range(len(stem) - 2)]
    names = (f"={token}", *(f"~{piece}" for piece in pieces))
    hashes = tuple(zlib.crc32(name.encode("utf-8", "surrogatepass")) for name in names)
    return hashes, (weight, *(PIECES / len(pieces) ** 0.5 for _ in pieces))
