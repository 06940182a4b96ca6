"""Functions for parameters that are texts, for programs to offer under their own names."""

from __future__ import annotations


def edit(text: str, edits: list[list[str]]) -> str:
    """A text with parts of it replaced, each once.

    Raises:
        ValueError: a part is not in it, or more than once.
    """
    for old, new in edits:
        if text.count(old) != 1:
            raise ValueError(f"the text has {old!r} {text.count(old)} times, not once")
        text = text.replace(old, new)
    return text


def everywhere(text: str, old: str, new: str) -> str:
    """A text in which another one is replaced wherever it stands."""
    return text.replace(old, new)
