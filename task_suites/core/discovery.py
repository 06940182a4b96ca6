"""Finds programs: in the package's own folder, by entry point, or in a folder of the user's."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.task_suites.core.program import Program

PACKAGE = "deskgym.task_suites.programs"
HERE = Path(__file__).parent.parent / "programs"
ENTRY_POINTS = "deskgym.programs"
"""The group of entry points by which a user's own package offers programs."""
FOLDERS = "DESKGYM_PROGRAMS"
"""The environment variable with folders of programs, with colons between them."""
_PROGRAM = re.compile(rb"^PROGRAM\b[^=\n]*=", re.MULTILINE)
_loaded: dict[Path, Program] = {}  # by folder


def program_names(folders: Sequence[str | Path] = ()) -> list[str]:
    """The names of all programs, sorted; imports none of them.

    Args:
        folders: where else to look, each with one folder for each program.
    """
    names = {path.name for folder in (HERE, *_folders(folders)) for path in _program_folders(folder)}
    return sorted(names | {entry.name for entry in entry_points(group=ENTRY_POINTS)})


def load_program(name: str, folders: Sequence[str | Path] = ()) -> Program:
    """The program of that name; a second call gives the same object.

    Args:
        name: its folder's name, or its entry point's.
        folders: where to look beside the package's own folder and ``DESKGYM_PROGRAMS``.

    Raises:
        TaskError: there is no such program, or what was found is none.
    """
    for place in (HERE, *_folders(folders)):
        folder = place / name
        if folder in _loaded or (folder.parent == place and _makes_one(folder)):
            return _from_folder(folder)
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return _legal(entry.load(), name, f"the entry point {entry.value!r}")
    raise TaskError(unknown("program", name, program_names(folders)))


def _from_folder(folder: Path) -> Program:
    if folder not in _loaded:
        if folder.parent == HERE:
            module = import_module(f"{PACKAGE}.{folder.name}")
        else:
            module = _import_file(f"deskgym_program_{folder.name}", folder / "__init__.py")
        _loaded[folder] = _legal(module, folder.name, str(folder))
    return _loaded[folder]


def _import_file(name: str, file: Path) -> ModuleType:
    """Import a package that lies anywhere; relative imports work in it."""
    known = sys.modules.get(name)
    if known is not None and known.__file__ == str(file):
        return known
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    assert spec is not None and spec.loader is not None  # it is a Python file
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _legal(found: object, name: str, place: str) -> Program:
    program = getattr(found, "PROGRAM", found)
    if not isinstance(program, Program):
        raise TaskError(f"{place} has no PROGRAM = Program(...); see docs/programs.md")
    if program.name != name:
        raise TaskError(
            f"{place}: the program is named {program.name!r}; legal is {name!r}, as its folder or entry point"
        )
    return program


def _folders(more: Sequence[str | Path]) -> list[Path]:
    given = [part for part in os.environ.get(FOLDERS, "").split(os.pathsep) if part]
    return [Path(folder).absolute() for folder in (*more, *given)]


def _program_folders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if _makes_one(path)] if folder.is_dir() else []


def _makes_one(folder: Path) -> bool:
    file = folder / "__init__.py"
    return file.is_file() and _PROGRAM.search(file.read_bytes()) is not None
