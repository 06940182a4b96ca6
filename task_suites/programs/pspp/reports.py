"""What PSPP prints in CSV, as tables; and what it says of a data file, by variable."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.evaluation.evaluator import CheckFailed

TITLE = "Table: "
MAX_ROWS = 100_000
SELECTION = "filter_$"
"""The variable that the dialog Select Cases leaves in the data; it is not compared."""

Table = list[list[str]]

ASPECTS = {
    "label": "Label",
    "missing": "Missing Values",
    "measure": "Measurement Level",
    "format": "Print Format",
    "role": "Role",
}
"""What is compared of a variable, and the heading of PSPP's column with it."""


def rows_of(text: str) -> Table:
    """Rows of CSV, empty ones too.

    Raises:
        CheckFailed: it is none, or too long.
    """
    found: Table = []
    try:
        for row in csv.reader(io.StringIO(text, newline="")):
            found.append(row)
            if len(found) > MAX_ROWS:
                raise CheckFailed(f"there are more than {MAX_ROWS} rows")
    except csv.Error as error:
        raise CheckFailed(f"not CSV: {error}") from None
    return found


def tables(printed: str) -> list[tuple[str, Table]]:
    r"""The tables of PSPP's output in CSV, each with its title.

    Examples:
        >>> tables('Table: Sizes\n,N\nage,5\n\na note\n\nTable: None\n')
        [('Sizes', [['', 'N'], ['age', '5']]), ('None', [])]
    """
    found: list[tuple[str, Table]] = []
    inside = False
    for row in rows_of(printed):
        if len(row) == 1 and row[0].startswith(TITLE):
            found.append((row[0].removeprefix(TITLE), []))
            inside = True
        elif not row:
            inside = False
        elif inside:
            found[-1][1].append(row)
    return found


def cell(table: Table, row: Sequence[str], column: str) -> str:
    """A table's cell: below a heading, in the first row whose first cells are these; empty ones repeat those above.

    Raises:
        ValueError: there is none.

    Examples:
        >>> cell([['', '', 'F', 't'], ['post', 'equal', '1.8', '.2'], ['', 'not', '', '.3']], ['post', 'not'], 't')
        '.3'
    """
    heading = next((line for line in table if column in line), None)
    if heading is None:
        raise ValueError(f"there is no column {column!r}")
    above = [""] * len(row)
    for line in table[table.index(heading) + 1 :]:
        above = [own or before for own, before in zip(line, above, strict=False)]
        if above == list(row):
            return line[heading.index(column)]
    raise ValueError(f"there is no row {list(row)}")


def data(dictionary: str, cases: str) -> dict[str, Any]:
    """A data file as ``SYSFILE INFO`` and ``SAVE TRANSLATE`` print it.

    Returns:
        ``variables`` (by name, in the file's order: ``type``, ``values`` and the keys of ``ASPECTS``), ``weight`` (a
        variable's name, or ""), ``label`` (the file's) and ``cases`` (by name: a list of texts, one a case).

    Raises:
        CheckFailed: PSPP could not read it.
        LookupError, ValueError: it is not as PSPP prints it.
    """
    printed = dict(tables(dictionary))
    if "Variables" not in printed or "File Information" not in printed:
        raise CheckFailed(f"PSPP cannot read it: {dictionary[-300:]!r}")
    heading, *lines = printed["Variables"]
    variables: dict[str, dict[str, Any]] = {}
    for line in lines:
        told = dict(zip(heading, line, strict=False))
        variables[told["Name"].lower()] = {
            "type": "text" if (text := told["Print Format"].startswith("A")) else "number",
            "width": told["Print Format"] if text else "",
            "values": {},
            **{aspect: told.get(column, "") for aspect, column in ASPECTS.items()},
        }
    name = ""
    for line in printed.get("Value Labels", [])[1:]:
        if len(line) < 3:
            break  # a footnote
        name = line[0].lower() or name
        if name in variables:
            variables[name]["values"][line[1]] = line[2]
    about = {line[0]: line[1] for line in printed["File Information"] if len(line) > 1}
    weight = about.get("Weight", "").lower()
    names, *rows = [row for row in rows_of(cases) if row]
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return {
        "variables": {name: told for name, told in variables.items() if name != SELECTION},
        "weight": "" if weight.startswith("not") else weight,
        "label": about.get("Label", ""),
        "cases": {
            name.lower(): [*column] for name, column in zip(names, columns, strict=True) if name.lower() != SELECTION
        },
    }


def differences(found: Mapping[str, Any], right: Mapping[str, Any], new: Sequence[str]) -> list[str]:
    """How a data file differs from the right one.

    Args:
        found: as ``data`` gives it.
        right: so too.
        new: variables of which place, width, format, measurement level and role do not count, and a label only if the
            right one has one.
    """
    differ: list[str] = []
    for name in sorted({*found["variables"], *right["variables"]}):
        got, wanted = found["variables"].get(name), right["variables"].get(name)
        if got is None or wanted is None:
            differ.append(f"{name} is {'missing' if got is None else 'one variable too many'}")
            continue
        for aspect in ("type", "width", "values", *ASPECTS):
            counts = (
                name not in new or aspect in ("type", "missing") or (aspect in ("label", "values") and wanted[aspect])
            )
            if counts and got[aspect] != wanted[aspect]:
                differ.append(f"{name} has {aspect} {got[aspect]!r}; right is {wanted[aspect]!r}")
        if not same(found["cases"][name], right["cases"][name]):
            differ.append(f"{name} has other values than it should")
    orders = [[name for name in each["variables"] if name not in new] for each in (found, right)]
    if not differ and orders[0] != orders[1]:
        differ.append(f"its variables are {', '.join(orders[0])}; right is {', '.join(orders[1])}")
    if found["label"] != right["label"]:
        differ.append(f"the file's label is {found['label']!r}; right is {right['label']!r}")
    if found["weight"] != right["weight"]:
        differ.append(f"the cases' weight is {found['weight'] or 'off'}; right is {right['weight'] or 'off'}")
    return differ


def same(found: Sequence[str], right: Sequence[str]) -> bool:
    """Whether two columns have the same values; numbers may differ in their last digits.

    Examples:
        >>> same(["1.0000000000000001", "a"], ["1", "a "]), same([" a"], ["a"]), same(["1", "2"], ["2", "1"])
        (True, False, False)
    """
    return len(found) == len(right) and all(map(_equal, found, right))


def _equal(left: str, right: str) -> bool:
    if left.rstrip() == right.rstrip():
        return True
    try:
        return math.isclose(float(left), float(right), rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        return False
