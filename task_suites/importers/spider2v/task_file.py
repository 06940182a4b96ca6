"""A task file of Spider2-V, and the kinds of values that its parameters have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deskgym.task_suites.importers.json_files import Fields, Json, JsonFile, Readers, described

HOST_FOLDER = "evaluation_examples"
"""Paths of the host's files begin with this folder of upstream's repository."""

MADE_FILES = "cache"
"""Paths of files that upstream's runner makes while it runs a task begin with this folder."""


class TaskFile(JsonFile):
    """A task file, and the files of the copy that it names.

    Attributes:
        copy: the copy's folder ``evaluation_examples``.
        missing: files that it names and that the copy does not have, as the task file calls them.
    """

    def __init__(self, path: Path, name: str, copy: Path) -> None:
        super().__init__(path, name)
        self.copy, self._root = copy, copy.resolve()
        self.missing: list[str] = []

    def host_path(self, fields: Fields, key: str) -> Path | None:
        """The absolute path that a string stands for; None, with the mistake noted, where it leads out of the copy."""
        value = fields.text(key)
        if not value:
            return None
        parts = value.split("/")
        path = self.copy.joinpath(*parts[1:])
        if parts[0] != HOST_FOLDER or len(parts) == 1 or ".." in parts or "\0" in value:
            fields.fault(key, f"must be a path such as '{HOST_FOLDER}/examples/APP/ID/NAME', is {value!r:.120}")
            return None
        if not path.resolve().is_relative_to(self._root):
            fields.fault(key, f"leads out of the copy: {value!r:.120}")
            return None
        return path


def host_file(fields: Fields, key: str) -> Path | str:
    """A file of the copy, as an absolute path; one that is not there is noted in ``TaskFile.missing``.

    Addresses (``http…``) and files that upstream's runner makes (``cache/…``) stay strings. What describes the user's
    own account is in ``settings``, and in nobody's copy from the start: it is not noted.
    """
    value = fields.value(key)
    if isinstance(value, str) and value.startswith(("http://", "https://", f"{MADE_FILES}/")):
        return fields.text(key)
    file = _task_file(fields)
    path = file.host_path(fields, key)
    if path is not None and path.is_dir():
        fields.fault(key, f"is a folder, must be a file: {value!r:.120}")
    elif path is not None and not path.is_file() and not path.is_relative_to(file.copy / "settings"):
        file.missing.append(fields.text(key))
    return path or ""


def host_file_or_folder(fields: Fields, key: str) -> Path | str:
    """A file or a folder of the copy, read as ``host_file`` reads a file."""
    value = fields.value(key)
    path = _task_file(fields).host_path(fields, key) if isinstance(value, str) and "://" not in value else None
    return path if path is not None and path.is_dir() else host_file(fields, key)


def settings_file(fields: Fields, key: str) -> Path | str:
    """Where the user's own account is described, as an absolute path; nobody's copy has it from the start."""
    return _task_file(fields).host_path(fields, key) or ""


def any_text(fields: Fields, key: str) -> str:
    """A string, which may be empty."""
    return fields.text(key, empty=True)


def any_texts(fields: Fields, key: str) -> tuple[str, ...]:
    """A list of strings, which may be empty."""
    return fields.texts(key, empty=True)


def text_or_texts(fields: Fields, key: str) -> str | tuple[str, ...]:
    """A string or a list of strings."""
    return fields.texts(key) if isinstance(fields.data.get(key), list) else fields.text(key)


def path_or_paths(fields: Fields, key: str) -> str | tuple[str, ...]:
    """An absolute path inside the machine, or a list of them."""
    if not isinstance(fields.data.get(key), list):
        return fields.path_text(key)
    paths = fields.texts(key)
    for index, path in enumerate(paths):
        if not path.startswith("/") or ".." in path.split("/"):
            fields.file.fault(f"{fields.at(key)}[{index}]", f"must be an absolute path without '..', is {path!r:.80}")
    return paths


def port(fields: Fields, key: str) -> int:
    """A port of the network."""
    value = fields.integer(key, low=1)
    if value > 65535:
        fields.fault(key, f"must be at most 65535, is {value}")
    return value


def address(fields: Fields, key: str) -> str:
    """The address of a web page."""
    return fields.text(key, matching=r"https?://\S+")


def addresses(fields: Fields, key: str) -> tuple[str, ...]:
    """Addresses of web pages; the list may be empty."""
    found = fields.texts(key, empty=True)
    for index, item in enumerate(found):
        if not item.startswith(("http://", "https://")):
            fields.file.fault(f"{fields.at(key)}[{index}]", f"must begin with http:// or https://, is {item!r:.80}")
    return found


def naturals(fields: Fields, key: str) -> list[int]:
    """A list of whole numbers from 0, which may be empty."""
    value = fields.value(key)
    if not isinstance(value, list) or any(isinstance(item, bool) or not isinstance(item, int) for item in value):
        fields.fault(key, f"must be a list of whole numbers, is {described(value)}")
        return []
    return [item for item in value if isinstance(item, int)]


def any_object(fields: Fields, key: str) -> dict[str, Json]:
    """An object with any keys."""
    found = fields.object(key)
    return found.data


def nested(readers: Readers) -> Any:
    """A reader of an object with these keys."""

    def read(fields: Fields, key: str) -> dict[str, Any]:
        inner = fields.object(key)
        if not isinstance(fields.data.get(key), dict):
            return {}
        values = inner.read(readers)
        inner.finish()
        return values

    return read


def nested_list(readers: Readers) -> Any:
    """A reader of a list of objects with these keys."""

    def read(fields: Fields, key: str) -> tuple[dict[str, Any], ...]:
        found = []
        for inner in fields.objects(key):
            found.append(inner.read(readers))
            inner.finish()
        return tuple(found)

    return read


def _task_file(fields: Fields) -> TaskFile:
    if not isinstance(fields.file, TaskFile):
        raise TypeError(f"a host's file is named in {fields.file.name}, which is no task file")
    return fields.file
