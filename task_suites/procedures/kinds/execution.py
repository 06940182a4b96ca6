"""Execution: a procedure is worth what comes of it when somebody follows it, on cases that its author has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.follow import NotUnderstood, moves_of
from deskgym.task_suites.procedures.company import Company, told
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.kinds.generation import recorded
from deskgym.task_suites.procedures.material import Workflow
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable

_ASK = """\
Write the procedure by which somebody does work of this kind: {intent}
It will be carried out on other cases. What differs from case to case is written in braces; in this case {values}.
Number its steps 1, 2, 3, ... Somebody carries them out who takes them literally: click on the button, link, tab, \
field, list or box "NAME"; choose NAME, after the list was clicked; type "TEXT"; press KEYS, also several times; \
click on the address bar."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ExecutionTask(ProcedureTask):
    """A procedure that is carried out in the live company; the reward is the share of cases that come out right.

    Without a procedure none does, so this is what the procedure adds.

    Attributes:
        template: the workflow.
        gold: a procedure that works.
        literal: the procedure that the recording has, with the values of its case.
        company: carries it out.
        case_seed: draws the cases.
    """

    kind: ClassVar[str] = "sop_execution"
    difficulty: ClassVar[str] = "hard"
    template: str
    gold: str = field(repr=False)
    literal: str = field(repr=False)
    company: Company = field(repr=False)
    case_seed: int

    @classmethod
    def of(cls, workflow: Workflow, seed: int, source: str, shown: frozenset[str], company: Company) -> ExecutionTask:
        """Of a recording of a workflow of the suite ``bpm``; the seed draws the cases.

        Raises:
            TaskError: there is no procedure for such work.
        """
        template = workflow.template
        gold = company.gold(template)
        if not gold:
            raise TaskError(f"{template!r} has no procedure with parameters to compare with")
        if missing := company.missing(template):
            raise TaskError(
                f"{template!r} cannot be done here: {', '.join(missing)} is not installed; deskgym install bpm"
            )
        known = told(workflow.params, company.parameters(template))
        values = [f"{{{name}}} is {value}" for name, value in known.items()]
        evidence, pictures = recorded(workflow, shown)
        return cls(
            id=f"{cls.kind}/{workflow.key}#{seed}",
            instruction=_ASK.format(intent=workflow.intent, values=", ".join(values) or "nothing does"),
            evidence=evidence,
            pictures=pictures,
            source=source,
            seed=seed,
            template=template,
            gold=gold,
            literal=workflow.procedure or "",
            company=company,
            case_seed=seed,
        )

    def read(self, answer: str) -> str:
        """Its text: see ``ProcedureTask.read``."""
        try:
            moves = moves_of(answer)
        except NotUnderstood as error:
            raise Unreadable(str(error)) from None
        if not moves:
            raise Unreadable(
                'the answer says nothing to do; legal are numbered steps such as: 1. Click on the tab "X".'
            )
        return answer

    def grade(self, said: str, judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``. Raises MachineError where a machine broke."""
        came_out = self.company.success(self.template, said, self.case_seed)
        share = sum(came_out) / len(came_out)
        metrics = {"success": share, "moves": float(len(moves_of(said)))}
        return Grade(share, metrics, f"{sum(came_out)} of {len(came_out)} other cases came out right")

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        names = ("Save", "New", "Open", "Edit", "Close")
        return "\n".join(f'{k}. Click on the button "{rng.choice(names)}".' for k in range(1, 3))

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return self.gold

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        *steps, _ = self.gold.splitlines()
        return {
            "without the last step": "\n".join(steps), "the recorded case": self.literal, "nothing to do": "1. Think.",
        }  # fmt: skip
