"""What every machine must do: run it over your own with pytest.

Example:
    In a test file::

        import pytest
        from deskgym.envs.machines import conformance

        @pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
        def test_conformance(check):
            conformance.run_check(check, MyMachine)

A factory takes a MachineConfig and returns a machine that is not started. Every check gets one and raises
AssertionError. What a machine cannot do it declares (``can``, ``isolates``, ``enforces``), and the checks of that are
skipped by ``run_check`` with ``pytest.skip``. The guest of the machines need only have the programs of a coreutils.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.kernels import Kernel

Factory = Callable[[MachineConfig], Machine]
Check = Callable[[Factory], None]

CHECKS: list[Check] = []
LARGE = 20 << 20
HEADLESS = MachineConfig(screen_size=None)


class NotApplicable(Exception):
    """The machine declares that it does not do this."""


def check(function: Check) -> Check:
    """Add a function to ``CHECKS``."""
    CHECKS.append(function)
    return function


def name_of(function: Check) -> str:
    """A check's name, for ``pytest.mark.parametrize(ids=...)``."""
    return function.__name__


def run_check(function: Check, factory: Factory) -> None:
    """Run one check; skips the test where the machine declares that it does not apply."""
    try:
        function(factory)
    except NotApplicable as reason:
        import pytest

        pytest.skip(str(reason))


def raises(kind: type[BaseException], function: Callable[..., Any], *args: Any, **kwargs: Any) -> BaseException:
    """The error that a call raises. Raises AssertionError if it raises none."""
    try:
        function(*args, **kwargs)
    except kind as error:
        return error
    raise AssertionError(f"{getattr(function, '__name__', function)}{args} raised no {kind.__name__}")


def home(machine: Machine) -> str:
    """A fresh folder that belongs to the agent: machines need not agree on where its home is."""
    return machine.run(["pwd"]).stdout.decode().strip()


@check
def start_and_stop_are_idempotent(factory: Factory) -> None:
    """Twice is once, and a stopped machine can be started again."""
    machine = factory(HEADLESS)
    assert not machine.alive
    machine.stop()
    try:
        for _ in range(2):
            machine.start()
            machine.start()
            assert machine.alive
            assert machine.run(["echo", "hi"]).stdout == b"hi\n"
            machine.stop()
            machine.stop()
            assert not machine.alive
    finally:
        machine.stop()


@check
def a_stopped_machine_raises_machine_error(factory: Factory) -> None:
    """Before start and after stop; and what was written is gone after a new start."""
    machine = factory(MachineConfig(screen_size=(320, 200)))
    for _ in range(2):
        raises(MachineError, lambda: machine.guest)
        raises(MachineError, lambda: machine.display)
        raises(MachineError, machine.run, ["true"])
        raises(MachineError, machine.get, "/etc/hostname")
        raises(MachineError, machine.snapshot)
        with machine:
            place = home(machine)
            raises(GuestCallError, machine.get, f"{place}/kept")
            machine.put(f"{place}/kept", b"")
    machine.stop()


@check
def commands(factory: Factory) -> None:
    """Arguments, environment, folder, input, output and exit status."""
    with factory(HEADLESS) as machine:
        assert machine.run(["echo", "a b", "$HOME", "*"]).stdout == b"a b $HOME *\n"
        assert b"DESKGYM_TEST=ja\n" in machine.run(["env"], env={"DESKGYM_TEST": "ja"}).stdout
        assert machine.run(["pwd"], cwd="/tmp").stdout == b"/tmp\n"
        data = bytes(range(256)) * 1000
        assert machine.run(["cat"], stdin=data).stdout == data
        assert machine.run(["cat"]).stdout == b""
        assert machine.run(["false"]).returncode == 1
        done = machine.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
        assert (done.returncode, done.stdout, done.stderr) == (7, b"out\n", b"err\n")
        assert not done.timed_out and not done.truncated
        assert machine.run(["sh", "-c", "kill -9 $$"]).returncode == -9


@check
def commands_that_cannot_be_started(factory: Factory) -> None:
    """A missing program or folder is the caller's mistake, not the machine's."""
    with factory(HEADLESS) as machine:
        raises(GuestCallError, machine.run, ["no-such-program"])
        raises(GuestCallError, machine.run, ["true"], cwd="/no/such/folder")
        assert machine.run(["true"]).returncode == 0


@check
def commands_are_cut_off(factory: Factory) -> None:
    """Past their timeout, and past the output limit."""
    with factory(HEADLESS) as machine:
        done = machine.run(["sleep", "1000"], timeout=0.2)
        assert done.timed_out and done.returncode != 0
        done = machine.run(["head", "-c", "300000", "/dev/zero"], output_limit=1000)
        assert done.truncated and done.stdout == bytes(1000) and done.returncode == 0
        assert not machine.run(["head", "-c", "1000", "/dev/zero"], output_limit=1000).truncated
        assert machine.run(["true"]).returncode == 0


@check
def files(factory: Factory) -> None:
    """Bytes in, the same bytes out; parents are made; modes are kept; the agent owns what is put."""
    with factory(HEADLESS) as machine:
        place = home(machine)
        for data in (b"", b"text\n", bytes(range(256)), os.urandom(70_000)):
            machine.put(f"{place}/new/deep/file", data)
            assert machine.get(f"{place}/new/deep/file") == data
        machine.put(f"{place}/tool", b"#!/bin/sh\n", mode=0o750)
        assert machine.guest.stat(f"{place}/tool")["mode"] == 0o750
        assert machine.run(["rm", "-r", f"{place}/new"]).returncode == 0
        raises(GuestCallError, machine.get, f"{place}/new/deep/file")
        raises(GuestCallError, machine.get, place)
        raises(GuestCallError, machine.get, "relative/path")
        assert isinstance(raises(GuestCallError, machine.get, f"{place}/tool", limit=3), GuestCallError)
        name = f"{place}/name with space, ü and '"
        machine.put(name, b"x")
        assert machine.run(["cat", name]).stdout == b"x"


@check
def owners(factory: Factory) -> None:
    """What is put for the guest is the agent's to read, and not to change."""
    with factory(HEADLESS) as machine:
        if not machine.isolates:
            return  # there is but one user
        machine.put("/opt/given/probe", b"1", mode=0o644, owner="guest")
        machine.put("/opt/agents", b"1")
        assert machine.guest.stat("/opt/given/probe")["uid"] == 0 != machine.guest.stat("/opt/agents")["uid"]
        if machine.runs_host_programs:
            assert machine.run(["cat", "/opt/given/probe"]).stdout == b"1"
            for command in ("echo 2 > /opt/given/probe", "rm /opt/given/probe", "mv /opt/given /opt/taken"):
                assert machine.run(["sh", "-c", command]).returncode != 0
            assert machine.get("/opt/given/probe") == b"1"
            raises(GuestCallError, machine.put, f"{home(machine)}/file", b"1", owner="guest")
            raises(GuestCallError, machine.put, "/opt/file", b"1", owner="nobody-is-called-so")


@check
def large_files(factory: Factory) -> None:
    """20 MiB there and back, from bytes and from a file of the host."""
    with factory(HEADLESS) as machine, tempfile.TemporaryDirectory() as folder:
        place = home(machine)
        data = os.urandom(1 << 20) * (LARGE >> 20)
        machine.put(f"{place}/large", data)
        assert machine.get(f"{place}/large") == data
        source = Path(folder, "source")
        source.write_bytes(data)
        machine.put(f"{place}/other", source)
        assert machine.get(f"{place}/other") == data


@check
def folders(factory: Factory) -> None:
    """A tree there and back; links are left out on both ways."""
    with factory(HEADLESS) as machine, tempfile.TemporaryDirectory() as folder:
        place = home(machine)
        source = Path(folder, "source")
        (source / "a" / "b").mkdir(parents=True)
        (source / "empty").mkdir()
        (source / "a" / "b" / "binary").write_bytes(bytes(range(256)))
        (source / "run").write_text("#!/bin/sh\n")
        (source / "run").chmod(0o755)
        (source / "passwd").symlink_to("/etc/passwd")
        machine.put(f"{place}/tree", source)
        assert machine.guest.stat(f"{place}/tree/run")["mode"] == 0o755
        machine.run(["ln", "-s", "/etc/hostname", f"{place}/tree/link"])
        machine.get_folder(f"{place}/tree", Path(folder, "back"))
        back = sorted(p.relative_to(folder).as_posix() for p in Path(folder, "back").rglob("*"))
        assert back == ["back/a", "back/a/b", "back/a/b/binary", "back/empty", "back/run"], back
        assert Path(folder, "back/a/b/binary").read_bytes() == bytes(range(256))
        raises(GuestCallError, machine.get_folder, f"{place}/tree", Path(folder, "small"), limit=100)
        raises(GuestCallError, machine.get_folder, f"{place}/nothing", Path(folder, "none"))


@check
def snapshots(factory: Factory) -> None:
    """New, changed, deleted and recreated files come back as they were; again and again, and in another machine."""
    with factory(HEADLESS) as machine:
        _can(machine, "snapshots")
        place = home(machine)
        for name in ("changed", "deleted", "folder/old", "recreated/old"):
            machine.put(f"{place}/{name}", b"1")
        first = machine.snapshot()
        machine.put(f"{place}/changed", b"2", mode=0o600)
        machine.run(["chmod", "600", f"{place}/changed"])
        machine.run(["rm", "-r", f"{place}/deleted", f"{place}/folder", f"{place}/recreated"])
        machine.put(f"{place}/recreated/new", b"2")
        machine.run(["ln", "-s", "changed", f"{place}/link"])
        second = machine.snapshot()
        for _ in range(2):
            machine.restore(first)
            assert _names(machine) == {"changed", "deleted", "folder/old", "recreated/old"}
            place = home(machine)
            assert machine.get(f"{place}/changed") == b"1"
            machine.put(f"{place}/changed", b"3")
            machine.restore(second)
            place = home(machine)
            assert _names(machine) == {"changed", "link", "recreated/new"}
            assert machine.get(f"{place}/changed") == b"2"
            assert machine.guest.stat(f"{place}/changed")["mode"] == 0o600
            assert machine.run(["readlink", f"{place}/link"]).stdout == b"changed\n"
        machine.put(f"{place}/deleted", b"4")  # a snapshot of a machine that was restored from one
        machine.run(["rm", "-r", f"{place}/recreated"])
        third = machine.snapshot()
        machine.drop(second)
        other = factory(HEADLESS)
        try:
            other.restore(third)
            place = home(other)
            assert _names(other) == {"changed", "deleted", "link"}
            assert other.get(f"{place}/changed") == b"2" and other.get(f"{place}/deleted") == b"4"
        finally:
            other.stop()
        machine.restore(None)
        assert _names(machine) == set()
        for snapshot in (first, third):
            machine.drop(snapshot)


def _names(machine: Machine) -> set[str]:
    """Files and links in the agent's home, but those that a session makes."""
    return {
        entry["name"]
        for entry in machine.guest.list(home(machine), recursive=True)
        if entry["type"] != "folder" and not entry["name"].startswith(".")
    }


@check
def programs_go_on(factory: Factory) -> None:
    """A snapshot that keeps programs: what ran goes on, in this machine and after a restore, however often."""
    with factory(HEADLESS) as machine:
        if "programs" not in machine.can:
            raise NotApplicable(f"a {machine.kind} machine declares that its snapshots keep no programs")
        machine.guest.launch(["sleep", "4711"])
        assert _sleepers(machine) == 1
        snapshot = machine.snapshot()
        assert _sleepers(machine) == 1, "taking a snapshot ended a program"
        for _ in range(2):
            machine.restore(snapshot)
            assert _sleepers(machine) == 1
        machine.drop(snapshot)
        assert machine.alive and _sleepers(machine) == 1, "dropping its snapshot ended a program"
        machine.restore(None)
        assert _sleepers(machine) == 0


def _sleepers(machine: Machine) -> int:
    count = 0
    for entry in machine.guest.list("/proc"):
        if entry["name"].isdecimal():
            try:
                count += machine.get(f"/proc/{entry['name']}/cmdline") == b"sleep\0004711\0"
            except GuestCallError:  # it has ended, or is not ours to see
                continue
    return count


@check
def wrong_snapshots(factory: Factory) -> None:
    """A dropped or foreign snapshot is a ValueError, and the machine lives on."""
    with factory(HEADLESS) as machine:
        _can(machine, "snapshots")
        machine.put(f"{home(machine)}/file", b"1")
        snapshot = machine.snapshot()
        machine.drop(snapshot)
        machine.drop(snapshot)
        raises(ValueError, machine.restore, snapshot)
        raises(ValueError, machine.restore, Snapshot("mainframe", snapshot.path))
        assert machine.alive and machine.get(f"{home(machine)}/file") == b"1"


@check
def a_stopped_machine_can_be_restored(factory: Factory) -> None:
    """Restore starts it, whether it was running or not."""
    machine = factory(HEADLESS)
    try:
        machine.restore(None)
        assert machine.alive
        _can(machine, "snapshots")
        machine.put(f"{home(machine)}/file", b"1")
        snapshot = machine.snapshot()
        machine.stop()
        machine.restore(snapshot)
        assert machine.get(f"{home(machine)}/file") == b"1"
        machine.drop(snapshot)
    finally:
        machine.stop()


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
        shown = _processes(one)
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
def a_lost_guest_breaks_the_machine(factory: Factory) -> None:
    """It is not alive, it raises MachineError, and it can be started again."""
    machine = factory(HEADLESS)
    try:
        machine.start()
        machine.guest.close()
        raises(MachineError, machine.run, ["true"])
        assert not machine.alive
        machine.start()
        assert machine.alive and home(machine)
    finally:
        machine.stop()


@check
def memory_is_limited(factory: Factory) -> None:
    """A command that wants more than there is dies, and the machine lives."""
    with factory(MachineConfig(screen_size=None, memory_mb=512)) as machine:
        _require(machine, "memory")
        done = machine.run(["sh", "-c", "head -c 900M /dev/zero | tail -c 900M | wc -c"], timeout=60)
        assert done.stdout.strip() != b"943718400", "it got more memory than the machine has"
        assert machine.alive and machine.run(["true"]).returncode == 0


@check
def the_disk_is_limited(factory: Factory) -> None:
    """Writing ends with an error, and what is there can be deleted."""
    with factory(MachineConfig(screen_size=None, disk_mb=64)) as machine:
        _require(machine, "disk")
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
        _require(machine, "processes")
        before = _processes(machine, "guest")
        bomb = "for i in $(seq 500); do sleep 1000 & done 2>/dev/null"
        machine.run(["sh", "-c", bomb], timeout=10)
        done = machine.run(["sh", "-c", "echo alive"], user="guest")
        assert done.stdout == b"alive\n"
        grown = _processes(machine, "guest") - before
        assert 10 < grown <= 75, grown


def _processes(machine: Machine, user: str = "agent") -> int:
    """How many processes can be seen in it, but for the kernel's own threads, which have no command line."""
    sizes = machine.run(["sh", "-c", "wc -c /proc/[0-9]*/cmdline"], user=user).stdout.decode().splitlines()
    return sum(line.split()[0] != "0" for line in sizes if not line.endswith(" total"))


@check
def kernels_keep_and_forget(factory: Factory) -> None:
    """Cells keep their variables; a restore takes the session, its files and its processes, and costs no new start."""
    with factory(HEADLESS) as machine:
        _can(machine, "kernels")
        kernel = Kernel(machine)
        kernel.open({"in.txt": b"7"}, ["x = int(open('in.txt').read())"])
        assert kernel.run("x + 1").stdout == "8\n"
        kernel.run("import subprocess\nchild = subprocess.Popen(['sleep', '4711'])\nopen('out.txt', 'w').write('1')")
        assert machine.untouched
        machine.restore(None)
        assert machine.untouched, "a restore of a machine in which only kernels were used has started another one"
        kernel.open()
        assert "NameError" in kernel.run("x").trace
        assert kernel.run("import os\nos.listdir('.')").stdout == "['.tmp']\n"
        assert _sleepers(machine) == 0


def _can(machine: Machine, what: str) -> None:
    if what not in machine.can:
        raise NotApplicable(f"a {machine.kind} machine declares that it cannot do {what}")


def _require(machine: Machine, limit: str) -> None:
    if limit not in machine.enforces:
        raise NotApplicable(f"a {machine.kind} machine declares that it does not limit {limit}")
