"""Question answering: about workflows, by choice where the truth can be computed, or in free text."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase as LETTERS
from typing import ClassVar

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.material import Material, Question, Workflow
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable, numbered

OPTIONS = 4
"""Of a choice."""
_CHOICE = """\
The pictures are of a recording of this workflow, in order: {intent}
What was done between picture {number} and picture {next}? Answer with a letter.
{options}"""
_FREE = "{text}\nAnswer in two or three sentences."


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionTask(ProcedureTask):
    """A published question; the reward is the mean of how complete and how sound the judge finds the answer.

    Attributes:
        question: what is asked.
        label: the right answer.
    """

    kind: ClassVar[str] = "question_answering"
    question: str
    label: str = field(repr=False)

    @classmethod
    def of(cls, question: Question, material: Material) -> QuestionTask:
        """Of a question, with the procedures and recordings that it is about.

        Raises:
            TaskError: one of them is not there.
        """
        parts: list[str] = []
        pictures: list[Path] = []
        for letter, name, is_text in zip(LETTERS, question.workflows, question.evidence, strict=False):
            workflow = material.workflow(name)
            if is_text:
                if workflow.procedure is None:
                    raise TaskError(f"{name!r} has no procedure to be shown")
                shown = workflow.procedure.strip()
            else:
                shown = numbered(workflow.moments, len(pictures))
                pictures += [moment.picture for moment in workflow.moments]
            parts.append(f"Workflow {letter}: {workflow.intent}\n{shown}")
        return cls(
            id=f"question_answering/{question.number}",
            instruction=_FREE.format(text=question.text),
            evidence="\n\n".join(parts),
            pictures=tuple(pictures),
            source=material.source,
            params={"template": question.template},
            question=question.text,
            label=question.answer,
        )

    def read(self, answer: str) -> str:
        """Its text: see ``ProcedureTask.read``."""
        if not answer.strip():
            raise Unreadable("the answer is empty; legal are two or three sentences")
        return answer.strip()

    def grade(self, said: str, judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        scores = judge.answer_scores(self.question, said, self.label)
        score = (scores["completeness"] + scores["soundness"]) / 2
        return Grade(score, scores, f"{score:.2f} for completeness and soundness; right is {self.label[:200]!r}")

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        return f"It is about {rng.choice(self.question.split())}."

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return self.label

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {"says nothing": "Zzz qqq.", "blank": " "}


@dataclass(frozen=True, eq=False, kw_only=True)
class ChoiceTask(ProcedureTask):
    """What was done between two pictures of a recording; the reward is 1 for the right letter.

    Attributes:
        options: that are shown.
        place: of the right one.
    """

    kind: ClassVar[str] = "question_answering"
    options: tuple[str, ...]
    place: int

    @classmethod
    def of(cls, workflow: Workflow, among: Sequence[Workflow], seed: int, source: str) -> ChoiceTask:
        """Of a recording; the seed says which of its actions, and which others are beside it.

        Raises:
            TaskError: there are too few actions to choose from.
        """
        draw = random.Random(f"{workflow.name} {seed}")
        own = [moment.action for moment in workflow.moments if moment.action is not None]
        if not own:
            raise TaskError(f"nothing is done in {workflow.name!r}")
        number = draw.randrange(len(own))
        known = {action for each in among if each.site == workflow.site for _, action in each.moments if action}
        pool = sorted({*own, *known} - {own[number]})
        if len(pool) < OPTIONS - 1:
            raise TaskError(f"{workflow.name!r}: {len(pool)} other actions are known, {OPTIONS - 1} are needed")
        options = [own[number], *draw.sample(pool, OPTIONS - 1)]
        draw.shuffle(options)
        listed = "\n".join(f"{letter}: {option}" for letter, option in zip(LETTERS, options, strict=False))
        return cls(
            id=f"question_answering/action/{workflow.key}#{seed}",
            instruction=_CHOICE.format(intent=workflow.intent, number=number, next=number + 1, options=listed),
            evidence=numbered(workflow.moments, actions=False),
            pictures=tuple(moment.picture for moment in workflow.moments),
            source=source,
            seed=seed,
            params={"number": number},
            options=tuple(options),
            place=options.index(own[number]),
        )

    def read(self, answer: str) -> str:
        """Its letter: see ``ProcedureTask.read``."""
        said = re.fullmatch(r"\W*([A-Za-z])\W*", answer)
        if not said or said[1].upper() not in LETTERS[: len(self.options)]:
            raise Unreadable(
                f"the answer is {answer[:200]!r}; legal is one letter, A to {LETTERS[len(self.options) - 1]}"
            )
        return said[1].upper()

    def grade(self, said: str, judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        is_right = float(said == self.right)
        return Grade(is_right, {"accuracy": is_right}, f"{said}; right is {self.right}")

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        return LETTERS[int(rng.integers(len(self.options)))]

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return LETTERS[self.place]

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        return {"the next letter": LETTERS[(self.place + 1) % len(self.options)], "two letters": "A or B"}
