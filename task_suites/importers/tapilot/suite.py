"""Tapilot-Crossing's turns, from the user's own copy of the benchmark, as a source for environments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

from deskgym.envs.errors import GuestCallError, SetupError, TaskError
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.verify.attacks import Attacks
from deskgym.task_suites.importers import tapilot
from deskgym.task_suites.importers.json_files import Problem
from deskgym.task_suites.importers.published import PublishedTasks
from deskgym.task_suites.importers.tapilot import scripts
from deskgym.task_suites.importers.tapilot.conversation import TapilotConversation, instruction, open_kernel
from deskgym.task_suites.importers.tapilot.facts import facts_of
from deskgym.task_suites.importers.tapilot.judging import PICKLES, Reference
from deskgym.task_suites.importers.tapilot.libraries import Libraries, find_libraries
from deskgym.task_suites.table_analysis.dialogue import STEPS, BaseDialogueTask, say
from deskgym.task_suites.table_analysis.turns import LETTERS

SOURCE = "Tapilot-Crossing (data CC BY-NC 4.0, the user's own copy)"
MODES = ("corrected", "paper")
KEPT = 64
"""How many references' results a suite keeps, the last ones."""


def suite(source_path: str, mode: str) -> TapilotSuite:
    """The turns of a copy of Tapilot-Crossing; what ``load_suite`` calls.

    Raises:
        TaskError: the folder is no copy of Tapilot-Crossing.
    """
    return TapilotSuite(source_path, mode)


class TapilotSuite(PublishedTasks[tapilot.Collection, tapilot.UpstreamTurn, "TapilotTask"]):
    """All turns of a copy of Tapilot-Crossing.

    Args:
        source_path: the copy's folder, or its ``data`` folder.
        mode: ``"corrected"`` scores each intent on its own, takes ``ANS B`` only, and calls a reference that fails an
            error; ``"paper"`` scores as the published harness of the turn's layout does.

    Raises:
        TaskError: the folder is no copy of Tapilot-Crossing, or the mode is unknown.
    """

    benchmark = "Tapilot-Crossing"

    def __init__(self, source_path: str, mode: str = "corrected") -> None:
        if mode not in MODES:
            raise TaskError(f"mode={mode!r}; legal are {' and '.join(map(repr, MODES))}")
        super().__init__(source_path)
        self.mode = cast(tapilot.Scoring, mode)
        self._references = _Last()
        tapilot.data_folder(self.path)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_references": _Last()}

    def attacks(self, task: TapilotTask) -> Attacks:
        """What can be tried to earn a turn's reward without an analysis, by name."""
        from deskgym.task_suites.importers.tapilot.attacks import attacks_on

        return attacks_on(task)

    def _load(self) -> tapilot.Collection:
        return tapilot.load(self.path)

    def _records(self) -> Sequence[tapilot.UpstreamTurn]:
        return self.collection.turns

    def _broken_id(self, problem: Problem) -> str:
        return tapilot.broken_id(problem)

    def _reasons(self, record: tapilot.UpstreamTurn) -> list[str]:
        return self.collection.reasons(record, self._libraries.folder)

    def _convert(self, record: tapilot.UpstreamTurn) -> TapilotTask:
        return TapilotTask(record, self.collection, self.mode, self._references, self._libraries)

    @cached_property
    def _libraries(self) -> Libraries:
        return find_libraries()

    def _about(self, record: tapilot.UpstreamTurn) -> Mapping[str, Any]:
        task = self._convert(record)
        return {
            "difficulty": task.difficulty,
            "max_steps": task.max_steps,
            "instruction": record.query,
            "feasible": True,
            "oracle": True,
            "source": SOURCE,
            "tags": list(task.tags),
            "notes": list(record.notes),
        }


@dataclass(frozen=True, eq=False)
class TapilotTask(BaseDialogueTask):
    """One turn; a ``DialogueTask``.

    Attributes:
        turn: which.
        collection: that it is of.
        mode: ``"corrected"`` or ``"paper"``.
        references: what references have made so far, by turn.
    """

    turn: tapilot.UpstreamTurn
    collection: tapilot.Collection = field(repr=False)
    mode: tapilot.Scoring = "corrected"
    references: MutableMapping[str, Reference] = field(default_factory=dict, repr=False)
    libraries: Libraries = field(default_factory=Libraries)

    max_steps: int = STEPS
    difficulty: str = "medium"
    source: str = SOURCE
    split: str | None = None
    seed: int | None = None

    @property
    def id(self) -> str:
        """Such as ``"ATP_tennis/ana/normal/turn_3"`` or ``"normal/12"``."""
        return self.turn.id

    @property
    def title(self) -> str:
        """The query's first line."""
        return self.turn.query.strip().split("\n")[0][:120]

    @property
    def instruction(self) -> str:
        """The query, and how it is to be answered."""
        return instruction(self.turn)

    @property
    def tags(self) -> Sequence[str]:
        """The benchmark, domain, mode, action type and result types."""
        turn = self.turn
        return tuple(dict.fromkeys(filter(None, ("tapilot", turn.domain, turn.mode, turn.action, *turn.result_types))))

    @property
    def params(self) -> Mapping[str, Any]:
        """Where it comes from, and how it is scored."""
        return {"data_id": self.turn.data_id, "layout": self.turn.layout, "mode": self.mode}

    @property
    def needs(self) -> Needs:
        """The benchmark's libraries, where they are installed."""
        return Needs(libraries=self.libraries.environment)

    @property
    def lazy(self) -> bool:
        """Never: its history leaves files."""
        return False

    def prepare(self, machine: Machine) -> None:
        """Open a kernel and run the history.

        Raises:
            SetupError: the history's code failed; the message has its traceback.
            MachineError: the machine broke.
        """
        try:
            open_kernel(machine, self.turn, self.collection)
        except GuestCallError as error:
            raise SetupError(f"{self.id}: the history does not run: {error}") from error

    def begin(self, user: str | Mapping[str, Any], questions: int) -> TapilotConversation:
        """See ``DialogueTask``."""
        from deskgym.task_suites.table_analysis.users import make_user

        turn = replace(self.turn, notes=(*self.turn.notes, *filter(None, [self.libraries.note])))
        return TapilotConversation(turn, self.collection, make_user(user), questions, self.mode, self.references)

    @property
    def result_files(self) -> Sequence[str]:
        """The names of the files that its results are."""
        return scripts.result_names(self.turn.eval_code, self.turn.reference_all, self.turn.reference_code)

    def oracle(self, screen: Any = None) -> Iterator[str]:
        """Texts that solve it: a question where the user knows more, the reference's code, or the right letter."""
        if self.turn.choice is not None:
            yield f"ANS {self.turn.choice.letter}"
            return
        if self.turn.action == "clarification" and (facts := facts_of(self.turn.reference_code)):
            yield f"ASK What about {facts[0].about[0]}?"
        yield scripts.oracle_cell(self.turn, self.collection.tables(self.turn))
        yield "DONE"

    @cached_property
    def wrong_attempts(self) -> Mapping[str, Callable[[Any], Iterator[str]]]:
        """Texts that must not earn the reward, by name."""
        choice = self.turn.choice
        if choice is not None:
            other = LETTERS[(LETTERS.index(choice.letter) + 1) % (len(choice.texts) or 4)]
            return {"another letter": partial(say, [f"ANS {other}"]), "no letter": partial(say, ["ANS none"])}
        files = [name for name in self.result_files if name.lower().endswith(PICKLES)]
        lines = [f"with open('{scripts.PRED}/{name}', 'wb') as file: pickle.dump('nothing', file)" for name in files]
        made = {"nothing": partial(say, ["pass", "DONE"])}
        if files:
            made["another value"] = partial(say, ["\n".join(["import pickle", *lines]), "DONE"])
        return made


class _Last(OrderedDict[str, Reference]):
    """The last ``KEPT`` references."""

    def __setitem__(self, turn_id: str, reference: Reference) -> None:
        super().__setitem__(turn_id, reference)
        if len(self) > KEPT:
            self.popitem(last=False)
