"""The history database (the paper's H-RDB): turns of dialogues in SQLite, to be recombined into other histories.

The tables ``dialogues`` and ``turns`` have the columns of ``StoredDialogue`` and ``StoredTurn``.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from deskgym.envs.errors import DeskgymError, TaskError, near
from deskgym.task_suites.table_analysis.history_query import open_read_only, select_turns
from deskgym.task_suites.table_analysis.history_rows import (
    COLUMNS,
    SCHEMA,
    StoredDialogue,
    StoredTurn,
    dialogue_row,
    entries,
    turn_row,
    with_history,
)
from deskgym.task_suites.table_analysis.turns import Past, Turn

__all__ = ["HistoryDB", "HistoryError", "StoredDialogue", "StoredTurn", "build", "with_history"]

APPLICATION_ID, VERSION = 0x44474844, 1  # "DGHD"; both are in the header of the file
_ENTRY = ("query", "code", "answer", "plot")  # columns of ``pasts``


class HistoryError(DeskgymError):
    """The file is no history database, or cannot be written; the message names it."""


class HistoryDB:
    """Turns in an SQLite file.

    Args:
        path: the file; made if it is missing.
        read_only: it must be there, and is never written to.

    Raises:
        HistoryError: the file is missing, something else, or of another version.

    Examples:
        >>> with HistoryDB("history.db", read_only=True) as db:  # doctest: +SKIP
        ...     rows = db.select("domain = ? AND variant = ? AND plot = 0", [turn.domain, turn.variant])
        ...     turn = with_history(turn, db.recombine([row.id for row in rows[:3]], before=turn))
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        there = self.path.exists() and (self.path.is_dir() or self.path.stat().st_size > 0)
        if read_only and not there:
            raise HistoryError(f"no history database {self.path}; make one with 'deskgym history build {self.path}'")
        if there:
            check_file(self.path)
        try:
            self._connection = open_read_only(self.path) if read_only else _open(self.path, new=not there)
        except sqlite3.Error as error:
            raise HistoryError(f"{self.path} cannot be opened: {error}") from error
        self._connection.row_factory = _as_dict

    def __enter__(self) -> HistoryDB:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._connection.close()

    def add(self, turns: Iterable[Turn]) -> int:
        """Keep turns, all or none; returns how many.

        They are numbered by dialogue in the order of coming. A turn that is there already is replaced, and keeps its
        number.

        Raises:
            HistoryError: the file cannot be written.
        """
        count = 0
        try:
            with self._connection:
                for turn in turns:
                    self._add(turn)
                    count += 1
        except sqlite3.Error as error:
            raise HistoryError(f"{self.path} cannot be written: {error}") from error
        return count

    def dialogues(self) -> tuple[StoredDialogue, ...]:
        """All dialogues, in order of their ids."""
        rows = self._rows(
            "SELECT d.*, (SELECT count(*) FROM turns t WHERE t.dialogue = d.id) AS turns FROM dialogues d ORDER BY id"
        )
        return tuple(StoredDialogue(**{**row, "private": bool(row["private"])}) for row in rows)

    def turns(self, **equal: Any) -> tuple[StoredTurn, ...]:
        """The turns whose columns have the given values, such as ``turns(domain="penguins", split="train")``.

        Raises:
            ValueError: there is no such column.
        """
        for name in equal:
            if name not in COLUMNS:
                raise ValueError(f"no column {name!r}; legal are {', '.join(COLUMNS)}{near(name, COLUMNS)}")
        where = " AND ".join(f"{name} = :{name}" for name in equal) or "1"
        return _stored(self._rows(f"SELECT * FROM turns WHERE {where} ORDER BY dialogue, number", equal))

    def select(self, where: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[StoredTurn, ...]:
        """The turns for which an SQL condition holds; it may come from anyone, since it can only read.

        Args:
            where: over the columns of ``turns``, such as ``"mode = 'normal' AND query LIKE ?"``.
            parameters: for its ``?`` or ``:name``.

        Raises:
            ValueError: it is no condition, needs what is not allowed, or takes too long.
        """
        return _stored(select_turns(self.path, where, parameters))

    def get(self, turn_id: str) -> StoredTurn:
        """The turn of that id.

        Raises:
            TaskError: there is none; the message has a near one.
        """
        found = self.turns(id=turn_id)
        if not found:
            ids = [row["id"] for row in self._rows("SELECT id FROM turns")]
            raise TaskError(f"no turn {turn_id!r} among the {len(ids)} in {self.path}{near(turn_id, ids)}")
        return found[0]

    def entries(self, turn_id: str) -> tuple[Past, ...]:
        """What the turn is in a history: one entry, or two where it corrects an attempt or is about a plot.

        Raises:
            TaskError: there is no such turn.
        """
        self.get(turn_id)
        rows = self._rows(f"SELECT {', '.join(_ENTRY)} FROM pasts WHERE turn = ? ORDER BY position", (turn_id,))
        return tuple(Past(**{**row, "plot": bool(row["plot"])}) for row in rows)

    def recombine(self, turn_ids: Iterable[str], before: Turn | None = None) -> tuple[Past, ...]:
        """Turns in the given order as a history, for ``with_history``.

        They must be over the same tables. That later code finds the variables it needs is for the caller to see to.

        Args:
            turn_ids: each may come more than once.
            before: the turn that the history is for, which must be over those tables too.

        Raises:
            TaskError: there is no such turn.
            ValueError: they are over different tables.
        """
        wanted = [self.get(turn_id) for turn_id in turn_ids]
        over: list[StoredTurn | Turn] = [*wanted, *([before] if before else [])]
        for turn in over[1:]:
            if (turn.domain, turn.variant) != (over[0].domain, over[0].variant):
                raise ValueError(f"a history is over the same tables; {_tables(over[0])}, but {_tables(turn)}")
        return tuple(past for stored in wanted for past in self.entries(stored.id))

    def _add(self, turn: Turn) -> None:
        dialogue = dialogue_row(turn)
        row = turn_row(turn, self._number(turn.id, dialogue["id"]))
        pasts = [
            {
                "turn": turn.id,
                "position": position,
                "query": p.query,
                "code": p.code,
                "answer": p.answer,
                "plot": p.plot,
            }
            for position, p in enumerate(entries(turn))
        ]
        self._connection.execute("DELETE FROM pasts WHERE turn = ?", (turn.id,))
        for table, rows in (("dialogues", [dialogue]), ("turns", [row]), ("pasts", pasts)):
            names = ", ".join(f":{name}" for name in rows[0])
            self._connection.executemany(f"REPLACE INTO {table} ({', '.join(rows[0])}) VALUES ({names})", rows)

    def _number(self, turn_id: str, dialogue: str) -> int:
        (row,) = self._rows(
            "SELECT (SELECT number FROM turns WHERE id = :id) AS same, "
            "(SELECT coalesce(max(number), 0) + 1 FROM turns WHERE dialogue = :dialogue) AS next",
            {"id": turn_id, "dialogue": dialogue},
        )
        return int(row["next"] if row["same"] is None else row["same"])

    def _rows(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        try:
            return self._connection.execute(query, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise HistoryError(f"{self.path} cannot be read: {error}") from error


def build(path: str | Path, turns: Iterable[Turn]) -> int:
    """Make a database of these turns, in the place of one that is there; returns how many there are.

    Until all is written, what was at ``path`` stays as it was, whatever interrupts.

    Raises:
        HistoryError: there is something else at ``path``, or it cannot be written.
        ValueError: there are no turns.
    """
    path = Path(path)
    if path.exists() and (path.is_dir() or path.stat().st_size > 0):
        check_file(path, any_version=True)
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            partial = Path(folder, path.name)
            with HistoryDB(partial) as database:
                count = database.add(turns)
            if not count:
                raise ValueError(f"no turns for {path}; nothing was written")
            os.replace(partial, path)
    except OSError as error:
        raise HistoryError(f"{path} cannot be written: {error.strerror or error}") from error
    return count


def check_file(path: Path, *, any_version: bool = False) -> None:
    """See by a file's header that it is a history database.

    Raises:
        HistoryError: it is something else, or of another version.
    """
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise HistoryError(f"{path} cannot be read: {error.strerror or error}") from error
    mark, version = header[68:72], int.from_bytes(header[60:64])
    if not header.startswith(b"SQLite format 3\0") or mark != APPLICATION_ID.to_bytes(4):
        raise HistoryError(f"{path} is no history database; name another file")
    if version != VERSION and not any_version:
        raise HistoryError(f"{path} has format {version}; this deskgym reads format {VERSION}; build it anew")


def _open(path: Path, new: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};"
    try:
        if new:
            connection.executescript(f"BEGIN; {marks} {SCHEMA} COMMIT;")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _as_dict(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


def _stored(rows: Iterable[Mapping[str, Any]]) -> tuple[StoredTurn, ...]:
    return tuple(StoredTurn(**{**row, "plot": bool(row["plot"])}) for row in rows)


def _tables(turn: StoredTurn | Turn) -> str:
    return f"{turn.id!r} is over {turn.domain!r} variant {turn.variant}"
