"""Reads a recipe's YAML and checks every key, so that a mistake is one line and not a failed build of minutes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import yaml

from deskgym.envs.errors import near
from deskgym.envs.machines.image.recipe import (
    AGENT,
    AGENT_ID,
    HOST_ONLY,
    Recipe,
    RecipeFile,
    RecipeUser,
    default_kernel,
)
from deskgym.packages import groups as package_groups
from deskgym.packages import packages

KEYS = (
    "name", "suite", "mirror", "packages", "groups", "files", "users", "resolution", "services", "kernel", "disk_mb",
    "run",
)  # fmt: skip
FILE_KEYS = ("path", "text", "source", "mode", "owner")
USER_KEYS = ("name", "uid", "sudo")
SERVICE_KEYS = ("enable", "disable", "mask")

_NAME = re.compile(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)*")
_SUITE = re.compile(r"[a-z][a-z0-9.-]*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")  # Debian policy 5.6.1
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
_UNIT = re.compile(r"[A-Za-z0-9@_.:\\-]+\.(service|socket|timer|target|mount|path|slice)")
_MIRROR = re.compile(r"(https?|file|copy):/\S+")
_RESOLUTION = re.compile(r"(\d+)x(\d+)")


class RecipeError(ValueError):
    """Something in a recipe is wrong; the message starts with its file and key."""


def read_recipe(path: Path) -> Recipe:
    """The recipe of a YAML file.

    Raises:
        RecipeError: it cannot be read, or a key is unknown, missing or has a wrong value.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise RecipeError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    return _Reader(path).recipe(data)


class _Loader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key must be a word", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is there twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _Reader:
    """Checks one file's data; every method takes a key's place, such as ``files[2].mode``, for its errors."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def recipe(self, data: Any) -> Recipe:
        data = self.mapping("the recipe", data, KEYS)
        if "name" not in data:
            raise self.error("name", "is missing; it names the image")
        users = self.users(data.get("users", []))
        enable, disable, mask = self.services(data.get("services", {}))
        groups = self.strings("groups", data.get("groups", []))
        for number, group in enumerate(groups):
            if group not in (known := package_groups()):
                legal = f"legal are {', '.join(known)}{near(group, known)}"
                raise self.error(f"groups[{number}]", f"{group!r} is no group of packages; {legal}")
        named = self.named("packages", data.get("packages", []), _PACKAGE, "Debian package")
        return Recipe(
            name=self.matching("name", data["name"], _NAME, "a name: lower-case letters, digits, _ and -"),
            suite=self.matching("suite", data.get("suite", "bookworm"), _SUITE, "a Debian suite such as bookworm"),
            mirror=self.mirror(data.get("mirror")),
            packages=tuple(sorted({*named, *packages("core", *groups)} - (HOST_ONLY - {*named}))),
            files=self.files(data.get("files", []), {"root", *(user.name for user in users)}),
            users=users,
            resolution=self.resolution(data.get("resolution", "1280x720")),
            enable=enable,
            disable=disable,
            mask=mask,
            kernel=self.matching("kernel", data.get("kernel", default_kernel()), _PACKAGE, "a Debian kernel package"),
            disk_mb=self.whole("disk_mb", data.get("disk_mb", 4096), 512, 1 << 20),
            run=tuple(self.strings("run", data.get("run", []))),
        )

    def error(self, place: str, problem: str) -> RecipeError:
        return RecipeError(f"{self.path}: {place} {problem}")

    def mapping(self, place: str, value: Any, legal: Iterable[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(place, f"must be a mapping, got {_shown(value)}")
        for key in value:
            if key not in legal:
                raise self.error(place, f"has an unknown key {key!r}; legal are {', '.join(legal)}{near(key, legal)}")
        return value

    def items(self, place: str, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise self.error(place, f"must be a list, got {_shown(value)}")
        return value

    def string(self, place: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self.error(place, f"must be a text, got {_shown(value)}")
        return value

    def strings(self, place: str, value: Any) -> list[str]:
        return [self.string(f"{place}[{number}]", item) for number, item in enumerate(self.items(place, value))]

    def matching(self, place: str, value: Any, pattern: re.Pattern[str], what: str) -> str:
        text = self.string(place, value)
        if not pattern.fullmatch(text):
            raise self.error(place, f"must be {what}, got {text!r}")
        return text

    def named(self, place: str, value: Any, pattern: re.Pattern[str], what: str) -> list[str]:
        names = self.strings(place, value)
        for number, name in enumerate(names):
            if not pattern.fullmatch(name):
                raise self.error(f"{place}[{number}]", f"{name!r} is no name of a {what}")
            if name in names[:number]:
                raise self.error(f"{place}[{number}]", f"{name!r} is there twice")
        return names

    def whole(self, place: str, value: Any, low: int, high: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.error(place, f"must be a whole number from {low} to {high}, got {_shown(value)}")
        return value

    def mirror(self, value: Any) -> str | None:
        if value is None:
            return None
        return self.matching("mirror", value, _MIRROR, "the URL of a Debian mirror (http, https, file or copy)")

    def resolution(self, value: Any) -> tuple[int, int]:
        found = _RESOLUTION.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise self.error("resolution", f"must be WIDTHxHEIGHT such as 1280x720, got {_shown(value)}")
        width, height = int(found[1]), int(found[2])
        if not (320 <= width <= 7680 and 200 <= height <= 4320):
            raise self.error("resolution", f"must be from 320x200 to 7680x4320, got {value}")
        return width, height

    def users(self, value: Any) -> tuple[RecipeUser, ...]:
        users: list[RecipeUser] = []
        entries = self.items("users", value)
        for number, entry in enumerate(entries):
            place = f"users[{number}]"
            entry = self.mapping(place, entry, USER_KEYS)
            if "name" not in entry:
                raise self.error(place, "has no name")
            name = self.matching(f"{place}.name", entry["name"], _USER, "a user's name such as alice")
            uid = self.whole(f"{place}.uid", entry.get("uid", AGENT_ID + number), AGENT_ID, 59999)
            sudo = entry.get("sudo", False)
            if not isinstance(sudo, bool):
                raise self.error(f"{place}.sudo", f"must be true or false, got {_shown(sudo)}")
            if name == "root":
                raise self.error(f"{place}.name", "root is in every image")
            if (name == AGENT) != (uid == AGENT_ID):
                raise self.error(f"{place}.uid", f"is {uid}, but {AGENT_ID} is {AGENT!r}, whom the agent acts as")
            for other in users:
                if name == other.name or uid == other.uid:
                    raise self.error(place, f"{name!r}, uid {uid}, is a duplicate of {other.name!r}, uid {other.uid}")
            users.append(RecipeUser(name, uid, sudo))
        if all(user.name != AGENT for user in users):
            users.insert(0, RecipeUser(AGENT, AGENT_ID))
        return tuple(users)

    def services(self, value: Any) -> tuple[tuple[str, ...], ...]:
        value = self.mapping("services", value, SERVICE_KEYS)
        lists = [self.named(f"services.{key}", value.get(key, []), _UNIT, "systemd unit") for key in SERVICE_KEYS]
        for index, key in enumerate(SERVICE_KEYS):
            for other_index, other in enumerate(SERVICE_KEYS[:index]):
                if both := set(lists[index]) & set(lists[other_index]):
                    raise self.error(f"services.{key}", f"has {min(both)!r}, which services.{other} has too")
        return tuple(tuple(names) for names in lists)

    def files(self, value: Any, users: set[str]) -> tuple[RecipeFile, ...]:
        files: list[RecipeFile] = []
        for number, entry in enumerate(self.items("files", value)):
            file = self.file(f"files[{number}]", self.mapping(f"files[{number}]", entry, FILE_KEYS), users)
            if any(file.path == other.path for other in files):
                raise self.error(f"files[{number}].path", f"{file.path!r} is there twice")
            files.append(file)
        return tuple(files)

    def file(self, place: str, entry: dict[str, Any], users: set[str]) -> RecipeFile:
        if "path" not in entry:
            raise self.error(place, "has no path")
        path = self.string(f"{place}.path", entry["path"])
        if not path.startswith("/") or path != posixpath.normpath(path) or path.startswith("//") or path == "/":
            raise self.error(f"{place}.path", f"must be an absolute path without . or .., got {path!r}")
        if ("text" in entry) == ("source" in entry):
            raise self.error(place, "must have either text or source")
        home = next((user for user in users - {"root"} if path.startswith(f"/home/{user}/")), "root")
        owner = self.string(f"{place}.owner", entry.get("owner", home))
        if owner not in users:
            legal = f"legal are {', '.join(sorted(users))}{near(owner, users)}"
            raise self.error(f"{place}.owner", f"{owner!r} is no user of this recipe; {legal}")
        if "text" in entry:
            if not isinstance(entry["text"], str):
                raise self.error(f"{place}.text", f"must be a text, got {_shown(entry['text'])}")
            content, mode = entry["text"].encode(), 0o644
        else:
            content, mode = self.source(f"{place}.source", entry["source"])
        if "mode" in entry:
            mode = self.mode(f"{place}.mode", entry["mode"])
        return RecipeFile(path, content, mode, owner)

    def source(self, place: str, value: Any) -> tuple[bytes, int]:
        source = self.path.parent / Path(self.string(place, value)).expanduser()
        try:
            return source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644
        except OSError as error:
            try:
                beside = [path.name for path in source.parent.iterdir()]
            except OSError:
                beside = []
            raise self.error(place, f"{source} cannot be read: {error.strerror}{near(source.name, beside)}") from None

    def mode(self, place: str, value: Any) -> int:
        if not isinstance(value, str) or not re.fullmatch(r"[0-7]{3,4}", value):
            raise self.error(place, f'must be octal digits in quotes, such as "0644", got {_shown(value)}')
        return int(value, 8)


def _shown(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"
