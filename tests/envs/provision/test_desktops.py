"""Desktops that are restored as they were after an equal setup, on a machine whose snapshots keep programs."""

import copy
import pickle
import threading
import warnings
from functools import partial

import numpy as np
import pytest
from vector_fakes import NumberSource, NumberTask

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestLost, MachineError, SetupError
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.envs.machines.fake import machine as fake
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.task_suites.core.task import Hook, Task

DONE = {"action": "done"}
WAIT = {"action": "wait", "seconds": 0}
CLICK = {"action": "click", "x": 80, "y": 45}


class ProgramsMachine(FakeMachine):
    """Keeps programs, and fails where a test says so."""

    fail: dict[str, list[Exception]] = {}

    def __init__(self, config=None):
        super().__init__(config, keeps_programs=True)

    def snapshot(self):
        self._fail("snapshot")
        return super().snapshot()

    def restore(self, snapshot=None):
        if snapshot is not None:
            self._fail("restore")
        super().restore(snapshot)

    def _fail(self, what):
        if self.fail.get(what):
            error = self.fail[what].pop()
            if isinstance(error, GuestLost):
                self.guest.close()
            raise error


ran: list[str] = []
"""What was set up, in order."""


def open_window(setup, text):
    """A hook: writes into the window and into a file, as starting a program would."""
    ran.append(text)
    display = setup.machine.display
    x, y, w, h = display.field
    display.perform([{"t": "move", "x": x + w // 2, "y": y + h // 2}, {"t": "down", "b": 1}, {"t": "up", "b": 1}])
    display.perform([{"t": "type", "s": text}])
    setup.machine.put("/home/user/opened", text.encode())


def as_opened(final, text):
    opened = final.machine.get("/home/user/opened") == text.encode()
    return opened and final.machine.fake_display.text == text, "as it was opened"


class WindowSource:
    """Tasks of which each has one of ``kinds`` setups."""

    def __init__(self, kinds=2):
        self.kinds = kinds

    def ids(self, split=None):
        return ["window/open"]

    def get(self, task_id, seed=None):
        seed = int(task_id.partition("#")[2] or seed or 0)
        text = f"window {seed % self.kinds}"
        return Task(
            f"window/open#{seed}", f"Task {seed}.", Evaluator((Check("window", partial(as_opened, text=text)),)),
            lambda screen: iter(()), hooks=[Hook("open", partial(open_window, text=text))], seed=seed,
        )  # fmt: skip

    def draw(self, rng, pattern=None, split=None):
        return self.get(pattern if pattern and "#" in pattern else f"window/open#{rng.integers(10**6)}")


@pytest.fixture(autouse=True)
def _afresh():
    ran.clear()
    ProgramsMachine.fail = {}
    before = set(fake._snapshots)
    yield
    assert set(fake._snapshots) == before, "snapshots were left over"


@pytest.fixture
def make():
    """Makes envs, and closes them."""
    made = []

    def make(kinds=2, source=None, **options):
        options = {"machine": f"{__name__}:ProgramsMachine", "screen_size": (160, 90)} | options
        options["observation"] = ("screenshot", "elements", "instruction")
        made.append(DesktopEnv(source or WindowSource(kinds), **options))
        return made[-1]

    yield make
    for env in made:
        env.close()


def play(env, **arguments):
    """One episode: what was seen first, and the reset's info."""
    observation, info = env.reset(**arguments)
    env.step(WAIT)
    assert env.step(DONE)[1] == 1.0
    return observation, info


def task(number):
    return {"options": {"task": f"window/open#{number}"}}


def test_a_setup_is_done_once(make):
    env = make(kinds=2)
    infos = [play(env, **task(number))[1] for number in (0, 2, 1, 4, 3)]
    assert ran == ["window 0", "window 1"]
    assert [("setup" in info["timing"], "snapshot" in info["timing"]) for info in infos] == [
        (True, True), (False, False), (True, True), (False, False), (False, False),
    ]  # fmt: skip
    assert (env.stats["snapshots_taken"], env.stats["snapshots_used"], env.stats["starts"]) == (2, 3, 5)


def test_what_the_agent_did_is_not_in_the_next_episode(make):
    env = make()
    first = env.reset(**task(0))[0]
    for _ in range(3):
        env.step(CLICK)
        env.step({"action": "type", "text": "x"})
        assert not np.array_equal(env.step(WAIT)[0]["screenshot"], first["screenshot"])
        again = env.reset(**task(0))[0]
        assert np.array_equal(again["screenshot"], first["screenshot"])
    assert len(ran) == 1


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_tasks_and_first_observations_are_the_same_with_and_without(make, depth):
    def seen(env):
        got = [play(env, seed=5)] + [play(env) for _ in range(8)] + [play(env, seed=5), play(env)]
        return [(info["task"], observation) for observation, info in got]

    plain, kept = make(pool={"depth": 0, "snapshots": 0}), make(pool={"depth": depth, "reserve_mb": 0})
    for (its_task, observation), (same_task, same) in zip(seen(plain), seen(kept), strict=True):
        assert its_task == same_task and observation.keys() == same.keys()
        assert all(np.array_equal(observation[part], same[part]) for part in observation)
    assert "snapshots_taken" not in plain.stats and len(ran) > 11
    assert kept.stats["snapshots_taken"] == 2 and kept.stats["snapshots_used"] >= 9


def test_machines_that_keep_no_programs_are_set_up_each_time(make):
    env = make(machine="fake")
    for _ in range(2):
        play(env, **task(0))
    assert len(ran) == 2 and set(env.stats) == {"starts", "repairs", "episodes", "evaluation_errors"}


def test_few_are_kept_and_those_that_come_again(make):
    env = make(kinds=100, pool={"depth": 0, "snapshots": 2})
    for number in (0, 0, 1, 2, 0, 3, 0, 4, 0):
        play(env, **task(number))
        assert len(env.manager.kept) <= 2
    assert ran == [f"window {number}" for number in range(5)]
    env.close()
    assert len(env.manager.kept) == 0
    play(env, **task(0))
    assert ran[-1] == "window 0" and len(ran) == 6


def test_a_snapshot_that_cannot_be_restored_is_set_up_anew(make):
    env = make()
    first = play(env, **task(0))[0]
    for number, error in enumerate([MachineError("bad memory", "start_failed"), ValueError("it was dropped")], 1):
        ProgramsMachine.fail = {"restore": [error]}
        observation, info = play(env, **task(0))
        assert np.array_equal(observation["screenshot"], first["screenshot"])
        assert len(ran) == 1 + number and env.stats["faults"] == env.stats["repairs"] == number
        assert env.stats["snapshots_taken"] == 1 + number  # another one took its place
        play(env, **task(0))
        assert len(ran) == 1 + number
    assert env.stats["fault_start_failed"] == env.stats["fault_snapshot_lost"] == 1


def test_one_on_which_nothing_can_be_seen_is_not_used_again(make, monkeypatch):
    env = make()
    play(env, **task(0))
    display = type(env.machine.display)
    carry_out = display.carry_out

    def broken(self, *arguments, **requests):
        if self.text and len(ran) == 1:
            raise GuestLost("its screen is gone")
        return carry_out(self, *arguments, **requests)

    monkeypatch.setattr(display, "carry_out", broken)
    play(env, **task(0))
    assert len(ran) == 2 and env.stats["fault_guest_lost"] == 1
    play(env, **task(0))
    assert len(ran) == 2


@pytest.mark.parametrize("error", [MachineError("no room", "snapshot_failed"), OSError(28, "No space left on device")])
def test_a_snapshot_that_cannot_be_taken_costs_nothing_and_is_said_once(make, error):
    env = make(kinds=3)
    ProgramsMachine.fail = {"snapshot": [error]}
    with pytest.warns(RuntimeWarning, match="(?i)no (room|space).*fewer are kept"):
        play(env, **task(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            play(env, **task(0))
    assert len(ran) == 3 and env.stats["snapshots_failed"] == 1 and env.stats["faults"] == 0
    env.close()
    play(env, **task(0))
    play(env, **task(0))
    assert len(ran) == 4 and env.stats["snapshots_failed"] == 1


def test_a_machine_that_dies_of_its_snapshot_is_replaced(make):
    env = make()
    ProgramsMachine.fail = {"snapshot": [GuestLost("it went down")]}
    with pytest.warns(RuntimeWarning, match="went down"):
        play(env, **task(0))
    assert len(ran) == 2 and env.stats["fault_snapshot"] == 1 and env.stats["repairs"] == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_the_pool_uses_them(make, depth):
    env = make(kinds=1, pool={"depth": depth, "reserve_mb": 0})
    play(env, seed=1)
    for _ in range(4):
        env.pool.wait(10)
        info = play(env)[1]
        assert "swap" in info["timing"] and "setup" not in info["prepared"]
    assert ran == ["window 0"] and env.stats["snapshots_taken"] == 1
    env.close()
    assert env.stats["snapshots_used"] == env.stats["starts"] - 1


def test_a_bad_one_in_the_pool_is_set_up_anew(make):
    env = make(kinds=1, pool={"depth": 1, "reserve_mb": 0})
    play(env, seed=1)
    env.pool.wait(10)
    ProgramsMachine.fail = {"restore": [MachineError("bad memory")]}
    for _ in range(3):
        play(env)
        env.pool.wait(10)
    assert ran == ["window 0"] * 2 and env.stats["faults"] == 1 and env.stats["snapshots_taken"] == 2


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_its_own(make, again):
    env = make(kinds=1)
    play(env)
    other = again(env)
    assert len(other.manager.kept) == 0
    play(other)
    other.close()
    play(env)
    assert len(ran) == 2


def test_tasks_of_your_own_go_by_their_id(make):
    class Counted(NumberTask):
        def prepare(self, machine):
            ran.append(self.id)
            super().prepare(machine)

    class Always(Counted):
        setup_key = ""

    for kind, times in ((Counted, 2), (Always, 4)):
        source = NumberSource()
        source.task_class = kind
        env = make(source=source)
        ran.clear()
        for number in (1, 2, 1, 2):
            assert env.reset(options={"task": f"fake/number#{number}"})[1]["task"] == f"fake/number#{number}"
            assert env.machine.get("/home/user/number.txt") == str(number).encode()
        assert len(ran) == times


def test_a_setup_that_fails_keeps_nothing(make, monkeypatch):
    env = make()

    def fails(self, machine):
        ran.append(self.id)
        raise SetupError("no window")

    monkeypatch.setattr(Task, "prepare", fails)
    with pytest.raises(SetupError, match="no window"):
        env.reset(**task(0))
    assert len(ran) == 2 and len(env.manager.kept) == 0
    monkeypatch.undo()
    play(env, **task(0))


@pytest.mark.parametrize("depth", [0, 1])
def test_what_has_to_be_installed_first_is_not_tried_again(make, monkeypatch, depth):
    env = make(kinds=10**6, pool={"depth": depth})
    play(env, **task(0))

    def lacks(self, machine):
        ran.append(self.id)
        raise MachineError("there is no image", "no_image")

    ran.clear()
    monkeypatch.setattr(Task, "prepare", lacks)
    with pytest.raises(MachineError, match="no image"):
        env.reset(**task(1))
    assert ran.count("window/open#1") == 1
    monkeypatch.undo()
    play(env, **task(1))


def test_a_vector_of_environments():
    def windows():
        machine, pool = f"{__name__}:ProgramsMachine", {"depth": 1, "reserve_mb": 0}
        return DesktopEnv(WindowSource(), machine=machine, screen_size=(160, 90), pool=pool)

    envs = DesktopVectorEnv(windows, 2, autoreset_mode="SameStep")
    envs.reset(seed=3)
    for _ in range(6):
        assert envs.step([DONE, DONE])[1].tolist() == [1.0, 1.0]
    for stats in envs.call("stats"):
        assert stats["snapshots_taken"] == 2 and stats["snapshots_used"] >= 5 and stats["faults"] == 0
    envs.close()


class Gated(Task):
    """Its setup waits in the pool's thread for ``gate``, and has the same key as any other."""

    setup_key = "the same"
    begun, gate = threading.Event(), threading.Event()

    def prepare(self, machine):
        if threading.current_thread().name.startswith("deskgym-pool"):
            self.begun.set()
            assert self.gate.wait(10)
        super().prepare(machine)


class GatedSource(WindowSource):
    def get(self, task_id, seed=None):
        return Gated(**vars(super().get(task_id, seed)))


def test_a_reset_while_the_same_setup_is_in_the_making(make):
    env = make(source=GatedSource(1), pool={"depth": 1, "reserve_mb": 0})
    env.prefetch(seed=1)
    assert Gated.begun.wait(10)
    play(env, seed=2)
    assert env.stats["snapshots_taken"] == 1
    env.prefetch(seed=1)
    Gated.gate.set()
    play(env, seed=1)
    env.pool.wait(10)
    assert len(ran) == 2 and len(env.manager.kept) == 1
    env.close()
    assert env.stats["snapshots_taken"] == 1
