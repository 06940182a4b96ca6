"""Reads what a turn's evaluation code prints: a line per intent, ``True``, ``False`` or a number.

A number is the likeness of two plots (SSIM), right when it is above 0.6 (Tapilot-Crossing, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deskgym.task_suites.importers.tapilot.turn import Layout

LIKENESS = 0.6


def paper_verdicts(stdout: str, intents: int, layout: Layout) -> list[bool]:
    r"""The verdicts as the published harnesses read them.

    That of 2024 calls each intent right or wrong, but all wrong where the number of lines is another one, and takes a
    negative number for no number. That of version 1.0 calls all intents right or all wrong, and does not count lines.

    Examples:
        >>> paper_verdicts("True\n0.7", 2, "folders"), paper_verdicts("True\nFalse", 2, "lines")
        ([True, True], [False, False])
    """
    text = stdout.strip()
    lines = [line.strip() for line in text.split("\n")] if layout == "lines" else text.split("\n")
    if layout == "lines":
        return [bool(text) and all(verdict_of(line) is True for line in lines)] * intents
    if len(lines) != intents:
        return [False] * intents
    return [line == "True" or (_unsigned(line) and float(line) > LIKENESS) for line in lines]


def verdict_of(line: str) -> bool | None:
    """What a line says; None when it is something else, such as a warning."""
    if line in ("True", "False"):
        return line == "True"
    try:
        number = float(line)
    except ValueError:
        return None
    return not math.isnan(number) and number > LIKENESS


def _unsigned(line: str) -> bool:
    """Whether the harness of 2024 takes it for a number: digits, with at most one point after the first."""
    whole, point, rest = line.partition(".")
    return whole.isdecimal() and (not point or not rest or rest.isdecimal())


@dataclass(frozen=True)
class Statement:
    """What one statement of the evaluation code did.

    Attributes:
        index: its place in the code.
        verdicts: those that it printed, in order.
        error: what it raised, or ``""``.
    """

    index: int
    verdicts: tuple[bool, ...]
    error: str = ""


def statements(rows: Sequence[Sequence[object]]) -> list[Statement]:
    """Reads the rows [index, output, error] of ``scripts.EVALUATE``."""
    made = []
    for index, output, error in rows:
        found = (verdict_of(line.strip()) for line in str(output).splitlines())
        made.append(Statement(int(str(index)), tuple(item for item in found if item is not None), str(error or "")))
    return made


def slots(reference: Sequence[Statement], intents: int) -> dict[int, int]:
    """How many verdicts each statement prints, seen where the reference's own results are judged.

    Raises:
        ValueError: the code does not accept them, or does not print one verdict per intent: it judges nobody.
    """
    for statement in reference:
        if statement.error:
            raise ValueError(f"fails on the reference's own results: {statement.error}")
        if not all(statement.verdicts):
            raise ValueError("calls the reference's own results wrong")
    found = {statement.index: len(statement.verdicts) for statement in reference if statement.verdicts}
    if sum(found.values()) != intents:
        raise ValueError(f"prints {sum(found.values())} verdicts on the reference's results, for {intents} intents")
    return found


def corrected_verdicts(got: Sequence[Statement], expected: Mapping[int, int]) -> list[tuple[bool, str]]:
    """Each intent on its own: the verdict of the statement that is known to judge it, and why it is wrong.

    A statement that printed another number of verdicts than it should, or raised, has judged none of its intents right.
    """
    by_index = {statement.index: statement for statement in got}
    raised = [statement.error for statement in got if statement.error]
    made: list[tuple[bool, str]] = []
    for index, count in expected.items():
        statement = by_index.get(index, Statement(index, ()))
        if statement.error or len(statement.verdicts) != count:
            why = statement.error or (raised[0] if raised else "the evaluation code printed no verdict")
            made.extend([(False, f"it could not be compared: {why}")] * count)
        else:
            made.extend((right, "" if right else "is not the reference's result") for right in statement.verdicts)
    return made
