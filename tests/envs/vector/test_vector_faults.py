"""Whatever dies in a DesktopVectorEnv costs its own episode, and leaves nothing."""

import gc
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from vector_fakes import DONE, WAIT, gone, tricky, wait_until

from deskgym.envs import vector_env
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.sandbox.host import runtime_folder
from deskgym.envs.vector_env import DesktopVectorEnv

MODES = list(AutoresetMode)
KILL = {"trick": "kill"}


@pytest.fixture
def vector():
    """Makes vectors, and closes them."""
    made = []

    def make(num_envs=3, **options):
        made.append(DesktopVectorEnv(options.pop("make", tricky), num_envs, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: gone(pid), "the end of a killed process")


def next_episode(env, over):
    """What an env says when the next episode of those that are over has begun."""
    if env.autoreset_mode == AutoresetMode.DISABLED:
        return env.reset(options={"reset_mask": over})
    observations, *_, infos = env.step([WAIT] * env.num_envs)
    return observations, infos


@pytest.mark.parametrize("when", ["idle", "stepping", "between calls"])
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_killed_worker_costs_its_own_episode(vector, mode, when):
    env = vector(autoreset_mode=mode)
    env.reset(seed=1)
    pids = env.call("pid")
    actions = [WAIT] * 3
    if when == "stepping":
        actions[1] = KILL
    else:
        kill(pids[1])
        if when == "between calls":
            with pytest.raises(MachineError, match="worker of environment 1 was lost"):
                env.call("pid")
    observations, rewards, terminated, truncated, infos = env.step(actions)
    assert rewards.tolist() == [0, 0, 0] and terminated.tolist() == [False] * 3
    assert truncated.tolist() == [False, True, False]
    same_step = mode == AutoresetMode.SAME_STEP
    final = infos["final_info"] if same_step else infos
    assert final["fault"]["kind"][1] == "worker_lost" and final["_fault"].tolist() == [False, True, False]
    last = infos["final_obs"][1] if same_step else {name: part[1] for name, part in observations.items()}
    assert last in env.single_observation_space and not last["screenshot"].any()
    assert infos["step"].tolist()[::2] == [1, 1]
    if not same_step:
        observations, infos = next_episode(env, truncated)
    assert observations["screenshot"][1].any() and observations["instruction"][1].startswith("Answer ")
    *_, infos = env.step([WAIT] * 3)
    assert infos["step"][1] == 1 and infos["step"][0] > 1
    assert env.stats == {"lost_workers": 1}
    fresh = env.call("pid")
    assert fresh[::2] == pids[::2] and fresh[1] != pids[1]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_a_reset_in_which_a_worker_dies_is_done_again(vector, mode, tmp_path):
    env = vector(2, autoreset_mode=mode)
    tasks = env.reset(seed=1)[1]["task"].tolist()
    mark = tmp_path / "killed"
    infos = env.reset(seed=1, options={"task": f"kill-once:{mark}"})[1]
    assert infos["task"].tolist() == tasks and mark.exists()
    assert env.stats["lost_workers"] in (1, 2)  # both may have come before the mark was there
    assert "fault" not in infos and env.step([WAIT] * 2)[4]["step"].tolist() == [1, 1]


def test_a_reset_that_kills_every_worker_gives_up_and_can_be_done_again(vector):
    env = vector(1)
    with pytest.raises(MachineError, match="worker of environment 0 was lost.*so were the 3 before") as caught:
        env.reset(seed=1, options={"task": "kill:"})
    assert caught.value.kind == "worker_lost" and env.stats["lost_workers"] == 4
    assert env.reset(seed=1)[1]["step"].tolist() == [0]


def test_equal_losses_lead_to_equal_tasks(vector):
    def tasks():
        env = vector(1, autoreset_mode="SameStep")
        told = [env.reset(seed=4)[1]["task"][0]]
        told += [env.step([action])[4]["task"][0] for action in (DONE, KILL, DONE, KILL, DONE)]
        return told

    first = tasks()
    assert tasks() == first and len(set(first)) == 6


def test_send_and_recv_go_on_beside_a_killed_worker(vector):
    env = vector()
    env.reset(seed=1)
    env.send([KILL, WAIT, WAIT])
    seen = {}
    for _ in range(3):
        *_, truncated, infos = env.recv(1)
        seen[int(infos["env_id"][0])] = bool(truncated[0])
    assert seen == {0: True, 1: False, 2: False}
    env.send([WAIT], [0])
    assert env.recv()[4]["step"].tolist() == [0]  # the reset that NEXT_STEP wants


def test_a_silent_worker_is_replaced(vector):
    env = vector(2, timeout=2.0)
    env.reset(seed=1)
    pids = env.call("pid")
    start = time.monotonic()
    *_, truncated, infos = env.step([{"trick": "sleep"}, WAIT])
    assert truncated.tolist() == [True, False] and time.monotonic() - start < 5
    assert "silent for 2 s" in infos["fault"]["message"][0]
    assert gone(pids[0]) and env.step([WAIT] * 2)[4]["step"].tolist() == [0, 2]


def test_masks_stay_usable_where_a_worker_is_lost(vector):
    env = vector(2, make=partial(tricky, action="discrete", observation=("elements",)))
    whole = env.reset(seed=1)[1]["action_mask"]
    kill(env.call("pid")[0])
    infos = env.step(env.action_space.sample())[4]
    assert infos["action_mask"].shape == whole.shape and infos["action_mask"].any(1).all()


# --- the end


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("end", ["close", "del"])
def test_the_end_leaves_nothing(end):
    def once():
        env = DesktopVectorEnv(tricky, 2)
        env.reset(seed=1)
        pids = env.call("pid")
        if end == "close":
            start = time.monotonic()
            env.close()
            env.close()
            assert time.monotonic() - start < 3
        del env
        gc.collect()
        wait_until(lambda: all(map(gone, pids)), "the workers' end")

    once()
    shared, before = sorted(os.listdir("/dev/shm")), descriptors()
    for _ in range(3):
        once()
    assert descriptors() == before and sorted(os.listdir("/dev/shm")) == shared


def test_losses_leave_nothing(vector):
    env = vector(1, autoreset_mode="SameStep")
    env.reset(seed=1)
    env.step([KILL])
    before = descriptors()
    for _ in range(4):
        env.step([KILL])
        env.step([WAIT])
    assert env.stats["lost_workers"] == 5 and descriptors() == before


@pytest.mark.parametrize("action", [{"trick": "sleep"}, KILL], ids=["hanging", "killed"])
def test_closing_does_not_wait_for_a_worker_for_ever(monkeypatch, action):
    monkeypatch.setattr(vector_env, "CLOSING", 1.0)
    env = DesktopVectorEnv(tricky, 2)
    env.reset(seed=1)
    pids = env.call("pid")
    env.send([action, WAIT])
    env.close()
    assert all(map(gone, pids))


def test_a_failure_while_building_leaves_no_worker(monkeypatch):
    started = []
    start = vector_env.EnvProcess.__init__

    def failing(env, index, *arguments):
        if index == 2:
            raise OSError("no more processes")
        start(env, index, *arguments)
        started.append(env._process.pid)

    monkeypatch.setattr(vector_env.EnvProcess, "__init__", failing)
    with pytest.raises(OSError, match="no more processes"):
        DesktopVectorEnv(tricky, 3)
    assert len(started) == 2 and all(map(gone, started))


def test_a_forked_child_of_the_trainer_ends_nothing_of_it(vector):
    env = vector(1)
    env.reset(seed=1)
    child = os.fork()
    if child == 0:
        env.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert env.step([WAIT])[4]["step"].tolist() == [1]


TRAINER = """
import os, signal, sys, tempfile
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
sys.path.insert(0, sys.argv[1])
from functools import partial
from multiprocessing.util import get_temp_dir
from vector_fakes import WAIT, tricky
from deskgym.envs.vector_env import DesktopVectorEnv

what, machine = sys.argv[2:]
env = DesktopVectorEnv(partial(tricky, machine=machine, pool={"depth": 1, "reserve_mb": 0}), 2)
env.reset(seed=1)
env.step([WAIT] * 2)  # and the pools prepare the next desktops
pids = [*env.call("pid"), *(pid for pids in env.call("machines") for pid in pids)]
if what == "fork" and os.fork() == 0:  # has a copy of every pipe, and outlives the trainer
    signal.alarm(60)
    signal.pause()
if what == "reset":
    env.async_reset(options={"task": "sleep:3600"})
elif what != "idle":
    env.send([{"trick": "sleep"}, WAIT])
try:
    print(get_temp_dir(), *pids, flush=True)
    if what == "exit":
        sys.stdin.read()
        sys.exit()
    env.recv() if what != "idle" else sys.stdin.read()
except KeyboardInterrupt:
    from deskgym.envs import vector_env
    vector_env.CLOSING = 1.0
    env.close()
    print("closed", flush=True)
"""


@pytest.fixture
def trainer():
    """Starts a trainer of two environments; gives its process, its temporary folder and the processes it has."""
    processes = []

    def start(what, machine="fake"):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, os.path.dirname(os.path.dirname(__file__)), what, machine],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        processes.append(process)
        folder, *pids = process.stdout.readline().split()
        return process, Path(folder), [int(pid) for pid in pids]

    yield start
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close(), process.stderr.close(), process.stdin.close()
        process.wait()


@pytest.mark.parametrize("what", ["idle", "step", "reset", "fork"])
def test_a_killed_trainer_leaves_nothing(trainer, what):
    process, folder, pids = trainer(what)
    assert len(pids) == 2 and not any(map(gone, pids)) and folder.is_dir()
    process.kill()
    wait_until(lambda: all(map(gone, pids)), "the workers' end", 3.0)
    wait_until(lambda: not folder.exists(), "the removal of the temporary folder", 3.0)


def test_ctrl_c_closes(trainer):
    process, folder, pids = trainer("step")
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "closed\n" and process.wait(30) == 0
    assert all(map(gone, pids)) and "Traceback" not in process.stderr.read()


def test_a_trainer_that_exits_without_closing_leaves_nothing(trainer):
    process, folder, pids = trainer("exit")
    kill(pids[0])  # the one that hangs, so that the other's end is what is timed
    process.communicate("", timeout=30)
    assert all(map(gone, pids)) and not folder.exists()


# --- real machines


def assert_no_machines(workers, machines):
    wait_until(lambda: all(map(gone, machines)), "the machines' end")
    left = [folder for pid in workers for folder in runtime_folder().glob(f"{pid}-*")]
    wait_until(lambda: not any(folder.exists() for folder in left), "the removal of the machines' folders")


@pytest.mark.sandbox
def test_the_machines_of_a_killed_worker_are_gone(vector):
    env = vector(2, make=partial(tricky, machine="sandbox", pool={"depth": 1, "reserve_mb": 0}))
    env.reset(seed=1)
    env.step([WAIT] * 2)
    workers, machines = env.call("pid"), env.call("machines")
    assert [len(pids) for pids in machines] == [2, 2]
    *_, truncated, infos = env.step([KILL, WAIT])
    assert truncated.tolist() == [True, False] and infos["fault"]["kind"][0] == "worker_lost"
    assert_no_machines(workers[:1], machines[0])
    assert env.step([WAIT] * 2)[4]["step"].tolist() == [0, 3]
    env.step([WAIT] * 2)
    machines = [pid for pids in env.call("machines") for pid in pids]
    workers = env.call("pid")
    env.close()
    assert_no_machines(workers, machines)


@pytest.mark.sandbox
@pytest.mark.parametrize("what", ["idle", "step"])
def test_the_machines_of_a_killed_trainer_are_gone(trainer, what):
    process, folder, pids = trainer(what, "sandbox")
    assert len(pids) == 6
    process.kill()
    wait_until(lambda: all(map(gone, pids)), "the end of all")
    assert_no_machines(pids[:2], pids[2:])
    assert not folder.exists()


@pytest.mark.sandbox
def test_a_machine_that_dies_costs_its_own_episode(vector):
    env = vector(2, make=partial(tricky, machine="sandbox"))
    env.reset(seed=1)
    kill(env.call("machines")[1][0])
    *_, truncated, infos = env.step([WAIT] * 2)
    assert truncated.tolist() == [False, True] and infos["fault"]["kind"][1] == "guest_lost"
    assert env.stats == {}
    infos = next_episode(env, np.array([False, True]))[1]
    assert infos["stats"]["repairs"][1] == 1 and infos["step"].tolist() == [2, 0]
