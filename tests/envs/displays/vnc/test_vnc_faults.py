"""What a VNC server can do wrong: one clear MachineError each, in bounded time, and nothing is left."""

import os
import socket
import struct
import sys
import threading
import time

import pytest
from vnc_desktops import VncDesktop

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.displays.vnc.address import VncAddress
from deskgym.envs.displays.vnc.display import VncDisplay
from deskgym.envs.errors import MachineError

INIT = struct.Struct("!HH16sI")
FORMAT = bytes((32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0))
HELLO = b"RFB 003.008\n"


class Server:
    """A server on loopback that says what a test wants, and notes when its client has gone."""

    def __init__(self, play):
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1::{self._listening.getsockname()[1]}"
        self.gone = threading.Event()
        self._play = play
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return
        with connection:
            try:
                self._play(connection)
                while connection.recv(4096):
                    pass
            except OSError:
                pass
        self.gone.set()

    def close(self):
        self._listening.close()


@pytest.fixture
def serve():
    servers = []

    def start(play):
        servers.append(Server(play))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def shake_hands(connection, width=64, height=48, name=b"test"):
    connection.sendall(HELLO)
    assert connection.recv(12) == HELLO
    connection.sendall(b"\x01\x01")
    connection.recv(1)
    connection.sendall(bytes(4))
    connection.recv(1)
    connection.sendall(INIT.pack(width, height, FORMAT, len(name)) + name)


def update(*rectangles):
    return struct.pack("!BxH", 0, len(rectangles)) + b"".join(rectangles)


def raw(x, y, width, height, pixels=None):
    data = bytes(4 * width * height) if pixels is None else pixels
    return struct.pack("!HHHHi", x, y, width, height, 0) + data


def answer(connection, width=64, height=48):
    """Read requests for ever, and answer each with the whole screen."""
    while connection.recv(4096):
        connection.sendall(update(raw(0, 0, width, height)))


def says(what):
    return lambda connection: connection.sendall(what)


def after_hands(what):
    def play(connection):
        shake_hands(connection)
        connection.sendall(what)

    return play


FAULTS = {
    "says nothing": (lambda connection: None, "display_lost", "not ready after 1 s"),
    "says no more": (says(HELLO), "display_lost", "not ready after 1 s"),
    "never sends a frame": (after_hands(b""), "display_lost", "stopped sending"),
    "stops in mid-frame": (after_hands(update(raw(0, 0, 64, 48))[:5000]), "display_lost", "stopped sending"),
    "closes": (lambda connection: connection.shutdown(socket.SHUT_RDWR), "display_lost", "closed the connection"),
    "is a web server": (says(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "display_garbled", "HTTP"),
    "is an ssh server": (says(b"SSH-2.0-OpenSSH_9.2\r\n"), "display_garbled", "SSH"),
    "sends zeros": (says(bytes(1000)), "display_garbled", "invalid initial"),
    "refuses": (says(HELLO + b"\0" + struct.pack("!I", 4) + b"busy"), "refused", "busy"),
    "has a huge reason": (says(HELLO + b"\0" + struct.pack("!I", 1 << 31)), "display_garbled", "2147483648 bytes"),
    "wants TLS": (says(HELLO + b"\x01\x13"), "refused", "None (1) or VncAuth (2)"),
    "wants an Apple login": (says(HELLO + b"\x01\x1e"), "refused", "security types"),
    "wants a password": (says(HELLO + b"\x01\x02" + bytes(16)), "no_password", "wants a password"),
    "is immense": (lambda c: shake_hands(c, 65535, 65535), "display_garbled", "65535x65535"),
    "is empty": (lambda c: shake_hands(c, 0, 0), "display_garbled", "0x0"),
    "has a huge name": (
        says(HELLO + b"\x01\x01" + bytes(4) + INIT.pack(9, 9, FORMAT, 1 << 31)), "display_garbled", "2147483648"
    ),
    "paints outside": (after_hands(update(raw(60, 40, 20, 20))), "display_garbled", "20x20+60+40 outside"),
    "copies from outside": (
        after_hands(update(struct.pack("!HHHHiHH", 0, 0, 40, 40, 1, 60, 0))), "display_garbled", "outside its screen"
    ),
    "uses what nobody asked for": (
        after_hands(update(struct.pack("!HHHHiI", 0, 0, 64, 48, 16, 1 << 30))), "display_garbled", "encoding 16"
    ),
    "has a huge clipboard": (after_hands(struct.pack("!BxxxI", 3, 1 << 31)), "display_garbled", "2147483648 bytes"),
    "speaks nonsense": (after_hands(b"\xee" * 100), "display_garbled", "unknown message"),
    "changes its size": (
        after_hands(update(struct.pack("!HHHHi", 0, 0, 800, 600, -223))), "display_changed", "has become 800x600"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_server_that(name, serve):
    play, kind, words = FAULTS[name]
    server, began = serve(play), time.monotonic()
    with pytest.raises(MachineError) as error:
        VncDisplay(server.address, timeout=1.0)
    assert (error.value.kind, words in str(error.value)) == (kind, True), error.value
    assert time.monotonic() - began < 3.0
    assert "\n" not in str(error.value) and len(str(error.value)) < 600
    assert server.gone.wait(5.0), "the connection is still open"


@pytest.mark.parametrize("size", [(32, 32), (1920, 1080)])
def test_a_screen_of_another_size(size, serve):
    server = serve(shake_hands)
    with pytest.raises(MachineError, match=f"is 64x48, and {size[0]}x{size[1]} was asked for") as error:
        VncDisplay(server.address, size=size)
    assert error.value.kind == "display_size" and server.gone.wait(5.0)


def test_a_server_that_never_stops_sending(serve):
    def play(connection):
        shake_hands(connection)
        while True:
            connection.sendall(update(raw(0, 0, 16, 16)) * 50)

    began = time.monotonic()
    with pytest.raises(MachineError, match="no answer"):
        VncDisplay(serve(play).address, timeout=1.0)
    assert time.monotonic() - began < 4.0


def test_a_server_that_falls_silent_later(serve):
    quiet = threading.Event()

    def play(connection):
        shake_hands(connection)
        while connection.recv(4096):
            if not quiet.is_set():
                connection.sendall(update(raw(0, 0, 64, 48)))

    server = serve(play)
    display = VncDisplay(server.address, timeout=1.0)
    assert display.lost is None
    quiet.set()
    for act in (lambda: display.perform([{"t": "move", "x": 1, "y": 1}], SettlePolicy()), display.capture):
        with pytest.raises(MachineError, match="stopped sending") as error:
            act()
        assert error.value.kind == "display_lost"
    assert display.lost is not None and server.gone.wait(5.0)
    display.close()
    display.close()


def test_a_port_where_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MachineError, match=f"no VNC server can be reached at 127.0.0.1::{port}") as error:
        VncDisplay(f"127.0.0.1::{port}", timeout=2.0)
    assert error.value.kind == "refused"
    with pytest.raises(MachineError, match="/nonexistent/socket"):
        VncDisplay("/nonexistent/socket")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "legal are"), (None, "legal are"), (5901, "legal are"), ("host:", "ends in no display"),
        ("host:x", "ends in no display"), ("host:::5", "ends in no display"), ("host::70000", "1 to 65535"),
        ("host::0", "1 to 65535"), ("host:5901", "write 'host::5901'"), ("[::1", "legal are"), ("[desk]:1", "IPv6"),
        ("[::1]5", "legal are"), ("::1:5", "ends in no display"),
    ],
)  # fmt: skip
def test_an_address_that_is_none(text, words):
    with pytest.raises(ValueError, match=words):
        VncAddress.parse(text)


@pytest.mark.parametrize(
    ("text", "host", "port", "shown"),
    [("desk", "desk", 5900, "desk:0 (port 5900)"), ("desk:3", "desk", 5903, "desk:3 (port 5903)"),
     ("desk::3", "desk", 3, "desk::3"), (":1", "127.0.0.1", 5901, "127.0.0.1:1 (port 5901)"),
     ("[fe80::1]:2", "fe80::1", 5902, "[fe80::1]:2 (port 5902)"), ("[::1]", "::1", 5900, "[::1]:0 (port 5900)"),
     ("desk:200", "desk", 6100, "desk::6100"), ("/run/a:b", "/run/a:b", None, "/run/a:b")],
)  # fmt: skip
def test_an_address(text, host, port, shown):
    address = VncAddress.parse(text)
    assert (address.host, address.port, str(address)) == (host, port, shown)


def test_arguments_that_are_not_legal():
    for password in ("", "pässword", b"bytes"):
        with pytest.raises(ValueError, match="ASCII"):
            VncDisplay("/nonexistent", password)
    with pytest.raises(ValueError, match="auto, server, client"):
        VncDisplay("/nonexistent", pointer="mine")


def test_passwords():
    with VncDesktop((320, 200), password="sesame42", manager=False) as desktop:
        with pytest.raises(MachineError, match="wants a password: give one") as error:
            VncDisplay(desktop.address)
        assert error.value.kind == "no_password"
        with pytest.raises(MachineError, match="refuses the password: Authentication fail") as error:
            VncDisplay(desktop.address, "wrong")
        assert error.value.kind == "wrong_password" and "wrong" not in str(error.value).lower()
        VncDisplay(desktop.address, "sesame42").close()
        VncDisplay(desktop.address, "sesame42, and what comes after 8 characters").close()


def test_a_server_that_dies():
    with VncDesktop((320, 200), manager=False) as desktop:
        display = VncDisplay(desktop.address)
        desktop.server.kill()
        desktop.server.wait()
        with pytest.raises(MachineError, match="closed the connection|broke") as error:
            display.perform([{"t": "move", "x": 1, "y": 1}])
        assert error.value.kind == "display_lost"
        display.close()


def test_a_fork_says_what_to_do_and_can_connect():
    with VncDesktop((320, 200), manager=False) as desktop:
        display = VncDisplay(desktop.address)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                with pytest.raises(MachineError, match="connect anew"):
                    display.capture()
                display.close()  # leaves the parent's connection alone
                own = VncDisplay(desktop.address)
                os.write(write, str(own.capture().shape).encode())
                own.close()
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as file:
            assert file.read() == "(200, 320, 3)"
        os.waitpid(pid, 0)
        assert display.capture().shape == (200, 320, 3)
        display.close()


def test_no_thread_and_no_reactor():
    before = threading.active_count()
    with VncDesktop((320, 200), manager=False) as desktop:
        VncDisplay(desktop.address).close()
    assert threading.active_count() == before and "twisted.internet.reactor" not in sys.modules
