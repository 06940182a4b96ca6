"""Judges: which step of a procedure is which of another's, and how good an answer in free text is.

The published judge is a language model. ``LexicalJudge`` is the default, which needs none: it compares letters, is the
same everywhere, and cannot be talked into anything. How far it agrees with the published one: ``docs/procedures.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import near
from deskgym.task_suites.bpm.metrics import NO_MATCH

_NUMBER = re.compile(r"\d+")
_QUOTED = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d|(?<!\w)\'([^\']+)\'(?!\w)')
CRITERIA = ("completeness", "soundness", "clarity", "compactness")
"""Of an answer in free text; the first two are found by comparing it with the right one."""
CHANCE = 0.1
"""Likeness below which an answer has nothing of the right one: any two texts have letters in common."""
ENOUGH = 0.12
"""Likeness of two steps from which on they are the same; with it as many steps are as the published judge says."""


class Judge(Protocol):
    """Compares texts."""

    def same_steps(self, queries: Sequence[str], lines: Sequence[str]) -> list[int]:
        """For each query the index of the line that says the same, or ``NO_MATCH``."""
        ...

    def answer_scores(self, question: str, answer: str, right: str) -> Mapping[str, float]:
        """How good an answer is, by criterion (``CRITERIA``), in [0, 1]."""
        ...


class LexicalJudge:
    """Compares runs of 3 to 5 characters, the rarer the weightier (tf-idf and cosine), and what steps name.

    Steps with other numbers are not the same, nor those that quote names of which the other has none.
    """

    def same_steps(self, queries: Sequence[str], lines: Sequence[str]) -> list[int]:
        """See ``Judge``; of equally close lines the first one."""
        if not queries or not lines:
            return [NO_MATCH] * len(queries)
        close = _cosines(queries, lines) * _agree(queries, lines)
        best = close.argmax(axis=1)
        return [int(b) if close[row, b] >= ENOUGH else NO_MATCH for row, b in enumerate(best)]

    def answer_scores(self, question: str, answer: str, right: str) -> Mapping[str, float]:
        """See ``Judge``: how like the right answer it is, for what compares with that; what does not is left out."""
        likeness, known = map(float, _cosines([answer, question], [right])[:, 0])
        floor = max(CHANCE, known)  # who says the question again says nothing
        return dict.fromkeys(CRITERIA[:2], round(max(0.0, (likeness - floor) / (1 - floor)), 9) if floor < 1 else 0.0)


def _agree(texts: Sequence[str], others: Sequence[str]) -> NDArray[np.bool_]:
    """Whether two texts can be about one thing: all numbers of one are in the other, and something that each quotes."""
    known, known_too = ([_About.of(text) for text in each] for each in (texts, others))
    return np.array([[one.agrees(other) for other in known_too] for one in known])


@dataclass(frozen=True)
class _About:
    """What a step names."""

    text: str
    numbers: frozenset[str]
    quoted: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _About:
        text = text.lower()
        quoted = (next(filter(None, found)).strip(" .,") for found in _QUOTED.findall(text))
        return cls(text, frozenset(_NUMBER.findall(text)), tuple(filter(None, quoted)))

    def agrees(self, other: _About) -> bool:
        if not (self.numbers <= other.numbers or other.numbers <= self.numbers):
            return False
        pairs = ((self, other), (other, self))
        return all(not one.quoted or any(name in two.text for name in one.quoted) for one, two in pairs)


def _cosines(texts: Sequence[str], others: Sequence[str]):  # type: ignore[no-untyped-def]
    """Shape (len(texts), len(others)), in [0, 1]."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    rows = runs.fit_transform([*texts, *others, "none"])  # without that, empty texts alone would be an error
    return cosine_similarity(rows[: len(texts)], rows[len(texts) : -1])


def make_judge(config: str | Mapping[str, Any]) -> Judge:
    """The judge that an environment's argument names.

    Args:
        config: ``"lexical"``, or the settings of a language model behind an OpenAI-compatible endpoint: ``endpoint``
            and ``model``, and as wanted the other fields of ``judge_openai.EndpointJudge``.

    Raises:
        ValueError: it is neither, or a setting is wrong.
    """
    if isinstance(config, Mapping):
        from deskgym.task_suites.procedures.judge_openai import endpoint_judge

        return endpoint_judge(config)
    if config != "lexical":
        legal = "'lexical' and a mapping such as {'endpoint': URL, 'model': NAME}"
        raise ValueError(f"judge={config!r}; legal are {legal}{near(config, ['lexical'])}")
    return LexicalJudge()
