"""Task suites: tasks, their setup hooks, checks and oracles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import TaskError, near
from deskgym.envs.options import checked
from deskgym.task_suites import suites
from deskgym.task_suites.suites import SuiteEntry

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.suite import TaskSuite

HERE = Path(__file__).parent
SUITES = tuple(entry.name for entry in suites.ENTRIES)
"""The suites, by the names that the command line uses."""

SOURCES = tuple(dict.fromkeys(source for entry in suites.ENTRIES for source in entry.importers))
"""The published benchmarks whose task files can be loaded from a folder of the user's."""

MODES = ("corrected", "paper")


def find_entry(name: str, source: str | None = None) -> SuiteEntry:
    """What the registry says of a suite, or of a folder of task files of the user's own.

    Where another suite plays the tasks of a published benchmark, ``source`` gives that one.

    A folder is like the suite that one of its files names under ``suite``, or whose task files have the same keys. It
    may use all programs, those in its own folder ``programs`` too.

    Raises:
        TaskError: no such suite; or there is no task file in the folder, or no file that can be read as one.
    """
    for entry in suites.ENTRIES:
        if entry.name == name:
            other = entry.by_source.get(source or "")
            return find_entry(other) if other else entry
    if not os.path.isdir(name):
        legal = [entry.name for entry in suites.ENTRIES]
        raise TaskError(
            f"unknown suite {name!r}; legal are {', '.join(legal)}, or a folder of task files{near(name, legal)}"
        )
    from deskgym.task_suites.core.discovery import program_names
    from deskgym.task_suites.core.schema_yaml import Document, TaskFileError

    documents = [Document.read(path) for path in sorted(Path(name).rglob("*.y*ml"))]
    found = [document.data for document in documents if isinstance(document.data, dict)]
    for all_keys in (True, False):  # a file that lacks a key has a mistake, which its loader names
        for data in found:
            for entry in suites.ENTRIES:
                if _is_for(data, entry, all_keys):
                    programs = tuple(program_names([f"{name}/programs"]))
                    return replace(entry, name=name, folders=(os.path.abspath(name),), programs=programs)
    if problems := [problem for document in documents for problem in document.problems]:
        raise TaskFileError(problems)
    keys = " or ".join(", ".join(entry.file_keys) for entry in suites.ENTRIES if entry.file_keys)
    raise TaskError(
        f"{name}: there is no task file in this folder: a YAML file that has the keys {keys}, or names a suite: "
        f"{', '.join(SUITES)}"
    )


def _is_for(data: dict[str, Any], entry: SuiteEntry, all_keys: bool) -> bool:
    """Whether a file is for this suite: it names it, or names none and has all of its keys, or one of them."""
    if "suite" in data:
        return bool(data["suite"] == entry.name)
    has = [key in data for key in entry.file_keys]
    return any(has) and (all(has) or not all_keys)


@checked
def load_suite(
    name: str,
    *,
    source: str | None = None,
    source_path: str | os.PathLike[str] | None = None,
    mode: str = "corrected",
    **options: str | None,
) -> TaskSource:
    """The suite of that name, of our own tasks or of a published benchmark's.

    Args:
        name: one of ``SUITES``, or a folder of task files or of dialogues of your own (they may name what all our
            suites have).
        source: one of ``SOURCES``, or None for our own tasks.
        source_path: the folder with the benchmark's task files.
        mode: ``"corrected"`` mends known-bad reference solutions and says so in the verdict; ``"paper"`` keeps them.
        options: of the suite or of the source, such as ``instruction="verbose"``, or ``episode="dialogue"`` for table
            analysis; None leaves one out.

    Raises:
        TaskError: no such suite, source or option, or the suite has no tasks yet.
    """
    entry = find_entry(name, source)
    if mode not in MODES:
        raise TaskError(f"mode={mode!r}; legal are 'corrected' and 'paper'")
    legal = entry.options if source is None else entry.importer_options.get(source, {})
    given = _legal_options(entry, source, legal, options)
    if source is not None:
        return _imported(entry, source, source_path, mode, given)
    if source_path is not None:
        raise TaskError(f"source_path={source_path!r} needs source, one of {', '.join(SOURCES)}")
    return import_place(entry.load)(entry, mode=mode, **given)  # type: ignore[no-any-return]


def load_task_files(
    entry: SuiteEntry,
    mode: str,
    instruction: str = "abstract",
    interface: str = "any",
    kind: type[TaskSuite] | None = None,
) -> TaskSuite:
    """The tasks of a suite's task files: the registry's ``load`` for most suites. ``mode`` makes no difference.

    Args:
        entry: of the suite.
        mode: of published benchmarks.
        instruction: ``"verbose"`` adds a task's ``verbose`` steps to its instruction.
        interface: ``"gui"`` closes the command lines of programs; those tasks' ids begin with ``gui/``.
        kind: class of the suite; TaskSuite if left out.

    Raises:
        TaskError: the suite has no task files yet.
    """
    from deskgym.task_suites.core.suite import TaskSuite

    folders = [HERE / folder for folder in entry.task_folders]
    if not any(path for folder in folders for path in folder.rglob("*.y*ml")):
        built = [other.name for other in suites.ENTRIES if any((HERE / f).is_dir() for f in other.task_folders)]
        raise TaskError(f"suite {entry.name!r} has no tasks yet; built so far: {', '.join(built)}")
    own = [str(folder / "programs") for folder in folders]
    return (kind or TaskSuite)(
        entry.name,
        folders,
        programs=entry.programs,
        program_folders=own,
        verbose=instruction == "verbose",
        gui_only=interface == "gui",
    )


def import_place(place: str) -> Any:
    """What ``"module:name"`` stands for."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _imported(
    entry: SuiteEntry, source: str, source_path: str | os.PathLike[str] | None, mode: str, options: dict[str, str]
) -> TaskSource:
    if source not in SOURCES:
        raise TaskError(f"unknown source {source!r}; legal are {', '.join(SOURCES)}{near(source, SOURCES)}")
    if not entry.importers.get(source):
        built = ", ".join(
            f"{it} ({other.name})" for other in suites.ENTRIES for it, place in other.importers.items() if place
        )
        raise TaskError(f"suite {entry.name!r} cannot load {source!r} yet; built so far: {built}")
    if source_path is None:
        raise TaskError(f"source={source!r} needs source_path (a command's --path), the folder of your copy of it")
    return import_place(entry.importers[source])(os.fspath(source_path), mode, **options)  # type: ignore[no-any-return]


def option_names() -> dict[str, tuple[str, ...]]:
    """The options that suites and sources take: name → the legal values."""
    return {name: legal for _, options in _all_options() for name, legal in options.items()}


def option_owners(name: str) -> list[str]:
    """Who takes an option: suites, and sources as ``"source='spider2v'"``."""
    return [owner for owner, options in _all_options() if name in options]


def _all_options() -> Iterator[tuple[str, suites.Options]]:
    for entry in suites.ENTRIES:
        yield entry.name, entry.options
        yield from ((f"source={source!r}", options) for source, options in entry.importer_options.items())


def _legal_options(
    entry: SuiteEntry, source: str | None, legal: suites.Options, options: dict[str, str | None]
) -> dict[str, str]:
    """The options that are given. A source need not take those of the suite's own tasks: their defaults are legal."""
    given: dict[str, str] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name in legal:
            if value not in legal[name]:
                raise TaskError(f"{name}={value!r}; legal are {' and '.join(map(repr, legal[name]))}")
            given[name] = value
        elif name not in option_names():
            raise TaskError(f"unknown option {name}={value!r}; legal are {', '.join(option_names())}")
        elif name not in entry.options:
            has = repr(source) if source else repr(entry.name)
            raise TaskError(f"{name}={value!r} is for {', '.join(option_owners(name))}; {has} has none")
        elif value != entry.options[name][0]:
            raise TaskError(f"{name}={value!r} is for our own tasks; {source!r} has {entry.options[name][0]!r} only")
    return given
