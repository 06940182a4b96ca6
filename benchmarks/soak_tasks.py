"""What the soak plays: short episodes on a bare desktop, in an editor and in KAlgebra; and leaks planted on purpose."""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import gymnasium
import numpy as np

from deskgym.benchmarks.desks import EditorTasks
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.episode import FinalState, TaskLike, TaskSource
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.task import Task

WRITTEN = "/home/user/written"
SCRIPT = (
    f"open({WRITTEN!r}, 'w').write('x' * 1_000_000)",
    "pyautogui.click(200, 150)\npyautogui.write('12*(3+4)')",
    "DONE",
)
"""The code actions of every episode: a file, a click and some keys, the end."""

SHARES = {"bare": 0.8, "editor": 0.12, "kalgebra": 0.08}
"""Which part of the episodes is of which kind: a KAlgebra desktop takes ten times the work of a bare one."""


class SoakTasks:
    """A source of tasks that ``SCRIPT`` can play.

    Args:
        shares: kind → its part of the episodes; the kinds are those of ``SHARES``.
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        if not shares or (wrong := set(shares) - set(SHARES)):
            raise ValueError(f"shares={dict(shares)!r}; legal kinds are {', '.join(SHARES)}, got {sorted(wrong)}")
        self.shares = dict(shares)

    def ids(self, split: str | None = None) -> list[str]:
        """One per kind."""
        return [f"soak/{kind}" for kind in self.shares]

    def get(self, task_id: str, seed: int | None = None) -> TaskLike:
        """One of a kind."""
        kind = task_id.removeprefix("soak/")
        if kind == "kalgebra":
            return _science().get("kalgebra/plot-2d", seed)
        hooks = EditorTasks().get(task_id).hooks if kind == "editor" else ()
        return Task(f"{task_id}#{seed}", "Write the file.", EVALUATOR, lambda screen: iter(()), hooks=hooks, seed=seed)

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> TaskLike:
        """One by the shares, or of the kind that ``pattern`` names."""
        parts = np.array(list(self.shares.values()))
        kind = rng.choice(list(self.shares), p=parts / parts.sum())
        return self.get(pattern or f"soak/{kind}", int(rng.integers(1 << 31)))


@cache
def _science() -> TaskSource:
    return load_suite("science")


def _has_written(final: FinalState) -> tuple[bool, str]:
    guest = final.machine.guest
    size = guest.stat(WRITTEN)["size"] if guest.exists(WRITTEN) else 0
    return size == 1_000_000, f"the file has {size} bytes"


EVALUATOR = Evaluator((Check("file.size", _has_written),))


def make_env(
    machine: str,
    screen_size: Sequence[int],
    shares: Mapping[str, float],
    temporary: str | None = None,
    leaks: Sequence[str] = (),
) -> gymnasium.Env[Any, Any]:
    """The env that each worker runs: code actions, screenshot and elements, one desktop ahead.

    Args:
        machine: kind of machine.
        screen_size: width and height in pixels.
        shares: see ``SoakTasks``.
        temporary: the folder for all temporary files of the process that it is made in.
        leaks: what to lose with every reset, of ``LEAKS``.
    """
    if temporary is not None:
        tempfile.tempdir = os.environ["TMPDIR"] = temporary
    env = DesktopEnv(
        SoakTasks(shares),
        machine=machine,
        screen_size=screen_size,
        action="code",
        observation=("screenshot", "elements", "feedback"),
        pool={"depth": 1},
    )
    return SoakEnv(env, leaks)


class SoakEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says when nothing is going on in the background, and can lose things.

    Args:
        env: a DesktopEnv.
        leaks: what to lose with every reset, of ``LEAKS``.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], leaks: Sequence[str] = ()) -> None:
        super().__init__(env)
        self._leaks = [LEAKS[name] for name in leaks]
        self._lost: list[Any] = []

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        """Reset, and lose one of each."""
        self._lost += [lose() for lose in self._leaks]
        return self.env.reset(**arguments)

    def drain(self) -> None:
        """Return when the pool has stopped what it had to stop, and prepared what it had to prepare.

        A full collection writes into all pages that a worker shares with its fork server: none is to come in between.
        """
        gc.collect()
        env = self.env.unwrapped
        assert isinstance(env, DesktopEnv)
        env.prefetch()
        env.pool.wait()


def _file() -> None:
    fd, _ = tempfile.mkstemp()
    os.close(fd)


def _process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE)  # it ends with its worker, whose end of the pipe closes


LEAKS: dict[str, Callable[[], Any]] = {
    "descriptor": lambda: os.open(os.devnull, os.O_RDONLY),
    "file": _file,
    "process": _process,
    "zombie": lambda: subprocess.Popen(["true"]),
    "memory": lambda: np.ones(1 << 20, np.uint8),
}
"""What can be lost, by name."""
