"""Validation: whether a recording shows that its workflow was completed, or that it was done as the procedure says."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.negatives import Negative, negatives
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.material import Moment, Workflow
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable, numbered

Asked = Literal["completion", "trajectory"]
ASKED: Mapping[Asked, tuple[str, ...]] = {"completion": ("truncate",), "trajectory": ("skip", "shuffle")}
"""What is asked of a recording, and which changes make the answer no."""
_QUESTIONS: Mapping[Asked, str] = {
    "completion": "Was it completed?",
    "trajectory": "Was it recorded whole and in the right order, so that no step is missing and none is out of place?",
}
_ASK = """\
The pictures are of a recording of this workflow, in order: {intent}
{question} Answer yes or no."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ValidationTask(ProcedureTask):
    """A recording that may be wrong; half of the instances are. The reward is 1 for the right answer.

    Attributes:
        is_right: whether it is not.
    """

    kind: ClassVar[str] = "validation"
    is_right: bool

    @classmethod
    def of(cls, workflow: Workflow, asked: Asked, seed: int, source: str, shown: frozenset[str]) -> ValidationTask:
        """Of a recording; the seed says whether and how it is changed.

        Raises:
            TaskError: it is too short to be changed.
        """
        moments = workflow.moments
        whole = told_of(moments, shown)
        changes = [
            change
            for change in negatives(workflow.name, len(moments))
            if change.kind in ASKED[asked] and told_of(changed(moments, change), shown) != whole
        ]
        if not changes:
            raise TaskError(f"{workflow.name!r} has {len(moments)} states, too few for wrong recordings of it")
        draw = random.Random(f"{workflow.name} {asked} {seed}")
        change = draw.choice(changes) if draw.random() < 0.5 else None
        seen = list(moments) if change is None else changed(moments, change)
        text = (workflow.procedure or "").strip() if "procedure" in shown else ""
        procedure = f"\n\nThe procedure:\n{text}" if text else ""
        return cls(
            id=f"validation/{asked}/{workflow.key}#{seed}",
            instruction=_ASK.format(intent=workflow.intent, question=_QUESTIONS[asked]),
            evidence=numbered(seen, actions="actions" in shown) + procedure,
            pictures=tuple(moment.picture for moment in seen),
            source=source,
            seed=seed,
            params={"change": None if change is None else [change.kind, *change.states]},
            is_right=change is None,
        )

    def read(self, answer: str) -> bool:
        """Whether it is yes: see ``ProcedureTask.read``."""
        said = re.fullmatch(r"\W*(yes|no|true|false)\W*", answer, re.IGNORECASE | re.ASCII)
        if not said:
            raise Unreadable(f"the answer is {answer[:200]!r}; legal are yes and no")
        return said[1].lower() in ("yes", "true")

    def grade(self, said: bool, judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        figures = {"right": float(self.is_right), "said": float(said)}
        return Grade(float(said == self.is_right), figures, f"{'yes' if said else 'no'}; right is {self.right}")

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        return ("no", "yes")[int(rng.integers(2))]

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return "yes" if self.is_right else "no"

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {"the other answer": "no" if self.is_right else "yes", "both": "yes and no"}


def told_of(moments: Sequence[Moment], shown: frozenset[str]) -> list[object]:
    """What is seen of a recording: of some changes nothing is."""
    return [(moment.picture.read_bytes(), moment.action if "actions" in shown else None) for moment in moments]


def changed(moments: tuple[Moment, ...], change: Negative) -> list[Moment]:
    """A recording with a change; the first picture that is left has no action before it."""
    events = [part for moment in moments for part in (moment.action, moment.picture)][1:]
    found = change.of(events)
    found = found[1 - len(found) % 2 :]  # where the first picture was skipped, an action stands in front
    return [Moment(found[k], found[k - 1] if k else None) for k in range(0, len(found), 2)]
