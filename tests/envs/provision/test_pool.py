"""The warm pool: the same tasks with and without, faults that cost nothing but time, and nothing left over."""

import copy
import os
import pickle
import signal
import threading
import time

import gymnasium as gym
import numpy as np
import pytest

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestLost, MachineError, SetupError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.machines import memory
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.machines.memory import available_memory, group_leaves
from deskgym.envs.provision import pool
from deskgym.envs.provision.pool import PoolConfig

DONE = {"action": "done"}
WAIT = {"action": "wait", "seconds": 0}


class CountedMachine(FakeMachine):
    """A fake machine that is in ``running`` as long as it runs."""

    running: set["CountedMachine"] = set()

    def _boot(self):
        super()._boot()
        CountedMachine.running.add(self)

    def stop(self):
        CountedMachine.running.discard(self)
        super().stop()


class PoolTask:
    """Its setup waits for ``gate``, and fails as often as ``failures`` says."""

    verbose, max_steps, difficulty, tags, source, split, feasible = (), 5, "easy", (), "test", None, True
    vocabulary, keys = (), ()
    wrong_attempts = {}
    gate = threading.Event()
    failures: list[Exception] = []
    prepared: list[str] = []

    def __init__(self, number):
        self.seed, self.params = number, {"number": number}
        self.id, self.instruction = f"fake/pool#{number}", f"Number {number}."

    def prepare(self, machine):
        assert self.gate.wait(20)
        if threading.current_thread().name.startswith("deskgym-pool") and self.failures:
            raise self.failures.pop()
        machine.put("/home/user/number.txt", str(self.seed).encode())
        self.prepared.append(self.id)

    def evaluate(self, final):
        right = final.machine.get("/home/user/number.txt") == str(self.seed).encode()
        return Verdict.from_checks([CheckResult("number", "pass" if right else "fail", "")])

    def oracle(self, screen):
        yield from ()


class PoolSource:
    def ids(self, split=None):
        return ["fake/pool"]

    def get(self, task_id, seed=None):
        return PoolTask(int(task_id.partition("#")[2]))

    def draw(self, rng, pattern=None, split=None):
        return self.get(pattern) if pattern and "#" in pattern else PoolTask(int(rng.integers(10**6)))


@pytest.fixture(autouse=True)
def _afresh():
    PoolTask.gate.set()
    PoolTask.failures.clear()
    PoolTask.prepared.clear()
    yield
    PoolTask.gate.set()
    assert not CountedMachine.running
    wait_until(lambda: not pool_threads(), "the end of the pools' threads")


def pool_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("deskgym-pool")]


def wait_until(condition, what, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true within {timeout} s"
        time.sleep(0.005)


@pytest.fixture
def make():
    """Makes envs with a pool, and closes them."""
    made = []

    def make(depth=1, reserve_mb=0, **options):
        made.append(
            DesktopEnv(
                PoolSource(), machine=f"{__name__}:CountedMachine", screen_size=(64, 64),
                pool={"depth": depth, "reserve_mb": reserve_mb}, **options,
            )
        )  # fmt: skip
        return made[-1]

    yield make
    PoolTask.gate.set()
    for env in made:
        env.close()


def waits(env, count=1):
    """Wait until so many desktops are ready."""
    entries = env.pool._entries
    wait_until(lambda: len(entries) == count and all(entry.made.done() for entry in entries), f"{count} ready desktops")
    return [entry.made.result().ready for entry in entries]


def episode(env, **arguments):
    """One episode; its task, whose verdict says that it was on the right machine."""
    task = env.reset(**arguments)[1]["task"]
    env.step(WAIT)
    assert env.step(DONE)[1] == 1.0
    return task


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_tasks_are_the_same_with_and_without(make, depth):
    def tasks(env):
        told = [episode(env, seed=5), episode(env), episode(env), env.reset()[1]["task"], episode(env)]
        told += [episode(env, options={"task": "fake/pool#7"}), episode(env), episode(env, seed=5), episode(env)]
        told.append(env.reset(seed=6)[1]["task"])
        env.prefetch(seed=9)
        told += [episode(env, seed=9), episode(env)]
        env.prefetch(options={"task": "fake/pool#8"})
        told += [episode(env, options={"task": "fake/pool#8"}), episode(env)]
        env.prefetch(seed=1)  # and then something else is wanted
        told += [episode(env), episode(env)]
        return told

    pooled = make(depth)
    assert tasks(pooled) == tasks(make(0))
    assert (pooled.stats["swaps"] >= 5) == (depth > 0)
    assert pooled.stats["swaps"] + pooled.stats["misses"] == (16 if depth else 0)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_reset_swaps(make, depth):
    env = make(depth)
    episode(env, seed=1)
    for _ in range(4):
        waiting = waits(env, depth)
        before = env.machine
        _, info = env.reset()
        assert env.machine is waiting[0].machine and info["task"] == waiting[0].task.id
        assert "swap" in info["timing"] and "setup" not in info["timing"] and "setup" in info["prepared"]
        env.step(WAIT)
        waits(env, depth)
        wait_until(lambda before=before: not before.alive, "the old machine's end")
    assert len(CountedMachine.running) == 1 + depth
    assert PoolTask.prepared == list(dict.fromkeys(PoolTask.prepared)), "something was prepared twice"
    assert env.stats["swaps"] == 4 and env.stats["starts"] == 5 and env.stats["discarded"] == 0
    assert info["stats"]["swaps"] == 4


def test_depth_0_starts_nothing_ahead(make):
    env = make(0)
    episode(env, seed=1)
    episode(env)
    assert env.stats == {"starts": 2, "repairs": 0, "episodes": 2, "evaluation_errors": 0} and not pool_threads()


def test_a_reset_waits_for_what_is_in_the_making(make):
    env = make()
    env.reset(seed=1)
    PoolTask.gate.clear()
    env.step(WAIT)
    threading.Timer(0.2, PoolTask.gate.set).start()
    start = time.monotonic()
    env.reset()
    assert time.monotonic() - start > 0.1
    assert env.stats["waits"] == env.stats["swaps"] == 1


def test_seeded_resets_are_not_guessed_at(make):
    env = make()
    for seed in range(4):
        episode(env, seed=seed)
    assert env.stats["starts"] <= 5  # the first one was taken for the begin of a stream
    env.prefetch(seed=9)
    episode(env, seed=9)
    assert env.stats["swaps"] == 1


@pytest.mark.parametrize("error", [SetupError("no window"), MachineError("no memory", "start_failed")])
def test_a_setup_that_fails_is_retried_on_a_fresh_machine(make, error):
    env = make()
    env.reset(seed=1)
    failures = pool.TRIES - 1 if isinstance(error, MachineError) else pool.SETUP_TRIES - 1
    PoolTask.failures += [error] * failures
    env.step(WAIT)
    waits(env)
    episode(env)
    kind = "fault_start_failed" if isinstance(error, MachineError) else "fault_setup"
    expected = {"starts": 2 + failures, "faults": failures, kind: failures, "repairs": failures, "swaps": 1}
    assert {name: env.stats[name] for name in expected} == expected


def test_two_failures_of_the_setup_raise_in_reset_and_the_next_one_works(make):
    env = make()
    env.reset(seed=1)
    PoolTask.failures += [SetupError("no window")] * 2
    env.step(WAIT)
    with pytest.raises(SetupError, match="no window"):
        env.reset()
    assert env.stats["faults"] == 2 and env.stats["starts"] == 3 and not CountedMachine.running
    with pytest.raises(gym.error.ResetNeeded):
        env.step(WAIT)
    episode(env)


def test_another_error_in_a_setup_is_raised_in_reset(make):
    env = make()
    env.reset(seed=1)
    PoolTask.failures.append(KeyError("a defect of the task"))
    env.step(WAIT)
    with pytest.raises(KeyError, match="a defect"):
        env.reset()
    assert not CountedMachine.running
    episode(env)


def test_a_machine_that_died_while_it_waited_is_found_out(make):
    env = make()
    env.reset(seed=1)
    env.step(WAIT)
    waits(env)[0].machine.guest.close()
    episode(env)
    assert env.stats["lost"] == 1 and env.stats["swaps"] == 0 and env.stats["starts"] == 3
    episode(env)


def test_a_machine_that_breaks_when_it_is_swapped_in_is_replaced(make, monkeypatch):
    env = make()
    env.reset(seed=1)
    env.step(WAIT)
    display = waits(env)[0].machine.display

    def broken(*arguments, **requests):
        raise GuestLost("it died")

    monkeypatch.setattr(display, "carry_out", broken)
    episode(env)
    assert env.stats["fault_guest_lost"] == 1 and env.stats["repairs"] == 1


def test_a_broken_machine_is_replaced_by_the_one_that_waits(make):
    env = make()
    env.reset(seed=1)
    env.step(WAIT)
    waits(env)
    env.machine.guest.close()
    *_, truncated, info = env.step(WAIT)
    assert truncated and info["fault"]["kind"] == "guest_lost"
    episode(env)
    assert env.stats["swaps"] == 1 and env.stats["repairs"] == 1


def test_too_little_memory_prepares_nothing(make):
    env = make(reserve_mb=1 << 30)
    episode(env, seed=1)
    waits(env)
    assert len(CountedMachine.running) == 1
    episode(env)
    assert env.stats["starts"] == 2 and env.stats["swaps"] == 0 and env.stats["misses"] == 2


@pytest.mark.parametrize("depth", [1, 2])
def test_closing_while_one_is_in_the_making(make, depth):
    env = make(depth)
    env.reset(seed=1)
    PoolTask.gate.clear()
    env.step(WAIT)
    wait_until(lambda: len(CountedMachine.running) == 2, "the start of a preparation")
    closing = threading.Thread(target=env.close)
    closing.start()
    PoolTask.gate.set()
    closing.join(10)
    assert not closing.is_alive() and not CountedMachine.running and not pool_threads()
    assert env.stats["discarded"] == 1 and env.stats["starts"] == 2
    env.close()
    episode(env, seed=1)


def test_what_is_not_needed_is_given_up(make):
    env = make(2)
    env.reset(seed=1)
    env.step(WAIT)
    waits(env, 2)
    episode(env, seed=4)  # the two of the other stream wait on, for all that is known
    assert len(CountedMachine.running) == 3
    episode(env)
    waits(env, 2)
    assert env.stats["discarded"] == 0 and len(CountedMachine.running) == 3
    env.close()
    assert env.stats["discarded"] == 4 and env.stats["starts"] == 7
    assert not CountedMachine.running


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_has_a_pool_of_its_own(make, again):
    env = make(2)
    env.reset(seed=1)
    env.step(WAIT)
    waits(env, 2)
    other = again(env)
    assert other.pool is not env.pool and other.pool.config == env.pool.config and not other.pool._entries
    assert other.reset(seed=1)[1]["task"] == env.reset(seed=1)[1]["task"]
    other.close()


def test_leaving_a_with_block_ends_all(make):
    env = gym.wrappers.OrderEnforcing(make())
    episode(env, seed=1)
    with env:
        pass
    assert not CountedMachine.running


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dept": 1}, "pool: unknown option 'dept'; legal are depth, reserve_mb, snapshots; did you mean 'depth'"),
        ({"depth": -1}, "pool.depth: legal is a whole number from 0 up, got -1"),
        ({"depth": True}, "depth: legal .*, got True"),
        ({"snapshots": -1}, "snapshots: legal .*, got -1"),
        ({"reserve_mb": 0.5}, "reserve_mb: legal .*, got 0.5"),
    ],
)
def test_wrong_configurations(values, message):
    with pytest.raises(ValueError, match=message):
        PoolConfig.from_dict(values)


# --- memory


def test_there_is_memory():
    assert 1 << 20 < available_memory() < 1 << 60


def write_group(folder, unified, limit, usage, file):
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if unified else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for name, value in zip(names, (limit, usage), strict=True):
        (folder / name).write_text(f"{value}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {file}\ntotal_inactive_file {file}\n")


@pytest.mark.parametrize("unified", [True, False])
def test_control_groups_limit_it(tmp_path, unified):
    write_group(tmp_path, unified, 1000, 700, 100)
    write_group(tmp_path / "a", unified, "max" if unified else 9223372036854771712, 600, 0)
    write_group(tmp_path / "a" / "b", unified, 500, 600, 50)
    assert min(group_leaves(tmp_path, "/", unified)) == 400
    assert min(group_leaves(tmp_path, "/a", unified)) == 400
    assert min(group_leaves(tmp_path, "/a/b", unified)) == 0
    assert min(group_leaves(tmp_path, "/not/there", unified)) == 400
    assert group_leaves(tmp_path / "nothing", "/", unified) == []


@pytest.mark.parametrize("groups", [{"": "/a"}, {"memory": "/a", "": "/"}], ids=["v2", "v1"])
def test_the_pool_keeps_within_the_group(make, tmp_path, monkeypatch, groups):
    unified = "memory" not in groups
    write_group(tmp_path / ("a" if unified else "memory/a"), unified, 900 << 20, 800 << 20, 10 << 20)
    monkeypatch.setattr(memory, "CGROUPS", tmp_path)
    monkeypatch.setattr(memory, "own_cgroups", lambda: groups)
    assert available_memory() == 110 << 20
    for reserve, starts in ((109, 2), (111, 1)):
        env = make(reserve_mb=reserve)
        env.reset(seed=1)
        env.step(WAIT)
        waits(env)
        env.close()
        assert env.stats["starts"] == starts


# --- real machines


@pytest.mark.sandbox
def test_a_waiting_sandbox_that_was_killed_is_found_out():
    env = DesktopEnv(PoolSource(), screen_size=(320, 240), pool={"depth": 1, "reserve_mb": 0})
    env.reset(seed=1)
    env.step(WAIT)
    machine = waits(env)[0].machine
    os.kill(machine.init_pid, signal.SIGKILL)
    wait_until(lambda: not machine.alive, "the machine's end")
    episode(env)
    assert env.stats["lost"] == 1
    waits(env)
    env.reset()
    assert env.stats["swaps"] == 1
    env.close()


@pytest.mark.sandbox
def test_the_first_observation_of_a_swap_shows_the_desktop():
    env = DesktopEnv(
        PoolSource(), screen_size=(320, 240), observation=("screenshot", "elements"), pool={"depth": 1, "reserve_mb": 0}
    )
    cold = env.reset(seed=1)[0]["screenshot"]
    env.step(WAIT)
    waits(env)
    observation, info = env.reset()
    assert env.stats["swaps"] == 1 and info["timing"]["observe"] < 500
    assert np.abs(observation["screenshot"].astype(int) - cold).mean() < 1
    env.close()


assert (pool.TRIES, pool.SETUP_TRIES) == (3, 2)  # what the tests above count on
