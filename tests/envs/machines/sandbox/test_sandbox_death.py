"""Whatever dies, nothing is left: no process, no mount, no folder."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deskgym.envs.errors import GuestLost, MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox import supervision
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.machines.sandbox.supervisor import descendants

pytestmark = pytest.mark.sandbox
HEADLESS = MachineConfig(screen_size=None)

PARENT = """
import ctypes, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
runtime = "runsc" if "runsc" in sys.argv else "runc"
machines = [create_machine("sandbox", MachineConfig(screen_size=None), runtime=runtime) for _ in range(2)]
for machine in machines:
    machine.start()
    machine.put("/home/user/file", bytes(1 << 20))
    machine.snapshot()
client = machines[0]._supervisor
child = 0
if "fork" in sys.argv and (child := ctypes.CDLL(None).fork()) == 0:
    os.close(1)
    signal.pause()
print(client._process.pid, client.folder, client.scratch, *(m._started.pid for m in machines), child, flush=True)
sys.stdin.read()
"""


def wait_until(condition, what, timeout=5.0):
    """Wait for what has no file descriptor to wait on."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true within {timeout} s"
        select.select([], [], [], 0.01)


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def start_parent():
    """Starts a process with two sandboxes; returns it and what it said about them."""
    processes = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        processes.append(process)
        words = process.stdout.readline().split()
        assert len(words) == 6, "the parent did not start its sandboxes"
        pids = [int(word) for word in words[3:5]]
        return process, int(words[0]), Path(words[1]), Path(words[2]), pids, int(words[5])

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture(params=["runc", "runsc"])
def parent(start_parent, request):
    return start_parent(request.param)[:5]


def assert_nothing_is_left(folder, scratch, pids):
    wait_until(lambda: all(map(gone, pids)), "the end of the sandboxes' processes", 2.0)
    wait_until(lambda: not folder.exists(), "the removal of the state folder", 2.0)
    wait_until(lambda: not scratch.exists(), "the removal of the snapshots", 2.0)
    assert folder.name not in Path("/proc/self/mounts").read_text()
    assert not list(Path("/sys/fs/cgroup").glob(f"*/**/deskgym-{folder.name}-*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_parent_leaves_nothing(parent, number):
    process, supervisor, folder, scratch, pids = parent
    processes = [pid for init in pids for pid in (init, *descendants(init))]
    assert len(processes) >= 2 and scratch.is_dir()
    process.send_signal(number)
    process.wait(5)
    assert_nothing_is_left(folder, scratch, [supervisor, *processes])


def test_a_parent_that_exits_leaves_nothing(parent):
    process, supervisor, folder, scratch, pids = parent
    process.communicate("", timeout=10)
    assert gone(supervisor) and not folder.exists() and not scratch.exists()
    assert all(map(gone, pids))


def test_parent_and_supervisor_killed_together_leave_nothing_after_the_next_start(parent):
    process, supervisor, folder, scratch, pids = parent
    os.kill(supervisor, signal.SIGSTOP)  # so that it cannot clean up before it is killed
    process.kill()
    os.kill(supervisor, signal.SIGKILL)
    process.wait(5)
    wait_until(lambda: all(map(gone, pids)), "the guests' end by the end of their channels", 2.0)
    assert folder.exists()
    supervision.close_supervisors()
    with SandboxMachine(HEADLESS):
        assert_nothing_is_left(folder, scratch, pids)


def test_a_living_process_is_not_swept(parent):
    _, _, folder, _, pids = parent
    supervision.close_supervisors()
    with SandboxMachine(HEADLESS):
        assert folder.exists() and not any(map(gone, pids))


def test_a_killed_supervisor_breaks_the_machine_and_the_next_start_repairs_it():
    with SandboxMachine(HEADLESS) as machine, SandboxMachine(HEADLESS) as other:
        old = machine._supervisor
        pid = machine._started.pid
        os.kill(old._process.pid, signal.SIGKILL)
        old._process.wait(5)
        assert not machine.alive and not other.alive
        with pytest.raises(MachineError):
            machine.run(["true"])
        machine.start()
        assert machine.alive and machine.run(["true"]).returncode == 0
        assert gone(pid) and not old.folder.exists()
        assert not other.alive
        other.start()
        assert other._supervisor is machine._supervisor


def test_a_killed_guest_is_seen_and_the_machine_starts_again(headless):
    headless.run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 &"])
    pids = [headless._started.pid, *descendants(headless._started.pid)]
    os.kill(headless._started.pid, signal.SIGKILL)
    wait_until(lambda: not headless.alive, "the machine's death")
    with pytest.raises(GuestLost):
        headless.run(["true"])
    assert all(map(gone, pids))
    headless.start()
    assert headless.run(["true"]).returncode == 0


def test_a_guest_that_hangs_can_be_stopped(headless):
    os.kill(headless._started.pid, signal.SIGSTOP)
    headless.stop()
    assert not headless.alive


def test_stop_leaves_nothing():
    machine = SandboxMachine(HEADLESS)
    for _ in range(3):
        machine.start()
        folder, name, pid = machine._supervisor.folder, machine._name, machine._started.pid
        machine.stop()
        assert gone(pid) and not (folder / name).exists() and not list((folder / "runtime").iterdir())
        assert not list(Path("/sys/fs/cgroup").glob(f"*/**/deskgym-{name}"))
    assert len(os.listdir("/proc/self/fd")) < 100


def test_no_descriptors_leak():
    machine = SandboxMachine(HEADLESS)
    counts = []
    for _ in range(4):
        machine.start()
        machine.drop(machine.snapshot())
        machine.stop()
        counts.append(len(os.listdir("/proc/self/fd")))
    assert counts[1] == counts[-1]


def test_a_forked_child_has_no_part_in_the_parents_machines(headless):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            parts = [not headless.alive]
            try:
                headless.run(["true"])
            except MachineError as error:
                parts.append(error.kind == "foreign_process")
            headless.stop()
            with SandboxMachine(HEADLESS) as own:
                parts.append(own.run(["true"]).returncode == 0)
            parts.append(True)
            os.write(write, repr(parts).encode())
        finally:
            supervision.close_supervisors()
            os._exit(0)
    os.close(write)
    with open(read) as pipe:
        assert pipe.read() == "[True, True, True, True]"
    os.waitpid(pid, 0)
    assert headless.alive and headless.run(["true"]).returncode == 0


def test_a_child_that_holds_copies_of_its_sockets_does_not_keep_them_alive(start_parent):
    """Forked behind Python's back, it cannot close them; the supervisor watches the parent itself."""
    process, supervisor, folder, scratch, pids, child = start_parent("fork")
    try:
        process.kill()
        process.wait(5)
        assert_nothing_is_left(folder, scratch, [supervisor, *pids])
        assert not gone(child)
    finally:
        os.kill(child, signal.SIGKILL)


def test_nothing_of_any_test_is_left():
    supervision.close_supervisors()
    mine = [path for path in runtime_folder().iterdir() if path.name.startswith(f"{os.getpid()}-")]
    assert not mine
    scratch = cache_folder() / "scratch"
    assert not scratch.is_dir() or not [p for p in scratch.iterdir() if p.name.startswith(f"{os.getpid()}-")]
