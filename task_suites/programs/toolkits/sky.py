"""Directions in the sky, and answers to questions about it, for programs that show it."""

from __future__ import annotations

import math
import re
from typing import Literal

from deskgym.envs.evaluation.checks.answer import parse_number

Kind = Literal["number", "text", "clock"]
"""How an answer is read: as a number, a text, or a time of day."""

_CLOCK = re.compile(r"(\d{1,2})[:h](\d{2})(?:[:m]\d{0,2})?s?(?: ?(am|pm))?\Z", re.IGNORECASE)


def apart(ra: float, dec: float, other_ra: float, other_dec: float) -> float:
    """The angle between two directions; all in degrees.

    Examples:
        >>> round(apart(10, 0, 40, 0), 6), round(apart(0, 89, 180, 89), 6)
        (30.0, 2.0)
    """
    a, b, c, d = map(math.radians, (ra, dec, other_ra, other_dec))
    half = math.sin((d - b) / 2) ** 2 + math.cos(b) * math.cos(d) * math.sin((c - a) / 2) ** 2
    return math.degrees(2 * math.asin(math.sqrt(half)))


def agrees(got: str, right: str, kind: Kind, within: float = 0.0, units: list[str] | None = None) -> bool:
    """Whether an answer is the right one.

    Args:
        got: the answer.
        right: what the program says.
        kind: how both are read; of texts, blanks and capital letters do not count.
        within: how much a number may differ, or a time of day in minutes.
        units: what may stand after a number.

    Examples:
        >>> agrees("10:31 pm", "22h30m", "clock", 1), agrees("0.5 AU", "0.52", "number", 0.05, ["AU"])
        (True, True)
    """
    if kind == "text":
        return "".join(got.split()).casefold() == "".join(right.split()).casefold()
    if kind == "clock":
        found, wanted = minutes(got), minutes(right)
        return found is not None and wanted is not None and abs((found - wanted + 720) % 1440 - 720) <= within
    number = parse_number(got, units)
    return number is not None and abs(number - float(right)) <= within


def minutes(text: str) -> int | None:
    """Minutes since midnight of a time of day such as ``22:45``, ``22h45m`` or ``10:45 pm``; None where it is none.

    Examples:
        >>> minutes("22:45"), minutes("9h05m"), minutes("12:05 AM"), minutes("soon")
        (1365, 545, 5, None)
    """
    found = _CLOCK.match(" ".join(text.split()))
    if not found:
        return None
    hour, minute, half = int(found[1]), int(found[2]), (found[3] or "").lower()
    return (hour % 12 + 12 * (half == "pm") if half else hour) * 60 + minute
