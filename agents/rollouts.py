"""Many episodes, several at once: each in a thread with an env and an agent of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deskgym.agents.base import LEFT_OUT, EpisodeResult, judge
from deskgym.agents.rollout import rollout
from deskgym.wrappers.recording.recording import Recording, RecordingError, find_recordings

if TYPE_CHECKING:
    import gymnasium

    from deskgym.agents.base import Agent


class Planned(NamedTuple):
    """An episode to be played.

    Attributes:
        task: an id or a glob; None leaves it to the seed.
        seed: for ``env.reset``.
    """

    task: str | None
    seed: int


@dataclass(frozen=True)
class Player:
    """What plays one episode after the other.

    Attributes:
        env: closed at the end.
        agent: called for each episode with the seed; gives who plays it.
    """

    env: gymnasium.Env[Any, Any]
    agent: Callable[[int], Agent]


class Stopped(BaseException):
    """The others have stopped; not an error of the episode."""


OnStep = Callable[[Planned, int, Mapping[str, Any]], None]


def rollouts(
    plan: Sequence[Planned],
    make: Callable[[], Player],
    *,
    parallel: int = 1,
    max_steps: int | None = None,
    on_step: OnStep | None = None,
    cancel: Callable[[], object] | None = None,
) -> Iterator[tuple[Planned, EpisodeResult]]:
    """Play episodes, and give the result of each as soon as it is there.

    Leaving the iterator early ends all players after the step that each is at.

    Args:
        plan: what is played, in this order.
        make: called in each thread; its env ends with the thread.
        parallel: how many are played at once.
        max_steps: stop each episode here.
        on_step: called after each step, by the thread that plays it.
        cancel: called where the iterator is left early: ends what players wait for, such as ``Model.cancel``.

    Raises:
        TaskError: a task is unknown.
        RecordingError: the disk does not take a recording.
    """
    todo: queue.SimpleQueue[Planned] = queue.SimpleQueue()
    for each in plan:
        todo.put(each)
    done: queue.SimpleQueue[tuple[Planned, EpisodeResult] | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def play() -> None:
        try:
            player = make()
            with closing(player.env):
                while not stop.is_set():
                    each = todo.get_nowait()
                    done.put((each, _play(player, each, max_steps, stop, on_step)))
        except queue.Empty:
            pass
        except BaseException as error:  # whatever it is, it must reach the caller
            if not isinstance(error, Stopped):
                done.put(error)
        finally:
            done.put(None)

    threads = [threading.Thread(target=play, name=f"player {k}") for k in range(min(parallel, len(plan)))]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            got = done.get()
            if got is None:
                left -= 1
            elif isinstance(got, BaseException):
                raise got
            else:
                yield got
    finally:
        stop.set()
        if left and cancel is not None:
            cancel()
        for thread in threads:
            thread.join()


def _play(
    player: Player, each: Planned, max_steps: int | None, stop: threading.Event, on_step: OnStep | None
) -> EpisodeResult:
    def after(step: int, info: Mapping[str, Any]) -> None:
        if stop.is_set():
            raise Stopped
        if on_step is not None:
            on_step(each, step, info)

    options = {"task": each.task} if each.task is not None else None
    return rollout(
        player.env, player.agent(each.seed), seed=each.seed, options=options, max_steps=max_steps, on_step=after
    )


def played(folder: Path) -> list[tuple[Planned, Recording]]:
    """The episodes of a folder of recordings that were played to their end, by what was planned.

    One that was cut off is not among them, nor one that broke without the agent's doing: it is to be played again.
    """
    if not folder.is_dir():
        return []
    try:
        recordings = find_recordings(folder)
    except RecordingError:
        return []  # there is none yet
    ended = [each for each in recordings if each.verdict is not None and each.complete]
    return [(planned_of(each), each) for each in ended if judge(each.ending)[0] not in LEFT_OUT]


def planned_of(recording: Recording) -> Planned:
    """What a recorded episode was played for."""
    task = (recording.meta.get("options") or {}).get("task")
    return Planned(task, int(recording.meta["seed"]))


def result_of(each: Planned, recording: Recording) -> EpisodeResult:
    """The result of a recorded episode."""
    outcome, score, message = judge(recording.ending)
    return EpisodeResult(
        task=str((recording.meta.get("task") or {}).get("id", "")),
        seed=each.seed,
        outcome=outcome,
        score=score,
        steps=int(recording.steps[-1].get("step", 0)),
        seconds=0.0,
        message=message,
        verdict=recording.verdict,
    )
