"""What the user of a clarification turn knows, taken from the comments of the reference's code.

The published user simulator is a language model that reads the whole of that code (Tapilot-Crossing, section 3), which
leaks it. Comments are words, not code, and each is told only when it is asked for.
"""

from __future__ import annotations

import io
import re
import tokenize

from deskgym.task_suites.table_analysis.turns import Fact

_COMMON = frozenset(
    "a an and are as at be by code data dataset file for from in into is it load of on or read result save so that the "
    "their then this to using we where which with".split()
)
_MARKS = re.compile(r"YOUR SOLUTION|COMPLETE YOUR CODE", re.IGNORECASE)
_CODE = re.compile(r"[=()\[\]{}]|\bimport\b|\.\w+\.")


def facts_of(reference: str) -> tuple[Fact, ...]:
    r"""One fact per comment that is a sentence in words; none for code that is no Python.

    Examples:
        >>> facts_of("# Keep players above 30\nx = 1  # y = 2")[0].answer
        'Keep players above 30.'
    """
    found: dict[str, Fact] = {}
    for comment in _comments(reference):
        words = [word for word in re.findall(r"[a-z]{3,}", comment.lower()) if word not in _COMMON]
        if words and not _CODE.search(comment) and not _MARKS.search(comment):
            answer = comment.rstrip(". :") + "."
            found.setdefault(answer, Fact(tuple(dict.fromkeys(words)), answer))
    return tuple(found.values())


def _comments(code: str) -> list[str]:
    made: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.COMMENT:
                made.append(token.string.lstrip("# \t").strip())
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return made
