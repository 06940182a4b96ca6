"""Generation and improvement: write the procedure of a recorded workflow, or a better one than is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.metrics import StepScores, once_each, step_scores
from deskgym.task_suites.bpm.procedure_text import published_steps_of, steps_of
from deskgym.task_suites.procedures.judges import Judge, LexicalJudge
from deskgym.task_suites.procedures.material import Workflow
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable, numbered

_ASK = """\
Write the procedure by which somebody who has never seen the application does this: {intent}
Number its steps 1, 2, 3, ...; each is one action on one element, which it names and says how to find."""
_IMPROVE = """\
Below is a procedure for this: {intent}
Write a better one: right, complete, and clear to somebody who has never seen the application. Number its steps 1, 2, \
3, ...; each is one action on one element, which it names and says how to find."""
_GUESSES = (
    "Click on the first link.",
    "Type the name into the field.",
    "Click on Save.",
    "Choose an option of the list.",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class GenerationTask(ProcedureTask):
    """A procedure to be written; the reward is the F1 of its steps, as far as they are in the right order.

    Attributes:
        gold: the right procedure.
        paper: take texts apart into steps, and let a step be that of several, as the published code does.
    """

    kind: ClassVar[str] = "sop_generation"
    gold: str = field(repr=False)
    paper: bool = False

    @classmethod
    def of(cls, workflow: Workflow, source: str, shown: frozenset[str], paper: bool = False) -> GenerationTask:
        """Of a workflow, with as much of its recording as is shown.

        Raises:
            TaskError: it has no right procedure.
        """
        evidence, pictures = recorded(workflow, shown)
        return cls(
            id=f"{cls.kind}/{workflow.key}",
            instruction=_ASK.format(intent=workflow.intent),
            evidence=evidence,
            pictures=pictures,
            source=source,
            gold=gold_of(workflow),
            paper=paper,
        )

    def read(self, answer: str) -> list[str]:
        """Its steps: see ``ProcedureTask.read``."""
        steps, most = self.steps_of(answer), 20 + 3 * len(self.steps_of(self.gold))
        if not 0 < len(steps) <= most:
            raise Unreadable(f"the answer has {len(steps)} steps; legal are 1 to {most}, numbered 1, 2, 3, ...")
        return steps

    def scores(self, steps: list[str], judge: Judge) -> StepScores:
        """How well steps agree with the right ones."""
        right = self.steps_of(self.gold)
        there, back = judge.same_steps(steps, right), judge.same_steps(right, steps)
        return step_scores(there, back) if self.paper else step_scores(once_each(there, right), once_each(back, steps))

    def steps_of(self, text: str) -> list[str]:
        """The steps of a procedure."""
        return published_steps_of(text) if self.paper else steps_of(text)

    def grade(self, said: list[str], judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        found = self.scores(said, judge)
        metrics = {"precision": found.precision, "recall": found.recall, "f1": found.f1, "ordering": found.ordering}
        message = f"{found.precision:.0%} of its steps are right, {found.recall:.0%} of the right ones are there"
        return Grade(self.worth(found), metrics, message)

    def worth(self, scores: StepScores) -> float:
        """The part of the scores that is rewarded."""
        return scores.f1 if self.paper else scores.ordered_f1

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        return "\n".join(f"{k}. {rng.choice(_GUESSES)}" for k in range(1, 2 + int(rng.integers(8))))

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return self.gold

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {"says nothing": "1. Zzz.\n2. Qqq.", "no step": "```"}


@dataclass(frozen=True, eq=False, kw_only=True)
class ImprovementTask(GenerationTask):
    """A procedure to be improved; the reward is the part of what it lacks that an answer gains.

    Attributes:
        draft: the procedure that is given.
    """

    kind: ClassVar[str] = "sop_improvement"
    draft: str = field(repr=False)

    @classmethod
    def of(cls, workflow: Workflow, source: str, shown: frozenset[str], paper: bool = False) -> ImprovementTask:
        """Of a workflow with a draft.

        Raises:
            TaskError: it has no draft or no right procedure, or both are one.
        """
        gold, draft = gold_of(workflow), workflow.draft or ""
        evidence, pictures = recorded(workflow, shown)
        made = cls(
            id=f"{cls.kind}/{workflow.key}",
            instruction=_IMPROVE.format(intent=workflow.intent),
            evidence=f"{draft.strip()}\n\n{evidence}".strip(),
            pictures=pictures,
            source=source,
            gold=gold,
            draft=draft,
            paper=paper,
        )
        if not steps_of(draft) or made.scores(made.steps_of(draft), LexicalJudge()).ordered_f1 == 1:
            raise TaskError(f"{workflow.name!r} has no procedure that is worse than the right one: nothing to improve")
        return made

    def grade(self, said: list[str], judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        scores = [self.scores(steps, judge) for steps in (self.steps_of(self.draft), said)]
        before, after = map(self.worth, scores)
        gain = (after - before) / (1 - before) if before < 1 else 0.0
        metrics = {"f1": scores[1].f1, "f1_before": scores[0].f1, "gain": gain}
        return Grade(max(0.0, gain), metrics, f"it is worth {after:.2f}; the given procedure is worth {before:.2f}")

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {**super().wrong, "unchanged": self.draft}


def gold_of(workflow: Workflow) -> str:
    """The right procedure of a workflow. Raises TaskError where there is none."""
    if workflow.procedure is None or not steps_of(workflow.procedure):
        raise TaskError(f"{workflow.name!r} has no right procedure to judge an answer by")
    return workflow.procedure


def recorded(workflow: Workflow, shown: frozenset[str]) -> tuple[str, tuple[Path, ...]]:
    """What is shown of a workflow's recording: the text, and the pictures that it names; nothing without one."""
    if workflow.folder is None or not shown & {"frames", "actions"}:
        return "", ()
    if "frames" in shown:
        text = numbered(workflow.moments, actions="actions" in shown)
        return f"A recording of it:\n{text}", tuple(moment.picture for moment in workflow.moments)
    actions = "\n".join(f"- {moment.action}" for moment in workflow.moments[1:])
    return f"What was done in a recording of it:\n{actions}", ()
