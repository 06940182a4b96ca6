"""The benchmark of machines: what it refuses, its tables and targets, what it counts, and short real runs."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from deskgym.benchmarks import machines, machines_page
from deskgym.benchmarks.machines_use import Leftovers, disk_mb
from deskgym.benchmarks.measure import Part
from deskgym.envs.machines.qemu.folders import new_folder

needs_kalgebra = pytest.mark.skipif(shutil.which("kalgebra") is None, reason="needs kalgebra")


def a_run(**facts):
    """Data of a run in which one virtual machine did well and another one badly."""
    part = Part()
    for name, ms in (("qemu/tcg", 1000.0), ("qemu/kvm", 2000.0)):
        for factor in (0.9, 1.0, 1.2):
            part.rows.add(f"{name}/reset/screenshot", "resets", factor * ms)
        part.rows.add(f"{name}/disk/second", "disk", ms / 20, "MiB")
    part.rows.add("sandbox/start", "start", 300.0)
    part.facts |= facts
    machines.check(part, ["qemu/tcg", "qemu/kvm"])
    return {
        "benchmark": "machines", "format": machines.FORMAT, "time": "now", "screen_size": [1280, 720],
        "host": {"cores": 2, "cpu": "C", "memory_gb": 8, "system": "S", "kernel": "K"},
        "load": {"before": 0.5, "after": 1.0}, "kinds": ["sandbox", "qemu/tcg", "qemu/kvm"], **part.to_dict(),
    }  # fmt: skip


def ended(leaks, faults=0):
    return {
        "count": 10,
        "ends": {"solved": 10 - faults},
        "stats": {"faults": faults},
        "leaks": leaks,
        "before": {"a": 1},
    }


def verdicts(data):
    return {target["what"]: target["passed"] for target in data["targets"]}


def test_targets_are_for_virtual_machines_and_their_medians():
    found = verdicts(a_run())
    assert {what: passed for what, passed in found.items() if "restore" in what} == {
        "qemu/tcg: restore to a settled first observation with KAlgebra open": True,
        "qemu/kvm: restore to a settled first observation with KAlgebra open": False,
    }
    assert [passed for what, passed in found.items() if "disk" in what] == [True, False]
    assert not any(what.startswith("sandbox") for what in found)


@pytest.mark.parametrize(
    ("run", "passed"),
    [
        (ended({}), [True, True, True]),
        (ended({}, faults=1), [False, False, True]),
        (ended({"a": (1, 2)}), [True, True, False]),
    ],
)
def test_a_fault_or_a_leak_is_a_miss(run, passed):
    found = verdicts(a_run(episodes={"sandbox": run}))
    assert [found[what] for what in found if what.startswith("sandbox")] == passed


def test_cells_say_how_many_samples_there_were():
    part = Part()
    part.rows.add("one", "", 12.0, "MiB")
    for k in range(3):
        part.rows.add("few", "", 1000.0 * (k + 1))
    for k in range(20):
        part.rows.add("many", "", 10.0 + k)
    cells = [machines_page.cell(row.to_dict()) for row in part.rows]
    assert cells == ["12 MiB", "2 s (1–3)", "19.5 ms (11.9–27.1, worst 29)"]


def test_the_page_gets_the_tables_between_its_markers_and_nothing_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- machines -->\nold\n<!-- /machines -->\nafter\n")
    stored = tmp_path / "machines.json"
    stored.write_text(json.dumps(a_run()))
    for _ in range(2):
        assert machines.main(["--from", str(stored), "--write-docs", str(page)]) == 1  # a target is missed
    text = page.read_text()
    assert text.startswith("before\n<!-- machines -->\nMeasured on now") and text.endswith(
        "<!-- /machines -->\nafter\n"
    )
    assert "old" not in text and text.count("later resets") == 1 and "MISS" in text


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--machine", "qemo"], "--machine qemo; legal are sandbox, qemu; did you mean 'qemu'?"),
        (["--accel", "xen"], "--accel xen; legal are tcg, kvm"),
        (["--from", "/nowhere.json"], "cannot read /nowhere.json"),
        (["--from", "{other}"], "measure again"),
        (["--from", "{stored}", "--write-docs", "{other}"], "no place for the tables"),
    ],
)
def test_refuses_in_one_line(arguments, complaint, tmp_path, capsys):
    paths = {"other": tmp_path / "other", "stored": tmp_path / "stored"}
    paths["other"].write_text("{}")
    paths["stored"].write_text(json.dumps(a_run()))
    assert machines.main([argument.format(**paths) for argument in arguments]) == 1
    said = capsys.readouterr().err
    assert complaint in said and said.count("\n") == 1


def test_without_an_image_the_others_are_measured_and_it_says_what_to_do(capsys):
    none = ["--boots", "0", "--restores", "0", "--snapshots", "0", "--episodes", "0", "--json"]
    assert machines.main([*none, "--machine", "qemu", "--image", "nosuch"]) == 0
    assert "deskgym image build" in json.loads(capsys.readouterr().out)["skipped"]["qemu"]


def test_what_is_lost_is_counted():
    leftovers = Leftovers()
    folder = new_folder("machine")
    read, write = os.pipe()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        before = disk_mb()
        (folder / "disk").write_bytes(os.urandom(1 << 20))
        os.link(folder / "disk", folder / "same")
        assert 1 <= disk_mb() - before < 1.5
        lost = leftovers._take()
        grown = {what for what, number in lost.items() if number > leftovers.before[what]}
        assert {"folders of machines and snapshots", "file descriptors", "processes on the host"} <= grown
    finally:
        child.communicate(b"\n")
        os.close(read)
        os.close(write)
        shutil.rmtree(folder)
    assert leftovers.grown() == {}


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.sandbox
@needs_kalgebra
def test_a_short_run_on_sandboxes(tmp_path, capsys):
    short = ["--boots", "1", "--restores", "1", "--snapshots", "1", "--episodes", "1"]
    assert machines.main(["--machine", "sandbox", *short, "--out", str(tmp_path)]) == 0
    data = json.loads((tmp_path / "machines.json").read_text())
    assert data["skipped"] == {} and data["facts"]["episodes"]["sandbox"]["leaks"] == {}
    assert "settled click, screenshot" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.qemu
@needs_kalgebra
def test_a_short_run_on_virtual_machines(tmp_path):
    short = ["--boots", "0", "--restores", "1", "--snapshots", "1", "--episodes", "1"]
    machines.main(["--machine", "qemu", "--accel", "tcg", *short, "--out", str(tmp_path)])
    data = json.loads((tmp_path / "machines.json").read_text())
    assert data["skipped"] == {}
    run = data["facts"]["episodes"]["qemu/tcg"]
    assert (run["leaks"], run["ends"]) == ({}, {"solved": 1})
