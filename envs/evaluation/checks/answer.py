"""Checks of what the agent said: its answer, and how it stopped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate, plain, within

MAX_ANSWER = 4096

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+"
_NUMBER = rf"[+-]?(?:{_DIGITS})(?:e[+-]?\d{{1,4}})?(?:/\d{{1,15}})?"
_LABEL = r"(?:[A-Za-z]\w{0,20} ?(?:\([^()]{0,20}\))? ?[=:] ?)?"


def parse_number(text: str, units: list[str] | None = None) -> float | None:
    """The number that a text is, or None if it is not one.

    Read are ``-1,234.5``, ``1.2e-3``, ``1.2×10^-3``, ``3/4``, a label (``x = 3``, ``f(2): 3``), and one of
    ``units`` after it. A text with a second number or with words is not a number: an answer cannot list
    guesses.

    Examples:
        >>> parse_number("x = −1,234.50 cm", ["cm"]), parse_number("3 or 4"), parse_number("1.5×10^-3")
        (-1234.5, None, 0.0015)
    """
    if len(text) > MAX_ANSWER:
        return None
    text = plain(text, case=True).replace("−", "-")
    text = re.sub(r" ?[×x*·] ?10 ?(?:\^|\*\*) ?\(?([+-]?\d{1,4})\)?", r"e\1", text)
    # NFKC makes of 10⁻³ the digits "10-3", which would read as a difference: that form is no number here.
    for unit in sorted(units or [], key=len, reverse=True):
        if text.endswith(plain(unit, case=True)):
            text = text[: -len(plain(unit, case=True))].rstrip()
            break
    found = re.fullmatch(rf"{_LABEL}({_NUMBER})\.?", text, re.IGNORECASE | re.ASCII)
    if not found:
        return None
    numerator, _, denominator = found.group(1).replace(",", "").partition("/")
    value = float(numerator)
    if denominator:
        if float(denominator) == 0:
            return None
        value /= float(denominator)
    return value if math.isfinite(value) else None


def answered(final: FinalState) -> str:
    """The agent's answer.

    Raises:
        CheckFailed: there is none, or it is longer than ``MAX_ANSWER`` characters.
    """
    if final.answer is None:
        raise CheckFailed("no answer was given")
    if len(final.answer) > MAX_ANSWER:
        raise CheckFailed(f"the answer has {len(final.answer)} characters; at most {MAX_ANSWER} are read")
    return final.answer


def answer_text(final: FinalState, to: str | list[str], exact: bool = False) -> tuple[bool, str]:
    """The answer is this text, or one of these; unless ``exact``, case and spacing do not count.

    Example:
        ```yaml
        - answer.text: {to: [Paris, City of Paris]}
        ```
    """
    got = answered(final)
    legal = [to] if isinstance(to, str) else to
    return any(_equal(got, right, exact) for right in legal), f"answered {shown(got)}; right is {shown(to)}"


def answer_number(
    final: FinalState, to: float, abs: float = 0.0, rel: float = 1e-6, units: list[str] | None = None
) -> tuple[bool, str]:
    """The answer is one number (see ``parse_number``) within ``abs``, or within ``rel`` times ``to``, of ``to``.

    Example:
        ```yaml
        - answer.number: {to: 3.14, abs: 0.01, units: [cm]}
        ```
    """
    got = answered(final)
    value = parse_number(got, units)
    return value is not None and within(value, to, abs, rel), f"answered {shown(got)}; right is {to}"


def answer_items(
    final: FinalState,
    to: list[float] | list[str],
    ordered: bool = False,
    abs: float = 0.0,
    rel: float = 1e-6,
    units: list[str] | None = None,
    exact: bool = False,
) -> tuple[bool, str]:
    """The answer lists these texts or numbers and no others, separated by commas, semicolons, lines or "and".

    Numbers are compared as in ``answer_number``, texts as in ``answer_text``. Unordered, each right item
    takes the first that fits.

    Example:
        ```yaml
        - answer.items: {to: [2, 3, 5]}
        ```
    """
    got = answered(final)
    numeric = all(not isinstance(item, str) for item in to)
    parts = _split_numbers(got) if numeric else _split_texts(got)

    def fits(part: str, item: float | str) -> bool:
        if isinstance(item, str):
            return _equal(part, item, exact)
        value = parse_number(part, units)
        return value is not None and within(value, item, abs, rel)

    return _pair_up(parts, to, fits, ordered), f"answered {shown(got)}; right is {shown(to)}"


def answer_fits(final: FinalState, that: Predicate) -> tuple[bool, str]:
    """The answer, without the blanks around it, fits a predicate of texts.

    Example:
        ```yaml
        - answer.fits: {matches: 'v[0-9]+'}
        ```
    """
    got = answered(final).strip()
    return that(got), f"answered {shown(got)}; right is {that}"


def _equal(left: str, right: str, exact: bool) -> bool:
    return left == right if exact else plain(left) == plain(right)


def _split_texts(text: str) -> list[str]:
    parts = re.split(r"[,;\n]|\band\b", text)
    return [part.strip(" \t.[](){}'\"") for part in parts if part.strip()]


def _split_numbers(text: str) -> list[str]:
    """As texts; a comma followed by a blank, or by anything in brackets, separates."""
    parts = re.split(r"[;\n()\[\]{}]|,(?!\d{3}\b)|,(?=\s)|\band\b", text)
    return [part.strip() for part in parts if part.strip()]


def _pair_up(
    parts: list[str],
    items: Sequence[float | str],
    fits: Callable[[str, float | str], bool],
    ordered: bool,
) -> bool:
    """Whether parts and items fit one to one; unordered, the first part that fits is taken."""
    if len(parts) != len(items):
        return False
    if ordered:
        return all(fits(part, item) for part, item in zip(parts, items, strict=True))
    left = list(parts)
    for item in items:
        part = next((part for part in left if fits(part, item)), None)
        if part is None:
            return False
        left.remove(part)
    return True


def stopped_with(final: FinalState, stop: Literal["done", "fail", "answer", "limit"]) -> tuple[bool, str]:
    """The episode ended in this way.

    Example:
        ```yaml
        - stopped_with: fail
        ```
    """
    return final.stop == stop, f"stopped with {final.stop!r}; right is {stop!r}"


CHECKS: Mapping[str, CheckFunction] = {
    "answer.text": answer_text,
    "answer.number": answer_number,
    "answer.items": answer_items,
    "answer.fits": answer_fits,
    "stopped_with": stopped_with,
}
