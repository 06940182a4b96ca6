"""Segmentation: find the workflows in a recording of several, one after the other."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase as LETTERS
from typing import Any, ClassVar

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.metrics import agreement, segmentation_scores
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.material import Workflow
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable, numbered

COUNT = 3
"""Workflows in a recording, as in the paper."""
_ASK = """\
The pictures are of one recording in which somebody has done {count} workflows, one after the other, in any order:
{workflows}
Say for each workflow which picture is its first and which its last. Answer with JSON, such as: {example}"""


@dataclass(frozen=True, eq=False, kw_only=True)
class SegmentationTask(ProcedureTask):
    """A recording to be cut; the reward is Cohen's kappa of the pictures' workflows, or 0 where that is below.

    The adjusted Rand index, the paper's, does not know which workflow is which.

    Attributes:
        labels: the letter of each picture's workflow.
    """

    kind: ClassVar[str] = "segmentation"
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls, workflow: Workflow, among: Sequence[Workflow], seed: int, source: str, shown: frozenset[str]
    ) -> SegmentationTask:
        """Of a recording and others of the same site; the seed says which ones, and in which order.

        Args:
            workflow: that is in each instance.
            among: all of them.
            seed: of the instance.
            source: where they come from.
            shown: ``"intent"``, ``"actions"``, ``"procedure"``, or some of them.

        Raises:
            TaskError: there are too few others.
        """
        draw = random.Random(f"{workflow.name} {seed}")
        others: dict[str, list[Workflow]] = {}
        for other in among:
            if other.site == workflow.site and other.task_id != workflow.task_id:
                others.setdefault(other.task_id, []).append(other)
        if len(others) < COUNT - 1:
            raise TaskError(
                f"{workflow.name!r} has {len(others)} other workflows of {workflow.site!r}; {COUNT - 1} needed"
            )
        chosen = [workflow, *(draw.choice(others[name]) for name in draw.sample(sorted(others), COUNT - 1))]
        letters = dict(zip([each.name for each in draw.sample(chosen, COUNT)], LETTERS, strict=False))
        draw.shuffle(chosen)
        moments = [moment for each in chosen for moment in each.moments]
        listed = sorted(chosen, key=lambda each: letters[each.name])
        return cls(
            id=f"segmentation/{workflow.key}#{seed}",
            instruction=_ASK.format(
                count=COUNT,
                workflows="\n".join(f"({letters[each.name]}) {_told(each, shown)}" for each in listed),
                example=example(LETTERS[:COUNT]),
            ),
            evidence=numbered(moments, actions=False),  # the first picture of each has no action in front of it
            pictures=tuple(moment.picture for moment in moments),
            source=source,
            seed=seed,
            params={"workflows": [each.name for each in chosen]},
            labels=tuple(letters[each.name] for each in chosen for _ in each.moments),
        )

    def read(self, answer: str) -> list[str | None]:
        """The letter of each picture: see ``ProcedureTask.read``.

        A picture that is given to two belongs to the later letter, as in the paper; one that is given to none has None.
        """
        said: list[str | None] = [None] * len(self.labels)
        for letter, start, end in self._parts(answer):
            said[start : end + 1] = [letter] * (end + 1 - start)
        return said

    def grade(self, said: list[str | None], judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        rand, measure = segmentation_scores(self.labels, said)
        kappa = agreement(self.labels, said)
        wrong = sum(one != other for one, other in zip(self.labels, said, strict=True))
        message = f"{wrong} of {len(said)} pictures are given to another workflow; right is {self.right}"
        return Grade(max(0.0, kappa), {"kappa": kappa, "ari": rand, "v_measure": measure}, message)

    def _parts(self, answer: str) -> list[tuple[str, int, int]]:
        names = sorted(set(self.labels))
        legal = f"legal is JSON such as {example(names)}"
        try:
            found: Any = json.loads(answer[answer.index("{") : answer.rindex("}") + 1])  # words around it do no harm
        except (ValueError, RecursionError):
            raise Unreadable(f"the answer is no JSON; {legal}") from None
        if not isinstance(found, dict) or sorted(found) != names:
            raise Unreadable(f"the answer has not each of the letters {', '.join(names)}; {legal}")
        parts: list[tuple[str, int, int]] = []
        for letter, part in sorted(found.items()):
            ends: list[Any] = [part.get(name) for name in ("start", "end")] if isinstance(part, dict) else [None]
            if not all(isinstance(e, int) and not isinstance(e, bool) and 0 <= e < len(self.labels) for e in ends):
                raise Unreadable(f"{letter} has not a picture's number, 0 to {len(self.labels) - 1}, at both ends")
            parts.append((letter, ends[0], ends[1]))
        return parts

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        names = sorted(set(self.labels))
        cuts = sorted(rng.choice(np.arange(1, len(self.labels)), len(names) - 1, replace=False).tolist())
        ends = zip([0, *cuts], [*cuts, len(self.labels)], strict=True)
        return json.dumps(
            {str(name): {"start": a, "end": b - 1} for name, (a, b) in zip(rng.permutation(names), ends, strict=True)}
        )

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        places = {
            name: [k for k, label in enumerate(self.labels) if label == name] for name in sorted(set(self.labels))
        }
        return json.dumps({name: {"start": at[0], "end": at[-1]} for name, at in places.items()})

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        whole = {name: {"start": 0, "end": len(self.labels) - 1} for name in sorted(set(self.labels))}
        outside = {name: {"start": 0, "end": len(self.labels)} for name in whole}
        return {"all is one": json.dumps(whole), "pictures that are not there": json.dumps(outside)}


def example(letters: Sequence[str]) -> str:
    """An answer of the right form."""
    return json.dumps({letter: {"start": k, "end": k} for k, letter in enumerate(letters)})


def _told(workflow: Workflow, shown: frozenset[str]) -> str:
    told = workflow.intent if "intent" in shown else "a workflow that is not named"
    procedure = (workflow.procedure or "").strip() if "procedure" in shown else ""
    return f"{told}\n{procedure}" if procedure else told
