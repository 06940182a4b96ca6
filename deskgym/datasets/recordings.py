"""Recorded episodes (``RecordEpisode``'s folders) as a Minari dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import minari  # type: ignore[import-untyped]
import numpy as np
from gymnasium import spaces

import deskgym  # noqa: F401 - registers the ids that recordings name
from deskgym.agents.base import LEFT_OUT, judge
from deskgym.datasets.collector import scored
from deskgym.datasets.computer_actions import ActionStore
from deskgym.datasets.episode import Episode
from deskgym.datasets.minari_export import write_dataset
from deskgym.datasets.spaces import cast
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, TaskError
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.texts import TEXT_LENGTHS, cut_text
from deskgym.envs.options import checked
from deskgym.wrappers.recording.recording import Recording, RecordingError, find_recordings


@checked
def to_minari(
    folders: str | Path | Sequence[str | Path],
    dataset_id: str,
    out: str | Path,
    *,
    solved: bool = False,
    replace: bool = False,
    **about: Any,
) -> minari.MinariDataset:
    """Make a Minari dataset of recorded episodes.

    ``RecordEpisode`` must have been right around the env: then all parts of its observation can be had from the
    recording, and to the bit. Actions are members of the env's action space; a computer action has only what its verb
    reads. A recording that was cut off is left out, and so is one that the infrastructure broke or that could not be
    evaluated; one whose machine the agent broke is kept, with a score of 0.

    Args:
        folders: of recordings, or folders with such folders in them.
        dataset_id: such as ``"kalgebra/tab-oracle-v0"``.
        out: folder of the dataset; see ``write_dataset``.
        solved: only episodes with success.
        replace: replace a dataset of the same id.
        about: see ``write_dataset``.

    Raises:
        RecordingError: there is no complete recording of a desktop, they are of different envs, or one cannot be read;
            the message names it; or there were wrappers between ``RecordEpisode`` and the env (use
            ``EpisodeCollector`` for those).
        ValueError: the id is malformed or taken.
    """
    paths = [folders] if isinstance(folders, str | Path) else list(folders)
    found = [recording for path in paths for recording in find_recordings(path)]
    ended = [recording for recording in found if recording.complete and not recording.aborted]
    outcomes = [judge(recording.ending)[0] for recording in ended]
    chosen = [
        recording
        for recording, outcome in zip(ended, outcomes, strict=True)
        if outcome == "solved" or not (solved or outcome in LEFT_OUT)
    ]
    if not chosen:
        kind = "solved" if solved else "complete and counts"
        raise RecordingError(f"none of the {len(found)} recordings in {', '.join(map(str, paths))} is {kind}")
    with closing(_env_of(chosen)) as env:
        return write_dataset(out, dataset_id, _Converted(chosen, env), env, replace=replace, **about)


class _Converted(Sequence[Episode]):
    """The recordings as episodes, each read when it is asked for."""

    def __init__(self, recordings: Sequence[Recording], env: gymnasium.Env[Any, Any]) -> None:
        self._recordings, self._env = recordings, env

    def __len__(self) -> int:
        return len(self._recordings)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _Converted(self._recordings[index], self._env)
        return episode_of(self._recordings[index], self._env)


def _env_of(recordings: Sequence[Recording]) -> gymnasium.Env[Any, Any]:
    """The env that all were recorded in, not started."""
    first = recordings[0]
    for recording in recordings:
        if recording.is_conversation:
            raise RecordingError(f"{recording.folder} is a conversation about tables; datasets are of desktops")
        if wrappers := recording.meta.get("wrappers"):
            raise RecordingError(
                f"{recording.folder} was recorded around {', '.join(wrappers)}, whose observations and actions are not "
                "the env's; record right around the env, or collect with deskgym.datasets.EpisodeCollector"
            )
        for key in ("env_id", "env", "screen_size", "observation", "action_form"):
            if recording.meta.get(key) != first.meta.get(key):
                raise RecordingError(
                    f"{recording.folder} was recorded with {key} {recording.meta.get(key)!r}, "
                    f"{first.folder} with {first.meta.get(key)!r}; one dataset is of one env"
                )
    if not first.meta.get("env_id"):
        raise RecordingError(f"{first.folder} says no env id: only what was made by gymnasium.make can be made again")
    try:
        return gymnasium.make(first.meta["env_id"], disable_env_checker=True, **first.meta["env"])
    except (gymnasium.error.Error, ValueError, TypeError, TaskError) as error:
        raise RecordingError(f"the env of {first.folder} cannot be made: {error}") from error


def episode_of(recording: Recording, env: gymnasium.Env[Any, Any]) -> Episode:
    """A complete recording as an episode of ``env``, which needs not be started.

    Raises:
        RecordingError: a frame is lost, or an action is none of the env's.
    """
    desktop = env.unwrapped
    assert isinstance(desktop, DesktopEnv)  # other recordings were refused
    see = _Seen(recording, desktop)
    store = ActionStore(env.action_space, desktop.screen_size)
    task = recording.meta["task"]
    names = ("id", "instruction", "params", "split", "difficulty", "tags")
    facts = {name if name != "id" else "task": task[name] for name in names}
    episode = Episode(
        seed=recording.meta["seed"],
        options=recording.meta.get("options"),
        meta=facts | scored(recording.ending),
    )
    for line in recording.steps:
        episode.observations.append(see.observation(line))
        episode.infos.append(_info(recording, line))
        if line["step"] == 0:
            continue
        try:
            episode.actions.append(store.store(line["action"]))
        except ActionError as error:
            raise RecordingError(f"{recording.folder}, step {line['step']}: {error}") from error
        episode.rewards.append(line["reward"])
        episode.terminated.append(line["terminated"])
        episode.truncated.append(line["truncated"])
    return episode


def _info(recording: Recording, line: Mapping[str, Any]) -> dict[str, Any]:
    info = {"task": recording.meta["task"]["id"], "step": line["step"], "timing": line["timing"], **line["info"]}
    if line is recording.steps[-1] and recording.verdict is not None:
        info["verdict"] = dict(recording.verdict)
    return info


class _Seen:
    """What was observed, from the lines of a recording."""

    def __init__(self, recording: Recording, desktop: DesktopEnv) -> None:
        self._recording, self._desktop = recording, desktop
        space = desktop.observation_space
        assert isinstance(space, spaces.Dict)  # a DesktopEnv's is
        self._spaces = space.spaces
        self._instruction = cut_text(recording.meta["task"]["instruction"], TEXT_LENGTHS["instruction"])

    def observation(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """The observation of one line."""
        broken = "fault" in line["info"]
        elements = self._elements(line) if not broken else NO_ELEMENTS
        recording = self._recording
        makers: dict[str, Callable[[], Any]] = {
            "screenshot": lambda: self._frame(line),
            "elements": lambda: elements.table(self._desktop.observer.max_elements),
            "a11y": elements.text,
            "terminal": elements.terminal,
            "instruction": lambda: self._instruction,
            "vocabulary": self._vocabulary,
            "feedback": lambda: line["feedback"],
            "context": lambda: cut_text(recording.meta["task"].get("context", ""), TEXT_LENGTHS["context"]),
        }
        made = {}
        for name, space in self._spaces.items():
            if broken and name != "instruction":  # a broken env gives zeros and empty texts
                made[name] = np.zeros(space.shape, space.dtype) if space.shape else ""
            else:
                made[name] = cast(space, makers[name]())
        return made

    def _frame(self, line: Mapping[str, Any]) -> Any:
        frame = self._recording.frame(line.get("frame"))
        if frame is None:
            raise RecordingError(f"{self._recording.folder}: frame {line.get('frame')} of step {line['step']} is lost")
        return frame

    def _elements(self, line: Mapping[str, Any]) -> Elements:
        number = line.get("elements")
        if number is None:
            return NO_ELEMENTS
        data = self._recording.elements(number)
        if data is None:
            raise RecordingError(f"{self._recording.folder}: elements {number} of step {line['step']} are lost")
        return Elements(np.array(data["rows"], np.int32).reshape(-1, 8), data["texts"], data.get("cut"))

    def _vocabulary(self) -> str:
        meta = self._recording.meta
        if "vocabulary" not in meta:
            raise RecordingError(f"{self._recording.folder} has no vocabulary: it was recorded by an older deskgym")
        return cut_text(meta["vocabulary"], TEXT_LENGTHS["vocabulary"])
