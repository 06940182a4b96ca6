"""Checks what table analysis needs of Python: the libraries that kernels load, and the packages with real tables."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from deskgym.envs.errors import MachineError

if TYPE_CHECKING:
    from deskgym.envs.machines.doctor.doctor import CheckUp

EXTRA = "tables"
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([\w, .-]+)\])?\s*([^;]*?)\s*(?:;\s*(.*))?\Z")


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


def missing_tables() -> list[str]:
    """Requirements of table analysis that are not installed for this interpreter."""
    from deskgym.envs.analysis_env import LIBRARIES

    return [text for text in requirements(EXTRA) or LIBRARIES if not _is_installed(_name(text))]


def check() -> Iterator[CheckUp]:
    """Whether there is all that table analysis needs of Python; without it the other suites work."""
    from deskgym.envs.analysis_env import LIBRARIES
    from deskgym.envs.machines.doctor.doctor import CheckUp
    from deskgym.envs.machines.libraries import build_libraries

    name = "table analysis"
    if missing := missing_tables():
        fix = shlex.join([sys.executable, "-m", "pip", "install", *missing])
        yield CheckUp(name, "warn", f"missing: {', '.join(map(_name, missing))}", fix)
        return
    try:
        folder = build_libraries(LIBRARIES)
    except (MachineError, OSError) as error:
        yield CheckUp(name, "warn", str(error), shlex.join([sys.executable, "-m", "pip", "install", *LIBRARIES]))
        return
    yield CheckUp(name, "ok", f"{', '.join(LIBRARIES)} for kernels in {folder}")


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
