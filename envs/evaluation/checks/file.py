"""Checks of files that the agent left, see ``readers.files``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import HostFile, shown
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.compare import Rules, differences, listed
from deskgym.envs.evaluation.readers.files import LIMIT, parse_csv, parse_json, read_file, read_text
from deskgym.envs.evaluation.readers.table_source import column_name
from deskgym.envs.evaluation.readers.tables import Table, cell_value


def exists(final: FinalState, path: str, limit: int = LIMIT) -> tuple[bool, str]:
    """There is a regular file of at most ``limit`` bytes.

    Example:
        ```yaml
        - file.exists: /home/user/report.pdf
        ```
    """
    return True, f"{path} has {len(read_file(final, path, limit))} bytes"


def absent(final: FinalState, path: str) -> tuple[bool, str]:
    """There is nothing at this path, not even a dangling link.

    Example:
        ```yaml
        - file.absent: /home/user/old.txt
        ```
    """
    try:
        kind = final.machine.guest.stat(path).get("type")
    except GuestCallError as error:
        return error.kind in ("FileNotFoundError", "NotADirectoryError"), f"{path}: {error}"
    return False, f"{path} is there: a {kind}"


def text(final: FinalState, path: str, that: Predicate, limit: int = LIMIT) -> tuple[bool, str]:
    """A UTF-8 file's text fits a predicate.

    Example:
        ```yaml
        - file.text: {path: /home/user/total.txt, that: {text: '71'}}
        ```
    """
    content = read_text(final, path, limit)
    return that(content), f"{path} is {shown(content)}; right is {that}"


def json_(
    final: FinalState,
    path: str,
    that: Predicate,
    at: str | list[str | int] | None = None,
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """A JSON file's value at a path in it fits a predicate.

    Example:
        ```yaml
        - file.json: {path: /home/user/settings.json, at: editor.tabs, that: {equals: 4}}
        ```
    """
    value = lookup(parse_json(read_text(final, path, limit), path), at)
    return that(value), f"{path}{f' at {at}' if at else ''} is {shown(value)}; right is {that}"


def sha256(final: FinalState, path: str, digest: str, limit: int = LIMIT) -> tuple[bool, str]:
    """A file's bytes have this SHA-256, in hexadecimal.

    Example:
        ```yaml
        - file.sha256: {path: /home/user/a.bin, digest: 9f86d081884c7d65}
        ```
    """
    found = hashlib.sha256(read_file(final, path, limit)).hexdigest()
    return found == digest.lower(), f"{path} has {found}; right is {digest}"


def csv_(
    final: FinalState,
    path: str,
    rows: list[list[Any]],
    ordered: bool = True,
    abs: float = 0.0,
    rel: float = 0.0,
    delimiter: str = ",",
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """A CSV file's rows, its header included, equal ``rows``.

    Cells are compared without the white space around them; where the right cell is a number, as numbers
    within ``abs`` or ``rel``. ``table`` compares columns by name and has more rules.

    Example:
        ```yaml
        - file.csv: {path: /home/user/out.csv, rows: [[name, v], [a, 1.5]], ordered: false, abs: 0.01}
        ```
    """
    found = [[cell.strip() for cell in row] for row in parse_csv(read_text(final, path, limit), path, delimiter)]
    width = max(map(len, rows), default=0)
    for k, row in enumerate(found, 1):
        if len(row) != width:
            return False, f"{path}, row {k} has {len(row)} cells, right are {width}: {shown(row)}"
    right = [[cell.strip() if isinstance(cell, str) else cell for cell in row] for row in rows]
    columns = [column_name(k + 1) for k in range(width)]
    got = Table(path, columns, found, [f"row {k}" for k in range(1, len(found) + 1)], typed=False)
    wrong = differences(got, right, Rules(abs, rel), ordered, more=False)
    return not wrong, f"{path}: {listed(wrong) or f'its {len(rows)} rows are right'}"


def csv_gold(
    final: FinalState,
    path: str,
    gold: HostFile,
    ordered: bool = True,
    abs: float = 0.0,
    rel: float = 0.0,
    delimiter: str = ",",
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """A CSV file's rows, its header included, equal those of a file beside the task file, which no agent sees.

    Example:
        ```yaml
        - file.csv_gold: {path: /home/user/out.csv, gold: gold.csv}
        ```
    """
    rows = parse_csv(gold.read_text("utf-8-sig"), gold.name, delimiter)
    numbers = [[cell_value(cell, typed=False) for cell in row] for row in rows]
    return csv_(final, path, numbers, ordered, abs, rel, delimiter, limit)


def csv_cell(
    final: FinalState,
    path: str,
    row: int,
    column: int | str,
    that: Predicate,
    delimiter: str = ",",
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """One cell fits a predicate; it is a number where it reads as one.

    ``row`` counts from 1 below the header (0 is the header); ``column`` is a header, or counts from 1.

    Example:
        ```yaml
        - file.csv_cell: {path: /home/user/out.csv, row: 1, column: v, that: {close: {to: 1.5}}}
        ```
    """
    rows = parse_csv(read_text(final, path, limit), path, delimiter)
    if not rows:
        raise CheckFailed(f"{path}: it is empty")
    header = [cell.strip() for cell in rows[0]]
    if isinstance(column, str):
        if column not in header:
            raise CheckFailed(f"{path}: no column {column!r}; its header is {shown(header)}")
        index = header.index(column)
    else:
        index = column - 1
    try:
        cell = rows[row][index].strip()
    except IndexError:
        raise CheckFailed(f"{path}: no row {row} with column {column!r}; it has {len(rows)} rows") from None
    value = cell_value(cell, typed=False)
    return that(value), f"{path}, row {row}, column {column!r} is {shown(value)}; right is {that}"


CHECKS: Mapping[str, CheckFunction] = {
    "file.exists": exists,
    "file.absent": absent,
    "file.text": text,
    "file.json": json_,
    "file.csv": csv_,
    "file.csv_gold": csv_gold,
    "file.csv_cell": csv_cell,
    "file.sha256": sha256,
}
