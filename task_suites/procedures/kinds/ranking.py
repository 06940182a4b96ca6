"""Ranking: put procedures of one workflow in order, the best first."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase as LETTERS
from typing import ClassVar

import numpy as np

from deskgym.task_suites.bpm.metrics import rank_correlations
from deskgym.task_suites.procedures.judges import Judge
from deskgym.task_suites.procedures.material import Ranking
from deskgym.task_suites.procedures.task import Grade, ProcedureTask, Unreadable

_ASK = """\
Below are {count} procedures for the same workflow: {intent}
Somebody who has never done it is to follow one of them. Put them in order, the best first. Answer with their letters, \
such as: {example}"""


@dataclass(frozen=True, eq=False, kw_only=True)
class RankingTask(ProcedureTask):
    """Procedures to be ranked; the reward is Kendall's tau with people's ranks, or 0 where that is below.

    Attributes:
        ranks: of the procedures in the order in which they are shown; 1 is the best.
        paper: give the correlations of the published code too, which right orders do not maximise.
    """

    kind: ClassVar[str] = "ranking"
    ranks: tuple[int, ...]
    paper: bool = False

    @classmethod
    def of(cls, ranking: Ranking, seed: int, source: str, paper: bool = False, ask: str = _ASK) -> RankingTask:
        """Of a ranking; the seed says in which order the procedures are shown, and ``ask`` what is asked."""
        order = list(range(len(ranking.ranks)))
        random.Random(seed).shuffle(order)
        letters = LETTERS[: len(order)]
        texts = [f"Procedure {letters[k]}\n{ranking.procedures[shown].strip()}" for k, shown in enumerate(order)]
        return cls(
            id=f"ranking/{ranking.task_id}#{seed}",
            instruction=ask.format(count=len(order), intent=ranking.intent, example=", ".join(reversed(letters))),
            evidence="\n\n".join(texts),
            source=source,
            seed=seed,
            params={"order": order},
            ranks=tuple(ranking.ranks[shown] for shown in order),
            paper=paper,
        )

    def read(self, answer: str) -> list[int]:
        """The order: see ``ProcedureTask.read``."""
        legal = LETTERS[: len(self.ranks)]
        found = re.findall(r"[A-Za-z]+", answer)
        if sorted(letter.upper() for letter in found) != sorted(legal):
            raise Unreadable(f"the answer is {answer[:200]!r}; legal is each of the letters {', '.join(legal)} once")
        return [legal.index(letter.upper()) for letter in found]

    def grade(self, said: list[int], judge: Judge) -> Grade:
        """See ``ProcedureTask.grade``."""
        rho, tau = (round(each, 9) for each in rank_correlations(said, self.ranks))
        metrics = {"rho": rho, "tau": tau}
        if self.paper:
            metrics["rho_paper"], metrics["tau_paper"] = rank_correlations(said, self.ranks, paper=True)
        letters = ", ".join(LETTERS[index] for index in said)
        return Grade(max(0.0, tau), metrics, f"{letters}; right is {self.right}")

    def guess(self, rng: np.random.Generator) -> str:
        """See ``ProcedureTask.guess``."""
        return ", ".join(rng.permutation(list(LETTERS[: len(self.ranks)])))

    @property
    def right(self) -> str:
        """See ``ProcedureTask.right``."""
        return ", ".join(
            LETTERS[index] for index in sorted(range(len(self.ranks)), key=lambda index: self.ranks[index])
        )

    @property
    def wrong(self) -> Mapping[str, str]:
        """See ``ProcedureTask.wrong``."""
        letters = self.right.split(", ")
        return {"the worst first": ", ".join(reversed(letters)), "one twice": ", ".join([letters[0], *letters[:-1]])}
