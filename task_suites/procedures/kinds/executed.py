"""Improvement and ranking by execution: a procedure is as good as what comes of it, not as what it looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.follow import moves_of
from deskgym.task_suites.bpm.procedure_text import steps_of
from deskgym.task_suites.procedures.company import Company
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.kinds.execution import ExecutionTask
from deskgym.task_suites.procedures.kinds.ranking import RankingTask
from deskgym.task_suites.procedures.material import Ranking, Workflow
from deskgym.task_suites.procedures.task import Grade

_MEND = "Below is a procedure for this that does not work for other cases. "
_RANK = """\
Below are {count} procedures for the same workflow; one case of it is: {intent}
Somebody who takes them literally is to carry one of them out, on this case and on others; what is in braces is known \
of each case. Put them in order, the one first by which most cases come out right. Answer with their letters, such as: \
{example}"""
_IDLE = (
    "Look at the whole page for a moment, from its top to its bottom, so that you know where everything is.",
    "Make sure that you have understood what the work is for, and ask a colleague if you have not.",
)
"""Steps that say nothing to do: with them the worst procedure is the longest."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ExecutedImprovementTask(ExecutionTask):
    """A procedure to be mended; the reward is the part of the cases that failed with it and come out right now.

    Attributes:
        draft: the procedure that is given: with the values of the recorded case, or without its last step.
    """

    kind: ClassVar[str] = "sop_improvement"
    draft: str = field(repr=False)

    @classmethod
    def of(
        cls, workflow: Workflow, seed: int, source: str, shown: frozenset[str], company: Company
    ) -> ExecutedImprovementTask:
        """Of a recording of a workflow of the suite ``bpm``; the seed draws the cases, and what is wrong.

        Raises:
            TaskError: there is no procedure for such work.
        """
        plain = ExecutionTask.of(workflow, seed, source, shown, company)
        draft = plain.literal if seed % 2 else without_end(plain.gold)
        return cls(
            **{
                **vars(plain),
                "id": f"{cls.kind}/executed/{workflow.key}#{seed}",
                "instruction": _MEND + plain.instruction,
                "evidence": f"{draft.strip()}\n\n{plain.evidence}".strip(),
            },
            draft=draft,
        )

    def grade(self, said: str, judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``. Raises MachineError where a machine broke."""
        before = _given(self.company, self.template, self.draft, self.case_seed)
        after = before if said == self.draft else self.company.success(self.template, said, self.case_seed)
        count, worked = len(before), sum(before)
        gain = (sum(after) - worked) / (count - worked) if worked < count else 0.0
        metrics = {"success": sum(after) / count, "success_before": worked / count, "gain": gain}
        message = f"{sum(after)} of {count} other cases came out right; {worked} with the given procedure"
        return Grade(max(0.0, gain), metrics, message)

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {"unchanged": self.draft, "nothing to do": "1. Think."}


@lru_cache(maxsize=256)
def _given(company: Company, template: str, draft: str, seed: int) -> Sequence[bool]:
    """What comes of a given procedure: the same for each answer that is to better it."""
    return company.success(template, draft, seed)


def without_end(procedure: str) -> str:
    r"""A procedure without the last of its steps that says something to do, and what comes after it.

    Examples:
        >>> without_end('1. Click on "A".\n2. Click on "Save".\n3. Be glad.')
        '1. Click on "A".'
    """
    lines = procedure.splitlines()
    last = max((number for number, line in enumerate(lines) if moves_of(line)), default=0)
    return "\n".join(lines[:last])


def executed_ranking(
    workflow: Workflow, seed: int, source: str, shown: frozenset[str], company: Company
) -> RankingTask:
    """A ranking of one workflow's procedures by what comes of them; the seed says in which order they are shown.

    The best works for each case, the next has the values of one and works for that, and the last lacks its end.
    Nothing of the recording is shown.

    Raises:
        TaskError: there is no procedure for such work.
    """
    gold, literal = company.gold(workflow.template), _numbered(steps_of(workflow.procedure or ""))
    if not gold or not literal:
        raise TaskError(f"{workflow.template!r} has no procedures that differ in what comes of them")
    long = _numbered([*steps_of(without_end(gold)), *_IDLE])
    ranking = Ranking(f"executed/{workflow.key}", workflow.intent, (gold, literal, long), (1, 2, 3))
    return RankingTask.of(ranking, seed, source, ask=_RANK)


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
