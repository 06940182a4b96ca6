"""Material for tasks about procedures: folders of demonstrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.demonstration import Demonstration, DemonstrationError, find_demonstrations
from deskgym.task_suites.procedures.material import Material, Workflow


def own_demonstrations(folder: Path) -> Material:
    """What a folder of demonstrations has, such as ``deskgym record`` writes.

    Raises:
        TaskError: it has none, or one cannot be read.
    """
    try:
        found = [read_demonstration(path) for path in find_demonstrations(folder)]
    except DemonstrationError as error:
        raise TaskError(str(error)) from None
    workflows = {
        each.name: Workflow(
            each.name,
            each.intent,
            _template(each).partition("/")[0],
            each.procedure,
            folder=each.folder,
            template=_template(each),
            params=_params(each.task),
        )
        for each in found
    }
    return Material(f"demonstrations in {folder}", workflows)


def packaged(folder: Path) -> Material:
    """Our own recordings, of the oracles of the suite ``bpm``."""
    return replace(own_demonstrations(folder), source="deskgym (Apache-2.0)")


def _params(task: Mapping[str, Any]) -> Mapping[str, Any]:
    found = task.get("instantiation_dict")
    return found if isinstance(found, dict) else {}


def _template(demonstration: Demonstration) -> str:
    """The task that was played, without its seed; it begins with the application."""
    return str(demonstration.task["task_id"]).partition("#")[0]


def read_demonstration(folder: Path) -> Demonstration:
    """A demonstration. Raises TaskError where it cannot be read."""
    try:
        return Demonstration.load(folder)
    except DemonstrationError as error:
        raise TaskError(str(error)) from None
