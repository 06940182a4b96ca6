"""Checks of snapshots, and of what a restore takes away."""

from __future__ import annotations

from deskgym.envs.machines.base import Machine, Snapshot
from deskgym.envs.machines.conformance.harness import (
    HEADLESS,
    Factory,
    NotApplicable,
    check,
    count_sleepers,
    home,
    raises,
    require_can,
)
from deskgym.envs.machines.kernels import Kernel


@check
def snapshots(factory: Factory) -> None:
    """New, changed, deleted and recreated files come back as they were; again and again, and in another machine."""
    with factory(HEADLESS) as machine:
        require_can(machine, "snapshots")
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
        assert count_sleepers(machine) == 1
        snapshot = machine.snapshot()
        assert count_sleepers(machine) == 1, "taking a snapshot ended a program"
        for _ in range(2):
            machine.restore(snapshot)
            assert count_sleepers(machine) == 1
        machine.drop(snapshot)
        assert machine.alive and count_sleepers(machine) == 1, "dropping its snapshot ended a program"
        machine.restore(None)
        assert count_sleepers(machine) == 0


@check
def wrong_snapshots(factory: Factory) -> None:
    """A dropped or foreign snapshot is a ValueError, and the machine lives on."""
    with factory(HEADLESS) as machine:
        require_can(machine, "snapshots")
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
        require_can(machine, "snapshots")
        machine.put(f"{home(machine)}/file", b"1")
        snapshot = machine.snapshot()
        machine.stop()
        machine.restore(snapshot)
        assert machine.get(f"{home(machine)}/file") == b"1"
        machine.drop(snapshot)
    finally:
        machine.stop()


@check
def kernels_keep_and_forget(factory: Factory) -> None:
    """Cells keep their variables; a restore takes the session, its files and its processes, and costs no new start."""
    with factory(HEADLESS) as machine:
        require_can(machine, "kernels")
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
        assert count_sleepers(machine) == 0
