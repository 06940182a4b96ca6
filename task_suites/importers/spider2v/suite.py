"""Spider2-V's tasks, from the user's own copy of the benchmark, as a source for environments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

from deskgym.envs.errors import TaskError, near
from deskgym.task_suites.core.task import Task
from deskgym.task_suites.core.verify.attacks import Attacks, Target, desktop_attacks
from deskgym.task_suites.core.verify.inputs import ProofInputs, inputs_of_task
from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.json_files import Problem, one_of
from deskgym.task_suites.importers.published import PublishedTasks
from deskgym.task_suites.importers.spider2v import apps
from deskgym.task_suites.importers.spider2v.collection import LISTS
from deskgym.task_suites.importers.spider2v.schema import ACCOUNT, CATEGORIES, INTERFACES
from deskgym.task_suites.importers.spider2v.tasks import SOURCE, convert, difficulty, has_oracle, max_steps, reasons


def suite(
    source_path: str, mode: str, instruction: str | None = None, context_format: str | None = None
) -> Spider2VTasks:
    """The tasks of a copy of Spider2-V; what ``load_suite`` calls.

    Raises:
        TaskError: the folder is no copy of Spider2-V.
    """
    return Spider2VTasks(source_path, mode, instruction, context_format or "txt")


@dataclass(frozen=True)
class DocumentedTask(Task):
    """A task with documents about it.

    Attributes:
        context: their text.
    """

    context: str = ""


class Spider2VTasks(PublishedTasks[spider2v.Collection, spider2v.UpstreamTask, Task]):
    """All tasks of a copy of Spider2-V. Their splits are upstream's list files, such as ``"test_non_account"``.

    Args:
        source_path: Spider2-V's repository, or its folder ``evaluation_examples``.
        mode: ``"corrected"`` or ``"paper"``, see ``deskgym.task_suites.load_suite``.
        instruction: ``"abstract"`` or ``"verbose"``: the task's, or its twin's; None is that of the task's own file.
        context_format: the form of the documents of the observation ``context``: ``"txt"``, ``"md"`` or ``"html"``.

    Raises:
        TaskError: the folder is no copy of Spider2-V.
    """

    benchmark = "Spider2-V"

    def __init__(
        self, source_path: str, mode: str = "corrected", instruction: str | None = None, context_format: str = "txt"
    ) -> None:
        super().__init__(source_path)
        self.mode = cast(spider2v.Mode, mode)
        self.instruction = cast("spider2v.Variant | None", instruction)
        self.context_format = context_format
        spider2v.copy_folder(self.path)

    def attacks(self, task: Task) -> Attacks:
        """What can be tried to earn a task's reward without solving it, by name."""
        return desktop_attacks(Target(task, self))

    def proof_inputs(self, task_id: str) -> ProofInputs:
        """What the proof of a task depends on: its files, and the code of its app and of the app's programs."""
        record = self.collection[task_id]
        app = apps.find_app(record.app)
        if app is None or self._reasons(record):
            raise TaskError(f"task {task_id!r} cannot run here: {'; '.join(self._reasons(record))}")
        task = convert(record, self.mode, self._told(record))  # without its documents, which decide nothing
        data = json.loads(record.file.read_text(encoding="utf-8"))
        return inputs_of_task(task, data, (f"{apps.__name__}.{record.app}",), (f"spider2v {record.app}",))

    def _load(self) -> spider2v.Collection:
        return spider2v.load(self.path, mode=self.mode)

    def _records(self) -> Sequence[spider2v.UpstreamTask]:
        return self.collection.tasks

    def _in_split(self, split: str | None) -> Sequence[spider2v.UpstreamTask]:
        if split is None:
            return self._records()
        lists = self.collection.lists
        if split not in lists:
            legal = one_of(tuple(lists)) if lists else f"none: this copy has none of {one_of(LISTS)} as .json"
            raise TaskError(f"split={split!r} is none of Spider2-V's lists; legal are {legal}{near(split, lists)}")
        return [self.collection[task_id] for task_id in lists[split] if task_id in self.collection]

    def _broken_id(self, problem: Problem) -> str | None:
        return problem.file.rpartition("/")[0] or None

    def _reasons(self, record: spider2v.UpstreamTask) -> list[str]:
        return reasons(record)

    def _convert(self, record: spider2v.UpstreamTask) -> Task:
        return self._documented(convert(record, self.mode, self._told(record)), record)

    def _documented(self, task: Task, record: spider2v.UpstreamTask) -> DocumentedTask:
        """The task with the documents that upstream retrieved for it."""
        file = record.contexts.get(self.context_format)
        text = file.read_text(encoding="utf-8", errors="replace").strip() if file is not None else ""
        return DocumentedTask(**{each.name: getattr(task, each.name) for each in fields(task)}, context=text)

    def _told(self, record: spider2v.UpstreamTask) -> str:
        variant = self.instruction
        return record.instruction if variant is None else self.collection.instruction(record, variant)

    def _about(self, record: spider2v.UpstreamTask) -> Mapping[str, Any]:
        return {
            "difficulty": difficulty(record),
            "max_steps": max_steps(record, self.mode),
            "oracle": has_oracle(record, self.mode),
            "instruction": self._told(record),
            "feasible": not record.infeasible,
            "source": SOURCE,
            "tags": list(record.tags),
            "notes": list(record.notes),
            "app": record.app,
            "category": [tag for tag in record.tags if tag in CATEGORIES],
            "interface": [tag for tag in record.tags if tag in INTERFACES],
            "variant": record.variant,
            "action_number": record.action_number,
            "account": ACCOUNT in record.tags,
            "lists": list(record.lists),
        }
