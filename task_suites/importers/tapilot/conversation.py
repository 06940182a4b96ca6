"""The course of an episode on a turn of Tapilot-Crossing: what the agent is told, and how its results are judged."""

from __future__ import annotations

import csv
import io
from collections.abc import MutableMapping, Sequence
from functools import cached_property
from itertools import islice

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import Kernel, KernelLimits
from deskgym.task_suites.importers.tapilot import scripts
from deskgym.task_suites.importers.tapilot.answers import chosen_letter
from deskgym.task_suites.importers.tapilot.collection import Collection
from deskgym.task_suites.importers.tapilot.facts import facts_of
from deskgym.task_suites.importers.tapilot.judging import Judge, Reference, begin_turn, finished
from deskgym.task_suites.importers.tapilot.recall import paper_recall, recall
from deskgym.task_suites.importers.tapilot.scripts import PRED
from deskgym.task_suites.importers.tapilot.turn import Scoring, UpstreamTurn
from deskgym.task_suites.table_analysis.dialogue import Dialogue, score_of
from deskgym.task_suites.table_analysis.guest import COMPARATORS, RESULTS
from deskgym.task_suites.table_analysis.turns import Fact, IntentOutcome, Outcome
from deskgym.task_suites.table_analysis.users import User

SHOWN_ROWS = 3
_SPEAKERS = {"user": "User", "assistant": "Analyst", "system": "Note"}
_LIMITS = KernelLimits(output=1 << 16)


class TapilotConversation(Dialogue):
    """One turn with the reference's history.

    Args:
        turn: which.
        collection: that it is of.
        user: answers questions.
        questions: how many are answered.
        scoring: ``"paper"`` or ``"corrected"``.
        references: what references of turns have made so far, by id; this one's is added.
    """

    def __init__(
        self,
        turn: UpstreamTurn,
        collection: Collection,
        user: User,
        questions: int,
        scoring: Scoring,
        references: MutableMapping[str, Reference],
    ) -> None:
        super().__init__(1, user, questions, scoring)
        self.turn, self.collection, self.scoring, self._references = turn, collection, scoring, references
        self.notes = (*turn.notes, *(("scored as published",) if scoring == "paper" else ()))

    def texts(self) -> dict[str, str]:
        """See ``Dialogue``."""
        return {
            "instruction": instruction(self.turn),
            "dialogue": "\n\n".join((*self._history, *self._now)),
            "tables": self._tables,
            "library": self.collection.library if self.turn.private else "",
        }

    @cached_property
    def _history(self) -> tuple[str, ...]:
        return tuple(f"{_SPEAKERS[said.role]}: {said.content}" for said in self.turn.dialogue)

    @cached_property
    def _tables(self) -> str:
        files = self.collection.files(self.turn)
        return "\n\n".join((self.turn.context, *(head_of(name, files[name]) for name in self._names)))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return self.collection.tables(self.turn)

    def known(self, question: str) -> tuple[str, Sequence[Fact]]:
        """See ``Dialogue``."""
        return question, facts_of(self.turn.reference_code) if self.turn.action == "clarification" else ()

    def open_kernel(self, machine: Machine) -> None:
        """See ``Dialogue``."""
        open_kernel(machine, self.turn, self.collection)

    def submit(self, final: FinalState) -> float:
        """See ``Dialogue``."""
        error, intents = None, list[tuple[bool, str] | None]()
        try:
            intents = self._judged(final)
        except (GuestCallError, MachineError) as broken:
            error = f"{self.turn.id}: {broken}"
        outcome = self._outcome(intents, self._recall(), final.answer, error)
        self.outcomes.append(outcome)
        return score_of(outcome)

    def _wrong(self, why: str) -> Outcome:
        return self._outcome([(False, why)] * len(self._intents()))

    def _outcome(
        self,
        intents: Sequence[tuple[bool, str] | None],
        recall: float | None = None,
        answer: str | None = None,
        error: str | None = None,
    ) -> Outcome:
        turn = self.turn
        return Outcome(
            turn=turn.id,
            domain=turn.domain,
            mode=turn.mode,
            action=turn.action,
            intents=tuple(
                IntentOutcome(name, kind, *verdict)
                for (name, kind), verdict in zip(self._intents(), intents, strict=False)
                if verdict is not None
            ),
            recall=recall,
            executed=tuple(self._executed),
            reference=turn.reference_code,
            answer=answer,
            right=turn.choice.letter if turn.choice else None,
            options=len(turn.choice.texts) or 4 if turn.choice else 0,
            asked=tuple(self._asked),
            error=error,
        )

    def _intents(self) -> list[tuple[str, str]]:
        """Name and kind of each intent."""
        if self.turn.choice is not None:
            return [("choice", "unanswerable" if self.turn.action == "fast_fail" else "choice")]
        kinds = self.turn.result_types or ("value",)
        return [(f"{kind} {number}" if len(kinds) > 1 else kind, kind) for number, kind in enumerate(kinds, 1)]

    def _judged(self, final: FinalState) -> list[tuple[bool, str] | None]:
        """Whether each intent is right, and why not; None for one that judges nobody."""
        turn = self.turn
        if turn.choice is not None:
            layout = turn.layout
            said = chosen_letter(final.answer or "", layout, self.scoring) if final.stop == "answer" else ""
            return [(said == turn.choice.letter, f"right is {turn.choice.letter}, answered was {final.answer!r:.200}")]
        if final.stop not in ("done", "limit"):
            return [(False, f"results are submitted with DONE, not with {final.stop!r}")] * turn.intents
        if not self._executed:
            return [(False, "no code was run")] * turn.intents
        if final.clean_machine is None:
            raise GuestCallError("there is no second machine to judge in", "no_machine")
        try:
            results = finished(Kernel(final.machine, _LIMITS), turn, self._names)
        except (GuestCallError, GuestLost) as error:  # its code has ended the kernel, or answers in its place
            if isinstance(error, GuestLost) and not final.machine.alive:  # a fault
                raise
            results = {}
        judge = Judge(
            Kernel(final.clean_machine((RESULTS, COMPARATORS)), _LIMITS),
            turn,
            self.collection.files(turn),
            self._names,
            self.scoring,
            self.collection.preload(turn),
        )
        reference = self._references.get(turn.id)
        if reference is None:
            reference = judge.reference()
            if reference.error is None:
                self._references[turn.id] = reference
            elif self.scoring == "corrected" or reference.lost:
                raise GuestCallError(reference.error, "reference")
        if len(reference.idle) == turn.intents:
            raise GuestCallError("the state of the turns before has all of its results: nothing is left to do", "idle")
        if reference.idle:
            self.notes += (f"{len(reference.idle)} of {turn.intents} results are there before the turn: not judged",)
        verdicts = judge.verdicts(reference, results)
        return [None if place in reference.idle else verdict for place, verdict in enumerate(verdicts)]

    def _recall(self) -> float | None:
        turn = self.turn
        if not turn.private or turn.choice is not None:
            return None
        if self.scoring == "corrected":
            head = scripts.head_cell(turn.template, False) if turn.template else ""
            return recall(turn.reference_code, self._executed, head, self.collection.functions)
        if turn.layout == "lines":
            return None  # version 1.0's evaluation has no AccR
        head = turn.template.head if turn.template else ""
        return paper_recall(turn.reference_code, self._executed, head, turn.id.rpartition("/")[2])


def open_kernel(machine: Machine, turn: UpstreamTurn, collection: Collection) -> None:
    """Open a kernel that stands at the beginning of a turn: its history has run, its result folders are empty.

    Raises:
        GuestCallError: the history's code failed.
        MachineError: the machine broke.
    """
    kernel = Kernel(machine, _LIMITS)
    begin_turn(kernel, turn, collection.files(turn), collection.tables(turn), collection.preload(turn))


def instruction(turn: UpstreamTurn) -> str:
    """The query, and how it is to be answered."""
    if turn.choice is not None:
        listed = turn.choice.text()
        if all(text in turn.query for text in turn.choice.texts):
            listed = ""
        return "\n\n".join(filter(None, (turn.query, listed, "Answer with ANS and the letter.")))
    how = f"The results are the files in ./{PRED}/ when you say DONE."
    if turn.template is None:
        return f"{turn.query}\n\n{how}"
    told = "Complete this; what stands before the gap has run, and what stands after it runs when you say DONE."
    return f"{turn.query}\n\n{told} {how}\n\n```python\n{turn.template.text}\n```"


def head_of(name: str, data: bytes) -> str:
    """A CSV's name, size and first rows."""
    lines = io.StringIO(data.decode("utf-8", "replace"), newline="")
    rows = csv.reader(lines)
    shown = list(islice(rows, SHOWN_ROWS + 1))
    count = len(shown) - 1 + sum(1 for _ in rows)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(shown)
    return f"{name}: {max(count, 0)} rows\n{out.getvalue().strip()}"
