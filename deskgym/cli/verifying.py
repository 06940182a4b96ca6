"""Plays the attempts of ``deskgym verify``, in this process or in several."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.agents.base import EpisodeResult
from deskgym.agents.loading import make_agent
from deskgym.agents.rollout import rollout
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
                agent = make_agent(attempt.agent)
                results.append(rollout(env, agent, seed=seed + k, options={"task": attempt.task}))
                if not results[-1].began:
                    broken.add(attempt.task)
            skipped = EpisodeResult(attempt.task, None, "unfinished", None, 0, 0.0, message=SKIPPED)
            yield AttemptReport(attempt, tuple(results or [skipped]))
