"""Metrics of texts: what a script printed, an address, a text file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from deskgym.task_suites.importers.spider2v.metrics.judging import (
    GoldBroken,
    Judging,
    Value,
    brief,
    content,
    metric,
    of_gold,
    rules_of,
    text,
)

MAX_LINES = 20_000
_INFLECTED = ("succeed",)
"""Words of upstream's scripts that stand for their past tense too."""


def has_word(word: str, within: str) -> bool:
    """Whether a text has a word that is no part of a longer one.

    Examples:
        >>> has_word("10", "2010"), has_word("succeed", "check succeeded"), has_word("a.txt", "a.txt, b.txt")
        (False, True, True)
    """
    head = r"(?<![^\W_])" if word[:1].isalnum() else ""
    tail = ("(?:ed)?" if word in _INFLECTED else "") + (r"(?![^\W_])" if word[-1:].isalnum() else "")
    return re.search(f"{head}{re.escape(word)}{tail}", within) is not None


@metric
def check_include_exclude(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """All words of ``include`` are there, and none of ``exclude``; corrected: as words of their own."""
    rules = rules_of(expected)
    include, exclude = rules.get("include", []), rules.get("exclude", [])
    found: Any = text(result) if isinstance(result, bytes) else result
    if not isinstance(found, str | list | Mapping):
        return 0.0, f"the result is {brief(found)}, no text"
    if judging.corrected and isinstance(found, str):
        missing = [word for word in include if not has_word(word, found)]
        wrong = [word for word in exclude if (has_word(word, found) if word.isdigit() else word in found)]
    else:
        missing, wrong = [word for word in include if word not in found], [word for word in exclude if word in found]
    if missing or wrong:
        return 0.0, f"missing {missing}, excluded but there {wrong}: {brief(found, 400)}"
    return 1.0, f"{include} are there, and none of {exclude}"


@metric
def exact_match(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Equal to ``expected``; corrected: but for white space and a last semicolon."""
    right = rules_of(expected).get("expected")
    if judging.corrected and isinstance(result, str) and isinstance(right, str):
        return _same(" ".join(result.split()).removesuffix(";").rstrip(), " ".join(right.split()).removesuffix(";"))
    return _same(result, right)


@metric
def literal_match(
    result: Value,
    expected: Value,
    judging: Judging,
    *,
    type: str = "str",
    ignore_case: bool = False,
    ignore_order: bool = False,
) -> tuple[float, str]:
    """Equal as texts, or as lists of texts. Upstream reads no ``ignore_order``; corrected: it counts."""
    if type not in ("str", "list"):
        raise GoldBroken(f"literal_match of type {type!r}: legal are 'str' and 'list'")
    if type == "str":
        pair = [str(result), str(expected)]
        return _same(*([one.lower() for one in pair] if ignore_case else pair))
    if not isinstance(expected, list):
        raise GoldBroken(f"literal_match of lists has {brief(expected)} to compare with")
    if not isinstance(result, list):
        return 0.0, f"the result is {brief(result)}, no list"
    lists = [[str(item).lower() if ignore_case else str(item) for item in items] for items in (result, expected)]
    if judging.corrected and ignore_order:
        lists = [sorted(items) for items in lists]
    return _same(*lists)


@metric
def is_not_in_list(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """None of ``exclude`` is in the list. Upstream asks whether it has the *list* as an item, which is never so."""
    exclude = rules_of(expected).get("exclude")
    if not isinstance(result, list):
        return 0.0, f"the result is {brief(result)}, no list"
    if judging.corrected and isinstance(exclude, list):
        wrong = [item for item in exclude if item in result]
    else:
        wrong = [exclude] if exclude in result else []
    return (0.0, f"{wrong} are still there") if wrong else (1.0, f"none of {exclude} is there")


@metric
def is_expected_url_pattern_match(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """All patterns are found in the address; corrected: an origin at its start alone, the rest behind its origin."""
    patterns = rules_of(expected).get("expected")
    if not isinstance(patterns, list):
        raise GoldBroken(f"the patterns are {brief(patterns)}, no list")
    url = result.get("url") if isinstance(result, Mapping) else result
    if not url or not isinstance(url, str):
        return 0.0, f"there is no address but {brief(url)}"
    with of_gold("pattern"):
        missing = [pattern for pattern in patterns if not _found(pattern, url, judging.corrected)]
    return (0.0, f"{missing} not in {brief(url)}") if missing else (1.0, f"the address is {brief(url)}")


def _found(pattern: str, url: str, corrected: bool) -> bool:
    if not corrected:
        return re.search(pattern, url) is not None
    if "://" in pattern:
        return re.match(rf"(?:{pattern})(?![\w.-])", url) is not None
    path = re.sub(r"\A[a-z][a-z+.-]*://[^/?#]*", "", url)
    return any(re.search(pattern, one) is not None for one in (path, unquote(path)))


@metric
def compare_text_file(
    result: Value, expected: Value, judging: Judging, *, ignore_blanks: bool = False, ignore_case: bool = False
) -> tuple[float, str]:
    """Equal texts; corrected: but for the ends of lines and of the file."""
    with of_gold(expected):
        right = text(expected)
    pair = [text(result), right]
    if ignore_blanks:
        pair = [re.sub(r"\s+", " ", re.sub(r"[\t\n]", " ", one).strip()) for one in pair]
    if ignore_case:
        pair = [one.lower() for one in pair]
    if judging.corrected:
        pair = ["\n".join(_lines(one)) for one in pair]
    return _same(*pair)


@metric
def diff_text_file(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """The share of equal lines, in [0, 1]; corrected: 1 or 0, but for the ends of lines and of the file."""
    with of_gold(expected):
        right = text(expected)
    found = text(result)
    if judging.corrected:
        return _same(_lines(found), _lines(right))
    lines = found.splitlines()
    if len(lines) > MAX_LINES:
        return 0.0, f"it has {len(lines)} lines; at most {MAX_LINES} are compared"
    ratio = difflib.SequenceMatcher(a=lines, b=right.splitlines()).ratio()
    return ratio, f"{ratio:.0%} of the lines are as they should be"


@metric
def compare_sql(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Equal statements; corrected: but for white space, a last semicolon, and case outside quotes."""
    with of_gold(expected):
        right = text(expected)
    pair = [text(result), right]
    return _same(*([_statement(one) for one in pair] if judging.corrected else pair))


@metric
def check_file_existence(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """The file is there; corrected: with something in it."""
    if judging.corrected and not content(result).strip():
        return 0.0, "the file is empty"
    return 1.0, "the file is there"


def _statement(sql: str) -> str:
    parts = re.split(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")", sql.strip().removesuffix(";").rstrip())
    return "".join(part if k % 2 else re.sub(r"\s+", " ", part).casefold() for k, part in enumerate(parts)).strip()


def _lines(one: str) -> list[str]:
    lines = [line.rstrip() for line in one.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same(result: object, right: object) -> tuple[float, str]:
    if result == right:
        return 1.0, "equal"
    return 0.0, f"found {brief(result, 300)}, right is {brief(right, 300)}"
