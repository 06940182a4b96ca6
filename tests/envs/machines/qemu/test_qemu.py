"""Virtual machines: what a memory snapshot keeps, what machines share, and how each fault shows and is repaired."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestLost, MachineError
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines.base import MachineConfig, Snapshot
from deskgym.envs.machines.image import Image, find_image
from deskgym.envs.machines.qemu.folders import base_folder
from deskgym.envs.machines.qemu.host import find_qemu
from deskgym.envs.machines.qemu.machine import QemuMachine
from deskgym.envs.machines.sandbox.host import runtime_folder

pytestmark = [pytest.mark.slow, pytest.mark.qemu]

HEADLESS = MachineConfig(screen_size=None)


def new(config=HEADLESS, **options):
    return QemuMachine(config, **{"accel": "tcg", **options})


@pytest.fixture
def machine():
    with new() as machine:
        yield machine


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def qemus(owner=None):
    """Pids of the QEMUs of one process's machines, by default this one's: other test processes may have theirs."""
    found, own = set(), f"-{owner or os.getpid()}-".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                ours = own in (entry / "cmdline").read_bytes()
                if ours and Path(os.readlink(entry / "exe")).name == Path(find_qemu()).name:
                    found.add(int(entry.name))
            except OSError:
                continue
    return found


# --- what a snapshot keeps


def test_a_restored_machine_goes_on_where_it_was(machine):
    machine.run(
        ["sh", "-c", "setsid sleep 4711 >/dev/null 2>&1 & echo 1 > /home/user/file; cat /proc/uptime > /tmp/up"]
    )
    snapshot = machine.snapshot()
    assert machine.run(["pgrep", "-f", "sleep 4711"]).returncode == 0, "taking a snapshot ended a program"
    machine.run(["pkill", "-f", "sleep 4711"])
    machine.put("/home/user/file", b"2")
    for _ in range(2):
        machine.restore(snapshot)
        assert machine.run(["pgrep", "-f", "sleep 4711"]).returncode == 0
        assert machine.get("/home/user/file") == b"1\n"
    machine.restore(None)
    assert machine.run(["pgrep", "-f", "sleep 4711"]).returncode == 1
    assert not machine.guest.exists("/home/user/file")
    machine.drop(snapshot)


def test_a_restored_machine_has_the_right_time_and_random_numbers_of_its_own(machine):
    snapshot = machine.snapshot()
    time.sleep(2.5)
    drawn = set()
    for _ in range(3):
        machine.restore(snapshot)
        assert abs(float(machine.run(["date", "+%s.%N"]).stdout) - time.time()) < 2
        drawn.add(machine.run(["head", "-c", "16", "/dev/urandom"]).stdout)
    assert len(drawn) == 3
    machine.drop(snapshot)


def test_a_snapshot_of_a_restored_machine_has_what_was_written_and_what_was_emptied(machine):
    machine.run(["sh", "-c", "head -c 30M /dev/urandom > /dev/shm/noise; echo first > /dev/shm/text"])
    first = machine.snapshot()
    machine.restore(first)
    machine.run(["sh", "-c", "head -c 30M /dev/zero > /dev/shm/noise; echo second > /dev/shm/text"])
    second = machine.snapshot()
    machine.drop(first)
    with new() as other:
        other.restore(second)
        assert other.get("/dev/shm/text") == b"second\n"
        assert other.get("/dev/shm/noise") == bytes(30 << 20)
    machine.drop(second)


def test_it_is_a_whole_operating_system(machine):
    assert machine.run(["systemctl", "is-system-running"], user="guest").stdout.strip() in (b"running", b"starting")
    assert machine.run(["sudo", "id", "-un"]).returncode != 0, "the agent became root without having been let"
    assert machine.run(["uname", "-r"]).stdout.strip().decode() != os.uname().release
    assert machine.run(["sh", "-c", "ls /sys/class/net"]).stdout.split() == [b"lo"]


def test_an_agent_that_is_let_becomes_root():
    with new(sudo=True) as machine:
        assert not machine.untouched, "root could leave anything"
        assert machine.run(["sudo", "id", "-un"]).stdout == b"root\n"
        assert machine.run(["id", "-un"]).stdout == b"user\n"


TOUCH = """
import ctypes, os
attach = lambda pid: ctypes.CDLL(None).ptrace(ctypes.c_long(16), ctypes.c_long(pid), None, None)
for pid in PIDS:
    try: open(f"/proc/{pid}/mem", "r+b").close(); print("opened", pid)
    except OSError: pass
    if attach(pid) == 0: print("traced", pid)
bus = "dbus-send --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus."
os.system(bus + "UpdateActivationEnvironment dict:string:string:LD_PRELOAD,/tmp/own.so 2>&1 | cut -d: -f1")
"""


def test_the_agent_cannot_reach_programs_and_services_which_run_as_the_same_user():
    with new(MachineConfig(screen_size=(640, 400))) as machine:
        assert "program_isolation" in machine.enforces
        machine.guest.launch(["sleep", "1000"])
        names = ("sleep", "openbox", "dbus-daemon", "at-spi2-registr")
        listed = machine.run(["pgrep", "-u", "user", "-x", "|".join(names)], user="guest").stdout.split()
        assert len(listed) == len(names) + 1  # there are two buses
        code = CodeRequest(TOUCH.replace("PIDS", str([int(pid) for pid in listed])), 60.0)
        done = machine.display.perform(code=code).code
        assert done.stdout == "Error org.freedesktop.DBus.Error.AccessDenied\n", done


def test_a_machine_that_may_reach_the_network_has_a_way_to_it():
    with new(network=True) as machine:
        assert b"default via 10.0.2.2" in machine.run(["ip", "route"]).stdout


def test_its_screen_shows_what_is_done_and_survives_a_restore():
    with new(MachineConfig(screen_size=(640, 400))) as machine:
        machine.stop()
        machine.start()  # from the kept boot
        assert not machine.untouched, "programs of a desktop could leave anything"
        machine.display.perform([{"t": "move", "x": 100, "y": 100}], SettlePolicy())
        before = machine.display.capture()
        snapshot = machine.snapshot()
        machine.display.perform([{"t": "move", "x": 500, "y": 300}], SettlePolicy())
        assert (machine.display.capture() != before).any()
        machine.restore(snapshot)
        machine.display.perform([], SettlePolicy())
        assert (machine.display.capture() == before).all()
        machine.drop(snapshot)


# --- what machines share


def used(folder):
    """Bytes that a folder takes on disk, each file once, whatever names it has."""
    seen = {}
    for path in Path(folder).rglob("*"):
        status = path.lstat()
        seen[status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def test_a_second_machine_takes_little_disk(machine):
    before = used(base_folder()) + used(find_image("science").folder)
    with new() as second:
        assert second.alive
        after = used(base_folder()) + used(find_image("science").folder)
    assert after - before < 64 << 20


def test_stopped_machines_leave_nothing(machine):
    snapshot = machine.snapshot()
    pid = machine.pid
    machine.drop(snapshot)
    machine.stop()
    assert pid not in qemus()
    own = f"-{os.getpid()}-"
    assert [path.name for path in base_folder().iterdir() if own in path.name] == []


_TRAINER = """
import sys, time
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.qemu.machine import QemuMachine
machine = QemuMachine(MachineConfig(screen_size=None), accel="tcg")
machine.start()
snapshot = machine.snapshot()
print(machine.pid, flush=True)
time.sleep(1000)
"""


def test_a_killed_trainer_leaves_nothing():
    trainer = subprocess.Popen([sys.executable, "-c", _TRAINER], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(trainer.stdout.readline())
        assert pid in qemus(trainer.pid)
        sockets = set(runtime_folder().glob("view-*.sock"))
    finally:
        trainer.kill()
        trainer.wait()
    until(lambda: pid not in qemus(trainer.pid))
    own = f"-{trainer.pid}-"
    until(lambda: not [p for p in base_folder().iterdir() if own in p.name and p.name.startswith("machine")])
    until(lambda: set(runtime_folder().glob("view-*.sock")) != sockets)
    subprocess.run([sys.executable, "-c", textwrap.dedent("""
        from deskgym.envs.machines.qemu.folders import new_folder
        new_folder("snapshot").rmdir()
    """)], check=True)  # fmt: skip
    assert not [p for p in base_folder().iterdir() if own in p.name], "the next process removes the snapshots"


def test_a_killed_keeper_takes_the_machine_with_it(machine):
    keeper = int(Path(f"/proc/{machine.pid}/stat").read_text().rpartition(")")[2].split()[1])
    pid = machine.pid
    os.kill(keeper, signal.SIGKILL)
    until(lambda: pid not in qemus())
    assert not machine.alive
    machine.start()
    assert machine.run(["true"]).returncode == 0


# --- faults: each shows as what it is, and a restore repairs it


def breaks(machine, call, saying):
    """A call breaks the machine within seconds, and it works again after a restore."""
    begun = time.monotonic()
    with pytest.raises(MachineError, match=saying):
        call()
        until(lambda: not machine.alive)
        machine.run(["true"])
    assert time.monotonic() - begun < 20
    assert not machine.alive
    machine.restore(None)
    assert machine.run(["true"]).returncode == 0


def test_a_killed_qemu(machine):
    os.kill(machine.pid, signal.SIGKILL)
    breaks(machine, lambda: machine.run(["sleep", "5"]), "lost|died")


def test_a_kernel_panic(machine):
    breaks(
        machine, lambda: machine.run(["sh", "-c", "echo c > /proc/sysrq-trigger"], user="guest"), "panicked|shut down"
    )


def test_a_machine_that_is_shut_down_from_inside(machine):
    breaks(
        machine,
        lambda: machine.run(["systemctl", "poweroff", "-f"], user="guest", timeout=15),
        "lost|died|shut down|ended",
    )


def test_a_killed_guest(machine):
    breaks(machine, lambda: machine.run(["pkill", "-9", "-f", "deskgym/guest/boot"], user="guest"), "ended")


def test_a_machine_that_hangs(machine):
    os.kill(machine.pid, signal.SIGSTOP)
    breaks(machine, lambda: machine.guest.call("hello", 2.0), "in time")


def test_a_call_to_a_machine_that_is_not_started():
    with pytest.raises(MachineError, match=r"call start\(\) first"):
        new().run(["true"])


# --- bad input


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        ({"accel": "xen"}, "legal are 'auto', 'kvm' and 'tcg'"),
        ({"cpus": 0}, "from 1 to 64"),
        ({"config": MachineConfig(memory_mb=16)}, "memory_mb=16"),
    ],
)
def test_wrong_arguments(options, saying):
    with pytest.raises(ValueError, match=saying):
        QemuMachine(**options)


def test_a_missing_image():
    with pytest.raises(MachineError, match="deskgym image build") as caught:
        new(image="sciense").start()
    assert caught.value.kind == "no_image"


@pytest.fixture
def copied(tmp_path):
    """A copy of the image, without its boots."""
    image = find_image("science")
    folder = tmp_path / image.folder.name
    shutil.copytree(image.folder, folder, ignore=shutil.ignore_patterns("boots"))
    return Image.open(folder)


def test_a_disk_that_was_not_downloaded_to_its_end(copied):
    os.truncate(copied.disk, copied.disk.stat().st_size // 2)
    machine = new(image=str(copied.folder))
    with pytest.raises(MachineError, match=r"disk\.qcow2") as caught:
        machine.start()
    assert caught.value.kind == "bad_image" and not machine.alive


def test_a_corrupt_disk(copied):
    with copied.disk.open("r+b") as file:
        file.write(b"nonsense")
    with pytest.raises(MachineError, match=r"disk\.qcow2") as caught:
        new(image=str(copied.folder)).start()
    assert caught.value.kind == "bad_image"


def test_a_snapshot_of_another_machine(machine):
    snapshot = machine.snapshot()
    with new(MachineConfig(screen_size=None, processes=60)) as other:
        with pytest.raises(ValueError, match="processes=512 instead of 60"):
            other.restore(snapshot)
        assert other.alive
    with pytest.raises(ValueError, match="'sandbox'"):
        machine.restore(Snapshot("sandbox", snapshot.path))
    os.truncate(f"{snapshot.path}/memory", 1 << 20)
    with pytest.raises(ValueError, match="cut short"):
        machine.restore(snapshot)
    assert machine.alive
    machine.drop(snapshot)
    with pytest.raises(ValueError, match="dropped"):
        machine.restore(snapshot)


def test_a_device_state_of_no_use_is_an_error_and_nothing_is_left_running(machine):
    snapshot = machine.snapshot()
    Path(snapshot.path, "state").write_bytes(b"nonsense" * 100)
    before = qemus() - {machine.pid}
    with pytest.raises(MachineError, match="not restored|did not start.*stream"):
        machine.restore(snapshot)
    assert not machine.alive and qemus() <= before
    machine.restore(None)
    assert machine.alive
    machine.drop(snapshot)


def test_kept_boots_of_no_use_are_made_anew(copied, caplog):
    caplog.set_level("INFO", "deskgym.qemu")
    with new(image=str(copied.folder)):
        pass
    (state,) = copied.folder.glob("boots/*/state")
    state.write_bytes(b"nonsense" * 100)
    with pytest.warns(UserWarning, match="booted again"), new(image=str(copied.folder)) as machine:
        assert machine.run(["true"]).returncode == 0
    with new(image=str(copied.folder)) as machine:
        assert machine.alive
    said = [record.message.split(",")[0].split()[0] for record in caplog.records if record.name == "deskgym.qemu"]
    assert said == ["booting", "booting"]


_FULL = """
import os, sys
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.qemu.machine import QemuMachine
from deskgym.envs.machines.qemu.folders import base_folder
with QemuMachine(MachineConfig(screen_size=None), accel="tcg", image=sys.argv[1]) as machine:
    with open(f"{base_folder()}/filler", "wb") as file:
        file.write(bytes(os.statvfs(base_folder()).f_bavail * os.statvfs(base_folder()).f_frsize - (1 << 20)))
    try:
        machine.snapshot()
    except MachineError as error:
        print(error.kind, error)
    os.unlink(f"{base_folder()}/filler")
    machine.restore(None)
    print(machine.run(["echo", "alive"]).stdout.decode())
"""


def test_a_full_disk():
    """On a small file system of its own: the snapshot fails with one error; what it had written is gone."""
    with new():
        pass  # so that the boot is kept
    image = find_image("science").folder
    script = 'mount -t tmpfs -o size=500m none "$1" && exec "$2" -W error -c "$3" "$4"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", str(base_folder()), sys.executable, _FULL, str(image)]
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this host lets nobody make a mount namespace")
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert "snapshot_failed" in done.stdout and "No space left" in done.stdout, done
    assert "alive" in done.stdout


def test_an_accelerator_that_boots_nothing():
    machine = new(accel="kvm")
    try:
        machine.start()
    except MachineError as error:
        assert error.kind == "not_allowed" and "use accel='tcg'" in str(error)
        assert not machine.alive
    else:
        assert machine.run(["true"]).returncode == 0  # this host has a KVM that works
        machine.stop()


def test_the_lost_are_guests_lost(machine):
    machine.guest.lose("a test gave it up")
    with pytest.raises(GuestLost, match="a test gave it up"):
        machine.run(["true"])
