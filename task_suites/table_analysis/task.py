"""AnalysisTask: one turn, or a whole dialogue, as an environment plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import KernelLimits
from deskgym.envs.needs import Needs
from deskgym.task_suites.table_analysis.conversation import Conversation, instruction, open_kernel
from deskgym.task_suites.table_analysis.dialogue import STEPS, BaseDialogueTask, say
from deskgym.task_suites.table_analysis.domains import domain
from deskgym.task_suites.table_analysis.guest import RESULTS
from deskgym.task_suites.table_analysis.prepared import PreparedTurn, prepare_turns
from deskgym.task_suites.table_analysis.turns import LETTERS, Turn

NEXT_LETTER, UNANSWERABLE = "another letter", "always unanswerable"


@dataclass(frozen=True)
class AnalysisTask(BaseDialogueTask):
    """A ``DialogueTask``.

    Attributes:
        turns: one, or all of a dialogue in order.
        mode: ``"corrected"`` or ``"paper"``: how results are compared.
    """

    turns: tuple[Turn, ...]
    mode: str = "corrected"

    @cached_property
    def prepared(self) -> tuple[PreparedTurn, ...]:
        """The turns, ready to be played."""
        return prepare_turns(self.turns)

    @property
    def id(self) -> str:
        """Such as ``"penguins/ines/normal/mean-mass#17"``; of a dialogue ``"penguins/ines/normal#17"``."""
        first = self.turns[0]
        if len(self.turns) == 1:
            return first.id
        return f"{'/'.join(first.id.split('/')[:2])}/{'private' if self._private else 'normal'}#{first.seed}"

    @property
    def _private(self) -> bool:
        return self.turns[0].library_seed is not None

    @property
    def instruction(self) -> str:
        """The first query, and how it is to be answered."""
        return instruction(self.turns[0])

    @property
    def max_steps(self) -> int:
        """Of all turns together."""
        return STEPS * len(self.turns)

    @property
    def difficulty(self) -> str:
        """Of the hardest turn."""
        order = ("easy", "medium", "hard")
        return max((turn.difficulty for turn in self.turns), key=order.index)

    @property
    def tags(self) -> Sequence[str]:
        """Domain, mode, action types and result types."""
        found = [self.turns[0].domain]
        for turn in self.turns:
            found += [turn.mode, turn.action, *(intent.kind for intent in turn.intents)]
        return tuple(dict.fromkeys(tag for tag in found if tag))

    @property
    def source(self) -> str:
        """Where the tables come from, with their licence."""
        about = domain(self.turns[0].domain)
        return f"deskgym; tables: {about.source} ({about.licence})"

    @property
    def title(self) -> str:
        """Of the dialogue."""
        return self.turns[0].title

    @property
    def params(self) -> Mapping[str, Any]:
        """The drawn parameters."""
        return self.turns[0].params

    @property
    def split(self) -> str | None:
        """The split that it belongs to."""
        return self.turns[0].split

    @property
    def seed(self) -> int | None:
        """Of the instance."""
        return self.turns[0].seed

    @property
    def lazy(self) -> bool:
        """Whether it is a letter that is asked for, and no picture is part of the question."""
        return len(self.turns) == 1 and self.turns[0].choice is not None and self.turns[0].action != "plot_qa"

    @property
    def needs(self) -> Needs:
        """What takes the results out of the kernel."""
        return Needs(plugins=(RESULTS,))

    def prepare(self, machine: Machine) -> None:
        """Open a kernel and run the history, unless the task is lazy.

        Raises:
            SetupError: the history's code failed; the message has its traceback.
            MachineError: the machine broke.
        """
        if self.lazy:
            return
        try:
            open_kernel(machine, self.prepared[0], KernelLimits())
        except GuestCallError as error:
            raise SetupError(f"{self.id}: the history does not run: {error}") from error

    def begin(self, user: str | Mapping[str, Any], questions: int) -> Conversation:
        """See ``DialogueTask``."""
        from deskgym.task_suites.table_analysis.users import make_user

        return Conversation(self.prepared, make_user(user), questions, self.mode)

    def oracle(self, screen: Any = None) -> Iterator[str]:
        """Texts that solve it: what the user knows is asked for, the reference's code run, the right letter said."""
        for prepared in self.prepared:
            turn = prepared.turn
            if turn.facts:
                yield f"ASK What do you want for the {turn.facts[0].about[0]}?"
            if prepared.code.strip():
                yield prepared.code
            yield "DONE" if turn.choice is None else f"ANS {turn.choice.letter}"

    @cached_property
    def wrong_attempts(self) -> Mapping[str, Callable[[Any], Iterator[str]]]:
        """Texts that must not earn the reward, by name."""
        if len(self.turns) > 1:
            return {"nothing and another letter": self._nothing}
        (prepared,) = self.prepared
        if prepared.turn.choice is not None:
            return {NEXT_LETTER: self._nothing, UNANSWERABLE: partial(say, ["ANS it cannot be answered"])}
        return {name: partial(say, [code, "DONE"]) for name, code in prepared.wrong.items()}

    def _nothing(self, screen: Any) -> Iterator[str]:
        for turn in self.turns:
            if turn.choice is None:
                yield "DONE"
            else:
                yield f"ANS {LETTERS[(turn.choice.right + 1) % len(turn.choice.options)]}"
