"""The table analysis suite: where its environment gets turns and dialogues."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.task_suites.core.suite import SeededTasks, legal_seed
from deskgym.task_suites.core.verify.attacks import Attacks, Target
from deskgym.task_suites.suites import SuiteEntry
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, load_dialogues
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.host_run import PackagedDomains
from deskgym.task_suites.table_analysis.sampling import (
    Place,
    SampledDialogue,
    TooFewOptions,
    places,
    sample_dialogue,
    sample_turn,
)
from deskgym.task_suites.table_analysis.turns import Turn

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.blind_rules import Question
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.table_analysis.task import AnalysisTask

FOLDER = Path(__file__).parent / "dialogues"
KEPT = 64
"""How many instances a suite keeps, the last ones: drawing one again is then free."""
Episode = Literal["turn", "dialogue"]
Mode = Literal["corrected", "paper"]
EPISODES = ("turn", "dialogue")
MODES = ("corrected", "paper")


class TableAnalysisSuite(SeededTasks["AnalysisTask"]):
    """Turns or whole dialogues of dialogue files; implements ``deskgym.envs.episode.TaskSource``.

    Making one reads nothing: the files are read when a task is first asked for. It is picklable.

    Args:
        folders: searched for ``*.yaml``, folders in them too.
        episode: ``"turn"`` makes a task of every turn, with the reference's history (the paper's setting);
            ``"dialogue"`` one of every dialogue, whose history is what the agent does.
        mode: how results are compared, ``"corrected"`` or ``"paper"``.
        domains: the domains by name; the package's if left out.
        name: for messages.

    Raises:
        ValueError: no such episode or mode.
    """

    def __init__(
        self,
        folders: str | Path | Sequence[str | Path] = FOLDER,
        *,
        episode: Episode = "turn",
        mode: Mode = "corrected",
        domains: Mapping[str, Domain] | None = None,
        name: str = "table_analysis",
    ) -> None:
        if episode not in EPISODES:
            raise ValueError(f"episode={episode!r}; legal are {' and '.join(map(repr, EPISODES))}")
        if mode not in MODES:
            raise ValueError(f"mode={mode!r}; legal are {' and '.join(map(repr, MODES))}")
        self.name, self.episode, self.mode = name, episode, mode
        self.folders = [Path(f) for f in ([folders] if isinstance(folders, (str, Path)) else folders)]
        self.domains: Mapping[str, Domain] = PackagedDomains() if domains is None else domains
        self._forget()

    def _forget(self) -> None:
        self._files: dict[str, DialogueFile] | None = None
        self._templates: dict[str, tuple[DialogueFile, Place | None]] = {}
        self._kept: OrderedDict[str, AnalysisTask] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        left = ("_files", "_templates", "_kept")
        return {key: value for key, value in self.__dict__.items() if key not in left}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def files(self) -> Mapping[str, DialogueFile]:
        """All dialogue files by id.

        Raises:
            TaskFileError: the mistakes of all files together.
        """
        if self._files is None:
            self._files = load_dialogues(self.folders, self.domains)
        return self._files

    @property
    def templates(self) -> Mapping[str, tuple[DialogueFile, Place | None]]:
        """All tasks by id, sorted: the dialogue, and which turn of it in which mode (None for the whole)."""
        if not self._templates:
            found: dict[str, tuple[DialogueFile, Place | None]] = {}
            for file in self.files.values():
                if self.episode == "turn":
                    found |= {task_id: (file, place) for task_id, place in places(file).items()}
                else:
                    found |= {f"{file.id}/{mode}": (file, None) for mode in ("normal", "private")}
            self._templates = dict(sorted(found.items()))
        return self._templates

    @property
    def splits(self) -> list[str]:
        """The names of all splits."""
        return sorted({split for file in self.files.values() for split in file.splits})

    def _is_in(self, task_id: str, split: str) -> bool:
        return split in self.templates[task_id][0].splits

    def _drawn(self, task_id: str, seed: int, split: str | None) -> AnalysisTask | None:
        file = self.templates[task_id][0]
        if split is None or SampledDialogue(file, self.domains[file.domain], seed).split == split:
            with suppress(TooFewOptions):
                return self._instance(task_id, seed)
        return None

    def proof_inputs(self, task_id: str) -> ProofInputs:
        """What the proof of a turn, or of a dialogue, depends on."""
        from deskgym.task_suites.table_analysis.proofs import inputs_of

        file, place = self.templates[task_id]
        return inputs_of(file, place, self.domains[file.domain], partial(self.get, task_id))

    def mutants(self, task: AnalysisTask) -> Mapping[str, Callable[[Any], Iterator[str]]]:
        """Changed references of an instance by name; none of them may earn the reward."""
        from deskgym.task_suites.table_analysis.proofs import mutants_of

        file, place = self.templates[task.id.partition("#")[0]]
        return mutants_of(file, place, self.domains[file.domain], task)

    def attacks(self, task: AnalysisTask) -> Attacks:
        """What can be tried to earn a turn's reward without an analysis, by name."""
        from deskgym.task_suites.table_analysis.attacks import attacks_on

        return attacks_on(Target(task, self))

    def equivalent_mutants(self, task_id: str) -> Mapping[str, str]:
        """Those of a turn that are right too: name → why."""
        file, place = self.templates[task_id]
        return {} if place is None else file.turns[place.turn].equivalent_mutants

    def questions(self, task_id: str, seeds: Iterable[int]) -> list[Question]:
        """The questions of a choice's instances; see ``core.verify.blind_rules``. Private modes ask the same ones."""
        from deskgym.task_suites.core.verify.blind_rules import Question

        file, place = self.templates[task_id]
        found: list[Question] = []
        for seed in seeds if place is not None and place.mode == "action" and file.turns[place.turn].action else ():
            with suppress(TooFewOptions):
                (turn,) = self._instance(task_id, seed).turns
                assert turn.choice is not None
                found.append(Question(turn.query, turn.choice.options, turn.choice.right))
        return found

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """What ``deskgym tasks`` shows of a task's turns, each word once."""
        try:
            turns = self.get(task_id).turns
        except TaskError as error:
            return {"supported": False, "reason": str(error)}
        words: dict[str, list[str]] = {
            "modes": [turn.mode for turn in turns],
            "action_types": [turn.action for turn in turns if turn.action],
            "result_types": [intent.kind for turn in turns for intent in turn.intents],
        }
        return {"turns": len(turns)} | {name: list(dict.fromkeys(found)) for name, found in words.items()}

    def dialogue_ids(self) -> list[str]:
        """The ids of all dialogues, such as ``"penguins/ines"``, sorted."""
        return list(self.files)

    def dialogue_turns(self, dialogue_id: str, seed: int = 0, private: bool = False) -> tuple[Turn, ...]:
        """The turns of a dialogue in order, each in its own mode: code turns normal ones, choices as actions.

        Raises:
            TaskError: there is no such dialogue, or it cannot be sampled.
        """
        if dialogue_id not in self.files:
            raise TaskError(f"suite {self.name!r}: {unknown('dialogue', dialogue_id, self.files)}")
        file = self.files[dialogue_id]
        return sample_dialogue(file, self.domains[file.domain], legal_seed(dialogue_id, seed), private)

    def _instance(self, task_id: str, seed: int) -> AnalysisTask:
        from deskgym.task_suites.table_analysis.task import AnalysisTask

        key = f"{task_id}#{seed}"
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        file, place = self.templates[task_id]
        domain = self.domains[file.domain]
        if place is None:
            turns = sample_dialogue(file, domain, seed, private=task_id.endswith("/private"))
        else:
            turns = (sample_turn(file, domain, task_id, place, seed),)
        self._kept[key] = AnalysisTask(turns, self.mode)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]


def suite(entry: SuiteEntry, mode: str, episode: str = "turn") -> TableAnalysisSuite:
    """The suite of the dialogues in a registry entry's folders; what ``load_suite`` calls. Reads nothing yet."""
    folders = [FOLDER.parent.parent / folder for folder in entry.task_folders]
    return TableAnalysisSuite(folders, name=entry.name, mode=cast("Mode", mode), episode=cast("Episode", episode))
