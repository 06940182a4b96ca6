"""Python libraries for the code that runs in machines: a read-only folder with copies of the host's, and nothing else.

A machine does not see the host's site-packages, which may hold this package with its evaluators and reference
solutions. The folder is built once per set of versions, and kept in the cache; its files are links to the host's own
where that is possible.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.extras import command_for, needs_extra
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.sandbox.host import cache_folder

FORMAT = 1
INSIDE = "/opt/deskgym/libraries"
UNUSED = 30 * 24 * 3600.0
"""Seconds after which a folder that no machine was started with counts as forgotten."""

_OUR_OWN = ("deskgym",)


@cache
def build_libraries(names: tuple[str, ...]) -> Path:
    """Find the folder with these distributions and all that they need in the cache, or build it.

    Args:
        names: of distributions that are installed for this interpreter, such as ``("pandas", "matplotlib")``.

    Raises:
        MachineError: one of them is not installed.
    """
    found = _with_requirements(names)
    digest = hashlib.sha256(f"{FORMAT} {sys.version}".encode())
    for dist in found:
        digest.update(f"{dist.metadata['Name']} {dist.version} {dist.locate_file('')}\n".encode())
    folder = cache_folder() / f"libraries-{digest.hexdigest()[:16]}"
    return build_once(folder, lambda building: _build(building, found), unused=UNUSED)


def _with_requirements(names: Sequence[str]) -> list[metadata.Distribution]:
    """The distributions and what they require here, without extras, sorted by name."""
    with needs_extra("tables", "libraries for machines need"):
        from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, metadata.Distribution] = {}
    waiting = [(name, "") for name in names]
    missing = []
    while waiting:
        name, wanted_by = waiting.pop()
        key = canonicalize_name(name)
        if key in found or key in _OUR_OWN:
            continue
        try:
            found[key] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            missing.append(name + wanted_by)
            continue
        for text in found[key].requires or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append((needed.name, f" (for {name})"))
    if missing:
        raise MachineError(
            f"libraries for machines are not installed: {', '.join(missing)}; those of table analysis are by "
            f"`{command_for('tables')}`",
            kind="not_installed",
        )
    return [found[key] for key in sorted(found)]


def _build(building: Path, distributions: Sequence[metadata.Distribution]) -> None:
    for distribution in distributions:
        for file in distribution.files or ():
            if file.parts[0] == ".." or file.is_absolute() or file.parts[0] == "__pycache__":
                continue
            source = Path(str(distribution.locate_file(file)))
            if source.is_file() and not source.name.endswith(".pth"):
                _link(source, building.joinpath(*file.parts))
    for path in (building, *building.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def _link(source: Path, target: Path) -> None:
    """Make ``target`` the same file, or a copy that everybody may read."""
    target.parent.mkdir(parents=True, exist_ok=True)
    readable = source.stat().st_mode & 0o444 == 0o444
    if readable:
        try:
            os.link(source, target)
            return
        except OSError:
            pass  # another file system, or not allowed
    shutil.copy2(source, target)
    target.chmod(target.stat().st_mode | 0o444)
