"""Tapilot-Crossing's turns, from the user's own copy of the benchmark, as a source for environments."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, SetupError, TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.importers import tapilot
from deskgym.task_suites.importers.json_files import Problem
from deskgym.task_suites.importers.tapilot import scripts
from deskgym.task_suites.importers.tapilot.conversation import STEPS, TapilotConversation, instruction, open_kernel
from deskgym.task_suites.importers.tapilot.facts import facts_of
from deskgym.task_suites.importers.tapilot.judging import PICKLES, Reference
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


class TapilotSuite:
    """All turns of a copy of Tapilot-Crossing; implements ``deskgym.envs.episode.TaskSource``.

    Making one only looks whether the folder is right: the files are read when a turn is first asked for. A pickle holds
    the path, not the turns.

    Args:
        source_path: the copy's folder, or its ``data`` folder.
        mode: ``"corrected"`` scores each intent on its own, takes ``ANS B`` only, and calls a reference that fails an
            error; ``"paper"`` scores as the published harness of the turn's layout does.

    Raises:
        TaskError: the folder is no copy of Tapilot-Crossing, or the mode is unknown.
    """

    def __init__(self, source_path: str, mode: str = "corrected") -> None:
        if mode not in MODES:
            raise TaskError(f"mode={mode!r}; legal are {' and '.join(map(repr, MODES))}")
        self.path = Path(source_path).expanduser()
        self.mode = cast(tapilot.Scoring, mode)
        tapilot.data_folder(self.path)
        self._forget()

    def _forget(self) -> None:
        self._collection: tapilot.Collection | None = None
        self._references: MutableMapping[str, Reference] = _Last()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "mode": self.mode}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def collection(self) -> tapilot.Collection:
        """The turns as typed data. Files with mistakes are warned of once.

        Raises:
            TaskError: the folder has no turns.
        """
        if self._collection is None:
            self._collection = tapilot.load(self.path)
            if self.problems:
                more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
                warnings.warn(
                    f"some turns of Tapilot-Crossing have mistakes and cannot be run: {self.problems[0]}{more}",
                    stacklevel=3,
                )
        return self._collection

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every mistake in the files."""
        return self.collection.problems

    def ids(self, split: str | None = None) -> list[str]:
        """The ids of all turns: those that cannot run here too, and those with mistakes."""
        _no_split(split)
        broken = dict.fromkeys(map(tapilot.broken_id, self.problems))
        return [*(turn.id for turn in self.collection.turns), *broken]

    def get(self, task_id: str, seed: int | None = None) -> TapilotTask:
        """A turn. They have no parameters, so that ``seed`` makes no difference.

        Raises:
            TaskError: there is no such turn, it has mistakes, or it cannot run here; says why.
        """
        base, mark, _ = task_id.partition("#")
        if mark and base in self.ids():
            raise TaskError(f"task {base!r} has no parameters, so only one instance; leave out what is after it")
        turn = self.collection[task_id]
        if found := self.collection.reasons(turn):
            raise TaskError(f"task {task_id!r} cannot run here: {'; '.join(found)}")
        return self._task(turn)

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> TapilotTask:
        """Draw one of the turns that match ``pattern`` (id, glob, or None for all) and can run here.

        Raises:
            TaskError: nothing matches, nothing that matches can run here, or ``split`` is given.
        """
        _no_split(split)
        if pattern is not None and not any(mark in pattern for mark in "*?["):
            return self.get(pattern)
        matching = [turn for turn in self.collection.turns if pattern is None or fnmatchcase(turn.id, pattern)]
        if not matching:
            raise TaskError(f"Tapilot-Crossing in {self.path}: {unknown('task', pattern or '', self.ids())}")
        for index in rng.permutation(len(matching)):
            if not self.collection.reasons(matching[int(index)]):
                return self._task(matching[int(index)])
        raise TaskError(
            f"none of the {len(matching)} tasks that match {pattern or '*'!r} can run here; "
            f"{matching[0].id}: {'; '.join(self.collection.reasons(matching[0]))}"
        )

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """What can be told of a turn even if it cannot run here, for ``deskgym tasks``."""
        try:
            turn = self.collection[task_id]
        except TaskError as error:
            return {"supported": False, "reason": str(error)}
        found = self.collection.reasons(turn)
        task = self._task(turn)
        return {
            "difficulty": task.difficulty,
            "max_steps": task.max_steps,
            "instruction": turn.query,
            "feasible": True,
            "oracle": True,
            "source": SOURCE,
            "tags": list(task.tags),
            "notes": list(turn.notes),
            "supported": not found,
            "reason": "; ".join(found) or None,
        }

    def _task(self, turn: tapilot.UpstreamTurn) -> TapilotTask:
        return TapilotTask(turn, self.collection, self.mode, self._references)


@dataclass(frozen=True, eq=False)
class TapilotTask:
    """One turn; implements ``deskgym.envs.analysis.AnalysisTaskLike``.

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

    verbose: Sequence[str] = ()
    max_steps: int = STEPS
    difficulty: str = "medium"
    source: str = SOURCE
    split: str | None = None
    seed: int | None = None
    feasible: bool = True
    vocabulary: Sequence[str] = ()
    keys: Sequence[str] = ()
    setup_key: str = ""

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
        """See ``AnalysisTaskLike``."""
        from deskgym.task_suites.table_analysis.users import make_user

        return TapilotConversation(self.turn, self.collection, make_user(user), questions, self.mode, self.references)

    def evaluate(self, final: FinalState) -> Verdict:
        """Judge the machine's kernel as it is; never raises."""
        conversation = self.begin("rules", 0)
        conversation.ran("", "", True)
        conversation.submit(final)
        assert conversation.verdict is not None
        return conversation.verdict

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
            return {"another letter": partial(_say, (f"ANS {other}",)), "no letter": partial(_say, ("ANS none",))}
        names = scripts.result_names(self.turn.eval_code, self.turn.reference_all, self.turn.reference_code)
        files = [name for name in names if name.lower().endswith(PICKLES)]
        lines = [f"with open('{scripts.PRED}/{name}', 'wb') as file: pickle.dump('nothing', file)" for name in files]
        made = {"nothing": partial(_say, ("pass", "DONE"))}
        if files:
            made["another value"] = partial(_say, ("\n".join(["import pickle", *lines]), "DONE"))
        return made


def _say(texts: Sequence[str], screen: Any) -> Iterator[str]:
    yield from texts


class _Last(OrderedDict[str, Reference]):
    """The last ``KEPT`` references."""

    def __setitem__(self, turn_id: str, reference: Reference) -> None:
        super().__setitem__(turn_id, reference)
        if len(self) > KEPT:
            self.popitem(last=False)


def _no_split(split: str | None) -> None:
    if split is not None:
        raise TaskError(f"split={split!r}: Tapilot-Crossing is not divided into train and test; leave split out")
