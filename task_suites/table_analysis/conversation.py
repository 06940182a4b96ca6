"""A conversation: one episode's turns, what was said and run in them, and how they were judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import FORGETTING, Kernel, KernelLimits
from deskgym.task_suites.table_analysis.dialogue import Dialogue, score_of
from deskgym.task_suites.table_analysis.judging import JudgeError, all_wrong, judge
from deskgym.task_suites.table_analysis.prepared import PreparedTurn, described
from deskgym.task_suites.table_analysis.turns import Fact, IntentOutcome, Outcome, Past, Turn
from deskgym.task_suites.table_analysis.users import User, own_words

_LETTER = re.compile(r"\(?([A-J])[).:]?\Z", re.IGNORECASE)


class Conversation(Dialogue):
    """A dialogue of ours.

    Args:
        turns: one, with the reference's history; or all of a dialogue, whose history is then the agent's own.
        user: answers questions.
        questions: how many are answered per turn.
        mode: of the comparison.
        limits: of the kernels.
    """

    def __init__(
        self, turns: Sequence[PreparedTurn], user: User, questions: int, mode: str, limits: KernelLimits | None = None
    ) -> None:
        super().__init__(len(turns), user, questions, mode)
        self.turns, self._limits = tuple(turns), limits or KernelLimits()
        self.notes = () if mode == "corrected" else ("compared as the paper does",)
        self._said = [_past_text(past) for past in self.turns[0].history]

    @property
    def present(self) -> PreparedTurn:
        """The turn that it is at; the last one when it is over."""
        return self.turns[min(len(self.outcomes), len(self.turns) - 1)]

    @property
    def about_plot(self) -> bool:
        """See ``Dialogue``."""
        return not self.over and self.present.turn.action == "plot_qa"

    def texts(self) -> dict[str, str]:
        """See ``Dialogue``."""
        prepared = self.present
        turn, library = prepared.turn, prepared.library
        return {
            "instruction": instruction(turn),
            "dialogue": "\n\n".join((f"User: {turn.persona.rstrip('.')}. Goal: {turn.goal}", *self._said, *self._now)),
            "tables": described(turn.domain, turn.variant),
            "library": "" if library is None else library.documentation,
        }

    def known(self, question: str) -> tuple[str, Sequence[Fact]]:
        """See ``Dialogue``."""
        turn = self.present.turn
        return own_words(question, turn.query), turn.facts

    def open_kernel(self, machine: Machine) -> None:
        """See ``Dialogue``."""
        try:
            open_kernel(machine, self.turns[0], self._limits)
        except GuestCallError as error:
            raise GuestLost(f"the kernel cannot be opened: {error}", "kernel") from error

    def submit(self, final: FinalState) -> float:
        """See ``Dialogue``."""
        judged = self.present
        outcome = self._judge(judged, final)
        self.outcomes.append(outcome)
        self._said += [
            f"User: {judged.turn.query}",
            *self._now,
            *([f"Analyst: {final.answer}"] if final.answer else []),
        ]
        self._begin_turn()
        if not self.over and not outcome.error:
            self._go_on(final.machine)
        return score_of(outcome) / len(self.turns)

    def _wrong(self, why: str) -> Outcome:
        return self._outcome(self.present, all_wrong(self.present.turn.intents, why))

    def _judge(self, prepared: PreparedTurn, final: FinalState) -> Outcome:
        turn = prepared.turn
        error = recall = None
        try:
            intents = self._intents(prepared, final)
            recall = self._recall(prepared, final.machine)
        except (JudgeError, MachineError) as broken:
            error = f"{turn.id}: {broken}"
            intents = all_wrong(turn.intents, error)
        return self._outcome(prepared, intents, recall, final.answer, error)

    def _outcome(
        self,
        prepared: PreparedTurn,
        intents: tuple[IntentOutcome, ...],
        recall: float | None = None,
        answer: str | None = None,
        error: str | None = None,
    ) -> Outcome:
        turn = prepared.turn
        return Outcome(
            turn=turn.id,
            domain=turn.domain,
            mode=turn.mode,
            action=turn.action,
            intents=intents,
            recall=recall,
            executed=tuple(self._executed),
            reference=prepared.code,
            answer=answer,
            right=turn.choice.letter if turn.choice else None,
            options=len(turn.choice.options) if turn.choice else 0,
            asked=tuple(self._asked),
            error=error,
        )

    def _recall(self, prepared: PreparedTurn, machine: Machine) -> float | None:
        """The share of the reference's private functions that the agent's code calls (the paper's R).

        The trace is read when the results have been taken: functions that were asked for are called only then.
        """
        library = prepared.library
        if library is None or prepared.turn.choice is not None:
            return None
        from deskgym.task_suites.table_analysis.private import recall

        before = [past.code for past in self.turns[0].history]
        before += [code for outcome in self.outcomes for code in outcome.executed]
        ran: list[str] = []
        if self._whole:
            with suppress(GuestCallError):  # it is gone, and its trace with it
                ran = Kernel(machine, self._limits).run(library.listing, echo=False).stdout.split()
        return recall(prepared.code, self._whole, library, before=before, ran=ran)

    def _intents(self, prepared: PreparedTurn, final: FinalState) -> tuple[IntentOutcome, ...]:
        turn = prepared.turn
        if turn.choice is not None:
            (intent,) = turn.intents
            letter = answered_letter(final.answer) if final.stop == "answer" else None
            message = f"right is {turn.choice.letter}, answered was {final.answer!r} ({final.stop})"
            return (IntentOutcome(intent.name, intent.kind, letter == turn.choice.letter, message),)
        if final.stop not in ("done", "limit"):
            return all_wrong(turn.intents, f"results are submitted with DONE, not with {final.stop!r}")
        if not self._executed:
            return all_wrong(turn.intents, "no code was run")
        return judge(prepared, final, self._limits, self.mode)

    def _go_on(self, machine: Machine) -> None:
        """The next turn begins, in the kernel as the agent has left it."""
        kernel = Kernel(machine, self._limits)
        try:
            kernel.forget([intent.name for intent in self.present.turn.intents])
            if self.present.library is not None:
                kernel.run(self.present.library.forgetting, timeout=FORGETTING, echo=False)
        except GuestCallError:  # it is gone, or does not answer any more
            self.open_kernel(machine)
        if self.present.turn.action == "plot_qa":
            shown = self.present.history[-1]
            self._said.append(_past_text(shown))
            with suppress(GuestCallError):  # it died of what the agent left in it: the next action tells
                kernel.run(shown.code)


def open_kernel(machine: Machine, prepared: PreparedTurn, limits: KernelLimits) -> None:
    """Open a kernel that stands at the beginning of a turn.

    Raises:
        GuestCallError: the history's code failed.
        MachineError: the machine broke.
    """
    kernel = Kernel(machine, limits)
    forgetting = () if prepared.library is None else (prepared.library.forgetting,)
    kernel.open(prepared.files(), (*prepared.cells, *forgetting), preload=prepared.preload)
    kernel.forget([intent.name for intent in prepared.turn.intents if prepared.turn.choice is None])


def instruction(turn: Turn) -> str:
    """The query, and how it is to be answered."""
    if turn.choice is not None:
        return f"{turn.query}\n\n{turn.choice.text()}\n\nAnswer with ANS and the letter."
    results = ", ".join(f"`{intent.name}` ({intent.kind})" for intent in turn.intents)
    return f"{turn.query}\n\nResults, as variables: {results}. Say DONE when they are there."


def answered_letter(answer: str | None) -> str | None:
    """The letter of an answer such as ``"B"``, ``"b."`` or ``"(B)"``; None for anything else."""
    found = _LETTER.match((answer or "").strip())
    return found.group(1).upper() if found else None


def _past_text(past: Past) -> str:
    parts = [f"User: {past.query}"]
    if past.code.strip():
        parts.append(f"```python\n{past.code.strip()}\n```")
    if past.answer:
        parts.append(f"Analyst: {past.answer}")
    return "\n".join(parts)
