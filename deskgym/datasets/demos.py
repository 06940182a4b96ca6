"""Demonstrations: the oracles of many tasks, played and kept, until all are there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from deskgym.agents.base import EpisodeResult
from deskgym.agents.rollout import rollout
from deskgym.agents.scripted import OracleAgent
from deskgym.datasets.collector import EpisodeCollector
from deskgym.datasets.episode_files import SUFFIX, EpisodeFiles, write_episode
from deskgym.datasets.minari_export import write_dataset
from deskgym.envs.errors import ActionError
from deskgym.envs.options import checked
from deskgym.workers import run_jobs

if TYPE_CHECKING:
    import gymnasium
    import minari  # type: ignore[import-untyped]

MakeEnv = Callable[[], "gymnasium.Env[Any, Any]"]
Demo = tuple[str, int]
"""A task and the seed that its instance is drawn with."""

_SKIPPED = ".skipped"
_SETTINGS = "settings.json"
_AT_ONCE = 4  # episodes of a task that one worker plays with one env


@dataclass(frozen=True)
class DemoResult:
    """What came of a demonstration.

    Attributes:
        task: as in the plan.
        seed: the same.
        outcome: ``"kept"``, ``"failed"``, or ``"skipped"`` where the action space cannot express what the oracle does.
        instance: the id of the instance.
        steps: actions taken.
        message: why it was not kept.
    """

    task: str
    seed: int
    outcome: Literal["kept", "failed", "skipped"]
    instance: str = ""
    steps: int = 0
    message: str = ""


class DemoFolder:
    """Where the demonstrations of one dataset are kept: a file each, and what they were made with.

    Args:
        folder: made if it is missing.
        settings: what decides what an episode is, JSON-able. One folder holds demonstrations of one setting only.

    Raises:
        ValueError: the folder holds demonstrations of other settings.
    """

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.part"):
            path.unlink()
        settings, known = json.loads(json.dumps(settings)), folder / _SETTINGS
        if known.exists():
            before = json.loads(known.read_text())
            changed = [name for name in {**before, **settings} if before.get(name) != settings.get(name)]
            if changed:
                shown = "; ".join(f"{name} {before.get(name)!r}, now {settings.get(name)!r}" for name in changed)
                raise ValueError(f"{folder} holds demonstrations made otherwise ({shown}); choose another folder or id")
        else:
            partial_file = known.with_suffix(".part")
            partial_file.write_text(json.dumps(settings, indent=1) + "\n")
            os.replace(partial_file, known)

    def path(self, demo: Demo) -> Path:
        """The file of a demonstration."""
        task, seed = demo
        return self.folder / f"{quote(task, safe='')}+{seed:08d}{SUFFIX}"

    def kept(self) -> list[Path]:
        """The files of all that are there, by task and seed."""
        return sorted(self.folder.glob(f"*{SUFFIX}"), key=lambda path: unquote(path.name))

    def skipped(self, demo: Demo) -> DemoResult | None:
        """What a demonstration was skipped for, or None."""
        path = self.path(demo).with_suffix(_SKIPPED)
        return DemoResult(**json.loads(path.read_text())) if path.exists() else None

    def skip(self, result: DemoResult) -> None:
        """Remember that a demonstration cannot be had."""
        path = self.path((result.task, result.seed)).with_suffix(_SKIPPED)
        partial_file = path.with_name(path.name + ".part")
        partial_file.write_text(json.dumps(asdict(result)))
        os.replace(partial_file, path)


@checked
def collect_demos(
    make_env: MakeEnv, plan: Sequence[Demo], folder: DemoFolder, *, workers: int = 1
) -> Generator[list[DemoResult], None, None]:
    """Play the oracle of every demonstration of the plan that is not there yet, and keep those that are solved.

    Killed at any time, the same call goes on where it was; what failed is tried again. Equal seeds give equal tasks
    and actions, whatever the number of workers; the timing and the pixels are those of real programs.

    Args:
        make_env: builds the environment, wrapped as it shall be observed; picklable if there are workers.
        plan: the demonstrations.
        folder: where they are kept.
        workers: processes that play at once.

    Yields:
        What came of some of the demonstrations; those that were there already are not among them, those that had been
        skipped are.
    """
    missing = [demo for demo in plan if not folder.path(demo).exists()]
    known = [skipped for demo in missing if (skipped := folder.skipped(demo))]
    if known:
        yield known
    left = [demo for demo in missing if folder.skipped(demo) is None]
    jobs: list[list[Demo]] = []
    for demo in left:
        if not jobs or jobs[-1][0][0] != demo[0] or len(jobs[-1]) >= _AT_ONCE:
            jobs.append([])
        jobs[-1].append(demo)
    yield from run_jobs(partial(_play, make_env, folder), jobs, workers)


def write_demos(
    root: Path, dataset_id: str, folder: DemoFolder, make_env: MakeEnv, **about: Any
) -> minari.MinariDataset:
    """The Minari dataset of all demonstrations in a folder; replaces an earlier one of the same id.

    Args:
        root: folder of the dataset, see ``write_dataset``.
        dataset_id: its id.
        folder: the demonstrations.
        make_env: builds the environment that they were played in; it is not started.
        about: see ``write_dataset``.
    """
    with closing(make_env()) as env:
        return write_dataset(
            root, dataset_id, EpisodeFiles(folder.kept()), env, replace=True, algorithm_name="oracle", **about
        )


class _Oracle(OracleAgent):
    """The oracle, which remembers that it could not say what to do in the env's action form."""

    inexpressible = False

    def act(self, observation: Any) -> Any:
        try:
            return super().act(observation)
        except ActionError:
            self.inexpressible = True
            raise


def _play(make_env: MakeEnv, folder: DemoFolder, demos: Sequence[Demo]) -> list[DemoResult]:
    with closing(EpisodeCollector(make_env())) as env:
        return [_demonstrate(env, folder, demo) for demo in demos]


def _demonstrate(env: EpisodeCollector, folder: DemoFolder, demo: Demo) -> DemoResult:
    task, seed = demo
    env.episodes.clear()
    agent = _Oracle()
    result = rollout(env, agent, seed=seed, options={"task": task})
    if result.outcome == "solved":
        write_episode(folder.path(demo), env.episodes.pop())
        return DemoResult(task, seed, "kept", result.task, result.steps)
    if agent.inexpressible or env.refused is not None:
        made = DemoResult(task, seed, "skipped", result.task, result.steps, result.message)
        folder.skip(made)
        return made
    return DemoResult(task, seed, "failed", result.task, result.steps, _why(result))


def _why(result: EpisodeResult) -> str:
    return f"{result.outcome}: {result.message}" if result.message else result.outcome
