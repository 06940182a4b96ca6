"""A program's own channel answers, and nobody in its place: in a real sandbox, against an agent that tries."""

import time

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.observation.program_channel import ProgramChannel

pytestmark = pytest.mark.sandbox
ECHO = """
import http.server, os, socket, sys, threading
word = sys.argv[2].encode()
def serve(listening):
    while True:
        peer = listening.accept()[0]
        peer.sendall(word + b" " + peer.recv(99) + b"\\n"); peer.close()
if sys.argv[1].isdigit():
    listening = socket.socket(); listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1); listening.bind(("127.0.0.1", int(sys.argv[1])))
else:
    listening = socket.socket(socket.AF_UNIX); listening.bind(sys.argv[1])
listening.listen(); open(f"/tmp/{sys.argv[2]}-listens", "w").close(); serve(listening)
"""


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig((640, 480))) as machine:
        machine.put("/home/user/echo.py", ECHO.encode())
        machine.put("/home/user/truthful", b"#!/bin/sh\npython3 /home/user/echo.py $1 truth; exit\n", mode=0o755)
        yield machine


def refused(call, *arguments, **more):
    with pytest.raises(GuestCallError) as error:
        call(*arguments, **more)
    return error.value


CHANGED = "until test -e /tmp/lie-listens; do sleep 0.02; done"


def lie(machine, where):
    """The agent serves in the program's place."""
    serve = f"python3 /home/user/echo.py {where} lie >/dev/null 2>&1 &"
    assert machine.run(["bash", "-c", f"rm -f /tmp/lie-listens; {serve} {CHANGED}"]).returncode == 0


def test_a_unix_socket_that_was_replaced_is_refused(machine):
    channel = ProgramChannel(machine, "truthful")
    machine.guest.launch(["/home/user/truthful", "/tmp/state"], wait={"file": "/tmp/state"})
    assert channel.unix("/tmp/state", b"x") == b"truth x\n" and len(channel.processes) == 2
    assert channel.unix("/tmp/state", b"x", until=b"\n") == b"truth x\n"
    machine.run(["rm", "/tmp/state"])
    lie(machine, "/tmp/state")
    assert machine.run(["test", "-S", "/tmp/state"]).returncode == 0
    error = refused(channel.unix, "/tmp/state", b"x")
    assert error.kind == "ForeignPeer" and "python3" in str(error)
    machine.guest.call("end_others", keep=[])
    assert refused(channel.unix, "/tmp/state", b"x").kind == "LookupError"


def test_the_first_process_alone_is_believed_where_that_is_asked(machine):
    machine.guest.launch(["/home/user/truthful", "/tmp/by-a-child"], wait={"file": "/tmp/by-a-child"})
    machine.guest.launch(["python3", "/home/user/echo.py", "/tmp/by-itself", "truth"], wait={"file": "/tmp/by-itself"})
    try:
        assert ProgramChannel(machine, "truthful").unix("/tmp/by-a-child", b"x") == b"truth x\n"
        error = refused(ProgramChannel(machine, "truthful").unix, "/tmp/by-a-child", b"x", first=True)
        assert error.kind == "ForeignPeer" and "as it was launched" in str(error)
        assert ProgramChannel(machine, "python3").unix("/tmp/by-itself", b"x", first=True) == b"truth x\n"
    finally:
        machine.guest.call("end_others", keep=[])
        machine.run(["rm", "-f", "/tmp/by-a-child", "/tmp/by-itself"])


CHANGES = {
    "becomes another program": (
        "(os.unlink('/tmp/place'), os.execvp('python3', ['python3', '/home/user/echo.py', '/tmp/place', 'lie']))"
    ),
    "is traced": "ctypes.CDLL(None).ptrace(0, 0, 0, 0)",  # PTRACE_TRACEME
    "loads a file of the agent's": "ctypes.CDLL('/home/user/own.so')",
    "loads a file that is no more": "(ctypes.CDLL('/home/user/own.so'), os.unlink('/home/user/own.so'))",
}


@pytest.mark.parametrize("how", list(CHANGES))
def test_a_program_that_is_not_what_was_launched_any_more_is_refused(machine, how):
    """As after a ``ptrace`` into ``execve``: the process, its session and its start are the same."""
    channel = ProgramChannel(machine, "changing")
    change = f"({CHANGES[how]}, open('/tmp/lie-listens', 'w').close())"
    serve = f"import ctypes, os, signal, sys; signal.signal(signal.SIGUSR1, lambda *_: {change}); "
    serve += "sys.argv[1:] = ['/tmp/place', 'truth']; exec(open('/home/user/echo.py').read())"
    script = f'#!/bin/sh\npython3 -c "{serve}" & echo $! > /tmp/pid; wait\n'
    machine.put("/home/user/changing", script.encode(), mode=0o755)
    machine.run(["sh", "-c", "cp $(ldconfig -p | grep -o -m 1 '/.*/libz.so.1$') own.so"])
    machine.guest.launch(["/home/user/changing"], wait={"file": "/tmp/place"})
    try:
        assert channel.unix("/tmp/place", b"x") == b"truth x\n"
        change = f"rm -f /tmp/lie-listens; kill -USR1 $(cat /tmp/pid); {CHANGED}"
        assert machine.display.perform(code=CodeRequest(f"import os; os.system({change!r})")).code.status == 0
        error = refused(channel.unix, "/tmp/place", b"x")
        assert error.kind == "ForeignPeer" and "as it was launched" in str(error)
    finally:
        machine.guest.call("end_others", keep=[])
        machine.run(["rm", "-f", "/tmp/place"])


def test_a_port_that_somebody_else_listens_at_too_is_refused(machine):
    channel = ProgramChannel(machine, "truthful")
    machine.guest.launch(["/home/user/truthful", "8201"], wait={"port": 8201})
    assert channel.tcp(8201, b"x") == b"truth x\n"
    assert refused(channel.tcp, 8202, b"x").kind == "ConnectionRefusedError"
    lie(machine, "8201")
    assert refused(channel.tcp, 8201, b"x").kind == "ForeignPeer"
    machine.guest.call("end_others", keep=[])


def test_http(machine):
    (machine.guest.launch(["python3", "-m", "http.server", "8203"], cwd="/home/user", wait={"port": 8203}))
    status, body = ProgramChannel(machine, "python3").http(8203, "/truthful")
    assert (status, body[:9]) == (200, b"#!/bin/sh")
    machine.guest.call("end_others", keep=[])


def test_an_answer_that_never_comes_or_never_ends_is_an_error(machine):
    machine.guest.launch(["python3", "-m", "http.server", "8204"], cwd="/home/user", wait={"port": 8204})
    channel = ProgramChannel(machine, "python3")
    began = time.monotonic()
    assert refused(channel.tcp, 8204, b"GET / HTTP/1.1\r\n", until=b"never", timeout=0.5).kind == "TimeoutError"
    assert time.monotonic() - began < 3
    machine.guest.call("end_others", keep=[])


def test_a_name_on_the_bus_belongs_to_the_program(machine):
    owner = (
        "import gi; from gi.repository import Gio, GLib\n"
        "done = lambda *_: open('/tmp/owned', 'w')\n"
        "flags = Gio.BusNameOwnerFlags.ALLOW_REPLACEMENT | Gio.BusNameOwnerFlags.REPLACE\n"
        "Gio.bus_own_name(Gio.BusType.SESSION, 'org.example.State', flags, None, done, None)\n"
        "GLib.MainLoop().run()\n"
    )
    machine.put("/home/user/owner.py", owner.encode())
    peer = ("org.example.State", "/", "org.freedesktop.DBus.Peer", "GetMachineId")
    machine.guest.launch(["python3", "/home/user/owner.py"], wait={"file": "/tmp/owned"})
    channel = ProgramChannel(machine, "python3")
    assert len(channel.dbus(*peer)[0]) == 32
    wait = "until test -e /tmp/owned; do sleep 0.02; done"
    machine.run(["bash", "-c", f'rm /tmp/owned; python3 -c "{owner}" >/dev/null 2>&1 & {wait}'])
    assert refused(channel.dbus, *peer).kind == "ForeignPeer"
    machine.guest.call("end_others", keep=[])
