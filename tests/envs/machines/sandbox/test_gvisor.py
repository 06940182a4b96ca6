"""Sandboxes on gVisor's kernel: their programs go on, again and again and side by side; and what cannot be."""

import os
import signal

import gymnasium
import numpy as np
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.action.actions import Action
from deskgym.envs.displays.base import SettlePolicy, StepRequest
from deskgym.envs.displays.x11 import X11Display
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig, Snapshot
from deskgym.envs.machines.sandbox import checkpoints, gvisor
from deskgym.envs.machines.sandbox.gvisor import GvisorMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.envs.observation.program_channel import ProgramChannel

pytestmark = pytest.mark.sandbox
HEADLESS = MachineConfig(screen_size=None)
DESKTOP = MachineConfig(screen_size=(640, 480))


def new(config=HEADLESS, **options):
    return create_machine("sandbox", config, runtime="runsc", **options)


def act(machine, *actions):
    """Carry them out, and give the screen once it has settled."""
    events = [event for action in actions for event in action.events()]
    machine.display.carry_out(StepRequest(events, SettlePolicy()))
    return machine.display.capture()


def saved(machine):
    """The lines of the editor's text."""
    act(machine, Action("press", keys=("ctrl", "s")))
    return machine.get("/home/user/note.txt").decode().splitlines()


@pytest.fixture(scope="module")
def written():
    """A machine whose editor has a text that is not saved, and a snapshot of it."""
    with new(DESKTOP) as machine:
        machine.put("/home/user/note.txt", b"first\n")
        machine.guest.launch(
            ["mousepad", "/home/user/note.txt"],
            wait={"app": "mousepad", "window": {"title": "note"}},
            place="maximized",
        )
        act(machine, Action("press", keys=("ctrl", "End")), Action("type", text="second"))
        snapshot = machine.snapshot()
        yield machine, snapshot
        machine.drop(snapshot)


def test_an_editor_goes_on_each_time_where_it_was(written):
    machine, snapshot = written
    machine.restore(snapshot)
    before = machine.display.capture()
    for text in ("one", "two"):
        machine.restore(snapshot)
        assert np.array_equal(machine.display.capture(), before)
        assert not np.array_equal(act(machine, Action("type", text=text)), before)
        assert saved(machine) == ["first", f"second{text}"]


def test_machines_of_one_snapshot_are_apart(written):
    machine, snapshot = written
    machine.restore(snapshot)
    with new(DESKTOP) as other:
        other.restore(snapshot)
        act(other, Action("type", text="other"))
        act(machine, Action("type", text="own"))
        assert saved(other) == ["first", "secondother"] and saved(machine) == ["first", "secondown"]


def test_a_snapshot_of_what_was_restored_outlives_the_first(written):
    machine, snapshot = written
    machine.restore(snapshot)
    act(machine, Action("type", text=" third"))
    later = machine.snapshot()
    assert machine.alive and act(machine) is not None
    machine.restore(snapshot)
    assert saved(machine) == ["first", "second"]
    machine.restore(later)
    assert saved(machine) == ["first", "second third"]
    machine.drop(later)
    machine.drop(later)
    with pytest.raises(ValueError, match="dropped"):
        machine.restore(later)
    assert saved(machine) == ["first", "second third"]  # what went on from it lives


def test_the_guest_knows_which_program_an_element_is_of(written):
    machine, snapshot = written
    machine.restore(snapshot)
    program = AccessibleProgram(machine, "mousepad")
    assert program.tree().find("text").text == "first\nsecond"


def test_ls_finds_files(written):
    machine, _ = written
    assert machine.run(["ls", "/home/user/note.txt"]).stdout == b"/home/user/note.txt\n"


LOOK = """
import ctypes, os
found = []
for pid in ["1", *(name for name in os.listdir("/proc") if name.isdigit())]:
    if os.stat(f"/proc/{pid}").st_uid == os.getuid():
        continue
    for name in (*(f"fd/{fd}" for fd in os.listdir(f"/proc/{pid}/fd")), "mem", "root/etc"):
        try:
            if os.readlink(f"/proc/{pid}/{name}") != "/dev/null":
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_NONBLOCK))
                found.append(name)
        except OSError:
            pass
for act in (lambda: os.kill(1, 9), lambda: os.listdir("/run/deskgym"), lambda: os.mkdir("/run/deskgym/own"),
            lambda: os.rename("/run/deskgym/framebuffer", "/run/deskgym/other"),
            lambda: open("/opt/deskgym/guest/x", "w"), lambda: open("/etc/ld.so.preload", "w"),
            lambda: os.rename("/opt/deskgym", "/opt/other")):
    try:
        act()
        found.append("done")
    except OSError:
        pass
print(found, ctypes.CDLL(None).ptrace(16, 1, 0, 0))
"""


RENAMES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def rename(old, new, flags=1):
    done = libc.renameat2(-100, old.encode(), -100, new.encode(), flags)
    return os.strerror(ctypes.get_errno()) if done else "renamed"
os.chdir("/home/user")
os.unlink("project")
open("new", "w").write("new"), open("other", "w").write("other"), os.mkdir("folder")
print(rename("new", "project"), open("project").read(), os.path.exists("new"))  # as Qt saves a file
print(rename("other", "project"), open("project").read(), open("other").read())
os.unlink("project")
print(rename("folder", "project"), os.path.isdir("project"), rename("other", "project"))
print(rename("nothing", "else"))
"""


def test_what_was_deleted_can_be_written_anew():
    with new() as machine:
        machine.put("/home/user/project", b"old")
        done = machine.run(["python3", "-c", RENAMES])
    assert done.stdout.decode().splitlines() == [
        "renamed new False",
        "File exists new other",
        "renamed True File exists",
        "No such file or directory",
    ], done.stderr


def test_the_guest_is_out_of_the_agents_reach(written):
    machine, _ = written
    assert machine.run(["python3", "-c", LOOK]).stdout == b"[] -1\n"


RIGHTS = """
import ctypes, os, socket, threading
libc, found = ctypes.CDLL(None), []
found += [libc.unshare(flag) for flag in (0x10000000, 0x40000000)]
found.append(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
for family in (socket.AF_PACKET, 40):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
        found.append("a socket")
    except OSError as error:
        found.append(error.errno)
threading.Thread(target=found.append, args=("a thread",)).start()
print(found, os.waitstatus_to_exitcode(os.system("true")))
"""


def test_nobody_gets_rights_in_a_namespace_of_his_own(written):
    machine, _ = written
    told = machine.run(["python3", "-c", RIGHTS]).stdout
    assert told == b"[-1, -1, -1, 97, 97, 'a thread'] 0\n"


SERVER = """
import os, socket, sys
if os.path.exists("/tmp/sock"):
    os.rename("/tmp/sock", "/tmp/before")
sock = socket.socket(socket.AF_UNIX)
sock.bind("/tmp/sock")
sock.listen()
open(sys.argv[1], "w").close()
while True:
    peer, _ = sock.accept()
    peer.recv(99)
    peer.sendall(sys.argv[1].encode())
    peer.close()
"""


def test_who_takes_a_programs_socket_is_not_believed():
    with new() as machine:
        machine.guest.launch(["python3", "-c", SERVER, "/tmp/true"], wait={"file": "/tmp/true"})
        channel = ProgramChannel(machine, "python3")
        assert channel.unix("/tmp/sock", b"?") == b"/tmp/true"
        wait = "while [ ! -e /tmp/false ]; do sleep 0.05; done"
        machine.run(["sh", "-c", f'python3 -c "$0" /tmp/false >/dev/null 2>&1 & {wait}', SERVER])
        with pytest.raises(GuestCallError, match="is not python3 as it was launched"):
            channel.unix("/tmp/sock", b"?")


def test_a_program_that_has_become_another_is_not_believed():
    become = 'while [ ! -e /tmp/go ]; do sleep 0.05; done; exec python3 -c "$0" /tmp/other'
    with new(DESKTOP) as machine:
        machine.guest.launch(["sh", "-c", become, SERVER])
        act(machine, Action("press", keys=("shift",)))  # the agent's turn begins
        machine.run(["sh", "-c", "touch /tmp/go; while [ ! -e /tmp/other ]; do sleep 0.05; done"])
        with pytest.raises(GuestCallError, match="is not sh as it was launched"):
            ProgramChannel(machine, "sh").unix("/tmp/sock", b"?")


def test_nobody_changes_what_the_bus_starts_programs_with(written):
    machine, snapshot = written
    machine.restore(snapshot)
    call = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/org/freedesktop/DBus"]
    done = machine.run(
        [*call, "org.freedesktop.DBus.UpdateActivationEnvironment", "dict:string:string:LD_PRELOAD,/tmp/x"]
    )
    assert done.returncode == 1 and b"AccessDenied" in done.stderr
    assert machine.run([*call, "org.freedesktop.DBus.ListNames"]).returncode == 0


def test_a_machine_that_cannot_go_on_leaves_no_snapshot(monkeypatch):
    with new() as machine:
        scratch = machine._supervisor.scratch
        before = set(scratch.iterdir())

        def fail(snapshot):
            raise MachineError("no room")

        monkeypatch.setattr(machine, "restore", fail)
        with pytest.raises(MachineError, match="no room"):
            machine.snapshot()
        assert set(scratch.iterdir()) < before


def test_a_screen_that_its_guest_has_spoilt_is_an_error(written, tmp_path):
    machine, _ = written
    image = bytearray(open(f"/proc/{machine.init_pid}/root/run/gvisor/screen/Xvfb_screen0", "rb").read())
    image[48:52] = b"\0\x40\0\0"  # bytes of a line
    for spoilt in (image, b""):
        (tmp_path / "screen").write_bytes(spoilt)
        os.truncate(tmp_path / "screen", len(spoilt) << 14)
        fd = os.open(tmp_path / "screen", os.O_RDONLY)
        with pytest.raises(MachineError, match="cannot be read"):
            X11Display(machine.guest, fd, (640, 480), mapped=False)
    display = machine.display
    frame = display.capture()
    with open(f"/proc/{machine.init_pid}/root/run/gvisor/screen/Xvfb_screen0", "r+b") as file:
        file.truncate(1000)
    with pytest.raises(MachineError, match="was cut"):
        display.capture(frame)


def test_what_was_taken_elsewhere_is_refused(written):
    machine, snapshot = written
    for config, match in ((HEADLESS, "screen"), (MachineConfig(screen_size=(640, 480), memory_mb=3000), "config")):
        with pytest.raises(ValueError, match=f"another machine: .*{match}"):
            new(config).restore(snapshot)
    for wrong in (Snapshot("sandbox", snapshot.path), Snapshot("qemu", snapshot.path)):
        with pytest.raises(ValueError, match="cannot be restored to a 'sandbox/runsc' machine"):
            machine.restore(wrong)
    with pytest.raises(ValueError, match="cannot be restored to a 'sandbox' machine"):
        SandboxMachine(DESKTOP).restore(snapshot)
    os.rename(f"{snapshot.path}/{gvisor.checkpoints.CHECKPOINT}", f"{snapshot.path}/away")
    with pytest.raises(ValueError, match="has lost checkpoint.img"):
        machine.restore(snapshot)
    os.rename(f"{snapshot.path}/away", f"{snapshot.path}/{gvisor.checkpoints.CHECKPOINT}")


def test_a_snapshot_that_cannot_be_taken_leaves_nothing(monkeypatch):
    with new() as machine:
        scratch = machine._supervisor.scratch
        own = machine._own.name
        monkeypatch.setattr(checkpoints, "CONTAINER", "no-such-container")
        with pytest.raises(MachineError, match="could not be taken: loading container: file does not exist"):
            machine.snapshot()
        assert not machine.alive and not (scratch / own).exists()
        machine.restore(None)
        assert machine.run(["true"]).returncode == 0


FULL = """
import os, subprocess
from deskgym.envs.errors import MachineError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.host import cache_folder
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m,mode=755", "tmpfs", cache_folder()], check=True)
with create_machine("sandbox", MachineConfig(screen_size=None), runtime="runsc") as machine:
    scratch, filling = machine._supervisor.scratch, cache_folder() / "filling"
    machine.run(["python3", "-c", "open('/tmp/noise', 'wb').write(__import__('os').urandom(20 << 20))"])
    with open(filling, "wb") as file:
        file.write(bytes(os.statvfs(cache_folder()).f_bavail * 4096 - (8 << 20)))
    try:
        machine.snapshot()
    except MachineError as error:
        print(error)
    print(machine.alive, list(scratch.iterdir()))
    filling.unlink()
    machine.restore(None)
    machine.restore(machine.snapshot())
    print(machine.run(["echo", "goes on"]).stdout.decode())
"""


def test_on_a_full_disk_a_snapshot_leaves_nothing(in_own_mounts):
    done = in_own_mounts(FULL)
    assert done.returncode == 0, done.stdout + done.stderr
    first, *rest = done.stdout.splitlines()
    assert first.startswith("the snapshot could not be taken: ") and "no space left on device" in first
    assert rest[:2] == ["False []", "goes on"]


def test_what_runs_goes_on_in_each_that_was_restored():
    count = "n=0; while :; do n=$((n+1)); echo $n > /tmp/new; mv /tmp/new /tmp/n; sleep 0.01; done"
    with new() as machine, new() as other:
        machine.run(["sh", "-c", f"({count}) >/dev/null 2>&1 & while [ ! -e /tmp/n ]; do sleep 0.01; done"])
        snapshot = machine.snapshot()
        for each in (machine, other):
            each.restore(snapshot)
        seen = [int(each.get("/tmp/n")) for each in (machine, other)]
        for each, before in zip((machine, other), seen, strict=True):
            for _ in range(100):
                if int(each.get("/tmp/n")) > before:
                    break
            else:
                pytest.fail("the loop does not go on")
        machine.drop(snapshot)


def test_a_click_that_has_not_settled_is_finished_in_each(written):
    machine, snapshot = written
    machine.restore(snapshot)
    events = Action("type", text=" and more").events()
    machine.display.carry_out(StepRequest(list(events)))  # and nothing is waited for
    later = machine.snapshot()
    for _ in range(2):
        machine.restore(later)
        act(machine)
        assert saved(machine) == ["first", "second and more"]
    machine.drop(later)


def test_a_spoilt_checkpoint_is_an_error_and_leaves_nothing():
    with new() as machine:
        snapshot = machine.snapshot()
        path = f"{snapshot.path}/checkpoint.img"
        os.truncate(path, os.path.getsize(path) // 2)
        with pytest.raises(MachineError, match="did not answer"):
            machine.restore(snapshot)
        assert not machine.alive
        machine.drop(snapshot)
        assert not os.path.exists(snapshot.path)


def test_a_session_keeps_its_time_and_its_language():
    config = MachineConfig(screen_size=None, clock="2024-01-01T10:00:00", locale="de_DE.UTF-8")
    with new(config) as machine:
        snapshot = machine.snapshot()
        for _ in range(2):
            assert machine.run(["date", "+%F %A"]).stdout == b"2024-01-01 Montag\n"
            machine.restore(snapshot)
        machine.drop(snapshot)


def test_a_machine_that_died_cannot_be_saved():
    with new() as machine:
        os.kill(machine.init_pid, signal.SIGKILL)
        with pytest.raises(GuestLost):
            machine.run(["true"])
        with pytest.raises(GuestLost, match="has died"):
            machine.snapshot()


def test_who_is_to_blame_is_known_after_a_save_that_failed():
    """The machine dies while it is saved: it stays one that has died, and is none that was never started."""
    with new() as machine:
        os.kill(machine.init_pid, signal.SIGKILL)
        with pytest.raises(MachineError):
            machine.snapshot()
        with pytest.raises(GuestLost, match="has died"):
            machine.run(["true"])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"platform": "none"}, "platform='none'; legal are 'auto', 'ptrace', 'kvm', 'systrap'"),
        ({"reuse": True}, "unknown .*'reuse'"),
        ({"hide": ["opt/gold"]}, "absolute paths"),
    ],
)
def test_wrong_options(options, match):
    with pytest.raises(ValueError, match=match):
        new(**options)


def test_the_class_is_the_runtimes():
    assert type(new()) is GvisorMachine and type(create_machine("sandbox")) is SandboxMachine
    with pytest.raises(ValueError, match="needs create_machine"):
        SandboxMachine(runtime="runsc")
    with pytest.raises(ValueError, match="a GvisorMachine's is 'runsc'"):
        GvisorMachine(runtime="runc")


def test_an_environment_forks_and_resets_by_snapshots():
    env = gymnasium.make(
        "deskgym/Science-v0", task="kalgebra/tab", screen_size=(960, 600), machine_options={"runtime": "runsc"},
        observation=("screenshot", "elements"), disable_env_checker=True,
    ).unwrapped  # fmt: skip
    try:
        env.reset(seed=0)
        env.reset(seed=0)
        assert env.stats["snapshots_used"] == 1
        actions = list(env.oracle())
        for action in actions[:-1]:
            env.step(action)
        forks = env.fork(2)
        try:
            for one in (*forks, env):
                assert one.step(actions[-1])[1] == 1.0
        finally:
            for one in forks:
                one.close()
    finally:
        env.close()
