"""Reads files with a JSON object on each line, every mistake with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from deskgym.task_suites.importers.json_files import UNUSABLE, Fields, Json, JsonFile, Problem, described, no_constant

MAX_LINE = 32 << 20


class JsonLine(JsonFile):
    """One line of such a file; as ``JsonFile``, but all mistakes are on the same line."""

    def __init__(self, text: str, name: str, line: int) -> None:
        self.name = name
        self.line = line
        self.now = datetime.now
        self.problems: list[Problem] = []
        self.data: Json = None
        try:
            data = json.loads(text, parse_constant=no_constant, object_pairs_hook=self._object)
        except json.JSONDecodeError as error:
            self.fault("", f"is not JSON: {error.msg}, column {error.colno}")
        except (ValueError, RecursionError) as error:
            self.fault("", f"cannot be read: {error!s:.200}")
        else:
            self.data = data
            if isinstance(data, dict):
                for key in [key for key, value in data.items() if _unusable(value)]:
                    self.fault(key, "has a NUL or half of a surrogate pair in it")

    def fault(self, key: str, message: str) -> None:
        """Note a mistake at a JSON path."""
        self.problems.append(Problem(self.name, self.line, key, message))

    def _object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for key, value in pairs:
            if key in made:
                self.fault(key, "is given twice")
            made[key] = value
        return made


def read_lines(path: Path, name: str) -> Iterator[JsonLine]:
    """The lines of a file that are not blank; a file that cannot be read gives one line with that mistake.

    A file that is one JSON value as a whole, a list or an object, gives a line for each of its objects.
    """
    try:
        if (whole := _whole(path)) is not None:
            yield from (JsonLine(json.dumps(item), name, number) for number, item in enumerate(whole, 1))
            return
        with path.open(encoding="utf-8-sig") as file:
            for number, text in enumerate(iter(lambda: file.readline(MAX_LINE), ""), 1):
                if text.strip():
                    yield JsonLine(text, name, number)
    except (OSError, UnicodeDecodeError) as error:
        broken = JsonLine("{}", name, 1)
        broken.fault("", f"cannot be read: {error!s:.200}")
        yield broken


def _whole(path: Path) -> list[Json] | None:
    """The objects of a ``.json`` file that is one JSON value; None for one that has a value per line."""
    if path.suffix != ".json" or path.stat().st_size > MAX_LINE:
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, list) else [data]


def text_or_json(fields: Fields, key: str) -> str:
    """A string; or any JSON value, as its text."""
    value = fields.value(key)
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def optional_text(fields: Fields, key: str) -> str:
    """A string, or ``""`` where the key is missing or null."""
    if key not in fields or fields.data[key] is None:
        return ""
    value = fields.data[key]
    if not isinstance(value, str):
        fields.fault(key, f"must be a string, is {described(value)}")
        return ""
    return value


def _unusable(value: Json) -> bool:
    if isinstance(value, str):
        return UNUSABLE.search(value) is not None
    if isinstance(value, dict):
        return any(_unusable(item) for item in (*value, *value.values()))
    return isinstance(value, list) and any(_unusable(item) for item in value)
