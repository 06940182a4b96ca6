"""Plays the attempts of ``deskgym verify``, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.agents.base import EpisodeResult
from deskgym.agents.loading import make_agent
from deskgym.agents.rollout import rollout
from deskgym.cli.verify_states import with_state
from deskgym.task_suites.core.verify.attempts import SKIPPED, Attempt, AttemptReport
from deskgym.workers import stream_jobs

if TYPE_CHECKING:
    import gymnasium

SHARES = 4
"""Into how many shares each worker's work is cut at least: they are done at different times."""
SHARE = 60
"""How many attempts a share has at most: each share begins with an environment of its own."""

MakeEnv = Callable[[], "gymnasium.Env[Any, Any]"]


def verify(
    make_env: MakeEnv, attempts: Sequence[Attempt], *, resets: int = 3, seed: int = 0, workers: int = 1
) -> Generator[AttemptReport, None, None]:
    """Play every attempt ``resets`` times, each with a seed of its own, and yield the reports as they are done.

    A wrong attempt earns 0 by what it does: where one of its own programs fails, it has done something else, and its
    episode is an error. A program that may fail says so itself, with ``try``.

    The attempts share an environment, as an agent's episodes do. Where a task's machine or setup fails, its other
    episodes and attempts are not played: they would wait for the same deadlines.

    Args:
        make_env: builds an environment; picklable if there are workers.
        attempts: what to play.
        resets: episodes per attempt.
        seed: of the first of them.
        workers: processes that play at once; 1 plays in this one.
    """
    if workers == 1:
        yield from _play_all(make_env, resets, seed, attempts)
        return
    size = min(SHARE, -(-len(attempts) // (workers * SHARES)))
    shares = [attempts[k : k + size] for k in range(0, len(attempts), max(1, size))]
    yield from stream_jobs(partial(_play_all, make_env, resets, seed), shares, workers)


def _play_all(
    make_env: MakeEnv, resets: int, seed: int, attempts: Sequence[Attempt]
) -> Generator[AttemptReport, None, None]:
    broken: set[str] = set()
    with closing(make_env()) as env:
        for attempt in attempts:
            results = []
            for k in range(resets):
                if attempt.task in broken:
                    break
                results.append(_play(env, attempt, seed + k))
                if not results[-1].began:
                    broken.add(attempt.task)
            skipped = EpisodeResult(attempt.task, None, "unfinished", None, 0, 0.0, message=SKIPPED)
            yield AttemptReport(attempt, tuple(results or [skipped]))


def _play(env: gymnasium.Env[Any, Any], attempt: Attempt, seed: int) -> EpisodeResult:
    failed: list[str] = []

    def look(step: int, info: Mapping[str, Any]) -> None:
        execution = info.get("execution", {})
        status = execution.get("status")
        if execution.get("timed_out") or (isinstance(status, int) and status):  # a kernel's status is a word
            said = str(execution.get("stderr", "")).strip().rpartition("\n")[2][:300]
            failed.append(f"its program failed in step {step}: {said or f'exit status {status}'}")

    played = rollout(env, make_agent(attempt.agent), seed=seed, options={"task": attempt.task}, on_step=look)
    result = with_state(played, env)
    if failed and result.score == 0 and attempt.agent.startswith("wrong:"):
        return replace(result, outcome="error", score=None, message=failed[0])
    return result
