"""What an agent is, and how one plays an episode."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal, Protocol, runtime_checkable

import gymnasium

Outcome = Literal["solved", "failed", "error", "fault", "unfinished"]
LEFT_OUT: tuple[Outcome, ...] = ("error", "fault")
"""Outcomes that say nothing about the agent: whoever trains or counts leaves such an episode out."""


@runtime_checkable
class Agent(Protocol):
    """Something that plays episodes: it sees what the env gives, and says what to do.

    A class that the command line loads (``--agent module:Class``) is called without arguments.
    """

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """An episode begins; ``observation`` and ``info`` are from the env's ``reset``."""
        ...

    def act(self, observation: Any) -> Any:
        """The next action, in a form that ``env.step`` takes."""
        ...


@dataclass(frozen=True)
class EpisodeResult:
    """How an episode went.

    Attributes:
        task: the id of the instance that was played.
        seed: what the env was reset with.
        outcome: ``"solved"`` (score 1), ``"failed"`` (less than 1, or it broke its machine), ``"error"`` (could not be
            set up, played or evaluated), ``"fault"`` (the infrastructure broke), ``"unfinished"`` (stopped at
            ``max_steps`` of the caller).
        score: in [0, 1]; None where there is none, which is not a score of 0.
        steps: actions taken.
        seconds: of wall time, reset and evaluation included.
        step_ms: the median step, in ms, or None without steps.
        message: what went wrong, for "error" and "fault"; the checks that failed, for "failed".
        verdict: as in ``info["verdict"]``, or None.
        began: whether the task could be set up.
        phases: where the seconds went: ``reset``, ``agent`` (oracles look at the screen while they act), ``steps`` and
            ``evaluation``; empty where the episode broke off.
    """

    task: str
    seed: int | None
    outcome: Outcome
    score: float | None
    steps: int
    seconds: float
    step_ms: float | None = None
    message: str = ""
    verdict: Mapping[str, Any] | None = field(default=None, repr=False)
    began: bool = True
    phases: Mapping[str, float] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-able data."""
        return asdict(self)


def run_episode(
    env: gymnasium.Env[Any, Any],
    agent: Agent,
    *,
    max_steps: int | None = None,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    on_step: Callable[[int, Mapping[str, Any]], None] | None = None,
) -> EpisodeResult:
    """Reset ``env`` and let ``agent`` play until the episode ends.

    Args:
        env: a MachineEnv, wrapped or not.
        agent: plays.
        max_steps: stop here even if the episode has not ended.
        seed: for ``env.reset``.
        options: for ``env.reset``, such as ``{"task": "kalgebra/plot-2d"}``.
        on_step: called after each step with its number and its info.

    Raises:
        DeskgymError: the episode could not be set up, or the agent's action was not legal.
    """
    start = time.perf_counter()
    observation, info = env.reset(seed=seed, options=options)
    reset = time.perf_counter() - start
    agent.reset(env, observation, info)
    steps, durations, over = 0, [], False
    while not over and (max_steps is None or steps < max_steps):
        action = agent.act(observation)
        before = time.perf_counter()
        observation, _, terminated, truncated, info = env.step(action)
        durations.append((time.perf_counter() - before) * 1000)
        steps += 1
        over = terminated or truncated
        if on_step:
            on_step(steps, info)
    outcome, score, message = judge(info)
    seconds, stepped = time.perf_counter() - start, sum(durations) / 1000
    evaluation = float(info.get("timing", {}).get("evaluate", 0.0)) / 1000
    return EpisodeResult(
        task=str(info.get("task", "")),
        seed=seed,
        outcome=outcome,
        score=score,
        steps=steps,
        seconds=seconds,
        step_ms=median(durations) if durations else None,
        message=message,
        verdict=info.get("verdict"),
        phases={
            "reset": reset,
            "agent": seconds - reset - stepped,
            "steps": stepped - evaluation,
            "evaluation": evaluation,
        },
    )


def judge(info: Mapping[str, Any]) -> tuple[Outcome, float | None, str]:
    """Outcome, score and message of an episode, from the info of its last step."""
    if fault := info.get("fault"):
        message = f"{fault['kind']}: {fault['message']}"
        if fault.get("cause") == "agent":
            return "failed", 0.0, f"it broke its own machine: {message}"
        return "fault", None, message
    verdict = info.get("verdict")
    if verdict is None:
        return "unfinished", None, "the episode did not end"
    if verdict["error"] is not None:
        return "error", None, str(verdict["error"])
    if verdict["success"]:
        return "solved", float(verdict["score"]), ""
    failed = (f"{check['name']}: {check['message']}" for check in verdict["checks"] if check["outcome"] != "pass")
    return "failed", float(verdict["score"]), "; ".join(failed)
