"""RecordEpisode: keeps everything of an episode in a folder that can be viewed and scored again."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from deskgym._version import __version__
from deskgym.envs.action.actions import Action, RefusedAction
from deskgym.envs.action.spaces import action_from_sample
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.episode import context_of, needs_of
from deskgym.envs.errors import ActionError, MachineError
from deskgym.envs.kernel_env import KernelEnv
from deskgym.envs.machines.kernels import LIBRARIES
from deskgym.envs.machines.packages import package_versions
from deskgym.envs.options import checked_after
from deskgym.wrappers.base import MachineWrapper
from deskgym.wrappers.recording.recorded_state import keep
from deskgym.wrappers.recording.recording import ABORTED, CHANGES, FORMAT, META, STATE, VERDICT, RecordingError
from deskgym.wrappers.recording.row_changes import row_changes
from deskgym.wrappers.recording.writer import RecordingWriter

_SLUG = re.compile(r"[^A-Za-z0-9.-]+")
_ON_HOST = ("sandbox", "process")  # machines that run the host's own programs
_OWN_INFO = ("timing", "verdict", "task", "step")  # these have places of their own in the recording


class RecordEpisode(MachineWrapper):
    """Records each episode of a ``DesktopEnv`` or a ``KernelEnv`` into a folder of its own below ``folder``.

    What is in it is told by ``deskgym.wrappers.recording.recording``; ``deskgym view`` makes a page of it and
    ``deskgym verify --rescore`` scores it again. Frames are lossless. A step waits only for a copy of its frame in
    memory (1 to 2 ms at 1920x1080); a thread compresses and writes. An episode that is cut off by ``reset``, ``close``
    or a crash leaves a readable recording of what there was.

    Args:
        env: an environment whose ``unwrapped`` is a MachineEnv.
        folder: made if it is missing; what is in it stays.
        keep_state: keep what the evaluator read, so that the episode can be scored again; of a ``KernelEnv`` nothing
            is kept, because its results are compared in a machine.

    Raises:
        RecordingError: the folder cannot be written to; or, from ``reset``, ``step`` or ``close`` and once per error,
            the disk does not take it.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.wrappers import RecordEpisode
        >>> env = gym.make("deskgym/Science-v0")  # doctest: +SKIP
        >>> env = RecordEpisode(env, "out")  # doctest: +SKIP
    """

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], folder: str | Path, *, keep_state: bool = True) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, folder=str(folder), keep_state=keep_state)
        super().__init__(env)
        self.folder = Path(folder)
        there = next(path for path in (self.folder.absolute(), *self.folder.absolute().parents) if path.exists())
        if not (there.is_dir() and os.access(there, os.W_OK)):
            raise RecordingError(f"cannot record into {folder}: {there} is not a folder that you can write to")
        self.keep_state = keep_state
        self.episode_folder: Path | None = None
        self._writer: RecordingWriter | None = None
        self._steps = 0
        self._asked = ""
        self._begun: dict[str, Any] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, and begin a new folder."""
        self._end()
        observation, info = self.env.reset(seed=seed, options=options)
        assert self.inner.task is not None  # reset has drawn it
        self.episode_folder = _new_folder(self.folder, self.inner.task.id)
        self._writer = RecordingWriter(self.episode_folder)
        self._begun = self._meta(seed, options)
        self._writer.file(META, self._begun)
        self._steps, self._asked = int(info.get("step", 0)), ""
        self._record(observation, info, {"step": self._steps})
        return observation, info

    def memory(self) -> dict[str, Any]:
        """Which recording this is, and its step; a restored episode gets a recording of its own."""
        return {"of": self.episode_folder.name if self.episode_folder else "", "step": self._steps}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Tell the new recording where it branches off."""
        if self._writer is not None:
            self._begun["branch"] = {"of": memory["of"], "step": memory["step"]}
            self._writer.file(META, self._begun)

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Step the env, and record the step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        outcome = {"reward": float(reward), "terminated": bool(terminated), "truncated": bool(truncated)}
        if self._writer is not None:
            self._record(observation, info, {"step": info.get("step")} | self._told(action, info) | outcome)
            if terminated or truncated:
                self._finish()
        return observation, float(reward), terminated, truncated, info

    def abort(self, reason: str) -> None:
        """Give the episode up, and record why; does nothing where none is being recorded."""
        if self._writer is not None:
            self._writer.file(ABORTED, {"reason": reason})
            self._end()

    def close(self) -> None:
        """Close the env, and wait until the recording is on disk."""
        try:
            self._end()
        finally:
            super().close()

    def _record(self, observation: Mapping[str, Any], info: Mapping[str, Any], line: dict[str, Any]) -> None:
        assert self._writer is not None  # the callers have seen to it
        broken = "fault" in info
        start = time.perf_counter()
        line["frame"] = None if broken else self._writer.frame(self._frame(observation))
        if not broken and isinstance(self.inner, DesktopEnv) and len(self.inner.elements):
            elements = self.inner.elements
            line["elements"] = self._writer.elements(elements.rows, elements.texts, elements.cut)
        line["feedback"] = str(observation.get("feedback", ""))
        if texts := self._new_stage():
            line["texts"] = texts
        line["timing"] = {name: round(float(ms), 3) for name, ms in info.get("timing", {}).items()}
        line["timing"]["record"] = round((time.perf_counter() - start) * 1000, 3)
        line["info"] = {name: value for name, value in info.items() if name not in _OWN_INFO}
        self._writer.line(line)

    def _new_stage(self) -> dict[str, str]:
        """What the agent is told where a stage of an episode on a kernel begins; {} within one and for desktops."""
        inner = self.inner
        if not isinstance(inner, KernelEnv) or inner.episode is None:
            return {}
        texts = dict(inner.episode.texts())
        before, self._asked = self._asked, texts["instruction"]
        return texts if texts["instruction"] != before else {}

    def _told(self, action: Any, info: Mapping[str, Any]) -> dict[str, Any]:
        """The action as the recording's format has it: what was given, and what was really performed."""
        before, self._steps = self._steps, int(info.get("step", self._steps))
        try:
            given = action_json(action)
        except RecursionError:  # or in a circle
            given = f"{type(action).__name__} that is too deep to be recorded"
        performed = self.inner.performed
        if not performed or self._steps != before + 1:  # refused, or a wrapper inside made several steps of it
            return {"action": given}
        if isinstance(performed, str):
            return {"action": given} | ({"performed": performed} if performed != given else {})
        done = [part.to_dict() for part in performed]
        if self.inner.actions.name != "computer":
            return {"action": given, "performed": done}
        says_the_same = isinstance(given, dict) and done[0] | given == done[0]
        return {"action": done[0]} | ({} if says_the_same else {"given": given})

    def _frame(self, observation: Mapping[str, Any]) -> NDArray[np.uint8] | None:
        for part in ("screenshot", "plot"):
            if part in observation:
                return np.ascontiguousarray(observation[part], np.uint8)
        try:
            return self.inner.machine.display.capture()
        except MachineError:
            return self.inner.picture()  # the machine has no screen, or broke: its next use says so

    def _finish(self) -> None:
        """The episode ended: its verdict and state, then wait for the files."""
        assert self._writer is not None  # the callers have seen to it
        if self.inner.verdict is not None:
            self._writer.file(VERDICT, self.inner.verdict.to_dict())
        scored_again = not isinstance(self.inner, KernelEnv)
        if self.keep_state and scored_again and self.inner.final is not None:
            self._writer.file(STATE, keep(self.inner.final))
        if self.inner.final is not None and (changes := row_changes(self.inner.final))["rows"]:
            self._writer.file(CHANGES, changes)
        self._end()

    def _end(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def _meta(self, seed: int | None, options: Mapping[str, Any] | None) -> dict[str, Any]:
        task, spec, machine = self.inner.task, self.inner.spec, self.inner.machine.kind
        assert task is not None  # reset has drawn it
        made, inner = dict(spec.kwargs) if spec else {}, self.env.spec
        documents = {"context": context} if (context := context_of(task)) else {}
        return {
            "format": FORMAT,
            "task": {
                "id": task.id,
                "instruction": task.instruction,
                "verbose": list(task.verbose),
                "params": dict(task.params),
                "difficulty": task.difficulty,
                "max_steps": task.max_steps,
                "tags": list(task.tags),
                "source": task.source,
                "split": task.split,
                "seed": task.seed,
                "feasible": task.feasible,
                **documents,
            },
            "seed": seed,
            "options": {**options, "state": repr(options["state"])} if options and "state" in options else options,
            **self.inner.describe(),
            "wrappers": [wrapper.name for wrapper in inner.additional_wrappers] if inner else [],
            "env_id": spec.id if spec else None,
            "env": made,
            "step_limit": self.inner.step_limit,
            "machine": machine,
            "versions": self._versions(needs_of(task).packages, machine),
            "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }

    def _versions(self, packages: Sequence[str], machine: str) -> dict[str, str]:
        """Of this package, and of what runs in the machine."""
        libraries = LIBRARIES if isinstance(self.inner, KernelEnv) else ()
        return _versions(libraries) | (package_versions(packages) if machine in _ON_HOST else {})


def action_json(action: Any) -> Any:
    """An action of any form as JSON, in the frame of what it was given to.

    A sample of a space of computer actions gets the JSON form that does the same, in its own numbers and marks. An
    ``Action`` has ``Action.to_dict``'s form; arrays become lists, and what JSON cannot hold its ``repr``.
    """
    if isinstance(action, Action):
        return action.to_dict()
    if isinstance(action, Mapping):
        if "action_type" not in action and not isinstance(action.get("action", ""), str):
            action = _sample_json(action)
        return {str(name): action_json(value) for name, value in action.items()}
    if isinstance(action, RefusedAction):
        return repr(action.error)
    if isinstance(action, np.ndarray | np.generic):
        return action.tolist()
    if isinstance(action, list | tuple):
        return [action_json(value) for value in action]
    return action if isinstance(action, str | int | float | None) else repr(action)


def _sample_json(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """A sample in the JSON form; as it is where it is none."""
    try:
        action = action_from_sample(sample).to_dict()
    except ActionError:
        return sample
    for part, x, y, mark in (("point", "x", "y", "mark"), ("to", "to_x", "to_y", "to_mark")):
        if x in action:
            action[x], action[y] = np.asarray(sample[part]).tolist()[:2]  # a frame's need not be whole
            if sample.get(mark):
                del action[x], action[y]
                action[mark] = sample[mark]
    return action


def _new_folder(parent: Path, task_id: str) -> Path:
    """A new folder, numbered after those that are there; several recorders may share a parent."""
    slug = _SLUG.sub("_", task_id).strip("_.") or "episode"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        taken = [int(path.name[:5]) for path in parent.iterdir() if path.name[:5].isdigit()]
        number = max(taken, default=-1) + 1
        while True:
            folder = parent / f"{number:05d}-{slug[:80]}"
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                number += 1
    except OSError as error:
        raise RecordingError(f"cannot record into {parent}: {error.strerror or error}") from error


@lru_cache
def _versions(libraries: tuple[str, ...]) -> dict[str, str]:
    versions = {"deskgym": __version__, "python": platform.python_version()}
    for package in ("gymnasium", "numpy", *libraries):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions | {"system": platform.platform()}
