"""ScienceBoard's tasks, from the user's own copy of the benchmark, as a source for environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from deskgym.task_suites.core.task import Task
from deskgym.task_suites.core.verify.attacks import Attacks, Target, desktop_attacks
from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.json_files import Problem
from deskgym.task_suites.importers.published import PublishedTasks
from deskgym.task_suites.importers.scienceboard.oracles import scripts
from deskgym.task_suites.importers.scienceboard.tasks import SOURCE, convert, difficulty, reasons


def suite(source_path: str, mode: str) -> ScienceBoardTasks:
    """The tasks of a copy of ScienceBoard; what ``load_suite`` calls.

    Raises:
        TaskError: the folder is no copy of ScienceBoard.
    """
    return ScienceBoardTasks(source_path, mode)


def raw_suite(source_path: str, mode: str) -> ScienceBoardTasks:
    """Its Raw tasks, which are text.

    Raises:
        TaskError: the folder is no copy of ScienceBoard.
    """
    return ScienceBoardTasks(source_path, mode, text=True)


class ScienceBoardTasks(PublishedTasks[scienceboard.Collection, scienceboard.UpstreamTask, Task]):
    """All tasks of a copy of ScienceBoard.

    Args:
        source_path: ScienceBoard's repository, or its ``tasks`` folder.
        mode: ``"corrected"`` or ``"paper"``, see ``deskgym.task_suites.load_suite``.
        text: those of the Raw split, which need no desktop; the others can be played on a desktop only.

    Raises:
        TaskError: the folder is no copy of ScienceBoard.
    """

    benchmark = "ScienceBoard"

    def __init__(self, source_path: str, mode: str = "corrected", text: bool = False) -> None:
        super().__init__(source_path)
        self.mode, self.text = cast(scienceboard.Mode, mode), text
        scienceboard.tasks_folder(self.path)

    def attacks(self, task: Task) -> Attacks:
        """What can be tried to earn a task's reward without solving it, by name."""
        return desktop_attacks(Target(task, self))

    def _load(self) -> scienceboard.Collection:
        return scienceboard.load(self.path, mode=self.mode)

    def _records(self) -> Sequence[scienceboard.UpstreamTask]:
        return [task for task in self.collection.tasks if task.sort == "Raw"] if self.text else self.collection.tasks

    def _broken_id(self, problem: Problem) -> str | None:
        if self.text and not problem.file.startswith("Raw/"):
            return None
        return problem.file.removesuffix(".json").removeprefix("VM/")

    def _reasons(self, record: scienceboard.UpstreamTask) -> list[str]:
        if record.sort == "Raw" and not self.text:
            return ["it is text: play it with action='tactic', or in the suite proving"]
        if record.sort != "Raw" and self.text:
            return ["it needs a desktop: play it in the suite science, without action='tactic'"]
        return reasons(record)

    def _convert(self, record: scienceboard.UpstreamTask) -> Task:
        return convert(record, self.mode)

    def _about(self, record: scienceboard.UpstreamTask) -> Mapping[str, Any]:
        return {
            "difficulty": difficulty(record),
            "max_steps": record.steps,
            "instruction": record.instruction,
            "feasible": record.stop is None or record.stop.primitive != "FAIL",
            "oracle": (record.type == "KAlgebra" or not reasons(record)) and scripts(record).oracle is not None,
            "source": SOURCE,
            "notes": list(record.notes),
        }
