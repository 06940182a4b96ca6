"""The extras of this package, such as ``deskgym[rl]``: what they ask for, and what of it is missing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata

from deskgym.envs.errors import DeskgymError

_OURS = ("test", "dev", "bench")
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([\w, .-]+)\])?\s*([^;]*?)\s*(?:;\s*(.*))?\Z")


class MissingLibrary(DeskgymError, ImportError):
    """A library of an extra of this package is not installed; the message has the command that adds it."""


def command_for(extra: str) -> str:
    """The command that adds an extra to this interpreter's packages."""
    return f"{sys.executable} -m pip install 'deskgym[{extra}]'"


@contextmanager
def needs_extra(extra: str, what: str) -> Iterator[None]:
    """For imports of what an extra brings: says how to get it where it is missing.

    Args:
        extra: such as ``"rl"``.
        what: what cannot be done without, as the beginning of a sentence: ``"datasets need"``.

    Raises:
        MissingLibrary: from within, for a ModuleNotFoundError of anything but ours.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "deskgym").startswith("deskgym"):
            raise
        raise MissingLibrary(f"{what} {error.name}, which is not installed: {command_for(extra)}") from error


def missing_extras() -> dict[str, list[str]]:
    """Extras of which something is not installed, with what that is; not those of developers."""
    names = [name for name in metadata.metadata("deskgym").get_all("Provides-Extra") or () if name not in _OURS]
    return {name: [distribution(text) for text in missing] for name in names if (missing := missing_of(name))}


def requirements(extra: str) -> list[str]:
    """What an extra of this package asks for, such as ``"pandas>=2.2"``; extras of its own that it names are unfolded.

    An installation from before that extra knows nothing of it; then it is [].
    """
    found = []
    for text in metadata.requires("deskgym") or ():
        name, extras, version, marker = _REQUIREMENT.match(text).groups()  # type: ignore[union-attr]
        if re.search(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]", marker or "") is None:
            continue
        if name == "deskgym":
            found += [one for inner in (extras or "").split(",") for one in requirements(inner.strip())]
        else:
            found.append(name + version)
    return found


def missing_of(extra: str) -> list[str]:
    """The requirements of an extra that are not installed for this interpreter."""
    return [text for text in requirements(extra) if not _is_installed(distribution(text))]


def distribution(requirement: str) -> str:
    """The name in a requirement such as ``"pandas>=2.2"``."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
