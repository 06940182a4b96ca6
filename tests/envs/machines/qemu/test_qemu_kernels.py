"""Kernels' libraries in virtual machines: their disk, the boot that has loaded them, snapshots, older images."""

import shutil
import subprocess

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import LIBRARIES, Kernel
from deskgym.envs.machines.qemu import machine as qemu
from deskgym.envs.machines.qemu.disks import guest_disk, libraries_disk
from deskgym.envs.machines.qemu.machine import QemuMachine

PLUGIN = "deskgym.task_suites.table_analysis.guest.results"


def new(**limits):
    return QemuMachine(MachineConfig(screen_size=None, libraries=LIBRARIES, **limits), accel="tcg")


def in_memory(machine):
    """Whether a process of the machine has pandas' compiled parts loaded."""
    look = "grep -l /opt/deskgym/libraries/pandas /proc/[0-9]*/maps"
    return machine.run(["sh", "-c", look], user="guest").stdout != b""


def test_an_image_with_another_python_is_one_clear_error():
    with pytest.raises(MachineError, match=r"this Python, 3\.\d+, and .* has Python 2\.7: use machine='sandbox'"):
        libraries_disk(("pandas",), "2.7")


@pytest.mark.skipif(shutil.which("debugfs") is None, reason="debugfs is not installed")
def test_plugins_are_on_the_guests_disk_of_those_that_ask_for_them():
    def names(plugins):
        command = ["debugfs", "-R", f"ls -p /{PLUGIN.replace('.', '/')}", str(guest_disk("3.11", plugins))]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "taking.py" in names((PLUGIN,))
    assert "taking.py" not in names(())


@pytest.mark.slow
@pytest.mark.qemu
def test_a_kernel_calls_its_machines_plugin():
    with new(plugins=(PLUGIN,)) as machine:
        kernel = Kernel(machine)
        kernel.open({}, ["x = 1"])
        assert kernel.run(f"import sys\n{PLUGIN!r} in sys.modules").stdout == "True\n"
        assert kernel.take(f"{PLUGIN}:take", {"wanted": {"x": {"type": "value"}}})


@pytest.mark.slow
@pytest.mark.qemu
def test_a_kept_boot_has_loaded_the_libraries():
    with new():
        pass
    with new() as machine:
        assert machine.untouched
        assert in_memory(machine)
        assert not machine.untouched


@pytest.mark.slow
@pytest.mark.qemu
def test_a_snapshot_keeps_a_session_and_the_libraries():
    with new() as machine:
        kernel = Kernel(machine)
        kernel.open(cells=["x = 41"])
        snapshot = machine.snapshot()
        kernel.run("x = 0")
        machine.restore(snapshot)
        assert not machine.untouched, "a restore to None would leave it at the snapshot"
        assert kernel.run("x + 1").stdout == "42\n"
        assert kernel.run("import tifffile").status == "ok", "it is on the disk, and was not loaded before"
        machine.drop(snapshot)
        assert kernel.run("import networkx").status == "ok"
        machine.restore(None)
        assert machine.untouched
        kernel.open()
        assert "NameError" in kernel.run("x").trace


@pytest.mark.slow
@pytest.mark.qemu
def test_an_image_that_mounts_no_libraries_is_one_clear_error(monkeypatch):
    """As one of before there were any: its start-guest does not know the word."""
    command = qemu.command

    def older(*args):
        return [part.replace(" deskgym.libraries", "") for part in command(*args)]

    monkeypatch.setattr(qemu, "command", older)
    machine = new(memory_mb=1024)
    with pytest.raises(MachineError, match="does not mount .* `deskgym image build science --force`") as caught:
        machine.start()
    assert caught.value.kind == "bad_image" and not machine.alive
