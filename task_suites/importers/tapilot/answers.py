"""Multiple choice: what is right, and which letter an answer in free text means."""

from __future__ import annotations

import re

from deskgym.task_suites.importers.json_files import described
from deskgym.task_suites.importers.tapilot.turn import Layout, Options, Scoring
from deskgym.task_suites.table_analysis.turns import LETTERS

_QUOTED = re.compile(r'["\']?correct_answer["\']?\s*:\s*["\']?\s*\(?([A-Za-z])\b')
_LISTED = re.compile(r'["\']?options["\']?\s*:\s*(\[.*?\])\s*[,}]', re.DOTALL)
_PREFIX = re.compile(r"^\s*\(?([A-J])\s*[.):]\s*")
_WORDS = re.compile(r"(?:answer|choice|option)\s*(?:is|:)\s*\**\s*([A-J])\b", re.IGNORECASE)
_LETTER = re.compile(r"\s*\(?([A-Ja-j])\)?[.:]?\s*")


def right_options(text: str) -> Options:
    """The right letter and the options of a reference answer, which is JSON or nearly so.

    Examples:
        >>> right_options('{"options": ["A. three", "B. four"], "correct_answer": B}')
        Options(letter='B', texts=('three', 'four'))

    Raises:
        ValueError: it has no ``correct_answer`` among A to J, or one beyond its options.
    """
    found = _QUOTED.search(text)
    if found is None or found[1].upper() not in LETTERS:
        raise ValueError(f'must have "correct_answer": "A" to "{LETTERS[-1]}", is {described(text)}')
    letter, texts = found[1].upper(), _texts(text)
    if texts and LETTERS.index(letter) >= len(texts):
        raise ValueError(f"has {len(texts)} options, but {letter} as the right one")
    return Options(letter, texts)


def _texts(text: str) -> tuple[str, ...]:
    """The options as a JSON or Python list; empty when there is none that can be read."""
    import ast

    listed = _LISTED.search(text)
    if listed is None:
        return ()
    try:
        options = ast.literal_eval(listed[1])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return ()
    texts = [str(option).strip() for option in options]
    marks = [_PREFIX.match(option) for option in texts]
    if all(mark and mark[1] == letter for mark, letter in zip(marks, LETTERS, strict=False)):
        texts = [_PREFIX.sub("", option, count=1) for option in texts]
    return tuple(texts[: len(LETTERS)])


def chosen_letter(answer: str, layout: Layout, scoring: Scoring) -> str:
    """The letter that an answer chooses, ``""`` for none.

    Args:
        answer: what the agent answered.
        layout: whose published rules hold in ``"paper"`` scoring.
        scoring: ``"corrected"`` takes a letter alone; ``"paper"`` looks for one in free text as the published
            evaluators do, so that an answer that begins with "A simple" is an A.

    Examples:
        >>> chosen_letter("I think <choice>B</choice>", "lines", "paper"), chosen_letter("b.", "lines", "corrected")
        ('B', 'B')
    """
    if scoring == "corrected":
        alone = _LETTER.fullmatch(answer)
        return alone[1].upper() if alone else ""
    tagged, marked = "</choice>" in answer, "\nAnswer:" in answer
    if tagged and marked:
        return ""
    if tagged:
        return _first(r"\b([A-J])\.?\b[^<]*</choice>", answer)
    if marked:
        return _first(r"\nAnswer: \b([A-J])\.?\b" if layout == "folders" else r"\nAnswer:\s*\b([A-J])\.?\b", answer)
    if layout == "folders":
        return _first(r"([A-J])\.?\b", answer)
    spoken = _WORDS.search(answer)
    return spoken[1].upper() if spoken else _first(r"\b([A-J])\.\s", answer) or _first(r"\b([A-J])\b", answer)


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""
