"""Which cells a conditional format applies to, for the conditions that a spreadsheet's dialogs write.

Nothing is evaluated but comparisons of numbers, texts, cells, and MAX, MIN and AVERAGE of a range.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.evaluation.readers.table_source import column_number, parse_range

Place = tuple[int, int]
MAX_CELLS = 100_000  # of a rule's range that have a value

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<>": operator.ne, "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip
_OPERATORS = {
    "lessThanOrEqual": "<=", "greaterThanOrEqual": ">=", "notEqual": "<>", "lessThan": "<", "greaterThan": ">",
    "equal": "=",
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[[list[float]], float]] = {
    "MAX": max, "MIN": min, "AVERAGE": lambda values: sum(values) / len(values),
}  # fmt: skip
_CELL = re.compile(r"(\$?)([A-Z]{1,3})(\$?)([1-9]\d{0,6})", re.IGNORECASE)
_CALL = re.compile(r"([A-Z]+)\(([$A-Z0-9:]+)\)", re.IGNORECASE)


class Unknown(Exception):
    """A condition of another kind."""


def active_cells(rule: Mapping[str, Any], values: Mapping[Place, Any]) -> set[Place]:
    """The cells with a value that a rule's format applies to; none where its condition is of another kind.

    Args:
        rule: as ``readers.spreadsheet`` gives it.
        values: of the sheet's cells.
    """
    try:
        areas = [parse_range(area) for area in str(rule["range"]).split()]
        inside = [place for place in values if any(_within(place, area) for area in areas)]
        if not areas or len(inside) > MAX_CELLS:
            return set()
        return {place for place in inside if _holds(rule, place, areas[0][:2], values, inside)}
    except (Unknown, ValueError, KeyError, TypeError):
        return set()


def _holds(
    rule: Mapping[str, Any], place: Place, corner: Place, values: Mapping[Place, Any], inside: list[Place]
) -> bool:
    formulas = rule["formulas"]
    if rule["type"] == "cellIs":
        operands = [_operand(formula, place, corner, values) for formula in formulas]
        if rule["operator"] in ("between", "notBetween"):
            low, high = sorted(operands)
            within: bool = low <= values[place] <= high
            return within == bool(rule["operator"] == "between")
        return _compare(_OPERATORS[rule["operator"]], values[place], operands[0])
    if rule["type"] == "expression":
        for sign in _COMPARISONS:
            left, found, right = formulas[0].partition(sign)
            if found:
                pair = [_operand(one, place, corner, values) for one in (left, right)]
                return _compare(sign, *pair)
    if rule["type"] == "top10" and not rule["percent"]:
        numbers = sorted((v for p in inside if isinstance(v := values[p], (int, float))), reverse=not rule["bottom"])
        return bool(values[place] in numbers[: int(rule["rank"] or 10)])
    raise Unknown


def _compare(sign: str, a: Any, b: Any) -> bool:
    try:
        return bool(_COMPARISONS[sign](a, b))
    except TypeError:  # a text and a number
        return False


def _operand(formula: str, place: Place, corner: Place, values: Mapping[Place, Any]) -> Any:
    formula = formula.strip().removeprefix("=").strip()
    if call := _CALL.fullmatch(formula):
        function = _FUNCTIONS.get(call[1].upper())
        area = parse_range(call[2])
        numbers = [v for p, v in values.items() if _within(p, area) and isinstance(v, (int, float))]
        if function is None or not numbers:
            raise Unknown
        return function(numbers)
    if cell := _CELL.fullmatch(formula):
        row, column = int(cell[4]), column_number(cell[2])
        return values.get((row + (0 if cell[3] else place[0] - corner[0]),
                           column + (0 if cell[1] else place[1] - corner[1])))  # fmt: skip
    if formula[:1] == formula[-1:] == '"' and len(formula) > 1:
        return formula[1:-1]
    return float(formula)


def _within(place: Place, area: tuple[int, int, int, int]) -> bool:
    return area[0] <= place[0] <= area[2] and area[1] <= place[1] <= area[3]
