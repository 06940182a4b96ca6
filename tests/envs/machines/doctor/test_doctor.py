"""The doctor finds what is there, and knows the command for what is not."""

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import userns
from deskgym.envs.machines.doctor import doctor
from deskgym.envs.machines.doctor import vm as doctor_vm
from deskgym.envs.machines.image import Image
from deskgym.envs.machines.qemu.probe import Probe


def outcome(name, **options):
    return next(check for check in doctor.examine(**options) if check.name == name)


@pytest.mark.sandbox
def test_a_host_with_sandboxes_is_well():
    outcomes = doctor.examine()
    assert [check.name for check in outcomes if check.status == "fail"] == []
    *_, sandbox, states = outcomes
    assert sandbox.name == "sandbox" and "'user'" in sandbox.found
    assert states.name == "states of desktops" and "by snapshot: an empty desktop is restored in" in states.found


def test_without_runsc_states_come_back_by_replay(monkeypatch):
    monkeypatch.setattr(doctor, "find_tool", lambda name: None)
    found = doctor._branch()
    assert found.status == "ok" and "by replay" in found.found and "apt-get install runsc" in found.fix


@pytest.mark.parametrize(
    ("tool", "name", "fix"),
    [
        ("runc", "OCI runtime", "apt-get install runc"),
        ("Xvfb", "Xvfb", "apt-get install xvfb"),
        ("openbox", "openbox", "openbox"),
    ],
)
def test_missing_programs(monkeypatch, tool, name, fix):
    hidden = {tool, "crun"} if tool == "runc" else {tool}
    find = doctor.find_tool
    monkeypatch.setattr(doctor, "find_tool", lambda name: None if name in hidden else find(name))
    check = outcome(name)
    assert check.status == "fail" and fix in check.fix
    assert all(check.name != "sandbox" for check in doctor.examine())


def test_missing_ids(monkeypatch):
    def none():
        raise userns.NoIdsError("user x has no range of ids in /etc/subuid: `sudo usermod --add-subuids 1-2 x`")

    monkeypatch.setattr(userns, "id_map", none)
    check = outcome("ids for machines", start=False)
    assert (check.status, check.fix) == ("fail", "sudo usermod --add-subuids 1-2 x")


def test_missing_packages(monkeypatch):
    monkeypatch.setattr(doctor, "REQUIRED", ("no-such-dist",))
    check = outcome("Python packages", start=False)
    assert check.status == "fail" and check.fix.endswith("-m pip install no-such-dist")


def virtual():
    return {check.name: check for check in doctor.examine(start=False) if check.name.startswith("VM")}


def test_what_virtual_machines_lack_is_never_a_failure(monkeypatch):
    def none():
        raise MachineError("virtual machines need qemu-system-x86_64: install it", "not_installed")

    monkeypatch.setattr(doctor_vm, "qemu_version", none)
    monkeypatch.setattr(doctor_vm, "find_tool", lambda name: None)
    monkeypatch.setattr(doctor_vm, "list_images", list)
    checks = virtual()
    assert {check.status for check in checks.values()} == {"warn"}
    assert checks["VM: QEMU"].fix.endswith("apt-get install e2fsprogs qemu-system-x86 qemu-utils")
    assert checks["VM images"].fix.endswith("deskgym image build science")
    assert checks["VM image builder"].fix.endswith("apt-get install mmdebstrap")


@pytest.mark.parametrize(
    ("outcome", "found", "fix"),
    [
        (None, "not tried yet whether KVM works", "deskgym.benchmarks.machines --probe"),
        (
            Probe({"kvm": None, "tcg": 2.04}, {"kvm": "it hangs"}),
            "lab-0123456789ab; no kvm (it hangs), tcg boots a kernel in 2.0 s",
            "",
        ),
    ],
)
def test_what_was_probed_is_said_and_nothing_is_booted(monkeypatch, tmp_path, outcome, found, fix):
    image = Image("lab", "0123456789ab", tmp_path / "lab-0123456789ab", "3.11", (640, 480), {})
    monkeypatch.setattr(doctor_vm, "list_images", lambda: [image])
    monkeypatch.setattr(doctor_vm, "known", lambda image: outcome)
    check = virtual()["VM images"]
    assert check.status == "ok" and found in check.found and check.fix.endswith(fix)


def test_a_cache_folder_that_cannot_be_made_says_what_to_set(tmp_path, monkeypatch):
    from deskgym.envs.machines.sandbox import host

    (tmp_path / "file").touch()
    monkeypatch.setattr(host.os, "geteuid", lambda: 1000)  # root has another one
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(MachineError, match="file/deskgym cannot be made: Not a directory; set XDG_CACHE_HOME to"):
        host.cache_folder.__wrapped__()
