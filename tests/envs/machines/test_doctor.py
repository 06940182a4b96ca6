"""The doctor finds what is there, and knows the command for what is not."""

import pytest

from deskgym.envs.machines import doctor, userns


def outcome(name, **options):
    return next(check for check in doctor.examine(**options) if check.name == name)


@pytest.mark.sandbox
def test_a_host_with_sandboxes_is_well():
    outcomes = doctor.examine()
    assert [check.name for check in outcomes if check.status == "fail"] == []
    assert outcomes[-1].name == "sandbox" and "'user'" in outcomes[-1].found


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
