"""Reading files that the agent left. The guest is hostile: all is read with limits, and nothing is followed.

``Machine.get`` opens regular files only, with the agent's own rights in the agent's folders: a FIFO, a device, a
folder, a missing file, a link that leads to one of these, and a file over the limit are a *fail* that says what was
found. Only a broken machine is an error.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed

LIMIT = 16 << 20
"""Bytes of a file that a check reads, unless it says otherwise."""
MAX_ROWS = 100_000


def read_file(final: FinalState, path: str, limit: int = LIMIT) -> bytes:
    """A regular file's bytes, read once per final state.

    Raises:
        CheckFailed: it is missing, not a regular file, or larger than ``limit`` bytes.
    """
    try:
        return final.read_once(f"file:{limit}:{path}", lambda machine: machine.get(path, limit=limit))
    except GuestCallError as error:
        raise CheckFailed(f"{path}: {error}") from None


def read_text(final: FinalState, path: str, limit: int = LIMIT, encoding: str = "utf-8-sig") -> str:
    """A regular file's text, read once per final state.

    Raises:
        CheckFailed: it is missing, not a regular file, larger than ``limit`` bytes, or not in this encoding.
    """
    try:
        return read_file(final, path, limit).decode(encoding)
    except UnicodeDecodeError as error:
        raise CheckFailed(f"{path}: not {encoding}: {error.reason} at byte {error.start}") from None


def parse_json(content: str, path: str = "the text") -> Any:
    """Strict JSON: no NaN, no numbers of thousands of digits, no deep nesting.

    Raises:
        CheckFailed: it is none.
    """

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(content, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise CheckFailed(f"{path}: not JSON: {shown(str(error))}") from None


def parse_csv(content: str, path: str = "the text", delimiter: str = ",") -> list[list[str]]:
    """All rows that are not empty.

    Raises:
        CheckFailed: it is not CSV, or has more than ``MAX_ROWS`` rows.
    """
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True):
            if row:
                rows.append(row)
            if len(rows) > MAX_ROWS:
                raise CheckFailed(f"{path}: more than {MAX_ROWS} rows")
    except csv.Error as error:
        raise CheckFailed(f"{path}: not CSV: {error}") from None
    return rows
