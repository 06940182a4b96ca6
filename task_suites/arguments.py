"""What arguments mean together: which suite plays a task, and which of them do not go with each other."""

from __future__ import annotations

from deskgym.envs.errors import TaskError
from deskgym.task_suites import find_entry, load_suite
from deskgym.task_suites.core.gui_only import PREFIX
from deskgym.task_suites.suites import SuiteEntry


def suite_of(suite: str, task: str | None, source: str | None) -> str:
    """The suite that plays a task: another one than was asked for where that says so (``SuiteEntry.by_task``).

    Args:
        suite: a suite's name, or a folder of task files.
        task: an id or a glob over ids, or None for any.
        source: the published benchmark that it is from; those have their own way to their suite.

    Raises:
        TaskError: there is no such suite.
    """
    if task is None or source is not None:
        return suite
    return find_entry(suite).by_task.get(task.partition("/")[0], suite)


def check_mode(entry: SuiteEntry, source: str | None, mode: str) -> None:
    """Refuse a mode that would make no difference.

    Args:
        entry: of the suite that plays the tasks.
        source: the published benchmark that they are from, or None.
        mode: ``"corrected"`` or ``"paper"``.

    Raises:
        TaskError: only published benchmarks' tasks know the mode, and these are our own.
    """
    if source is None and mode != "corrected" and not entry.own_modes:
        raise TaskError(
            f"mode={mode!r} is for a published benchmark's tasks; give source (a command's --source), or leave mode out"
        )


def other_interface(suite: str, task: str, interface: str | None) -> TaskError | None:
    """What to say of a task that ``interface`` does not give; None where it is not because of that.

    Args:
        suite: a suite's name, or a folder of task files.
        task: the id of a task or of an instance.
        interface: as it was given.
    """
    if "interface" not in find_entry(suite).options:
        return None
    name = task.partition("#")[0]
    plain = name.removeprefix(PREFIX)
    if interface != "gui":
        if name == plain or name not in load_suite(suite, interface="gui").ids():
            return None
        return TaskError(f"task {name!r} needs interface='gui' (a command's --interface gui)")
    if plain not in load_suite(suite).ids() or {plain, PREFIX + plain} & {*load_suite(suite, interface="gui").ids()}:
        return None
    return TaskError(f"task {plain!r} has no variant without a command line; leave out interface='gui' to play it")
