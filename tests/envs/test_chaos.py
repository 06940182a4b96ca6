"""Whatever is killed or used up: every episode ends with a verdict or a fault, in time, and the next one plays.

All on real sandboxes. A victim is looked for below this process and nowhere else.
"""

import json
import os
import random
import resource
import select
import shutil
import signal
import threading
import time
from pathlib import Path

import gymnasium as gym
import pytest

from deskgym.benchmarks.census import Census, command_line, is_supervisor, machine_processes, process_table, tree
from deskgym.benchmarks.soak_tasks import SCRIPT, SoakTasks
from deskgym.benchmarks.soak_trends import RETURNS
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError, SetupError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox import machine as sandbox
from deskgym.envs.machines.sandbox import supervision, supervisor
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.machines.userns import id_map

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.alone]

STEP, RESET = 25.0, 90.0  # seconds that one may take at the most, on a machine that has other things to do
SLEEPING = "import subprocess; subprocess.run(['sleep', '2'])"


def wait_until(condition, what, timeout=10.0):
    """Wait for what has no file descriptor to wait on."""
    end = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < end, f"{what} did not come true within {timeout} s"
        select.select([], [], [], 0.01)
    return found


def bounded(seconds, call, *arguments, **more):
    began = time.monotonic()
    try:
        return call(*arguments, **more)
    finally:
        assert (took := time.monotonic() - began) <= seconds, f"{call.__name__} took {took:.1f} s"


@pytest.fixture(autouse=True)
def nothing_is_left():
    """What was on the host before a test is there after it, and nothing more."""
    supervision.close_supervisors()
    census = Census()
    before = census.take()
    yield
    supervision.close_supervisors()

    def more():
        after = census.take()
        return {name: (before[name], after[name]) for name in RETURNS if after[name] > before[name]}

    end = time.monotonic() + 5.0
    while (left := more()) and time.monotonic() < end:
        select.select([], [], [], 0.05)
    assert left == {}


@pytest.fixture
def make():
    """Makes environments with a pool, and closes them."""
    envs = []

    def make(kind="bare", **options):
        defaults = {
            "screen_size": (640, 480),
            "action": "code",
            "observation": ("screenshot", "elements", "feedback"),
            "pool": {"depth": 1},
        }
        envs.append(DesktopEnv(SoakTasks({kind: 1.0}), **(defaults | options)))
        return envs[-1]

    yield make
    for env in envs:
        bounded(RESET, env.close)


def reset(env, **arguments):
    return bounded(RESET, env.reset, **arguments)


def play_out(env, script=SCRIPT):
    """Play until the episode is over; the info that it ended with."""
    for action in script:
        observation, reward, terminated, truncated, info = bounded(STEP, env.step, action)
        assert env.observation_space.contains(observation)
        if terminated or truncated:
            assert ("verdict" in info) != ("fault" in info)
            assert reward == 0 or "verdict" in info
            return info
    raise AssertionError("the script has ended, and the episode has not")


def plays(env):
    """A whole episode goes well."""
    reset(env)
    assert play_out(env)["verdict"]["success"]


def guests():
    """PID 1 of each machine of this process."""
    table = process_table()
    return [p.pid for p in tree(os.getpid(), table) if p.depth == 1 and is_supervisor(table[p.parent])]


def find(init, name):
    """The pid of a part of the machine whose PID 1 is ``init``."""
    if name == "guest":
        return init
    if name == "supervisor":
        return next(p.pid for p in tree(os.getpid()) if is_supervisor(p))
    inside = machine_processes(init)
    if name.endswith("bus"):
        buses = [pid for pid, other in inside.items() if other == "dbus-daemon"]
        return next(pid for pid in buses if ("at-spi" in " ".join(command_line(pid))) == name.startswith("access"))
    if name == "code executor":
        return next(pid for pid, other in inside.items() if other.startswith("python") and pid != init)
    return next(pid for pid, other in inside.items() if other == name)


def kill(pid):
    os.kill(pid, signal.SIGKILL)


def prepared(env):
    """PID 1 of the machine that waits in the pool."""
    env.prefetch()
    env.pool.wait(RESET)
    (init,) = (pid for pid in guests() if pid != env.machine.init_pid)
    return init


DEADLY = {
    "Xvfb": "display_lost",
    "guest": "guest_lost",
    "supervisor": "guest_lost",
    "accessibility bus": "accessibility_lost",
    "session bus": "accessibility_lost",
}
"""What an episode cannot do without, and the kind of fault that it ends with."""
HARMLESS = ("mousepad", "openbox", "at-spi2-registr", "code executor")


@pytest.mark.parametrize("victim", [*DEADLY, *HARMLESS])
def test_killed_at_rest(make, victim):
    env = make("editor")
    reset(env, seed=1)
    prepared(env)
    kill(find(env.machine.init_pid, victim))
    info = play_out(env)
    assert info.get("fault", {}).get("kind") == DEADLY.get(victim), info
    if victim in DEADLY:  # the agent has acted, and could have done all but one
        cause = "infrastructure" if victim == "supervisor" else "agent"
        assert info["fault"]["cause"] == cause and env.stats[f"faults_by_{cause}"] == 1
    plays(env)
    plays(env)
    assert env.stats["faults"] >= (victim in DEADLY)


@pytest.mark.parametrize("victim", [*DEADLY, "code executor"])
def test_killed_in_mid_step(make, victim):
    env = make()
    reset(env, seed=1)

    def strike():
        wait_until(lambda: "sleep" in machine_processes(env.machine.init_pid).values(), "the code's start")
        kill(find(env.machine.init_pid, victim))

    with_it = threading.Thread(target=strike)
    with_it.start()
    info = play_out(env, (SLEEPING, *SCRIPT))
    with_it.join()
    assert ("fault" in info) == (victim in DEADLY), info
    plays(env)


@pytest.mark.parametrize("victim", ["Xvfb", "guest"])
def test_killed_in_the_pool(make, victim):
    env = make()
    reset(env, seed=1)
    kill(find(prepared(env), victim))
    assert play_out(env)["verdict"]["success"]  # its episode is not concerned
    plays(env)
    assert env.stats["lost"] + env.stats["repairs"] == 1


def test_all_parts_hang(make):
    """Stopped is worse than killed: nothing ends, nothing answers."""
    env = make(code_timeout=2.0)
    for victim in ("guest", "Xvfb"):
        reset(env, seed=1)
        os.kill(find(env.machine.init_pid, victim), signal.SIGSTOP)
        info = play_out(env)
        assert info["fault"]["kind"] == "guest_lost"
    plays(env)


def test_a_supervisor_that_hangs(make, monkeypatch):
    for module, name in ((sandbox, "START_TIMEOUT"), (sandbox, "STOP_TIMEOUT")):
        monkeypatch.setattr(module, name, 3.0)
    for name in ("ANSWERING", "CLOSING"):
        monkeypatch.setattr(supervision, name, 0.5)
    env = make()
    reset(env, seed=1)
    os.kill(find(env.machine.init_pid, "supervisor"), signal.SIGSTOP)
    assert play_out(env)["verdict"]["success"]  # nobody needs it meanwhile
    plays(env)
    assert env.stats["fault_supervisor_lost"] >= 1


# --- the OCI runtime


RUNTIME = """#!/bin/sh
case " $* " in *" run "*)
  for plan in {folder}/plan-*; do
    what=$(cat "$plan") && rm "$plan" || continue
    case $what in
      stop) kill -STOP $$ ;;
      *) ( exec 3>&-; sleep "$what"; grep -q preserve-fds /proc/$$/cmdline && kill -KILL $$ ) & ;;
    esac
    break
  done
esac
exec runc "$@"
"""


@pytest.fixture
def runtime(tmp_path, make):
    """Makes an env whose OCI runtime can be told what shall befall it in its next starts, one each."""
    script = tmp_path / "runc"
    script.write_text(RUNTIME.format(folder=tmp_path))
    script.chmod(0o755)

    def plan(*what):
        for k, word in enumerate(what):
            (tmp_path / f"plan-{k:03}").write_text(word)

    return make(machine_options={"runtime": str(script)}), plan


@pytest.mark.parametrize("seconds", ["0", "0.01", "0.02", "0.04", "0.08"])
def test_a_runtime_killed_while_starting(runtime, seconds):
    env, plan = runtime
    plan(seconds, seconds)
    reset(env, seed=1)
    assert play_out(env)["verdict"]["success"]
    plays(env)
    assert env.stats["faults"] == env.stats["repairs"] <= 2
    assert env.stats["faults"] > 0 or seconds != "0"


def test_no_runtime_survives(runtime):
    env, plan = runtime
    plan("0", "0", "0")
    with pytest.raises(MachineError) as caught:
        reset(env, seed=1)
    assert caught.value.kind == "start_failed"
    plays(env)


def test_what_a_killed_runtime_leaves_in_tmp_goes_when_it_is_old():
    root = id_map().root
    folders = [Path(f"{supervisor.RUNC_TEMPORARY}-{os.getpid()}-{name}") for name in ("old", "new")]
    for folder in folders:
        (folder / "runctmpdir").mkdir(parents=True)
        os.chown(folder, *root)
    os.utime(folders[0], (0, 0))
    try:
        with SandboxMachine(MachineConfig(screen_size=None)):
            assert [folder.exists() for folder in folders] == [False, True]
    finally:
        shutil.rmtree(folders[1])


def test_a_runtime_that_hangs(runtime, monkeypatch):
    monkeypatch.setattr(sandbox, "START_TIMEOUT", 2.0)
    env, plan = runtime
    plan("stop")
    reset(env, seed=1)
    assert env.stats["faults"] == 1
    monkeypatch.undo()
    plays(env)


# --- using everything up


def test_a_full_disk_in_the_machine(make):
    env = make(machine_options={"disk_mb": 64})
    reset(env, seed=1)
    fill = "data = b'x' * (1 << 20)\nwith open('/home/user/full', 'wb') as file:\n    while True: file.write(data)"
    feedback = bounded(STEP, env.step, fill)[0]["feedback"]
    assert "No space left on device" in feedback
    assert not play_out(env)["verdict"]["success"]  # there is no room for the task's file
    plays(env)


def test_the_memory_limit(make):
    env = make(machine_options={"memory_mb": 512})
    reset(env, seed=1)
    info = play_out(env, ("x = bytearray(2 << 30)\nfor k in range(0, 2 << 30, 4096): x[k] = 1", *SCRIPT))
    assert "verdict" in info
    plays(env)


def test_a_fork_bomb(make):
    env = make(machine_options={"processes": 100}, code_timeout=3.0)
    reset(env, seed=1)
    play_out(env, ("import os\nwhile True:\n try: os.fork()\n except OSError: pass", *SCRIPT))
    plays(env)


HOST_FULL = """
import json, os, subprocess, sys
from deskgym.benchmarks.soak_tasks import SCRIPT, SoakTasks
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.sandbox import snapshots
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder

def resize(folder, size):
    mounted = os.path.ismount(folder)
    options = f"{'remount,' * mounted}mode=755,size={size}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)

def attempt(env):
    try:
        env.reset()
        for action in SCRIPT:
            info = env.step(action)[4]
        return info["verdict"]["success"]
    except MachineError as error:
        return [error.kind, str(error)[:500]]

def make(**options):
    return DesktopEnv(SoakTasks({"bare": 1.0}), screen_size=(320, 240), action="code", **options)

cache, state = cache_folder(), runtime_folder()
said = {}
resize(cache, "1m")
env = make(pool={"depth": 1})
said["no cache"] = attempt(env)
resize(cache, "300m")
resize(state, "4k")
said["no state"] = attempt(env)
resize(state, "16m")
said["room"] = attempt(env)
with open(state / "fill", "wb", 0) as file:
    try:
        while file.write(bytes(4096)): pass
    except OSError: pass
said["state full later"] = [attempt(env), attempt(env)]
os.unlink(state / "fill")
said["room again"] = attempt(env)
env.close()
snapshots.tmpfs_has_user_attributes = lambda: False  # writes go to a folder of the cache
from deskgym.envs.machines.sandbox.host_setup import find_setup
find_setup.cache_clear()
env = make(pool={"depth": 1})
env.reset()
step = env.step("open('/home/user/full', 'wb').write(bytes(400 << 20))")
said["writes"] = step[0]["feedback"][-200:]
said["end"] = sorted(set(env.step("DONE")[4]) & {"verdict", "fault"})
said["after"] = [attempt(env), attempt(env)]
env.close()
said["left"] = os.listdir(cache / "scratch") if os.path.isdir(cache / "scratch") else []
print(json.dumps(said))
"""


def test_full_disks_of_the_host(in_own_mounts):
    done = in_own_mounts(HOST_FULL)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for case in ("no cache", "no state"):
        kind, message = said[case]
        assert kind == "start_failed" and "No space left on device" in message
    assert said["room"] is True and said["room again"] is True, said
    assert all(isinstance(end, bool) or end[0] == "start_failed" for end in said["state full later"])
    assert "No space left on device" in said["writes"] and len(said["end"]) == 1
    assert said["after"][-1] is True and len(said["left"]) <= 1, said


@pytest.fixture
def descriptors():
    """Sets how many descriptors this process may have."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda count: resource.setrlimit(resource.RLIMIT_NOFILE, (count, limits[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_no_descriptors_are_left(make, descriptors):
    env = make(pool=None)
    plays(env)
    env.close()
    descriptors(256)
    held = []
    try:
        with pytest.raises(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(MachineError, match="Too many open files") as caught:
            reset(env)
    finally:
        for fd in held:
            os.close(fd)
    assert caught.value.kind == "start_failed"
    plays(env)


def test_more_descriptors_than_select_can_take(descriptors):
    descriptors(4096)
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        with SandboxMachine(MachineConfig(screen_size=None)) as machine:
            assert machine.alive and machine.run(["true"]).returncode == 0
        assert not machine.alive
    finally:
        for fd in held:
            os.close(fd)


# --- many at once


def test_vector_workers_and_their_parts_killed(make):
    vector = gym.make_vec(
        "deskgym/Science-v0", num_envs=2, task="kalgebra/plot-2d", screen_size=(640, 480), action="code",
        autoreset_mode="SameStep", pool={"depth": 0},
    )  # fmt: skip
    try:
        bounded(2 * RESET, vector.reset, seed=1)
        for victim in ("worker", "guest", "supervisor"):
            target = victim_of(vector, victim)
            kill(target)
            *_, terminated, truncated, infos = bounded(2 * RESET, vector.step, ["pass", "pass"])
            assert truncated.tolist() == [True, False] and not terminated.any()
            assert infos["final_info"]["fault"]["kind"][0] in ("worker_lost", "guest_lost")
        *_, terminated, _, infos = bounded(2 * RESET, vector.step, ["DONE", "DONE"])
        assert terminated.all() and infos["final_info"]["_verdict"].all()
        assert vector.stats["lost_workers"] == 1
    finally:
        bounded(RESET, vector.close)
        stop_forkserver()


def victim_of(vector, victim):
    """A part of the first environment."""
    worker = vector._envs[0]._process.pid
    if victim == "worker":
        return worker
    supervisor = next(p.pid for p in tree(worker) if is_supervisor(p))
    return supervisor if victim == "supervisor" else next(p.pid for p in tree(supervisor) if p.depth == 1)


def stop_forkserver():
    """End what multiprocessing keeps for the next process that it starts."""
    from multiprocessing import forkserver, resource_tracker

    forkserver._forkserver._stop()
    resource_tracker._resource_tracker._stop()


class Killer(threading.Thread):
    """Kills something at random, at most once for each time that it is told to, up to ``latest`` seconds later."""

    def __init__(self, seed):
        super().__init__()
        self.random, self.latest, self.killed = random.Random(seed), 1.0, []
        self.go, self.end = threading.Event(), False

    def run(self):
        while self.go.wait() and not self.end:
            self.go.clear()
            select.select([], [], [], self.random.uniform(0.0, self.latest))
            if victims := self.victims():
                victim = self.random.choice(victims)
                try:
                    os.kill(victim.pid, signal.SIGKILL)
                    self.killed.append(victim.name)
                except ProcessLookupError:
                    pass

    def victims(self):
        """What of ours runs: the processes of all machines, and of the host's the runtimes and the supervisor."""
        table = process_table()
        return [
            p for p in tree(os.getpid(), table)[1:]
            if p.state != "Z" and (p.depth or p.name.startswith("runc") or is_supervisor(p))
        ]  # fmt: skip


def seconds_of(env, episodes):
    began = time.monotonic()
    for _ in range(episodes):
        plays(env)
    return time.monotonic() - began


@pytest.mark.timeout(900)
def test_two_hundred_resets_while_something_kills_at_random(make):
    env = make(screen_size=(320, 240))
    plays(env)
    before = seconds_of(env, 15)
    killer = Killer(seed=4)
    killer.start()
    ends, began = [], time.monotonic() - before / 15
    try:
        for _ in range(200):
            killer.latest = 1.5 * (time.monotonic() - began)  # in the reset, in the episode, or in the next
            began = time.monotonic()
            killer.go.set()
            try:
                reset(env)
            except (MachineError, SetupError) as error:
                ends.append(f"reset: {error}")
                continue
            info = play_out(env)
            ends.append("fault" if "fault" in info else "error" if info["verdict"]["error"] else "verdict")
    finally:
        killer.end = True
        killer.go.set()
        killer.join()
    fresh = make(screen_size=(320, 240))
    plays(env)
    plays(fresh)
    after = [[seconds_of(one, 1) for one in (env, fresh)] for _ in range(10)]  # in turn: others use this host too
    recovered, new = (sum(times) for times in zip(*after, strict=True))
    print(f"an episode took {before / 15:.2f} s before, {recovered / 10:.2f} s after, {new / 10:.2f} s in a new env;")
    print(f"{len(killer.killed)} killed; { ({end: ends.count(end) for end in set(ends)}) } {dict(env.stats)}")
    assert len(killer.killed) >= 60 and ends.count("verdict") >= 50
    assert sum(end.startswith("reset") for end in ends) <= 4  # one that was hit in each of its three tries
    assert env.stats["faults"] > 0 and recovered < 2 * new
