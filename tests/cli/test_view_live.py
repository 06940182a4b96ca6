"""``deskgym view --live``: the filter byte by byte, the bridge with a small server, and real desktops in a browser."""

import asyncio
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from deskgym.cli import view as view_command
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.live import registry as live
from deskgym.viewer import live_server
from deskgym.viewer.live_filter import NotViewOnly, ViewOnlyFilter
from deskgym.viewer.live_server import LiveServer, find_novnc

HELLO = b"RFB 003.008\n"
PIXEL_FORMAT = bytes([0, 0, 0, 0]) + bytes(16)
ENCODINGS = struct.pack(">BxHii", 2, 2, 7, -26)
UPDATE = struct.pack(">BBHHHH", 3, 1, 0, 0, 64, 48)
CONTINUOUS = struct.pack(">BBHHHH", 150, 1, 0, 0, 64, 48)
FENCE = struct.pack(">B3xIB", 248, 1, 3) + b"abc"
KEY = struct.pack(">BBxxI", 4, 1, 0xFF0D)
POINTER = struct.pack(">BBHH", 5, 1, 10, 10)
CUT_TEXT = struct.pack(">BxxxI", 6, 300) + b"\3" * 300
EXTENDED_CUT = struct.pack(">Bxxxi", 6, -8) + b"\4" * 8
QEMU_KEY = struct.pack(">BBHII", 255, 0, 1, 0xFF0D, 28)
RESIZE = struct.pack(">BxHHBx", 251, 800, 600, 1) + bytes(16)
POWER = struct.pack(">BxBB", 250, 1, 2)
PASSED = (PIXEL_FORMAT, ENCODINGS, UPDATE, CONTINUOUS, FENCE)
DROPPED = (KEY, POINTER, CUT_TEXT, EXTENDED_CUT, QEMU_KEY, RESIZE, POWER)


def pieces(data, rng):
    while data:
        cut = rng.randint(1, 9)
        yield data[:cut]
        data = data[cut:]


# --- the filter


@pytest.mark.parametrize("seed", range(40))
def test_only_what_asks_for_pictures_passes(seed):
    rng = random.Random(seed)
    messages = rng.choices(PASSED + DROPPED, k=60)
    kept = ViewOnlyFilter()
    password = rng.random() < 0.5
    greeting = HELLO + (b"\2" + bytes(range(16)) if password else b"\1") + b"\0"
    passed = b"".join(kept.feed(piece) for piece in pieces(greeting + b"".join(messages), rng))
    wanted = greeting[:-1] + b"\1" + b"".join(message for message in messages if message in PASSED)
    assert passed == wanted  # and nobody takes the screen for himself: the last byte of the greeting


def test_a_dropped_message_is_not_kept_in_memory():
    kept = ViewOnlyFilter()
    kept.feed(HELLO + b"\1\1" + struct.pack(">BxxxI", 6, 1 << 30))
    for _ in range(100):
        assert kept.feed(bytes(1 << 16)) == b"" and len(kept._waiting) == 0


@pytest.mark.parametrize(
    ("sent", "word"),
    [
        (b"RFB 003.003\n", "version"),
        (b"GET / HTTP/1", "version"),
        (HELLO + b"\x13", "security type 19"),
        (HELLO + b"\1\1" + b"\x07", "message type 7"),
        (HELLO + b"\1\1" + b"\xff\1", "QEMU message 1"),
    ],
)
def test_what_cannot_be_filtered_is_refused(sent, word):
    with pytest.raises(NotViewOnly, match=word):
        ViewOnlyFilter().feed(sent)


# --- the bridge


class FakeServer:
    """An RFB server of 64x48 pixels that writes down what it is sent."""

    def __init__(self, folder):
        self.path = str(folder / "view.sock")
        self.received = bytearray()
        self.ended = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(self.path)
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with suppress(OSError), self._socket.accept()[0] as connection:
            connection.sendall(HELLO)
            self._take(connection, 12)
            connection.sendall(b"\1\1")
            self._take(connection, 1)
            connection.sendall(bytes(4))
            self._take(connection, 1)
            connection.sendall(struct.pack(">HH16xI", 64, 48, 4) + b"fake")
            while data := connection.recv(4096):
                self.received += data
        self.ended.set()

    def _take(self, connection, count):
        data = connection.recv(count, socket.MSG_WAITALL)
        self.received += data

    def close(self):
        self._socket.close()


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A registry of the test's own, in this process."""
    monkeypatch.setattr(live, "runtime_folder", lambda: tmp_path)
    monkeypatch.setattr(live, "_folders", lambda: [tmp_path / live.FOLDER])
    live._folder.cache_clear()
    yield tmp_path
    live._folder.cache_clear()


class Desktop:
    kind = "pretended"
    config = MachineConfig(screen_size=(64, 48))


@pytest.fixture
def fake(registry):
    server = FakeServer(registry)
    machine = Desktop()
    live.publish(machine, unix=server.path)
    (server.entry,) = live.running()
    yield server
    live.withdraw(machine)
    server.close()


@pytest.fixture
def novnc(tmp_path):
    """A folder that looks like noVNC, with a secret beside it."""
    (tmp_path / "novnc" / "core").mkdir(parents=True)
    (tmp_path / "novnc" / "core" / "rfb.js").write_text("export default 1;")
    (tmp_path / "novnc" / "secret").write_text("secret")
    (tmp_path / "secret").write_text("secret")
    return tmp_path / "novnc"


def get(url, **headers):
    """Status, headers and body of an HTTP request."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@asynccontextmanager
async def shown(server, name, **options):
    """A WebSocket to a machine's screen, and the server's address."""
    async with server.listen() as url:
        async with connect(url.replace("http:", "ws:") + f"machines/{name}", proxy=None, **options) as viewer:
            yield viewer


async def take(viewer, count):
    data = b""
    while len(data) < count:
        data += await asyncio.wait_for(viewer.recv(), 10)
    return data


async def talk(viewer, messages):
    assert await take(viewer, 12) == HELLO
    await viewer.send(HELLO)
    assert await take(viewer, 2) == b"\1\1"
    await viewer.send(b"\1\1")
    assert (await take(viewer, 4 + 28)).endswith(b"fake")
    for message in messages:
        await viewer.send(message)


@pytest.mark.parametrize("control", [False, True])
def test_keys_reach_the_machine_only_with_control(fake, novnc, control):
    messages = [UPDATE, KEY, POINTER, ENCODINGS, CUT_TEXT, QEMU_KEY, UPDATE]

    async def main():
        async with shown(LiveServer(control=control, novnc=novnc), fake.entry.name) as viewer:
            await talk(viewer, messages)

    asyncio.run(main())
    assert fake.ended.wait(10)
    wanted = messages if control else [UPDATE, ENCODINGS, UPDATE]
    assert bytes(fake.received) == HELLO + b"\1\1" + b"".join(wanted)


def test_what_cannot_be_filtered_ends_the_connection_and_is_told(fake, novnc):
    server = LiveServer(novnc=novnc)

    async def main():
        async with shown(server, fake.entry.name) as viewer:
            await talk(viewer, [b"\x63" + KEY])
            with pytest.raises(ConnectionClosed) as caught:
                await asyncio.wait_for(viewer.recv(), 10)
            assert caught.value.rcvd.code == 1008
            return server._state()

    state = asyncio.run(main())
    assert KEY not in fake.received
    assert "message type 99" in state["machines"][0]["problem"] and "--control" in state["machines"][0]["problem"]


def test_a_machine_that_is_not_there(fake, novnc):
    async def main():
        async with shown(LiveServer(novnc=novnc), "nobody") as viewer:
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(viewer.recv(), 10)

    asyncio.run(main())


def test_a_machine_that_cannot_be_reached_is_said_on_the_page(registry, novnc):
    machine = Desktop()
    live.publish(machine, unix=str(registry / "no.sock"))
    server = LiveServer(novnc=novnc)

    async def main():
        async with shown(server, live.running()[0].name) as viewer:
            with pytest.raises(ConnectionClosed) as caught:
                await asyncio.wait_for(viewer.recv(), 10)
            assert caught.value.rcvd.code == 1011

    asyncio.run(main())
    (told,) = server._state()["machines"]
    assert "no.sock" in told["problem"]
    live.withdraw(machine)
    assert server._state()["machines"] == [] and server.problems == {}


def test_who_may_look(fake, novnc):
    """Neither another user, who does not know the token, nor another site's page in this user's browser."""

    async def refused(url, **options):
        with pytest.raises(InvalidStatus) as caught:
            async with connect(url, proxy=None, **options):
                pass
        return caught.value.response.status_code

    async def main():
        async with LiveServer(novnc=novnc).listen() as url:
            root, token = url.rstrip("/").rsplit("/", 1)
            port = root.rpartition(":")[2]
            for path in ("/", "/machines.json", f"/{token[:-1]}/", f"/{'x' * len(token)}/machines.json", "/%00/"):
                assert (await asyncio.to_thread(get, root + path))[0] == 404
            assert (await asyncio.to_thread(get, url + "machines.json"))[0] == 200
            assert (await asyncio.to_thread(get, url, Host=f"evil.example:{port}"))[0] == 403
            socket_url = url.replace("http:", "ws:") + f"machines/{fake.entry.name}"
            assert await refused(socket_url.replace(token, "x" * len(token))) == 404
            assert await refused(socket_url, origin="https://evil.example") == 403
            assert await refused(socket_url, origin=f"http://localhost:{port}") == 403
            async with connect(socket_url, proxy=None, origin=root) as viewer:
                assert await take(viewer, 12) == HELLO
            with socket.create_connection(("127.0.0.1", int(port))) as plain:  # says nothing, and goes
                plain.close()

    asyncio.run(main())


def test_what_is_served(fake, novnc):
    async def main():
        async with LiveServer(novnc=novnc).listen() as url:
            answers = {}
            for path in (
                "", "live.js", "live.css", "novnc/core/rfb.js", "novnc/secret", "novnc/core/../secret", "../secret",
                "novnc/core/%2e%2e/secret", "novnc//etc/passwd", "novnc/core//etc/passwd", "live_server.py", "novnc",
                "novnc/core", "machines.json",
            ):  # fmt: skip
                answers[path] = await asyncio.to_thread(get, url + path)
            return answers

    answers = asyncio.run(main())
    served = {path for path, (status, _, _) in answers.items() if status == 200}
    assert served == {"", "live.js", "live.css", "novnc/core/rfb.js", "machines.json"}
    status, headers, body = answers[""]
    assert headers["Content-Type"].startswith("text/html") and b"live.js" in body
    assert "default-src 'self'" in headers["Content-Security-Policy"] and headers["X-Frame-Options"] == "DENY"
    assert "javascript" in answers["live.js"][1]["Content-Type"]
    state = json.loads(answers["machines.json"][2])
    assert state["control"] is False and state["tiles"] == 9
    assert [machine["name"] for machine in state["machines"]] == [fake.entry.name]
    assert not any(b"secret" in body for _, _, body in answers.values())


def test_an_owner_hides_the_others(fake, novnc):
    with program("sleep", "60") as other:
        assert LiveServer(novnc=novnc, owner=other.pid).machines() == []
    for pid in (os.getpid(), os.getppid()):  # what started the process has its machines too
        assert [m.name for m in LiveServer(novnc=novnc, owner=pid).machines()] == [fake.entry.name]


def test_without_novnc_the_error_has_the_command(monkeypatch, tmp_path):
    monkeypatch.delenv("DESKGYM_NOVNC", raising=False)
    monkeypatch.setattr(live_server, "NOVNC", (str(tmp_path),))
    with pytest.raises(MachineError, match="apt-get install .*novnc"):
        find_novnc()
    monkeypatch.setenv("DESKGYM_NOVNC", str(tmp_path))
    with pytest.raises(MachineError, match="DESKGYM_NOVNC"):
        find_novnc()


# --- the command


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give a folder with recorded episodes"),
        (["out", "--live"], "give a folder with recorded episodes"),
        (["out", "--control"], "--control does not go with a folder"),
        (["out", "--port", "1", "--wait"], "--port, --wait does not go with a folder"),
        (["--live", "--out", "page.html"], "--out does not go with --live"),
        (["--live", "--port", "70000"], "legal are 1 to 65535"),
    ],
)
def test_wrong_usage_is_one_line(cli, arguments, words):
    status, out, err = cli("view", *arguments)
    assert status == 1 and words in err and err.count("\n") == 1 and not out


@pytest.fixture
def with_novnc(novnc, monkeypatch):
    monkeypatch.setenv("DESKGYM_NOVNC", str(novnc))


def test_nothing_runs(cli, registry, with_novnc):
    status, out, err = cli("view", "--live")
    assert status == 1 and "no machine of yours is running" in err and "--wait" in err and not out


def test_an_unknown_name_lists_what_runs(cli, fake, with_novnc):
    status, out, err = cli("view", "--live", "pretend")
    assert status == 1 and f"running are {fake.entry.name}" in err and not out


def test_machines_of_several_commands_are_not_shown_together_unless_asked(cli, fake, with_novnc, monkeypatch):
    with program("sh", "-c", "# two lines\nread x", stdin=subprocess.PIPE, start_new_session=True) as command:
        other = replace(fake.entry, name="other", owner=command.pid, owner_start=live.start_time(command.pid))
        monkeypatch.setattr(live, "running", lambda: [fake.entry, other])
        status, out, err = cli("view", "--live")
        assert status == 1 and not out and err.count("\n") == 1
        assert "machines of 2 commands are running" in err
        assert f"{command.pid} sh -c # two lines read x (1 machines)" in err
        assert view_command._find("all", False) == [fake.entry, other]
        assert view_command._find(str(command.pid), False) == [other]


@contextmanager
def program(*command, **options):
    """A program that is killed at the end at the latest."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def view(*arguments):
    return program(sys.executable, "-m", "deskgym.cli", "view", *arguments, stderr=subprocess.PIPE)


def test_it_waits_and_ends_with_ctrl_c(monkeypatch, novnc, tmp_path):
    monkeypatch.setenv("DESKGYM_NOVNC", str(novnc))
    with view("--live", str(os.getpid()), "--wait", "--control") as viewer:
        assert b"waiting for" in viewer.stderr.readline()
        machine = Desktop()
        live.publish(machine, unix=str(tmp_path / "no.sock"))
        try:
            line = viewer.stdout.readline().decode()
            assert line.startswith("http://127.0.0.1:") and "keys and clicks go to the machine" in line
            state = json.loads(get(line.split()[0] + "machines.json")[2])
            assert [m["owner"] for m in state["machines"]] == [os.getpid()]
            viewer.send_signal(signal.SIGINT)
            assert viewer.wait(10) == 0 and viewer.stderr.read().strip() == b""
        finally:
            live.withdraw(machine)


# --- a browser


CHROMIUM = shutil.which("chromium")
TRAINER = """
import sys, gymnasium, deskgym
env = gymnasium.make("deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=(1280, 720), pool={"depth": 1})
env.reset(seed=7)
print("up", flush=True)
for line in sys.stdin:
    env.reset()
    print("again", flush=True)
env.close()
"""


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.1)
    return value


def tiles(browser):
    """Name, state and whether it is fading, of each tile."""
    return browser.execute_script(
        "return [...document.querySelectorAll('.tile')].map(t => [t.querySelector('.name').textContent,"
        " t.querySelector('.state').textContent, t.classList.contains('ended'), t.querySelector('.task').textContent])"
    )


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_browser_follows_a_trainer_through_a_reset_to_its_end(browser, tmp_path):
    find_novnc()
    with program(sys.executable, "-c", TRAINER, stdin=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout.readline() == "up\n"
        with view("--live", str(trainer.pid)) as viewer:
            url = viewer.stdout.readline().decode().split()[0]
            browser.get(url)
            until(lambda: [t for t in tiles(browser) if t[1] == "live" and "plot-2d" in t[3]])
            first = tiles(browser)[0][0]

            browser.get(f"{url}#{first}")
            until(lambda: browser.execute_script("return document.querySelector('#screen canvas')?.width") == 1280)
            until(lambda: colours(browser, tmp_path / "full.png") > 30)  # a window with text, no blank screen

            trainer.stdin.write("reset\n")
            trainer.stdin.flush()
            assert trainer.stdout.readline() == "again\n"
            title = "return document.querySelector('#title strong')?.textContent"
            second = until(lambda: (name := browser.execute_script(title)) != first and name)
            until(
                lambda: browser.execute_script("return document.querySelector('#title .state').textContent") == "live"
            )
            assert second.startswith(f"sandbox-{trainer.pid}-")

            browser.get(url)
            until(lambda: [t for t in tiles(browser) if t[1] == "live"])
            trainer.kill()
            until(lambda: tiles(browser) == [])
            assert "No machine is running" in browser.find_element("id", "message").text
            severe = [entry["message"] for entry in browser.get_log("browser") if "novnc" in entry["message"].lower()]
            assert not [message for message in severe if "SyntaxError" in message or "Content Security" in message]
            viewer.terminate()
            assert viewer.wait(10) == 0
    assert not [m for m in live.running() if m.owner == trainer.pid]


@pytest.mark.slow
def test_a_page_connects_to_nine_at_most(browser, axe, registry, monkeypatch):
    find_novnc()
    monkeypatch.undo()  # the viewer is another process: it sees the user's own registry
    live._folder.cache_clear()
    machines = [Desktop() for _ in range(11)]
    try:
        for machine in machines:
            live.publish(machine, unix=str(registry / "no.sock"))
        live.describe(machines[10], "a/task")
        with view("--live", str(os.getpid())) as viewer:
            browser.get(viewer.stdout.readline().decode().split()[0])
            until(lambda: len(tiles(browser)) == 9)
            assert "a/task" in [tile[3] for tile in tiles(browser)] and axe() == []
            assert browser.find_element("id", "more").text.startswith("2 more, not connected: pretended-")
            until(lambda: all("no.sock" in tile[1] for tile in tiles(browser)))  # why there is no picture
    finally:
        for machine in machines:
            live.withdraw(machine)


def colours(browser, path):
    """How many colours the screen's part of the page has."""
    browser.save_screenshot(str(path))
    box = browser.execute_script(
        "const b = document.querySelector('#screen canvas').getBoundingClientRect();"
        "return [b.x, b.y, b.right, b.bottom]"
    )
    picture = np.asarray(Image.open(path).convert("RGB").crop([int(edge) for edge in box]))
    return len(np.unique(picture.reshape(-1, 3), axis=0))
