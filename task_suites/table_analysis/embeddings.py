"""Embeddings of code for AccSE: two slots that take any models, and local defaults that need no download.

The paper compares code by CodeT5+ and by text-embedding-ada-002. The defaults here count hashed n-grams instead: they
run offline and give the same vectors everywhere, but their similarities are not those of the paper's models, so that
AccSE and AccSER made with them can be compared with each other and not with published numbers.
"""

from __future__ import annotations

import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Embed = Callable[[str], Sequence[float] | NDArray[np.float64]]
"""A text's vector; of one length for all texts."""

LOCAL_LABEL = "hashed n-grams; not the paper's models"
DIMENSIONS = 4096

_LAYOUT = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
)  # fmt: skip


def code_tokens(code: str) -> NDArray[np.float64]:
    """Python code as counts of its tokens and pairs of them, without comments and layout: float64 (``DIMENSIONS``,)."""
    tokens = _tokens(code)
    return _hashed([*tokens, *(f"{one}\n{other}" for one, other in zip(tokens, tokens[1:], strict=False))])


def character_grams(text: str) -> NDArray[np.float64]:
    """A text as counts of its runs of three characters, spaces made equal: float64 (``DIMENSIONS``,)."""
    padded = f" {' '.join(text.split())} "
    return _hashed(padded[start : start + 3] for start in range(len(padded) - 2))


@dataclass(frozen=True)
class Embeddings:
    """The two models that AccSE asks.

    Attributes:
        code: S1, the paper's CodeT5+.
        text: S2, the paper's text-embedding-ada-002.
        label: what tables say about them.
    """

    code: Embed = code_tokens
    text: Embed = character_grams
    label: str = LOCAL_LABEL

    def __post_init__(self) -> None:
        if self.label == LOCAL_LABEL and (self.code, self.text) != (code_tokens, character_grams):
            raise ValueError("embeddings of your own need a label that tells what they are, such as label='CodeT5+'")

    def similarities(self, one: str, other: str) -> tuple[float, float]:
        """Cosine of the two texts' vectors by each model, (S1, S2).

        Raises:
            ValueError: a model's vectors are empty, not finite, or of two lengths.
        """
        return cosine(self.code, one, other, "code"), cosine(self.text, one, other, "text")


def cosine(embed: Embed, one: str, other: str, name: str = "embedding") -> float:
    """Cosine of two texts' vectors, in [-1, 1]; 0 where one of them is all zeros.

    Raises:
        ValueError: a vector is empty, not finite, or they have two lengths.
    """
    left, right = (np.asarray(embed(text), np.float64) for text in (one, other))
    if left.ndim != 1 or left.shape != right.shape or not left.size:
        raise ValueError(f"the {name} model gives shapes {left.shape} and {right.shape}; legal are vectors of a length")
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise ValueError(f"the {name} model gives numbers that are not finite")
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    return min(1.0, max(-1.0, float(left @ right) / size)) if size else 0.0


def _hashed(grams: Iterable[str]) -> NDArray[np.float64]:
    vector = np.zeros(DIMENSIONS)
    for gram, count in Counter(grams).items():
        vector[crc32(gram.encode("utf-8", "surrogatepass")) % DIMENSIONS] += count
    return vector


def _tokens(code: str) -> list[str]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError, ValueError):
        return code.split()
    return [token.string for token in tokens if token.type not in _LAYOUT]
