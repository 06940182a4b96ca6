"""Which machines run, as another process of the same user sees it, and streams to their screens."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.live import registry as live
from deskgym.envs.machines.live import stream as live_stream
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.machines.sandbox.host import find_tool
from deskgym.envs.machines.sandbox.machine import SandboxMachine

SIZE = (640, 480)
needs_x11vnc = pytest.mark.skipif(find_tool("x11vnc") is None, reason="x11vnc is not installed")

SANDBOX = f"""
import sys
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
with SandboxMachine(MachineConfig(screen_size={SIZE})):
    print("up", flush=True)
    sys.stdin.read()
"""

VIEWER = """
import sys
from deskgym.envs.machines.live import registry as live, stream as live_stream
machine = next(m for m in live.running() if m.name == sys.argv[1])
with live_stream.connect(machine) as stream:
    print(stream.recv(12), flush=True)
    sys.stdin.read()
"""


class Desktop:
    """As much of a machine as the registry looks at."""

    kind = "pretended"
    config = MachineConfig(screen_size=SIZE)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch, request):
    """A registry of the test's own, but where other processes are to see it."""
    if request.node.get_closest_marker("sandbox"):
        yield None
        return
    monkeypatch.setattr(live, "runtime_folder", lambda: tmp_path)
    monkeypatch.setattr(live, "_folders", lambda: [tmp_path / live.FOLDER])
    live._folder.cache_clear()
    yield tmp_path / live.FOLDER
    live._folder.cache_clear()


def own():
    return [machine for machine in live.running() if machine.owner == os.getpid()]


def until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
    return value


def handshake(stream):
    """Width and height that a server without a password tells."""
    stream.settimeout(10)
    assert stream.recv(12) == b"RFB 003.008\n"
    stream.sendall(b"RFB 003.008\n")
    assert stream.recv(2) == b"\1\1"
    stream.sendall(b"\1\1")
    told = b""
    while len(told) < 4 + 24:
        told += stream.recv(1024)
    assert told[:4] == bytes(4)
    return int.from_bytes(told[4:6]), int.from_bytes(told[6:8])


def test_a_machine_is_there_from_its_start_to_its_stop(own_folder):
    machine = Desktop()
    before = time.time()
    live.publish(machine, unix="/nowhere/view.sock")
    (seen,) = live.running()
    assert (seen.kind, seen.owner, seen.size) == ("pretended", os.getpid(), SIZE)
    assert seen.reach == {"unix": "/nowhere/view.sock"} and before <= seen.since <= time.time() and seen.alive
    live.describe(machine, "some/task")
    assert [m.task for m in live.running()] == ["some/task"] and live.running()[0].name == seen.name
    live.withdraw(machine)
    live.withdraw(machine)
    live.describe(machine, "too/late")
    assert live.running() == [] and list(own_folder.iterdir()) == []


def test_the_oldest_is_first_and_each_start_has_a_name_of_its_own(own_folder):
    machines = [Desktop() for _ in range(3)]
    for machine in machines:
        live.publish(machine, authority="/nowhere")
    names = [m.name for m in live.running()]
    assert len(set(names)) == 3 and names == sorted(names, key=lambda name: int(name.rpartition("-")[2]))
    live.publish(machines[0], authority="/nowhere")
    assert [m.name for m in live.running()][:2] == names[1:] and len(live.running()) == 3


def test_a_machine_without_a_screen_is_not_there():
    machine = Desktop()
    machine.config = MachineConfig(screen_size=None)
    live.publish(machine, unix="/nowhere")
    assert live.running() == []


@pytest.mark.parametrize("reach", [{}, {"smoke": 1}, {"unix": "/a", "address": "b:1"}])
def test_an_unknown_way_is_refused(reach):
    with pytest.raises(ValueError, match="legal is one of init, authority, unix, address"):
        live.publish(Desktop(), **reach)


def test_a_publication_that_fails_does_not_fail_the_start(own_folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(live, "_write", full)
    machine = Desktop()
    live.publish(machine, unix="/nowhere")
    live.describe(machine, "a/task")
    live.withdraw(machine)
    assert live.running() == []


def test_a_start_takes_less_than_a_millisecond_more(own_folder):
    live.publish(Desktop(), unix="/nowhere")  # the first one makes the folder
    taken = []
    for _ in range(50):
        machine, start = Desktop(), time.perf_counter()
        live.publish(machine, unix="/nowhere")
        taken.append(time.perf_counter() - start)
        live.withdraw(machine)
    assert sorted(taken)[len(taken) // 2] < 0.001


def test_what_a_killed_process_left_is_ignored_and_removed(own_folder):
    code = (
        "import sys; from pathlib import Path; from types import SimpleNamespace as N;"
        "from deskgym.envs.machines.live import registry as live; live.runtime_folder = lambda: Path(sys.argv[1]);"
        "m = type('M', (), dict(kind='dead', config=N(screen_size=(9, 9))))();"
        "live.publish(m, unix='/x'); print('up', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(own_folder.parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"up\n"
        assert [m.kind for m in live.running()] == ["dead"] and live.running()[0].owner == process.pid
        process.kill()
        until(lambda: live.start_time(process.pid) == 0)  # dead, and not reaped yet
        assert live.running() == [] and list(own_folder.iterdir()) == []


def test_another_process_with_the_same_pid_is_not_the_owner(own_folder):
    live.publish(Desktop(), unix="/nowhere")
    kept = Desktop()
    live.publish(kept, unix="/nowhere")
    (path,) = own_folder.glob(f"*{live._published[kept][1].name}.json")
    path.write_text(path.read_text().replace(f'"owner_start": {live.start_time(os.getpid())}', '"owner_start": 1'))
    assert len(live.running()) == 1 and not path.exists()


def test_a_file_that_makes_no_sense_is_removed(own_folder):
    own_folder.mkdir()
    for number, text in enumerate(("", "[]", "{}", '{"size": [1, 2], "reach": {}}', "\x00")):
        (own_folder / f"1.{number}.json").write_text(text)
    assert live.running() == [] and list(own_folder.iterdir()) == []


def test_a_fork_does_not_withdraw_its_parents_machine(own_folder):
    machine = Desktop()
    live.publish(machine, unix="/nowhere")
    pid = os.fork()
    if pid == 0:
        live.withdraw(machine)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0 and len(live.running()) == 1


def entry(**reach):
    return live.LiveMachine(
        "pretended-1-1", "pretended", os.getpid(), live.start_time(os.getpid()), SIZE, time.time(), reach
    )


def test_unix_and_tcp_servers_are_dialled(tmp_path):
    for family, address in ((socket.AF_UNIX, str(tmp_path / "view.sock")), (socket.AF_INET, ("127.0.0.1", 0))):
        with socket.socket(family) as server:
            server.bind(address)
            server.listen(1)
            if family == socket.AF_UNIX:
                machine = entry(unix=address)
            else:
                machine = entry(address=f"127.0.0.1:{server.getsockname()[1]}")
            threading.Thread(target=lambda server=server: server.accept()[0].sendall(b"hello")).start()
            with live_stream.connect(machine) as stream:
                assert stream.recv(5) == b"hello"


def test_a_server_that_says_nothing_is_one_clear_error(tmp_path, monkeypatch):
    monkeypatch.setattr(live_stream, "TIMEOUT", 0.2)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "view.sock"))
        server.listen(1)
        with pytest.raises(MachineError, match="said nothing"):
            with live_stream.connect(entry(unix=str(tmp_path / "view.sock"))):
                pass


@pytest.mark.parametrize(
    "reach",
    [{"unix": "/nowhere/view.sock"}, {"address": "127.0.0.1:1"}, {"address": "127.0.0.1"}, {"authority": "/nowhere"}],
)
def test_a_screen_that_is_gone_is_one_clear_error(reach):
    with pytest.raises(MachineError, match="pretended-1-1") as caught, live_stream.connect(entry(**reach)):
        pass
    assert caught.value.kind == "gone"


@needs_x11vnc
def test_an_x_server_that_refuses_is_one_clear_error(tmp_path):
    (tmp_path / "Xauthority").write_bytes(b"\xff\xff" + b"\0\0" + b"\0\003999" + b"\0\0" + b"\0\0")
    with pytest.raises(MachineError) as caught, live_stream.connect(entry(authority=str(tmp_path / "Xauthority"))):
        pass
    assert caught.value.kind == "start_failed"


def test_without_x11vnc_the_error_has_the_command(monkeypatch, tmp_path):
    (tmp_path / "Xauthority").write_bytes(b"")
    monkeypatch.setattr(live_stream, "find_tool", lambda name: None)
    with pytest.raises(MachineError, match="apt-get install .*x11vnc"):
        with live_stream.connect(entry(authority=str(tmp_path / "Xauthority"))):
            pass


@needs_x11vnc
def test_a_process_machine_shows_its_screen():
    with ProcessMachine(MachineConfig(screen_size=SIZE)) as machine:
        (seen,) = own()
        assert seen.kind == "process"
        with live_stream.connect(seen) as stream:
            assert handshake(stream) == SIZE
        assert machine.alive
    assert own() == []


@pytest.mark.sandbox
@needs_x11vnc
class TestSandbox:
    @pytest.fixture
    def machine(self):
        with SandboxMachine(MachineConfig(screen_size=SIZE)) as machine:
            yield machine

    def inside(self, machine):
        """The command lines that the agent sees, zombies too."""
        return machine.run(["ps", "-eo", "args"]).stdout.decode().splitlines()[1:]

    def test_it_shows_its_screen_and_leaves_nothing(self, machine):
        (seen,) = own()
        assert seen.kind == "sandbox" and seen.size == SIZE
        before = len(self.inside(machine))
        for _ in range(2):
            with live_stream.connect(seen) as stream:
                assert handshake(stream) == SIZE
                assert any("x11vnc" in line for line in self.inside(machine))
            assert len(self.inside(machine)) == before
        assert machine.alive

    def test_the_viewers_process_has_no_rights_and_cannot_be_harmed(self, machine):
        with live_stream.connect(*own()) as stream:
            handshake(stream)
            pid = machine.run(["pgrep", "x11vnc"]).stdout.decode().strip()
            status = machine.run(["cat", f"/proc/{pid}/status"]).stdout.decode()
            assert f"Uid:\t{live_stream.VIEWER}" in status and "NoNewPrivs:\t1" in status
            assert "CapEff:\t0000000000000000" in status and "CapBnd:\t0000000000000000" in status
            assert machine.run(["kill", "-9", pid]).returncode != 0
            assert machine.run(["cat", f"/proc/{pid}/environ"]).returncode != 0

    @pytest.mark.skipif(find_tool("xprop") is None, reason="xprop is not installed")
    def test_it_changes_nothing_on_the_screen_but_one_property(self, machine):
        def root():
            return set(machine.run(["xprop", "-root"]).stdout.decode().splitlines())

        before = root()
        with live_stream.connect(*own(), control=True) as stream:
            handshake(stream)
        assert {line.partition("(")[0] for line in root() ^ before} <= {"X11VNC_TICKER"}

    @pytest.mark.parametrize("control", [True, False])
    def test_the_pointer_is_moved_only_with_control(self, machine, control):
        with live_stream.connect(*own(), control=control) as stream:
            handshake(stream)
            for x, y in ((20, 20), (420, 300)):
                before = machine.display.capture()
                stream.sendall(struct.pack(">BBHH", 5, 0, x, y))
                stream.sendall(struct.pack(">BBHHHH", 3, 0, 0, 0, 1, 1))
                assert stream.recv(1 << 16)  # it has read what came before

                def moved(x=x, y=y, before=before):
                    return (machine.display.capture()[y : y + 8, x : x + 8] != before[y : y + 8, x : x + 8]).any()

                assert until(moved) if control else not moved()

    def test_it_stops_while_it_is_looked_at(self, machine):
        with live_stream.connect(*own()) as stream:
            handshake(stream)
            start = time.monotonic()
            machine.stop()
            assert time.monotonic() - start < 5.0
            until(lambda: stream.recv(1 << 16) == b"")

    def test_a_server_that_hangs_is_killed(self, machine):
        with live_stream.connect(*own()) as stream:
            handshake(stream)
            machine.run(["pkill", "-STOP", "Xvfb"], user="guest")
            time_before = time.monotonic()
        assert time.monotonic() - time_before < 5.0
        machine.run(["pkill", "-CONT", "Xvfb"], user="guest")
        assert not any("x11vnc" in line for line in self.inside(machine))

    def test_a_viewer_that_is_killed_leaves_nothing_in_the_machine(self, machine):
        (seen,) = own()
        with subprocess.Popen(
            [sys.executable, "-c", VIEWER, seen.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as viewer:
            assert viewer.stdout.readline() == b"b'RFB 003.008\\n'\n"
            assert any("x11vnc" in line for line in self.inside(machine))
            viewer.send_signal(signal.SIGKILL)
        until(lambda: not any("x11vnc" in line for line in self.inside(machine)))
        assert machine.alive

    def test_a_trainer_that_is_killed_takes_all_with_it(self):
        with subprocess.Popen(
            [sys.executable, "-c", SANDBOX], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as trainer:
            assert trainer.stdout.readline() == b"up\n"
            (seen,) = [m for m in live.running() if m.owner == trainer.pid]
            with live_stream.connect(seen) as stream:
                handshake(stream)
                trainer.kill()
                until(lambda: stream.recv(1 << 16) == b"")
            trainer.wait()
        assert not [m for m in live.running() if m.owner == seen.owner]
        until(lambda: live.start_time(seen.reach["init"]) == 0)
        assert not list(Path("/proc").glob(f"{seen.reach['init']}/exe"))
