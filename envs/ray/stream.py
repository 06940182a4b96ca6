"""Episodes as they finish, from environments that play them with a policy of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, TypeVar

from deskgym.envs.ray.actor import Episode
from deskgym.envs.ray.client import START, RemoteEnv

Taken = TypeVar("Taken", Episode, Episode | None)


class EpisodeStream:
    """Keeps environments playing, and gives their episodes in the order in which they finish.

    Args:
        envs: the environments.
        play: queues an episode of an environment with a seed, and returns the reference to it.
        seeds: of each environment's first episode.
        count: episodes to begin in all; no end if None.
        ahead: episodes of an environment that may be under way, or finished and not taken.
        timeout: seconds until an episode counts as lost.

    Attributes:
        open: it has begun, and not ended.
    """

    def __init__(
        self,
        envs: Sequence[RemoteEnv],
        play: Callable[[RemoteEnv, int | None], Any],
        seeds: Sequence[int | None],
        count: int | None,
        ahead: int,
        timeout: float,
    ) -> None:
        self.envs, self.open = envs, False
        self._play, self._seeds, self._left, self._ahead, self._timeout = play, seeds, count, ahead, timeout
        self._ray = envs[0].actors.ray
        self._owners: dict[Any, RemoteEnv] = {}  # of the references, oldest first

    def run(self) -> Generator[Episode, None, None]:
        """Begin.

        Raises:
            MachineError: see ``DistributedEnvs.episodes``.
        """
        self.open = True
        try:
            for env, seed in zip(self.envs, self._seeds, strict=True):
                self._submit(env, seed)
            for env in self.envs:
                self._fill(env)
            while self._owners:
                yield self._next()
        finally:
            self.cancel()

    def cancel(self) -> None:
        """Play no more of what is queued; what is under way ends after its step."""
        self.open = False
        for env in self.envs:
            if env.plays:
                env.stop_playing()
        self._owners.clear()

    def _next(self) -> Episode:
        while True:
            playing = set(self._owners.values())
            end = min(env.begun for env in playing) + self._timeout
            ready, _ = self._ray.wait(list(self._owners), timeout=max(end - time.monotonic(), 0.0))
            if ready:
                episode = self._end(self._owners[ready[0]], RemoteEnv.take_episode)
                if episode is None:
                    continue
                return episode
            now = time.monotonic()
            late = [env for env in playing if now >= env.begun + self._timeout]
            for env in late:
                if env.runs:
                    return self._end(env, partial(RemoteEnv.lose_episode, why=f"it took over {self._timeout:g} s"))
                env.begun = now  # it waits for room, or starts
            if now > max(env.started for env in playing) + START and not any(env.runs for env in playing):
                raise self.envs[0].actors.no_room()

    def _end(self, env: RemoteEnv, take: Callable[[RemoteEnv], Taken]) -> Taken:
        """Take an episode, forget what will not be played, and let others begin in its place."""
        queued = list(env.plays)
        episode = take(env)
        gone = [ref for ref in queued if ref not in env.plays]
        for ref in gone:
            del self._owners[ref]
        if self._left is not None:
            self._left += len(gone) - (episode is not None)
        self._fill(env)
        return episode

    def _submit(self, env: RemoteEnv, seed: int | None = None) -> None:
        if self._left != 0:
            self._left = None if self._left is None else self._left - 1
            self._owners[self._play(env, seed)] = env

    def _fill(self, env: RemoteEnv) -> None:
        for _ in range(self._ahead - len(env.plays)):
            self._submit(env)
