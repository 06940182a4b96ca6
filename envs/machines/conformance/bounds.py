"""Checks of what a machine shows and sees, and of what it may use."""

from __future__ import annotations

import numpy as np

from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.conformance.harness import (
    HEADLESS,
    Factory,
    NotApplicable,
    check,
    count_processes,
    home,
    raises,
    require_limit,
)

_SERVE = """
import os, socket, sys
server = socket.create_server(("127.0.0.1", 8080))
print("up", flush=True)
if os.fork() == 0:
    os.setsid()
    for fd in range(3):
        os.close(fd)
    server.accept()[0].sendall(sys.argv[1].encode())
"""
_FETCH = """
import socket, sys
client = socket.create_connection(("127.0.0.1", 8080))
sys.stdout.write(client.makefile().read())
"""


@check
def machines_are_apart(factory: Factory) -> None:
    """Two at once share neither files nor processes nor ports."""
    with factory(HEADLESS) as one, factory(HEADLESS) as two:
        if not one.isolates:
            raise NotApplicable(f"a {one.kind} machine declares that it isolates nothing")
        one.put("/tmp/secret", b"1")
        raises(GuestCallError, two.get, "/tmp/secret")
        for machine in (one, two):
            done = machine.run(["python3", "-c", _SERVE, str(machine is one)])
            assert done.stdout == b"up\n", done.stderr
        for machine in (one, two):
            done = machine.run(["python3", "-c", _FETCH])
            assert done.stdout == str(machine is one).encode(), done
        assert one.run(["hostname"]).returncode == 0
        shown = count_processes(one)
        assert shown < 30, f"it sees {shown} processes"


@check
def display(factory: Factory) -> None:
    """Frames have the right shape; the pointer shows in them; input arrives."""
    with factory(MachineConfig(screen_size=(640, 400))) as machine:
        screen = machine.display
        assert screen.size == (640, 400)
        frame = screen.capture()
        assert frame.shape == (400, 640, 3) and frame.dtype == np.uint8
        buffer = np.zeros((400, 640, 3), np.uint8)
        assert screen.capture(out=buffer) is buffer
        screen.perform([{"t": "move", "x": 10, "y": 10}])
        before = screen.capture().copy()
        report = screen.perform([{"t": "move", "x": 600, "y": 300}])
        after = screen.capture()
        assert report.timing
        changed = np.argwhere((before != after).any(axis=2))
        assert len(changed), "the pointer does not show in frames"
        near = (abs(changed - (10, 10)).max(axis=1) < 40) | (abs(changed - (300, 600)).max(axis=1) < 40)
        assert near.all(), "something else than the pointer changed"


@check
def no_display(factory: Factory) -> None:
    """A config without a screen gives a machine without a display."""
    with factory(HEADLESS) as machine:
        raises(MachineError, lambda: machine.display)


@check
def memory_is_limited(factory: Factory) -> None:
    """A command that wants more than there is dies, and the machine lives."""
    with factory(MachineConfig(screen_size=None, memory_mb=512)) as machine:
        require_limit(machine, "memory")
        done = machine.run(["sh", "-c", "head -c 900M /dev/zero | tail -c 900M | wc -c"], timeout=60)
        assert done.stdout.strip() != b"943718400", "it got more memory than the machine has"
        assert machine.alive and machine.run(["true"]).returncode == 0


@check
def the_disk_is_limited(factory: Factory) -> None:
    """Writing ends with an error, and what is there can be deleted."""
    with factory(MachineConfig(screen_size=None, disk_mb=64)) as machine:
        require_limit(machine, "disk")
        place = home(machine)
        for folder in (place, "/tmp", "/var/tmp"):
            done = machine.run(["sh", "-c", f"head -c 200M /dev/zero > {folder}/big"])
            assert done.returncode != 0 and machine.guest.stat(f"{folder}/big")["size"] <= 64 << 20
        assert machine.alive
        machine.run(["rm", f"{place}/big", "/tmp/big", "/var/tmp/big"])
        machine.put(f"{place}/small", bytes(1 << 20))


@check
def processes_are_limited(factory: Factory) -> None:
    """A fork bomb stops growing, and the machine lives."""
    with factory(MachineConfig(screen_size=None, processes=60)) as machine:
        require_limit(machine, "processes")
        before = count_processes(machine, "guest")
        bomb = "for i in $(seq 500); do sleep 1000 & done 2>/dev/null"
        machine.run(["sh", "-c", bomb], timeout=10)
        done = machine.run(["sh", "-c", "echo alive"], user="guest")
        assert done.stdout == b"alive\n"
        grown = count_processes(machine, "guest") - before
        assert 10 < grown <= 75, grown
