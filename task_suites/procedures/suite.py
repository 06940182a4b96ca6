"""Where an environment gets tasks about procedures: ours, of a published benchmark, or of your demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.demonstration import DemonstrationError
from deskgym.task_suites.core.suite import SeededTasks, matching
from deskgym.task_suites.core.verify.attacks import Attacks, Target
from deskgym.task_suites.core.verify.inputs import SCOPES, Parts, ProofInputs
from deskgym.task_suites.procedures.company import Company, live_suite
from deskgym.task_suites.procedures.kinds.executed import ExecutedImprovementTask, executed_ranking
from deskgym.task_suites.procedures.kinds.execution import ExecutionTask
from deskgym.task_suites.procedures.kinds.generation import GenerationTask, ImprovementTask
from deskgym.task_suites.procedures.kinds.questions import ChoiceTask, QuestionTask
from deskgym.task_suites.procedures.kinds.ranking import RankingTask
from deskgym.task_suites.procedures.kinds.segmentation import SegmentationTask
from deskgym.task_suites.procedures.kinds.validation import ASKED, ValidationTask
from deskgym.task_suites.procedures.material import Material
from deskgym.task_suites.procedures.recordings import own_demonstrations, packaged
from deskgym.task_suites.procedures.task import ProcedureTask
from deskgym.task_suites.suites import SuiteEntry

HERE = Path(__file__).parent
LIBRARIES = ("scikit-learn", "scipy")
SHOWN: Mapping[str, frozenset[str]] = {
    "all": frozenset({"intent", "frames", "actions"}),
    "intent": frozenset({"intent"}),
    "frames": frozenset({"intent", "frames"}),
    "actions": frozenset({"intent", "actions"}),
    "frames+procedure": frozenset({"intent", "frames", "procedure"}),
    "frames alone": frozenset({"frames"}),
}
"""What is shown of a workflow beside what a task cannot do without: the paper's ablations."""

Build = Callable[[int], ProcedureTask]
_EXECUTED: Mapping[str, Callable[..., ProcedureTask]] = {
    "sop_execution": ExecutionTask.of,
    "sop_improvement/executed": ExecutedImprovementTask.of,
    "ranking/executed": executed_ranking,
}
"""What is made of a recorded workflow of the live company."""

_BROKEN = (TaskError, DemonstrationError)


_NO_PART = ("deskgym.task_suites.suites:", "deskgym.task_suites.core.verify.")
"""What this suite imports and no proof depends on: the registry, and what plays the proofs."""


class ProcedureSuite(SeededTasks[ProcedureTask]):
    """All tasks that can be made of some material; implements ``deskgym.envs.episode.TaskSource``.

    Making one reads nothing. It is picklable.

    Args:
        read: gives the material of ``path``.
        path: the folder.
        mode: ``"paper"`` computes correlations and takes procedures apart as the published code does.
        shown: a name of ``SHOWN``.
        name: for messages.
        company: where procedures are carried out; None for nowhere.
    """

    def __init__(
        self,
        read: Callable[[Path], Material],
        path: str,
        mode: str = "corrected",
        shown: str = "all",
        name: str = "procedures",
        company: Company | None = None,
    ) -> None:
        self.read, self.path, self.name, self.company = read, Path(path).expanduser(), name, company
        self.paper, self.shown = mode == "paper", SHOWN[shown]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("material", "templates")}

    @cached_property
    def material(self) -> Material:
        """What the tasks are made of. Raises TaskError where the folder has nothing of the kind."""
        return self.read(self.path)

    @cached_property
    def templates(self) -> Mapping[str, Build]:
        """What builds each task of a seed, by id, sorted."""
        material, source, shown = self.material, self.material.source, self.shown
        found: dict[str, Build] = {
            f"ranking/{name}": partial(RankingTask.of, ranking, source=source, paper=self.paper)
            for name, ranking in material.rankings.items()
        }
        for question in material.questions:
            found[f"question_answering/{question.number}"] = _once(partial(QuestionTask.of, question, material))
        for workflow in material.workflows.values():
            if workflow.procedure is not None and workflow.is_right:
                for kind in (GenerationTask, ImprovementTask):
                    if kind is GenerationTask or workflow.draft is not None:
                        found[f"{kind.kind}/{workflow.key}"] = _once(
                            partial(kind.of, workflow, source, shown, self.paper)
                        )
        live = _live_workflows() if self.company else set()
        among = material.recorded
        for workflow in among:
            name = workflow.key
            if self.company and workflow.template in live:
                live.remove(workflow.template)  # a second recording of the same work asks for the same procedure
                for prefix, build in _EXECUTED.items():
                    given = partial(build, workflow, source=source, shown=shown, company=self.company)
                    found[f"{prefix}/{name}"] = given
            found[f"segmentation/{name}"] = partial(SegmentationTask.of, workflow, among, source=source, shown=shown)
            found[f"question_answering/action/{name}"] = partial(ChoiceTask.of, workflow, among, source=source)
            for asked in ASKED:
                found[f"validation/{asked}/{name}"] = partial(
                    ValidationTask.of, workflow, asked, source=source, shown=shown
                )
        return dict(sorted(found.items()))

    @property
    def splits(self) -> list[str]:
        """There are none."""
        return []

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> ProcedureTask:
        """See ``SeededTasks.draw``; where nothing that matches can be played, the error says why of the first one."""
        try:
            return super().draw(rng, pattern, split)
        except TaskError:
            for task_id in matching(self, pattern, split)[:1]:
                self.get(task_id)
            raise

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """What ``deskgym tasks`` shows of a task, and why it cannot be played where it cannot."""
        try:
            task = self.get(task_id)
        except _BROKEN as error:
            return {"supported": False, "reason": str(error), "reasons": [str(error)]}
        return {
            "supported": True, "reason": None, "reasons": [], "difficulty": task.difficulty, "oracle": True,
            "max_steps": task.max_steps, "instruction": task.instruction, "feasible": True, "tags": list(task.tags),
            "source": task.source, "pictures": len(task.pictures),
        }  # fmt: skip

    def attacks(self, task: ProcedureTask) -> Attacks:
        """What can be tried to earn a task's reward without an answer, by name."""
        from deskgym.task_suites.procedures.attacks import attacks_on

        return attacks_on(Target(task, self))

    def proof_inputs(self, task_id: str) -> ProofInputs:
        """What the proof of a task depends on: the recordings, and what plays and judges it."""
        data: dict[str, Any] = {"task": task_id, "recordings": self._digest(task_id.partition("#")[0])}
        template = task_id.partition("#")[0]
        task, parts = self.get(task_id), Parts()
        parts.of(type(task))
        parts.of(getattr(self.templates[template], "func", None))
        made = [task.instruction, task.evidence, dict(task.params)]
        inputs = ProofInputs(
            data, made, parts.roots_in(frozenset(SCOPES)), without=_NO_PART, libraries=LIBRARIES,
            programs=(template.partition("/")[0],),
        )  # fmt: skip
        if isinstance(task, ExecutionTask):
            live = live_suite().proof_inputs(task.template)
            data["workflow"] = live.data
            inputs = replace(
                inputs, made=[made, live.made], roots=(*inputs.roots, *live.roots), scopes=live.scopes,
                packages=live.packages, programs=(*inputs.programs, *live.programs),
            )  # fmt: skip
        return inputs

    def _digest(self, template: str) -> str:
        """Of the files that a task is made of: its site's recordings; the whole folder where it has none."""
        own = next((each for each in self.material.recorded if template.endswith(f"/{each.key}")), None)
        site = [each.folder for each in self.material.recorded if own is not None and each.site == own.site]
        return _digest_of(tuple(sorted(filter(None, site))) or (self.path,))

    def _is_in(self, task_id: str, split: str) -> bool:
        return False

    def _is_fixed(self, task_id: str) -> bool:
        return isinstance(self.templates[task_id], _once)

    def _drawn(self, task_id: str, seed: int, split: str | None) -> ProcedureTask | None:
        with suppress(*_BROKEN):
            return self._instance(task_id, seed)
        return None

    def _instance(self, task_id: str, seed: int) -> ProcedureTask:
        return self.templates[task_id](seed)


@lru_cache
def _digest_of(folders: Sequence[Path]) -> str:
    """Of all files in some folders."""
    digest = blake2b(digest_size=6)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(f"{path.relative_to(folder.parent)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _live_workflows() -> set[str]:
    """The workflows of the suite ``bpm`` whose author has written how they are done."""
    return {name for name, template in live_suite().templates.items() if template.file.verbose}


class _once:
    """Builds the only instance that there is."""

    def __init__(self, build: Callable[[], ProcedureTask]) -> None:
        self.build = build

    def __call__(self, seed: int) -> ProcedureTask:
        return self.build()


def suite(entry: SuiteEntry, mode: str, shown: str = "all") -> ProcedureSuite:
    """The tasks over our own recordings; what ``load_suite`` calls. Reads nothing yet."""
    return ProcedureSuite(packaged, str(HERE / "demonstrations"), mode, shown, entry.name, Company())


def demonstration_suite(source_path: str, mode: str, shown: str = "all") -> ProcedureSuite:
    """The tasks of a folder of demonstrations; what ``load_suite`` calls. Reads nothing yet."""
    return ProcedureSuite(own_demonstrations, source_path, mode, shown, "demonstrations", Company())
