"""VncMachine and the attached guest: life, faults and what is left behind."""

import os
import signal
import socket
import stat
import threading
import time

import gymnasium as gym
import pytest
from vnc_desktops import VncDesktop, wait_for

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestLost, MachineError
from deskgym.envs.guest.process_table import process_table
from deskgym.envs.guest.protocol import HEADER, pack
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig, Snapshot
from deskgym.envs.machines.vnc.machine import VncMachine

SIZE = (640, 400)
CONFIG = MachineConfig(screen_size=SIZE)
HEADLESS = MachineConfig(screen_size=None)


@pytest.fixture(scope="module")
def desktop():
    with VncDesktop(SIZE, guest=True) as desktop:
        yield desktop


def machine_of(desktop, config=CONFIG, **options):
    return VncMachine(config, **{"address": desktop.address, "guest": desktop.guest_address} | options)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def running(name):
    def command_line(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read().decode()
        except OSError:
            return ""

    return [seen.pid for seen in process_table() if seen.state not in "ZX" and name in command_line(seen.pid)]


def test_what_was_started_ends_with_the_connection(desktop):
    machine = machine_of(desktop)
    machine.start()
    home = machine.run(["pwd"]).stdout.decode().strip()
    machine.put(f"{home}/mine", b"1")
    pids = [machine.guest.launch(["sleep", "1000"])["pid"]]
    done = machine.run(["sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 & echo $!"])
    pids.append(int(done.stdout))
    machine.display.perform([], code=CodeRequest("import subprocess; subprocess.Popen(['sleep', '1002'])"))
    pids += running("1002")
    assert len(pids) == 3
    machine.restore()
    alive = {seen.pid for seen in process_table() if seen.state not in "ZX"}
    assert not alive & set(pids)
    assert machine.run(["pwd"]).stdout.decode().strip() != home and not os.path.exists(home)
    machine.stop()
    assert desktop.server.poll() is None and desktop.guest.poll() is None


def test_what_is_held_is_released_at_the_end(desktop):
    with machine_of(desktop) as machine:
        machine.display.perform([{"t": "keydown", "k": "shift"}, {"t": "down", "b": 1}])
    code = (
        "from Xlib import display; d = display.Display();"
        "print(any(d.query_keymap()), d.screen().root.query_pointer().mask & 0x1f00)"
    )
    with machine_of(desktop) as machine:
        report = machine.display.perform([], code=CodeRequest(code))
    assert report.code.stdout == "False 0\n"


def test_a_killed_host_leaves_nothing(desktop):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        machine = machine_of(desktop)
        machine.start()
        machine.guest.launch(["sleep", "1003"])
        os.write(write, machine.run(["pwd"]).stdout)
        signal.pause()
    os.close(write)
    with os.fdopen(read) as file:
        home = file.readline().strip()
    assert running("1003") and os.path.exists(home)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_for(lambda: not running("1003") and not os.path.exists(home), "the end of what it had started")
    with machine_of(desktop) as machine:
        assert machine.run(["true"]).returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_guest_that_ends_leaves_nothing(number):
    with VncDesktop(SIZE, guest=True) as desktop:
        machine = machine_of(desktop)
        machine.start()
        machine.guest.launch(["sleep", "1004"])
        home = machine.run(["pwd"]).stdout.decode().strip()
        desktop.guest.send_signal(number)
        wait_for(lambda: not running("1004") and not os.path.exists(home), "the end of what it had started")
        with pytest.raises(GuestLost):
            machine.run(["true"])
        assert not machine.alive
        desktop.start_guest()  # also over what a killed one has left
        machine.start()
        assert machine.alive
        machine.stop()
        desktop.guest.terminate()
        assert desktop.guest.wait(5) == 0 and not os.path.exists(desktop.guest_address.removeprefix("unix:"))


def test_one_host_at_a_time(desktop):
    with machine_of(desktop) as machine:
        with pytest.raises(MachineError, match="serves another host") as error:
            machine_of(desktop, HEADLESS).start()
        assert error.value.kind == "guest_busy"
        assert machine.run(["true"]).returncode == 0


def test_two_desktops_side_by_side(desktop):
    with VncDesktop(SIZE, guest=True) as other, machine_of(desktop) as one, machine_of(other) as two:
        for machine in (one, two):
            assert machine.display.perform([{"t": "move", "x": 9, "y": 9}], SettlePolicy()).settled


@pytest.mark.parametrize("given", ["right", "env", "wrong", None])
def test_tokens(given, tmp_path, monkeypatch):
    path, port = tmp_path / "token", free_port()
    with VncDesktop(SIZE) as desktop:
        desktop.start_guest("--listen", f"tcp:127.0.0.1:{port}", "--token-file", str(path))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        right = path.read_text().strip()
        assert len(right) >= 32
        monkeypatch.setenv("GUEST_TOKEN", right)
        token = {"right": right, "env": "env:GUEST_TOKEN", "wrong": "x" * 43, None: None}[given]
        machine = machine_of(desktop, HEADLESS, guest=f"tcp:127.0.0.1:{port}", token=token)
        if given in ("right", "env"):
            with machine:
                assert machine.run(["echo", "hi"]).stdout == b"hi\n"
        else:
            with pytest.raises(MachineError, match="wrong token" if given else "wants a token") as error:
                machine.start()
            assert error.value.kind == "guest_refused" and right not in str(error.value)


def test_nothing_is_done_before_the_token_is_right(desktop):
    """Frames that are no ``attach``, too long, or garbage end the connection; the next host is served."""
    path = desktop.guest_address.removeprefix("unix:")
    for first in (
        pack({"id": 1, "method": "run", "params": {"argv": ["true"]}}), HEADER.pack(1 << 20) + bytes(100),
        b"GET / HTTP/1.1\r\n\r\n", HEADER.pack(3) + b"\xc1\xc1\xc1", pack({"id": 1, "method": "attach", "params": "x"}),
    ):  # fmt: skip
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10.0)
            client.connect(path)
            client.sendall(first)
            answer = b""
            while piece := _received(client):
                answer += piece
            assert b"result" not in answer
    with machine_of(desktop, HEADLESS) as machine:
        assert machine.run(["true"]).returncode == 0


def _received(client):
    try:
        return client.recv(4096)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "tcp:127.0.0.1:{port}"], "say --token-file"),
        (["--listen", "tcp:0.0.0.0:{port}", "--token-file", "{folder}/token"], "--allow-remote"),
        (["--listen", "tcp:127.0.0.1:{port}", "--token-file", "{folder}/open"], "chmod 600"),
        (["--listen", "unix:relative"], "legal are"),
        (["--listen", "unix:{folder}/open"], "is no socket"),
        (["--listen", "unix:/nonexistent/folder/socket"], "No such file"),
        ([], "go together"),
    ],
)  # fmt: skip
def test_a_guest_that_cannot_listen_says_why(arguments, words, tmp_path):
    (tmp_path / "open").write_text("secret")
    (tmp_path / "open").chmod(0o644)
    with VncDesktop(SIZE, manager=False) as desktop:
        arguments = [a.format(port=free_port(), folder=tmp_path) for a in arguments] or ["--fd", "0"]
        guest = desktop.start_guest(*arguments)
        assert guest.wait(5) != 0 and words in desktop.log(guest) and "Traceback" not in desktop.log(guest)


def test_a_desktop_that_lacks_something_says_what():
    with VncDesktop(SIZE, manager=False) as desktop:
        desktop.start_guest()
        with pytest.raises(MachineError, match="nobody manages the windows at :") as error:
            machine_of(desktop).start()
        assert error.value.kind == "start_failed"
        desktop.guest.terminate()
        desktop.guest.wait()
        desktop.start_guest(env={"DISPLAY": ":94"})
        with pytest.raises(MachineError, match="does not answer"):
            machine_of(desktop).start()


def test_a_guest_that_never_answers(desktop, tmp_path):
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "guest"))
        silent.listen()
        machine, began = machine_of(desktop, guest=f"unix:{tmp_path}/guest", timeout=1.0), time.monotonic()
        with pytest.raises(GuestLost, match="no answer to 'attach' in time"):
            machine.start()
        assert time.monotonic() - began < 3.0 and not machine.alive
    with pytest.raises(MachineError, match="no guest can be reached") as error:
        machine.start()
    assert error.value.kind == "no_guest"


def test_without_a_guest(desktop):
    with VncMachine(CONFIG, address=desktop.address) as machine:
        assert machine.display.perform([{"t": "move", "x": 300, "y": 200}], SettlePolicy()).settled
        assert machine.display.capture().shape == (400, 640, 3)
        for use in (lambda: machine.guest, lambda: machine.run(["true"]), lambda: machine.put("/tmp/x", b"")):
            with pytest.raises(MachineError, match="takes a guest in the desktop") as error:
                use()
            assert error.value.kind == "no_guest"
        assert machine.can == frozenset()
    assert not machine.alive


def test_a_reset_command(desktop, tmp_path):
    with VncMachine(CONFIG, address=desktop.address, reset=["touch", str(tmp_path / "was here")]) as machine:
        assert not list(tmp_path.iterdir())
        machine.restore()
        assert list(tmp_path.iterdir()) and machine.alive
    for argv, words in (
        (["sh", "-c", "echo no disk; exit 3"], "failed with 3: no disk"),
        (["/nonexistent"], "No such"),
    ):
        machine = VncMachine(CONFIG, address=desktop.address, reset=argv)
        with pytest.raises(MachineError, match=words) as error:
            machine.restore()
        assert error.value.kind == "reset_failed" and not machine.alive


def test_no_snapshots(desktop):
    with machine_of(desktop, HEADLESS) as machine:
        with pytest.raises(MachineError, match="machine='qemu'") as error:
            machine.snapshot()
        assert error.value.kind == "unsupported"
        with pytest.raises(ValueError, match="has none"):
            machine.restore(Snapshot("vnc", "/tmp"))
        machine.drop(Snapshot("vnc", "/tmp"))
        assert machine.alive


def test_the_password_may_come_from_the_environment(monkeypatch):
    with VncDesktop(SIZE, password="sesame42") as desktop:
        machine = VncMachine(CONFIG, address=desktop.address, password="env:DESK_PASSWORD")
        with pytest.raises(MachineError, match="DESK_PASSWORD, which is not set"):
            machine.start()
        monkeypatch.setenv("DESK_PASSWORD", "sesame42")
        with machine:
            assert machine.display.capture().any()
        monkeypatch.setenv("DESK_PASSWORD", "wrong")
        with pytest.raises(MachineError, match="refuses the password"):
            machine.start()


def play(desktop, **options):
    size = options.pop("screen_size", SIZE)
    given = {"address": desktop.address, "guest": desktop.guest_address} | options
    with gym.make("deskgym/Science-v0", machine="vnc", screen_size=size, machine_options=given) as env:
        env.reset(seed=0)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"password": "wrong"}, "wrong_password"), ({}, "no_password"),
        ({"password": "env:NOT_SET"}, "no_password"),
        ({"password": "sesame42", "screen_size": (800, 600)}, "display_size"),
    ],
)  # fmt: skip
def test_what_somebody_has_to_change_is_not_tried_again(options, kind):
    with VncDesktop(SIZE, password="sesame42", guest=True) as desktop:
        with pytest.raises(MachineError) as error:
            play(desktop, **options)
        assert error.value.kind == kind
        assert desktop.log(desktop.server).count("accepted:") == (options.get("password") != "env:NOT_SET")


@pytest.mark.parametrize(
    ("guest", "what"), [(True, "nothing"), (True, "a wait"), (True, "code"), (False, "nothing"), (False, "a wait")]
)
def test_a_server_that_is_killed_is_seen_at_once(guest, what):
    with VncDesktop(SIZE, guest=guest) as desktop:
        machine = machine_of(desktop) if guest else VncMachine(CONFIG, address=desktop.address)
        machine.start()
        killed = []
        killer = threading.Timer(0.3, lambda: (killed.append(time.monotonic()), desktop.server.kill()))
        killer.start()
        events = [{"t": "wait", "s": 5}] if what == "a wait" else []
        with pytest.raises(MachineError, match="VNC server .* closed|broke") as error:
            if what == "nothing":
                desktop.server.wait()
            code = CodeRequest("import time; time.sleep(5)") if what == "code" else None
            machine.display.perform(events, code=code)
            machine.display.capture()
        assert error.value.kind == "display_lost" and time.monotonic() - killed[0] < 1.0
        assert not machine.alive
        machine.stop()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "'address'"), ({"address": "a:b"}, "legal are"), ({"address": ":1", "password": "ü"}, "ASCII"),
        ({"address": ":1", "guest": "/run/guest"}, "unix:/path"), ({"address": ":1", "guest": "tcp:host"}, "tcp:HOST"),
        ({"address": ":1", "reset": "reboot"}, "reset: legal is a list"), ({"address": ":1", "pointer": "x"}, "auto"),
        ({"address": ":1", "timeout": 0}, "above 0"), ({"address": ":1", "port": 5}, "unknown option 'port'"),
    ],
)  # fmt: skip
def test_options_that_are_not_legal(options, words):
    with pytest.raises(ValueError, match=words):
        create_machine("vnc", CONFIG, **options)
    with pytest.raises(ValueError, match="nothing to connect to"):
        create_machine("vnc", HEADLESS, address=":1")


def test_no_thread_is_left(desktop):
    before = threading.active_count()
    machine_of(desktop).__enter__().stop()
    assert threading.active_count() == before


def test_an_attached_session_bus_is_used_and_stays():
    """The desktop's own bus keeps what the guest needs of it, for the programs that were there before."""
    with VncDesktop(SIZE) as desktop:
        bus = f"unix:path={desktop.folder}/bus"
        desktop.start(["dbus-daemon", "--session", "--nofork", f"--address={bus}"])
        wait_for(lambda: (desktop.folder / "bus").exists(), "the bus")
        desktop.start_guest(env={"DBUS_SESSION_BUS_ADDRESS": bus})
        with machine_of(desktop) as machine:
            env = machine.run(["env"]).stdout.decode()
            assert f"DBUS_SESSION_BUS_ADDRESS={bus}\n" in env
            address = next(line for line in env.splitlines() if line.startswith("AT_SPI_BUS_ADDRESS="))
        with machine_of(desktop) as machine:
            assert address in machine.run(["env"]).stdout.decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["computer", "code"])
def test_kalgebra_behind_vnc(form):
    size = (1280, 720)
    with VncDesktop(size, guest=True) as desktop:
        options = {"address": desktop.address, "guest": desktop.guest_address}
        env = gym.make(
            "deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=size, action=form, machine="vnc",
            machine_options=options, observation=("screenshot", "elements", "instruction"),
        )  # fmt: skip
        for seed in (3, 4):
            observation, info = env.reset(seed=seed)
            assert observation["elements"].any() and len(set(observation["screenshot"].reshape(-1).tolist())) > 20
            for action in env.unwrapped.oracle():
                observation, reward, terminated, truncated, info = env.step(action)
                assert observation in env.observation_space
            assert (reward, terminated, truncated) == (1.0, True, False), info["verdict"]
        env.reset(seed=3)
        done = "DONE" if form == "code" else {"action_type": "DONE"}
        assert env.step(done)[1] == 0.0
        env.close()
