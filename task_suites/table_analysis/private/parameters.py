"""What the parameters of operations are called in a private library, and how they are described."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.task_suites.table_analysis.private.data import read

PARAMETERS: Mapping[str, tuple[str, str]] = {
    name: (words, meaning) for name, (words, meaning) in read("parameters")["parameters"].items()
}
"""Real name -> words for it, and what it is. A keyword that is not here is left to pandas."""
MEANINGS: Mapping[str, Mapping[str, str]] = read("parameters")["meanings"]
"""What a parameter is where an operation means something of its own by it."""


def described(name: str, op: str = "") -> tuple[str, str] | None:
    """The words for a parameter of an operation and its description, or None if it is unknown.

    ``step3`` is the third of ``step...``.
    """
    words = PARAMETERS.get(name)
    stem = name.rstrip("0123456789")
    if words is None and stem + "..." in PARAMETERS:
        word, meaning = PARAMETERS[stem + "..."]
        return word, f"number {name[len(stem) :]} in order: {meaning}"
    meaning = MEANINGS.get(op, {}).get(name, "")
    return (words[0], meaning) if words and meaning else words
