"""Checks of starting and stopping, commands, files and folders."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.conformance.harness import HEADLESS, LARGE, Factory, check, home, raises


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
