"""Desktops on the fake machine for vectors of environments, and tricks that their workers can be asked for."""

import os
import signal
import time
from pathlib import Path

import gymnasium as gym

from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.evaluation.verdict import CheckResult, Verdict

DONE = {"action": "done"}
WAIT = {"action": "wait", "seconds": 0}


class NumberTask:
    """Solved by answering with the number that it asks for."""

    verbose, max_steps, difficulty, tags, source, split, feasible = (), 5, "easy", (), "test", None, True
    vocabulary, keys = ("one", "two"), ()

    def __init__(self, number):
        self.number, self.seed, self.params = number, number, {"number": number}
        self.id = f"fake/number#{number}"
        self.instruction = f"Answer {number}."

    wrong_attempts = {}

    def prepare(self, machine):
        machine.put("/home/user/number.txt", str(self.number).encode())

    def evaluate(self, final):
        right = final.stop == "answer" and final.answer == str(self.number)
        return Verdict.from_checks([CheckResult("answer", "pass" if right else "fail", repr(final.answer))])

    def oracle(self, screen):
        yield [Action("answer", text=str(self.number))]


class NumberSource:
    """An endless supply of NumberTasks."""

    task_class = NumberTask

    def ids(self, split=None):
        return ["fake/number"]

    def get(self, task_id, seed=None):
        return self.task_class(seed or 0)

    def draw(self, rng, pattern=None, split=None):
        if pattern and "#" in pattern:
            return self.task_class(int(pattern.partition("#")[2]))
        return self.task_class(int(rng.integers(1000)))


def desktop(**options):
    return DesktopEnv(NumberSource(), **({"machine": "fake", "screen_size": (160, 120)} | options))


class Tricks(gym.Wrapper):
    """Does what a test wants in the worker.

    The action ``{"trick": name, "path": file}`` and the reset option ``"task": "name:file"`` do, before the step or the
    reset goes on: ``"wait"`` until the file is there, ``"kill"`` this process, ``"kill-once"`` unless the file is
    there, which it is from then on, ``"sleep"`` for an hour.
    """

    @property
    def pid(self):
        return os.getpid()

    @property
    def machines(self):
        """The processes of this environment's machines: those of the present one, and of those that wait."""
        desktop = self.unwrapped
        waiting = [entry.made.result().ready.machine for entry in desktop.pool._entries]
        return [machine.init_pid for machine in (desktop.machine, *waiting) if machine.kind == "sandbox"]

    def step(self, action):
        if "trick" in action:
            do(action["trick"], action.get("path", ""))
            action = WAIT
        return self.env.step(action)

    def reset(self, *, seed=None, options=None):
        trick, mark, path = ((options or {}).get("task") or "").partition(":")
        if mark:
            do(trick, path)
            options = None
        return self.env.reset(seed=seed, options=options)


def do(trick, path):
    if trick == "wait":
        while not os.path.exists(path):
            time.sleep(0.002)
    elif trick == "kill" or (trick == "kill-once" and not os.path.exists(path)):
        if path:
            Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    elif trick == "sleep":
        time.sleep(3600)


def tricky(**options):
    return Tricks(desktop(**options))


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def wait_until(condition, what, timeout=10.0):
    """Wait for what has no file descriptor to wait on."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true within {timeout} s"
        time.sleep(0.01)
