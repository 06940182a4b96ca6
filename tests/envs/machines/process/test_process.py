import os

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig, Snapshot
from deskgym.envs.machines.process.machine import ProcessMachine


@pytest.fixture
def machine():
    machine = ProcessMachine(MachineConfig(screen_size=None))
    yield machine
    machine.stop()


def test_it_has_a_life(machine):
    assert not machine.alive
    with pytest.raises(MachineError):
        machine.run(["true"])
    machine.start()
    assert machine.alive
    machine.start()  # does nothing while it is alive
    assert machine.alive
    with pytest.raises(MachineError):
        machine.display.capture()
    folder = machine.home.parent
    machine.stop()
    machine.stop()
    assert not machine.alive and not folder.exists()
    machine.start()
    assert machine.run(["true"]).returncode == 0


def test_a_snapshot_brings_the_home_folder_back(machine):
    machine.start()
    machine.put(f"{machine.home}/kept", b"1")
    os.symlink("kept", machine.home / "link")
    snapshot = machine.snapshot()
    machine.put(f"{machine.home}/kept", b"2")
    machine.put(f"{machine.home}/added", b"3")
    machine.restore(snapshot)
    assert machine.get(f"{machine.home}/kept") == b"1" and not machine.guest.exists(f"{machine.home}/added")
    assert os.readlink(machine.home / "link") == "kept"
    machine.restore()
    assert machine.guest.list(str(machine.home)) == []
    machine.drop(snapshot)
    machine.drop(snapshot)
    assert not os.path.exists(snapshot.path)
    with pytest.raises(ValueError):
        machine.restore(snapshot)
    with pytest.raises(ValueError):
        machine.restore(Snapshot("sandbox", snapshot.path))


def test_two_live_side_by_side(machine):
    machine.start()
    with ProcessMachine(MachineConfig(screen_size=None)) as other:
        assert other.home != machine.home
        other.put(f"{other.home}/x", b"1")
    assert machine.guest.list(str(machine.home)) == []


def test_a_failed_start_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")
    machine = ProcessMachine(MachineConfig(screen_size=(640, 480)))
    with pytest.raises(MachineError) as error:
        machine.start()
    assert error.value.kind == "start_failed" and "Xvfb" in str(error.value)
    assert not machine.alive and list(tmp_path.iterdir()) == []
