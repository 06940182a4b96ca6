"""Tables: rows of named columns, from a file that the agent left, a file beside the task, or a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import unknown, written
from deskgym.envs.evaluation.evaluator import CheckFailed, Start
from deskgym.envs.evaluation.predicates import Predicate, plain
from deskgym.envs.evaluation.readers.databases import ask_sqlite, read_sqlite
from deskgym.envs.evaluation.readers.files import MAX_ROWS, parse_csv
from deskgym.envs.evaluation.readers.recalculated import find_values
from deskgym.envs.evaluation.readers.table_source import LAST, TableSource, column_name, parse_range
from deskgym.envs.provision.companions import Companion

MAX_AREA = 5_000_000  # cells of one table, empty ones included


def cell_value(cell: Any, typed: bool) -> Any:
    """What a cell stands for: in a format that has only texts, one that reads as a number is that number.

    It must begin like one, so that "nan" and "inf" stay texts; "1_000" stays one too.

    Examples:
        >>> cell_value("-1.50", typed=False), cell_value("-1.50", typed=True), cell_value("nan", typed=False)
        (-1.5, '-1.50', 'nan')
    """
    if typed or not isinstance(cell, str) or "_" in cell or cell.strip().lstrip("+-")[:1] not in "0123456789.":
        return cell
    try:
        return float(cell)
    except ValueError:
        return cell


@dataclass(frozen=True)
class Table:
    """Rows of named columns.

    Attributes:
        name: for messages.
        columns: their names.
        rows: values as JSON has them (dates are ISO texts); None is an empty cell.
        places: what a message calls each row.
        typed: False where the format has only texts (CSV), so that a text may stand for a number.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    places: Sequence[str]
    typed: bool = True

    def index(self, column: str) -> int:
        """A column's number, from 0; names are compared without case and spacing where none is equal.

        Raises:
            CheckFailed: there is none of this name, or more than one.
        """
        found = [k for k, name in enumerate(self.columns) if name == column]
        found = found or [k for k, name in enumerate(self.columns) if plain(name) == plain(column)]
        if len(found) != 1:
            why = f"{len(found)} columns are called {column!r}" if found else unknown("column", column, self.columns)
            raise CheckFailed(f"{self.name}: {why}")
        return found[0]

    def pick(self, columns: Sequence[str]) -> Table:
        """The same rows with only these columns, in this order. Raises CheckFailed."""
        if not self.columns and not self.rows:  # a query without rows may not say what columns it has
            return Table(self.name, columns, [], [], self.typed)
        order = [self.index(column) for column in columns]
        return Table(self.name, columns, [[row[k] for k in order] for row in self.rows], self.places, self.typed)

    def where(self, wanted: Mapping[str, Predicate]) -> Table:
        """The rows whose cells fit all the predicates. Raises CheckFailed."""
        tests = [(self.index(column), that) for column, that in wanted.items()]
        kept = [k for k, row in enumerate(self.rows) if all(that(cell_value(row[c], self.typed)) for c, that in tests)]
        rows, places = [self.rows[k] for k in kept], [self.places[k] for k in kept]
        return Table(self.name, self.columns, rows, places, self.typed)


def read_table(final: FinalState, source: TableSource) -> Table:
    """The table at a source.

    Raises:
        CheckFailed: the agent left none that can be read.
        ValueError: the source makes no sense.
    """
    if source.companion:
        answer = ask_companion(final, source, _query(source))
    elif source.ending in ("db", "sqlite", "sqlite3"):
        answer = _sqlite(final, source)
    elif source.ending in ("parquet", "duckdb"):
        from deskgym.envs.evaluation.readers.clean import ask_duckdb

        query = _query(source) if source.ending == "duckdb" else ""
        answer = final.read_once(
            f"duckdb:{source.file or source.path}:{query}",
            lambda _: ask_duckdb(final, source.content(final), source.name, source.ending, query),
        )
    else:
        return _from_cells(source, read_sheet(final, source)).where(source.where)
    rows = answer["rows"]
    places = [f"row {k}" for k in range(1, len(rows) + 1)]
    return Table(source.name, answer["columns"], rows, places).where(source.where)


def _query(source: TableSource) -> str:
    if bool(source.query) == bool(source.table):
        raise ValueError(f"a database needs a query or a table, got query={source.query!r}, table={source.table!r}")
    quoted = source.table.replace('"', '""')
    return source.query or f'SELECT * FROM "{quoted}"'


def find_companion(start: Start, name: str) -> Companion:
    """A service of the task. Raises ValueError where the task has none of this name."""
    if name not in start.companions:
        raise ValueError(unknown("companion", name, start.companions))
    return start.companions[name]


def ask_companion(final: FinalState, source: TableSource, query: str) -> dict[str, Any]:
    """What a companion's database answers: columns and rows, asked once per query."""
    key, database = f"sql:{source.companion}:{source.database}:{query}", source.database or None

    def ask(_: object) -> list[dict[str, Any]]:
        companion = find_companion(final, source.companion)
        try:
            return companion.sql(query, database=database)
        except ServiceError as error:
            companion.sql(query, database=database, base=True)  # raises what is wrong with the query itself
            raise CheckFailed(str(error)) from None

    rows = final.read_once(key, ask)
    columns = list(rows[0]) if rows else []
    return {"columns": columns, "rows": [[row[column] for column in columns] for row in rows]}


def _sqlite(final: FinalState, source: TableSource) -> dict[str, Any]:
    key = f"sqlite:{source.limit}:{source.file or source.path}:{_query(source)}"
    if key not in final.scratch:
        files, read = f"sqlite:{source.limit}:{source.path}", partial(read_sqlite, path=source.path, limit=source.limit)
        content, log = (source.file.read_bytes(), None) if source.file else final.read_once(files, read)
        final.scratch[key] = ask_sqlite(content, log, _query(source), source.name)
    return dict(final.scratch[key])


@dataclass(frozen=True)
class Cells:
    """The filled cells of a sheet or text file, by (row, column), from 1; ``typed`` as in ``Table``."""

    values: Mapping[tuple[int, int], Any]
    typed: bool


def read_sheet(final: FinalState, source: TableSource) -> Cells:
    """The filled cells of a workbook's sheet, or of a text file. Raises CheckFailed."""
    if source.ending in ("xlsx", "ods"):
        cells = find_values(final, source, source.range)["cells"]
        return Cells({(row, column): value for row, column, value, *_ in cells if value is not None}, True)
    if source.ending not in ("csv", "tsv", "tab", "txt"):
        raise ValueError(f"{source.name!r} is of no kind that can be read: .{source.ending}; see TableSource.path")
    try:
        text = source.content(final).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{source.name}: not UTF-8: {error.reason} at byte {error.start}") from None
    delimiter = source.delimiter or ("," if source.ending == "csv" else "\t")
    rows = parse_csv(text, source.name, delimiter)
    values = {(r, c): v.strip() for r, row in enumerate(rows, 1) for c, v in enumerate(row, 1) if v.strip()}
    return Cells(values, False)


def _from_cells(source: TableSource, cells: Cells) -> Table:
    top, left, bottom, right = parse_range(source.range) if source.range else (1, 1, *LAST)
    grid: dict[int, dict[int, Any]] = {}
    for (row, column), value in cells.values.items():
        if top <= row <= bottom and left <= column <= right:
            grid.setdefault(row, {})[column] = value
    what = f"{source.name}{f', sheet {source.sheet!r}' if cells.typed else ''}"
    if not grid:
        raise CheckFailed(f"{what}: {source.range or 'it'} is empty")
    columns = sorted({column for row in grid.values() for column in row})
    first, last = (left, right) if right < LAST[1] else (columns[0], columns[-1])
    if len(grid) > MAX_ROWS or len(grid) * (last - first + 1) > MAX_AREA:
        raise CheckFailed(f"{what}: its {len(grid)} rows of {last - first + 1} columns are too many to compare")
    numbers = sorted(grid)
    names = [column_name(column) for column in range(first, last + 1)]
    if source.header:
        head = grid[numbers.pop(0)]
        names = [written(head.get(first + k, name)).strip() for k, name in enumerate(names)]
    rows = [[grid[number].get(column) for column in range(first, last + 1)] for number in numbers]
    return Table(what, names, rows, [f"row {number}" for number in numbers], cells.typed)
