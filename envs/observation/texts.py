"""Texts of observations: how long they may be, and how longer ones are cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

TEXT_LENGTHS = {
    "a11y": 65536,
    "instruction": 16384,
    "feedback": 16384,
    "terminal": 16384,
    "vocabulary": 8192,
    "context": 65536,
}
"""The longest text of each text observation, in characters; longer ones are cut and end in a line that says so."""

_BREAKS = str.maketrans(
    {"\t": " ", "\n": "⏎", "\r": "⏎", "\v": "⏎", "\f": "⏎", "\x85": "⏎", "\u2028": "⏎", "\u2029": "⏎"}
)


def one_line(text: str) -> str:
    """The text with its tabs as spaces and its line breaks as ``⏎``."""
    return text if text.isprintable() else text.translate(_BREAKS)


def cut_lines(lines: Sequence[str], limit: int) -> str:
    """The lines as one text of at most ``limit`` characters, whole lines only, the last one saying what is missing."""
    lengths = [len(line) + 1 for line in lines]
    if sum(lengths) - 1 <= limit:
        return "\n".join(lines)
    count = bisect_right(list(accumulate(lengths)), limit)
    while True:
        kept = "\n".join([*lines[:count], f"[{len(lines) - count} more rows]"])
        if len(kept) <= limit or count == 0:
            return kept[:limit]
        count -= 1


def cut_text(text: str, limit: int) -> str:
    """The text, or its beginning and end with a line between them that says how much was left out."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} of {len(text)} characters left out ...]\n"
    keep = max(0, limit - len(note))
    head = keep // 2
    return (text[:head] + note + text[len(text) - (keep - head) :])[:limit]


def code_feedback(result: Mapping[str, Any] | None) -> str:
    """What a code action printed or raised, as its author should read it."""
    if result is None:
        return ""
    text = str(result.get("stdout", "")) + str(result.get("stderr", ""))
    if result.get("timed_out"):
        text += "\n[killed: the code ran past its time limit]"
    elif result.get("status"):
        text += f"\n[exit status {result['status']}]" if "Traceback" not in text else ""
    if result.get("truncated"):
        text += "\n[output cut]"
    return text.strip("\n")
