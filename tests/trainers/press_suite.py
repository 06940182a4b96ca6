"""A task source on the fake machine, shared by the tests of the adapters, and what they need to see of processes."""

import os
import time
from pathlib import Path

import gymnasium as gym

from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import SetupError, TaskError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict


class PressTask:
    """Solved by answering with its number; 13 cannot be set up, 14 not be evaluated, 15 is solved anyway."""

    verbose = ()
    max_steps = 4
    difficulty, source, split, feasible = "easy", "test", "train", True
    tags, vocabulary, keys, wrong_attempts = (), (), (), {}

    def __init__(self, number):
        self.number, self.seed, self.params = number, number, {"number": number}
        self.id = f"fake/press#{number}"
        self.instruction = f"Answer {number}."

    def prepare(self, machine):
        if self.number == 13:
            raise SetupError("the window never came")

    def evaluate(self, final):
        if self.number == 14:
            return Verdict(0.0, error="the reader broke")
        right = final.stop == "answer" and final.answer == str(self.number)
        right = right or (final.stop in ("limit", "done") and self.number == 15)
        return Verdict.from_checks([CheckResult("answer", "pass" if right else "fail", repr(final.answer))])

    def oracle(self, screen):
        yield [Action("click", x=5, y=5), Action("type", text="x")]
        yield [Action("answer", text=str(self.number))]


class PressSource:
    """An endless supply of PressTasks."""

    def ids(self, split=None):
        return ["fake/press"]

    def get(self, task_id, seed=None):
        return PressTask(seed or 0)

    def draw(self, rng, pattern=None, split=None):
        if pattern and "#" in pattern:
            return PressTask(int(pattern.partition("#")[2]))
        if pattern not in (None, "fake/press", "fake/*"):
            raise TaskError(f"no task {pattern!r}")
        return PressTask(int(rng.integers(1000)))


def make(**options):
    """A DesktopEnv on the fake machine."""
    return DesktopEnv(PressSource(), **({"machine": "fake", "screen_size": (160, 120)} | options))


gym.register("test/Press-v0", entry_point=make, nondeterministic=True)


def descendants(pid=None):
    """The names of all living processes below one, by process id; without the one supervisor of its sandboxes."""
    below, found = [pid or os.getpid()], {}
    while below:
        for tasks in Path(f"/proc/{below.pop()}/task").glob("*/children"):
            try:
                children = [int(word) for word in tasks.read_text().split()]
            except OSError:
                continue
            below += children
            found |= {child: name for child in children if (name := name_of(child))}
    return found


def name_of(pid):
    """A process's name; "" for one that has ended, and for the supervisor."""
    try:
        if "supervisor.py" in Path(f"/proc/{pid}/cmdline").read_text():
            return ""
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def gone(before, pid=None, seconds=5.0):
    """Whether, within some seconds, no process is below one that was not there before."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not set(descendants(pid)) - set(before):
            return True
        time.sleep(0.05)
    return False
