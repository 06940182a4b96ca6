"""An episode in which whatever goes wrong becomes its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deskgym.agents.base import EpisodeResult, Outcome, run_episode
from deskgym.envs.errors import DeskgymError, MachineError, RunOver, SetupError, TaskError
from deskgym.wrappers.recording.record_episode import RecordEpisode
from deskgym.wrappers.recording.recording import RecordingError

if TYPE_CHECKING:
    import gymnasium

    from deskgym.agents.base import Agent


def rollout(
    env: gymnasium.Env[Any, Any],
    agent: Agent,
    *,
    seed: int | None,
    options: dict[str, Any] | None = None,
    max_steps: int | None = None,
    on_step: Callable[[int, Mapping[str, Any]], None] | None = None,
) -> EpisodeResult:
    """``run_episode``, where an exception is a result with the outcome "error", or "fault" if the machine broke.

    Raises:
        TaskError: the task is unknown, or has no such wrong attempt.
        RecordingError: the disk does not take the recording.
        RunOver: no further episode can be played.
    """
    start = time.perf_counter()
    try:
        return run_episode(env, agent, seed=seed, options=options, max_steps=max_steps, on_step=on_step)
    except (TaskError, RecordingError):
        raise
    except RunOver as error:
        if isinstance(env, RecordEpisode):
            env.abort(str(error))
        raise
    except Exception as error:
        outcome: Outcome = "fault" if isinstance(error, MachineError) else "error"
        name = "" if isinstance(error, DeskgymError) else f"{type(error).__name__}: "
        if isinstance(env, RecordEpisode):
            env.abort(f"{name}{error}")
        task = getattr(env.unwrapped, "task", None)
        return EpisodeResult(
            task=task.id if task else str((options or {}).get("task", "")),
            seed=seed,
            outcome=outcome,
            score=None,
            steps=int(getattr(env.unwrapped, "_steps", 0)),
            seconds=time.perf_counter() - start,
            message=f"{name}{error}",
            began=not isinstance(error, (MachineError, SetupError)),
        )
