"""DesktopVectorEnv: many desktops at once, in Gymnasium's lockstep or each at its own pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from deskgym.envs.options import Seconds, checked
from deskgym.envs.vector.base import ClientVectorEnv
from deskgym.envs.vector.memory import Observations
from deskgym.envs.vector.process import EnvProcess, prepare_workers, wait_for

TIMEOUT = 600.0  # seconds that one reset or step may take: each part of it has a much shorter deadline of its own
CLOSING = 20.0  # seconds until workers that do not end by themselves are killed


class DesktopVectorEnv(ClientVectorEnv[EnvProcess]):
    """Environments in processes of their own, with observations in shared memory.

    ``reset`` and ``step`` are Gymnasium's, for all at once. ``send`` and ``recv`` are EnvPool's: actions go to some,
    and the batch that comes back is of those that are ready first, so that nobody waits for the slowest. One pair or
    the other can be used whenever no environment is busy.

    A worker that is lost (killed, or silent for ``timeout``) costs its own episode: it truncates with ``info["fault"]``
    of kind ``"worker_lost"`` and an observation of zeros, and a fresh worker takes over. Everything ends with this
    process, however that ends. See ``docs/vector.md``.

    Args:
        make: builds one environment; called once in each worker, and once here for the spaces.
        num_envs: how many.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, with Gymnasium's meanings.
        copy: give copies of the observations; without, the arrays of all environments at once change with the next
            step, and no frame is copied between here and the desktop's own framebuffer.
        timeout: seconds until a silent worker counts as lost.

    Attributes:
        stats: counts ``lost_workers``; ``call("stats")`` has the environments' own.

    Raises:
        ValueError: an argument is not legal.
    """

    @checked
    def __init__(
        self,
        make: Callable[[], gymnasium.Env[Any, Any]],
        num_envs: int,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        timeout: Seconds = TIMEOUT,
    ) -> None:
        super().__init__(make, num_envs, autoreset_mode)
        self.copy = copy
        self._observations = Observations(self.single_observation_space, num_envs)
        self._end = Finalize(self, _end, (self._envs, self._observations), exitpriority=100)
        try:
            prepare_workers()
            for k in range(num_envs):
                env = EnvProcess(k, self.autoreset_mode, self.stats, timeout, make, self._observations)
                self._envs.append(env)
        except BaseException:
            self.close()
            raise

    def close_extras(self, **kwargs: Any) -> None:
        """End all workers, each after it has stopped its machines; those that take longer than 20 s are killed."""
        self._end()

    def _wait(self, envs: Sequence[EnvProcess], end: float | None) -> None:
        wait_for(envs, end)

    def _observed(self, ids: Sequence[int]) -> Any:
        return self._observations.batch(self.copy) if len(ids) == self.num_envs else self._observations.rows(ids)


def _end(envs: Sequence[EnvProcess], observations: Observations) -> None:
    for env in envs:
        env.ask_to_close()
    end = time.monotonic() + CLOSING
    for env in envs:
        env.end(max(end - time.monotonic(), 0.0))
    observations.close()
