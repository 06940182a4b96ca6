"""YAML with places: plain data, and the line and column that each part of it came from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import KEY, Mistake, shown

MAX_BYTES = 1 << 17
"""Of a task file."""
MAX_PROBLEMS = 100
"""How many mistakes of a file are kept: a hostile one could have millions."""

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,300})\Z")
_FLOAT = re.compile(r"[+-]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][+-]?[0-9]+)?\Z")
_NOT_JSON = re.compile(r"[+-]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_YAML = "tag:yaml.org,2002:"
_TAGS = {"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value"}
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in a task file.

    Attributes:
        file: as it was given.
        line: from 1.
        column: from 1.
        message: what was got, and what is legal.
    """

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class TaskFileError(TaskError):
    """Task files have mistakes.

    Attributes:
        problems: all of them, in order of file and line.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[type[TaskFileError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # else it would be made anew of its text, where a worker raised it


@dataclass
class Document:
    """A YAML file as plain JSON-like data.

    Scalars are read as YAML 1.2 and JSON do: ``yes``, ``on``, ``1:30`` and dates are texts, ``010`` is a text too.

    Attributes:
        file: its name, for messages.
        data: None where the file could not be read.
        problems: what is wrong so far.
    """

    file: str
    data: Any = None
    problems: list[Problem] = field(default_factory=list)
    _places: dict[tuple[str | int, ...], tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Document:
        """Read a file; what is wrong with it is in ``problems``."""
        document = cls(str(path))
        try:
            raw = path.read_bytes()
            if len(raw) > MAX_BYTES:
                document._note((1, 1), f"the file has {len(raw)} bytes; legal are at most {MAX_BYTES}")
                return document
            text = raw.decode("utf-8-sig")
        except OSError as error:
            document._note((1, 1), f"cannot be read: {error.strerror or error}")
        except UnicodeDecodeError as error:
            document._note((raw[: error.start].count(b"\n") + 1, 1), f"not UTF-8: {error.reason}")
        else:
            document._parse(text)
        return document

    @classmethod
    def parse(cls, text: str, file: str = "<text>") -> Document:
        """Read a text."""
        document = cls(file)
        document._parse(text)
        return document

    def add(self, mistake: Mistake, *prefix: str | int) -> None:
        """Note a mistake in the data, at the nearest place that is in the file."""
        self._note(self.place((*prefix, *mistake.path)), mistake.message)

    def place(self, path: tuple[str | int, ...]) -> tuple[int, int]:
        """Line and column of a part, or of the smallest part around it."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, (1, 1))

    def _note(self, place: tuple[int, int], message: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.file, *place, message))

    def _parse(self, text: str) -> None:
        try:
            node = _composed(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            message = " ".join(filter(None, [error.context, error.problem]))
            if "\\t" in message:
                message += "; indent with blanks, never with tabs"
            self._note((mark.line + 1, mark.column + 1) if mark else (1, 1), f"not YAML: {message}")
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            self._note((1, 1), f"not YAML: {error}")
        else:
            if node is None:
                self._note((1, 1), "the file is empty")
            else:
                self.data = self._plain(node, (), set())

    def _plain(self, node: yaml.Node, path: tuple[str | int, ...], seen: set[int]) -> Any:
        place = (node.start_mark.line + 1, node.start_mark.column + 1)
        self._places[path] = place
        if id(node) in seen:
            self._note(place, "anchors and aliases are not legal here: write it out")
            return node.value if isinstance(node, yaml.ScalarNode) else None
        seen.add(id(node))
        if node.tag.removeprefix(_YAML) not in _TAGS:
            self._note(place, f"the tag {node.tag.replace(_YAML, '!!')!r} is not legal here; legal is JSON-like data")
            return node.value if isinstance(node, yaml.ScalarNode) else None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, seen)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(item, (*path, k), seen) for k, item in enumerate(node.value)]
        return self._scalar(node, place)

    def _mapping(self, node: yaml.MappingNode, path: tuple[str | int, ...], seen: set[int]) -> Any:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            key = self._scalar(key_node, place) if isinstance(key_node, yaml.ScalarNode) else key_node
            if not isinstance(key, str):
                got = key_node.value if isinstance(key_node, yaml.ScalarNode) else "a collection"
                self._note(place, f"a key is a text, got {shown(got)}; put it in quotes")
                key = str(got)
            if key in result:
                first = self._places[*path, key, KEY][0]
                self._note(place, f"duplicate key {key!r}; it is in line {first} already")
                continue
            self._places[*path, key, KEY] = place
            result[key] = self._plain(value_node, (*path, key), seen)
        return result

    def _scalar(self, node: yaml.Node, place: tuple[int, int]) -> Any:
        text = str(node.value)
        if getattr(node, "style", None):  # quoted or a block; libyaml has "" for a plain one
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text) and not re.match(r"[+-]?0[0-9]", text) and math.isfinite(float(text)):
            return float(text)
        if _NOT_JSON.match(text):
            self._note(place, f"{text} is not legal here; numbers are finite")
            return 0
        return text


def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text. libyaml is ten times as quick; what it does not take is left to the one that explains it."""
    if yaml.__with_libyaml__:
        with suppress(yaml.YAMLError):
            return yaml.compose(text, Loader=yaml.CSafeLoader)
    return yaml.compose(text, Loader=yaml.SafeLoader)
