"""Finds programs: in the package's own folder, by entry point, or in a folder of the user's."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
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
_MAKES_ONE = re.compile(rb"^PROGRAM\b[^=\n]*=", re.MULTILINE)


def program_names(folders: Sequence[str | Path] = ()) -> list[str]:
    """The names of all programs, sorted; imports none of them.

    Args:
        folders: where else to look, each with one folder for each program.
    """
    names = {path.name for folder in _folders(folders) for path in _program_folders(Path(folder))}
    return sorted(names | {entry.name for entry in entry_points(group=ENTRY_POINTS)})


def load_program(name: str, folders: Sequence[str | Path] = ()) -> Program:
    """The program of that name; a second call gives the same object.

    Args:
        name: its folder's name, or its entry point's.
        folders: where to look beside the package's own folder and ``DESKGYM_PROGRAMS``.

    Raises:
        TaskError: there is no such program, or what was found is none, or two folders have one of this name.
    """
    return _load(name, _folders(folders))


@cache
def _load(name: str, folders: tuple[str, ...]) -> Program:
    """Look a program up once: a task's draw asks for its programs some twenty times."""
    found = [folder / name for folder in map(Path, dict.fromkeys(folders)) if folder / name in _program_folders(folder)]
    if len(found) > 1:
        raise TaskError(f"two programs are named {name!r}: {found[0]} and {found[1]}; give yours another name")
    if found:
        return _from_folder(found[0])
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return _legal(entry.load(), name, f"the entry point {entry.value!r}")
    raise TaskError(unknown("program", name, program_names(folders)))


@cache
def _from_folder(folder: Path) -> Program:
    if folder.parent == HERE:
        module = import_module(f"{PACKAGE}.{folder.name}")
    else:
        module = _import_file(f"deskgym_program_{folder.name}", folder / "__init__.py")
    return _legal(module, folder.name, str(folder))


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


def _folders(more: Sequence[str | Path]) -> tuple[str, ...]:
    given = [part for part in os.environ.get(FOLDERS, "").split(os.pathsep) if part]
    return (str(HERE), *map(os.path.abspath, (*more, *given)))


def _program_folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [file.parent for file in folder.glob("*/__init__.py") if _MAKES_ONE.search(file.read_bytes())]
