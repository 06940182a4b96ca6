"""Reads JSON files strictly: every value is asked for by type, and every mistake is kept with its key and line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from deskgym.envs.errors import near
from deskgym.task_suites.importers.lambdas import Lambda, LambdaError, compile_lambda

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

MAX_BYTES = 4 << 20
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
UNUSABLE = re.compile("[\0\ud800-\udfff]")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMES = {str: "a string", bool: "true or false", int: "a whole number", float: "a number", list: "a list"}


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake of a file.

    Attributes:
        file: the file, relative to the folder that was loaded.
        line: from 1.
        key: the JSON path, such as ``"evaluate[0].value"``; empty for the file as a whole.
        message: what is there, what is legal, and what to do.
    """

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (f"{self.file}:{self.line}", self.key, self.message)))


class JsonFile:
    """A JSON file that is being read, and the mistakes found so far.

    Attributes:
        name: what its mistakes call it.
        problems: grows while the file is read. What was read is only good if it is empty in the end.
        data: the parsed text; None when it is not JSON.
    """

    def __init__(self, path: Path, name: str, now: Callable[[], datetime] = datetime.now) -> None:
        self.name = name
        self.now = now
        self.problems: list[Problem] = []
        self.data: Json = None
        self._lines: dict[str, int] = {}
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ValueError(f"has more than {MAX_BYTES} bytes, too many for a task file")
            text = path.read_text(encoding="utf-8-sig")
            data = json.loads(text, parse_constant=no_constant)
            self._locate(text)
        except json.JSONDecodeError as error:
            self.problems.append(Problem(name, error.lineno, "", f"is not JSON: {error.msg}, column {error.colno}"))
        except RecursionError:
            self.problems.append(Problem(name, 1, "", "is nested too deeply"))
        except (OSError, ValueError) as error:
            self.problems.append(Problem(name, 1, "", f"cannot be read: {error!s:.200}"))
        else:
            self.data = data

    def fault(self, key: str, message: str) -> None:
        """Note a mistake at a JSON path."""
        line, at = self._lines.get(key), key
        while line is None and at:
            at = at[: max(at.rfind("."), at.rfind("["), 0)]
            line = self._lines.get(at)
        self.problems.append(Problem(self.name, line or 1, key, message))

    def root(self) -> Fields | None:
        """The file's object; None, with the mistake noted, when it holds something else."""
        if self.data is None and self.problems:
            return None
        if not isinstance(self.data, dict):
            self.fault("", f"must hold an object, holds {described(self.data)}")
            return None
        return Fields(self, "", self.data)

    def _locate(self, text: str) -> None:
        """Find the line of every value, and keys that are given twice; ``text`` is known to be valid JSON."""
        line, end = 1, 0

        def tokens() -> Iterator[str]:
            nonlocal line, end
            for match in _TOKEN.finditer(text):
                line += text.count("\n", end, match.start())
                end = match.start()
                yield match[0]

        stream = tokens()

        def value(token: str, path: str) -> None:
            self._lines.setdefault(path, line)
            if "\\u" in token and UNUSABLE.search(json.loads(token)):
                self.problems.append(Problem(self.name, line, path, "has a NUL or half of a surrogate pair in it"))
            count = 0
            while token == "[" and (inner := next(stream)) != "]":
                if inner != ",":
                    value(inner, f"{path}[{count}]")
                    count += 1
            seen: set[str] = set()
            while token == "{" and (inner := next(stream)) != "}":
                if inner != ",":
                    name = json.loads(inner)
                    at = child(path, name)
                    if name in seen:
                        self.problems.append(Problem(self.name, line, at, "is given twice"))
                    seen.add(name)
                    self._lines[at] = line
                    next(stream)
                    value(next(stream), at)

        value(next(stream), "")


class Fields:
    """One object of a JsonFile: hands out its keys by type.

    A mistake is noted in the file and a blank value handed out, so that reading goes on and finds the others.
    """

    def __init__(self, file: JsonFile, path: str, data: dict[str, Json]) -> None:
        self.file = file
        self.path = path
        self.data = data
        self._asked: set[str] = set()

    def __contains__(self, key: str) -> bool:
        self._asked.add(key)
        return key in self.data

    def at(self, key: str) -> str:
        """The JSON path of ``key``."""
        return child(self.path, key)

    def fault(self, key: str, message: str) -> None:
        """Note a mistake at ``key``; an empty one means the object itself."""
        self.file.fault(self.at(key) if key else self.path, message)

    def read(self, readers: Readers) -> dict[str, Any]:
        """The values of these keys, each read as it says; a key with a ``?`` may be missing."""
        asked = {key.rstrip("?"): how for key, how in readers.items() if key[-1] != "?" or key[:-1] in self}
        return {key: how(self, key) for key, how in asked.items()}

    def known(self, key: str, names: Iterable[str], noun: str) -> str | None:
        """A string that is one of ``names``; None, with the mistake noted, when it is none."""
        name = self.text(key)
        if name in names:
            return name
        if name:
            legal = one_of(tuple(sorted(names)))
            self.fault(key, f"{name!r} is no {noun}, legal are {legal}{near(name, names)}")
        return None

    def value(self, key: str) -> Json:
        """Any JSON value."""
        if key not in self:
            self.fault(key, "is missing")
            return None
        return self.data[key]

    def text(self, key: str, *, among: tuple[str, ...] = (), matching: str = "", empty: bool = False) -> str:
        """A string: one of ``among``, or fully ``matching`` a pattern, where these are given."""
        value = self.value(key)
        if not isinstance(value, str):
            self._mistyped(key, str)
        elif not value and not empty:
            self.fault(key, "must not be empty")
        elif among and value not in among:
            self.fault(key, f"must be {one_of(among)}, is {value!r:.80}{near(value, among)}")
        elif matching and not re.fullmatch(matching, value):
            self.fault(key, f"must look like {matching}, is {value!r:.80}")
        else:
            return value
        return ""

    def path_text(self, key: str) -> str:
        """The absolute path of a file inside the machine."""
        value = self.text(key)
        if value and (not value.startswith("/") or ".." in value.split("/") or "\0" in value):
            self.fault(key, f"must be an absolute path without '..', is {value!r:.80}")
        return value

    def number(self, key: str, *, low: float | None = None) -> float:
        """A finite number of at least ``low``."""
        return self._number(key, low, float)

    def integer(self, key: str, *, low: int | None = None, among: tuple[int, ...] = ()) -> int:
        """A whole number of at least ``low``, or one of ``among``."""
        value = self._number(key, low, int)
        if among and value not in among:
            self.fault(key, f"must be {one_of(among)}, is {value}")
        return int(value)

    def boolean(self, key: str) -> bool:
        """True or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            self._mistyped(key, bool)
        return value is True

    def texts(self, key: str, *, empty: bool = False) -> tuple[str, ...]:
        """A list of one string or more, or of none where it may be ``empty``."""
        value = self._list(key, empty=empty)
        for index, item in enumerate(value):
            if not isinstance(item, str):
                self.file.fault(f"{self.at(key)}[{index}]", f"must be a string, is {described(item)}")
        return tuple(item for item in value if isinstance(item, str))

    def objects(self, key: str, *, empty: bool = False) -> list[Fields]:
        """A list of objects."""
        found: list[Fields] = []
        for index, item in enumerate(self._list(key, empty=empty)):
            at = f"{self.at(key)}[{index}]"
            if isinstance(item, dict):
                found.append(Fields(self.file, at, item))
            else:
                self.file.fault(at, f"must be an object, is {described(item)}")
        return found

    def object(self, key: str) -> Fields:
        """An object; an empty one after a mistake."""
        value = self.value(key)
        if key in self.data and not isinstance(value, dict):
            self.fault(key, f"must be an object, is {described(value)}")
        return Fields(self.file, self.at(key), value if isinstance(value, dict) else {})

    def function(self, key: str, arity: int) -> Lambda:
        """A lambda string with ``arity`` parameters."""
        try:
            return compile_lambda(self.text(key), self._where(key), arity=arity, now=self.file.now)
        except LambdaError as error:
            if isinstance(self.data.get(key), str) and self.data[key]:
                self.fault(key, str(error).removeprefix(self._where(key) + ": "))
            return compile_lambda(f"lambda {', '.join('abcd'[:arity])}: None", self._where(key))

    def pattern(self, key: str) -> re.Pattern[str]:
        """A regular expression."""
        try:
            return re.compile(self.text(key))
        except (re.error, OverflowError, RecursionError) as error:
            self.fault(key, f"is not a regular expression: {error}")
            return re.compile("")

    def finish(self) -> None:
        """Note every key that was never asked for: it is unknown here."""
        for key in [key for key in self.data if key not in self._asked]:
            self.fault(key, f"is unknown here, known are {', '.join(sorted(self._asked))}{near(key, self._asked)}")

    def scalar(self, key: str, *, null: bool = False, strings: bool = True, many: bool = False) -> Json:
        """A number or a truth value; also a string, null, or ``many`` scalars: a list or an object, where allowed."""
        value = self.value(key)
        kinds: tuple[type, ...] = (bool, int, float, *([str] if strings else []), *([type(None)] if null else []))
        items: Iterable[Json] = [value]
        if many and isinstance(value, list | dict):
            items = value.values() if isinstance(value, dict) else value
        if key in self.data and not all(isinstance(item, kinds) for item in items):
            names = ["a string"] * strings + ["a number", "true or false"] + ["null"] * null
            names += ["a list of these", "an object of these"] * many
            self.fault(key, f"must be {', '.join(names)}; is {described(value)}")
        return value

    def _where(self, key: str) -> str:
        return f"{self.file.name}:{self.at(key)}"

    def _list(self, key: str, *, empty: bool = False) -> list[Json]:
        value = self.value(key)
        if not isinstance(value, list):
            self._mistyped(key, list)
            return []
        if not value and not empty:
            self.fault(key, "must not be empty")
        return value

    def _number(self, key: str, low: float | None, kind: type[int] | type[float]) -> float:
        value = self.value(key)
        if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
            self._mistyped(key, kind)
        elif abs(value) > 1e300:
            self.fault(key, "is too large")
        elif low is not None and value < low:
            self.fault(key, f"must be at least {low}, is {value}")
        else:
            return value
        return low or 0

    def _mistyped(self, key: str, kind: type) -> None:
        if key in self.data:
            self.fault(key, f"must be {_NAMES[kind]}, is {described(self.data[key])}")


Readers: TypeAlias = Mapping[str, Callable[[Fields, str], Any]]
"""How to read the keys of an object: each one's reader is given the object and the key."""


def child(path: str, key: str) -> str:
    """The JSON path of an object's key: ``a.b``, or ``a["b c"]`` where the key is not a plain name."""
    if _IDENTIFIER.fullmatch(key):
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(key, ensure_ascii=False)}]"


def described(value: Json) -> str:
    """A value for a message, not longer than a line."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def one_of(choices: tuple[object, ...]) -> str:
    """``"a", "b" or "c"``, for a message."""
    *rest, last = (repr(choice) for choice in choices)
    return f"{', '.join(rest)} or {last}" if rest else last


def no_constant(name: str) -> None:
    """Refuses NaN and infinities, which JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")
