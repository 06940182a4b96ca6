"""Which of the host's files a sandbox must not see although they lie in a folder that it shows."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from functools import cache
from glob import glob
from pathlib import Path

from deskgym.envs.machines.guest_runtime import PYTHON_INSIDE, find_interpreter
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder
from deskgym.envs.machines.sandbox.rootfs import HOST_LAYERS

_INSTALLED = (
    "/usr/lib/python3*/dist-packages", "/usr/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages", "/opt/*/lib/python3*/site-packages",
    "/opt/*/*/lib/python3*/site-packages", "/opt/*/envs/*/lib/python3*/site-packages",
)  # fmt: skip


def hidden_paths(more: Sequence[str | Path] = ()) -> list[str]:
    """Paths, as a sandbox would see them, to cover: every copy of deskgym that is in reach, and ``more``.

    deskgym has the evaluators and reference solutions of its tasks, so an agent could read there what is asked of it.

    Raises:
        ValueError: one of ``more`` is a folder that the sandbox is made of.
    """
    paths = set(_copies_of_deskgym())
    for path in more:
        real = os.path.realpath(path)
        if real in ("/", *(f"/{name}" for name in HOST_LAYERS)):
            raise ValueError(f"hide={str(path)!r}: a sandbox cannot do without {real}")
        paths.add(real)
    return sorted(inside for path in paths for inside in _seen_inside(path))


@cache
def _copies_of_deskgym() -> tuple[str, ...]:
    found = {str(cache_folder()), str(runtime_folder())}
    for name in ("deskgym", "deskgym.envs", "deskgym.task_suites"):
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        for folder in package.__path__:
            found.add(_root_of(Path(folder).resolve()))
    for pattern in _INSTALLED:
        found.update(os.path.realpath(path) for path in glob(f"{pattern}/deskgym"))
    return tuple(found)


def _root_of(folder: Path) -> str:
    """The installed package that a folder is in, or the checkout that it is the top-level folder of."""
    if folder.name == "deskgym" and not (folder / "pyproject.toml").exists():
        checkout = folder.parent
        return str(checkout if (checkout / "pyproject.toml").exists() else folder)
    return str(folder.parent)


def _seen_inside(path: str) -> list[str]:
    """Where a host path is to be seen in a sandbox: nowhere, or at one or two places."""
    seen = [path] if path.split("/")[1] in HOST_LAYERS else []
    prefix = find_interpreter().prefix
    if prefix and path.startswith(prefix + "/"):
        seen.append(PYTHON_INSIDE + path[len(prefix) :])
    return seen
