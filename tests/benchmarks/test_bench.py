"""``deskgym bench``: what it refuses, what it keeps when a part fails, its page, and quick runs on real sandboxes."""

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deskgym.benchmarks import bench, host
from deskgym.benchmarks.desks import Desk
from deskgym.benchmarks.episodes import LONGEST, SHORTEST, Script, _member
from deskgym.benchmarks.measure import Part, cpu_seconds, family
from deskgym.benchmarks.miniwob_peer import missing
from deskgym.benchmarks.page import render
from deskgym.cli import main
from deskgym.envs.action.actions import Action
from deskgym.envs.action.spaces import ComputerActionSpace, action_from_sample
from deskgym.envs.displays.base import SettlePolicy

DOCS = Path(__file__).resolve().parents[2] / "docs"
STORED = DOCS / "benchmarks" / "bench.json"
needs_kalgebra = pytest.mark.skipif(shutil.which("kalgebra") is None, reason="needs kalgebra")


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (["sping"], 1, "no part 'sping'; legal are startup, step, reset, vector, density, programs, peers"),
        (["rest"], 1, "did you mean 'reset'?"),
        (["--desktops", "0"], 1, "--desktops 0; legal is a number from 1 up"),
        (["--desktops", "many"], 2, "invalid int"),
        (["--out", "{file}/sub"], 1, "name another folder"),
        (["--write-docs", "{file}/sub/page.md"], 1, "name another folder"),
        (["--write-docs", "docs"], 1, "legal is the page's file, such as docs/benchmarks.md"),
        (["--from", "/nowhere/bench.json"], 1, "cannot read /nowhere/bench.json"),
        (["--from", "{file}"], 1, "legal is the bench.json"),
        (["--from", "{other}"], 1, "is no bench.json of this version"),
        (["step", "--from", "{other}"], 1, "leave the parts out"),
        (["--fast"], 2, "--fast"),
    ],
)
def test_refuses_in_one_line_before_it_measures(arguments, status, complaint, tmp_path, capsys):
    (tmp_path / "file").write_text("no JSON")
    (tmp_path / "other").write_text('{"format": 1}')
    paths = {"file": tmp_path / "file", "other": tmp_path / "other"}
    try:
        code = main(["bench", *(argument.format(**paths) for argument in arguments)])
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr().err
    assert code == status and complaint in said and said.count("\n") == 1


def test_without_matplotlib_it_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from deskgym.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", code, "bench", "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "pip install 'deskgym[plot]'" in done.stderr


def test_parts_run_in_their_order():
    assert bench.check_parts(["reset", "startup"]) == ["startup", "reset"]
    assert bench.check_parts([]) == list(bench.PARTS)


def test_a_part_that_fails_costs_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "broken_part.py").write_text(
        "def measure(part):\n    part.rows.add('a', 'A', 1.0)\n    raise OSError('no more desktops')\n"
    )
    (tmp_path / "good_part.py").write_text("def measure(part):\n    part.rows.add('b', 'B', part.few(9, 2))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bench, "PARTS", {"broken": "broken_part", "good": "good_part"})
    kept = []
    data = bench.measure(["broken", "good"], quick=True, keep=lambda data: kept.append(list(data["parts"])))
    assert kept == [["broken"], ["broken", "good"]]
    assert data["parts"]["broken"]["facts"]["error"] == "OSError: no more desktops"
    assert [row["key"] for row in data["parts"]["broken"]["rows"]] == ["a"]
    assert data["parts"]["good"]["rows"][0]["median"] == 2.0
    assert json.loads(bench.write_json(data, tmp_path).read_text()) == data == bench.read_json(tmp_path / "bench.json")


def test_a_busy_machine_is_warned_of_and_noted(monkeypatch, cli_bench):
    monkeypatch.setattr(host.psutil, "cpu_percent", lambda seconds: 93.7)
    data, said = cli_bench()
    warning = data["load"]["busy"]
    assert "other programs take 94 % of its" in warning and said == f"deskgym: warning: {warning}\n"
    assert set(data["load"]) == {"before", "busy", "after"}
    assert f"**{warning}**" in render(json.loads(STORED.read_text()) | {"load": data["load"]}, "benchmarks", [])
    monkeypatch.setattr(host.psutil, "cpu_percent", lambda seconds: 3.0)
    data, said = cli_bench()
    assert data["load"]["busy"] == "" and said == ""


@pytest.fixture
def cli_bench(tmp_path, monkeypatch, capsys):
    """Runs ``deskgym bench --json`` with a part that measures nothing: the data, and what was said on stderr."""
    (tmp_path / "idle_part.py").write_text("def measure(part):\n    pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(bench, "PARTS", {"idle": "idle_part"})

    def run():
        assert main(["bench", "--json"]) == 0
        out, err = capsys.readouterr()
        return json.loads(out), err

    return run


def test_targets_of_rows():
    part = Part()
    for ms in (10.0, 20.0, 30.0):
        part.rows.add("a", "A", ms)
        part.rows.add("b", "B", 2 * ms)
    part.limit("a", 25, "a")
    part.limit_ratio("b by a", 2.5, "b", "a")
    assert [target.verdict for target in part.targets] == ["PASS by 20%", "MISS by 20%"]


def test_processor_time_counts_children_and_no_sleep():
    burn = "import time\nwhile time.process_time() < 0.3: pass\ninput()"
    before, processes = cpu_seconds(), family()
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE) as child:
        end = time.monotonic() + 20
        while cpu_seconds() - before < 0.3:
            assert time.monotonic() < end
            time.sleep(0.02)
        assert {process.pid for process in family()} - {process.pid for process in processes} == {child.pid}
        while_it_waits = cpu_seconds()
        time.sleep(0.2)
        assert cpu_seconds() - while_it_waits < 0.15
        child.communicate(b"\n")
    assert cpu_seconds() - before >= 0.29  # it has ended and is counted still


def test_actions_for_asyncvectorenv_are_the_same_actions():
    space = ComputerActionSpace((64, 64))
    for action in (
        Action("click", 3, 4),
        Action("press", keys=("7",)),
        Action("type", text="12*(3+4)"),
        Action("done"),
    ):
        member = _member(space, action)
        assert member in space and action_from_sample(member) == action


def test_both_vectors_get_the_same_script():
    desk = Desk([(5, 5), (9, 5)], "1+1", [], (0, 0))
    ours, theirs = Script(desk, 8), Script(desk, 8)
    by_env = [[ours.action(k) for _ in range(200)] for k in range(8)]  # one after the other, and in lockstep
    in_step = [[theirs.action(k) for k in range(8)] for _ in range(200)]
    assert by_env == [list(actions) for actions in zip(*in_step, strict=True)]
    for actions in by_env:
        lengths = [len(part) for part in "".join("d" if a.verb == "done" else "." for a in actions).split("d")[:-1]]
        assert len(set(lengths)) > 2 and all(SHORTEST <= length <= LONGEST for length in lengths)
    assert by_env[0] != by_env[1]


@pytest.mark.skipif(not STORED.exists(), reason="no stored run")
def test_the_page_is_what_its_data_says(tmp_path, capsys):
    data = bench.read_json(STORED)
    page = (DOCS / "benchmarks.md").read_text()
    images = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert images and all((DOCS / image).exists() for image in images)
    assert render(data, "benchmarks", [Path(image).stem for image in images]) == page
    again = tmp_path / "benchmarks.md"
    assert main(["bench", "--from", str(STORED), "--write-docs", str(again)]) == 0
    assert again.read_text() == page
    assert json.loads((tmp_path / "benchmarks" / "bench.json").read_text()) == data
    assert (tmp_path / "benchmarks" / "step.png").read_bytes().startswith(b"\x89PNG")
    assert "settled steps/s, 8 envs against 1" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.sandbox
@needs_kalgebra
def test_quick_run_of_the_cheap_parts(tmp_path, capsys):
    assert main(["bench", "startup", "reset", "--quick", "--json", "--out", str(tmp_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == bench.read_json(tmp_path / "bench.json") and data["quick"]
    rows = {row["key"]: row for part in data["parts"].values() for row in part["rows"]}
    assert all(row["p5"] <= row["median"] <= row["p95"] for row in rows.values())
    assert 0 < rows["start/guest"]["median"] < rows["start/x"]["median"] < rows["start/desktop"]["median"]
    assert rows["reset/pooled"]["median"] < rows["reset/again"]["median"] / 3
    assert data["parts"]["reset"]["facts"]["stats"]["swaps"] == rows["reset/pooled"]["n"]
    assert rows["reset/cold"]["median"] > rows["reset/cold/setup"]["median"] > 100

    stored, page = tmp_path / "bench.json", tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    assert main(["bench", "--from", str(stored), "--write-docs", str(page)]) == 0
    assert render(data, "page", [path.stem for path in (tmp_path / "docs" / "page").glob("*.png")]) == page.read_text()
    images = re.findall(r"!\[.*?\]\((.*?)\)", page.read_text())
    assert images and all((page.parent / image).read_bytes().startswith(b"\x89PNG") for image in images)
    assert json.loads((page.parent / "page" / "bench.json").read_text()) == data
    assert "This was a quick run" in page.read_text() and f"{rows['reset/pooled']['n']} |" in page.read_text()


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.sandbox
@pytest.mark.timeout(600)
@needs_kalgebra
def test_quick_run_of_all_parts(tmp_path, capsys):
    page = tmp_path / "page.md"
    status = main(["bench", "--quick", "--json", "--desktops", "4", "--write-docs", str(page)])
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert [part["facts"].get("error") for part in parts.values()] == [None] * len(bench.PARTS) and status == 0
    rows = {row["key"]: row for part in parts.values() for row in part["rows"]}
    for kind in ("click", "type", "code"):
        assert rows[f"step/{kind}/screenshot"]["min"] > SettlePolicy().quiet_ms
    assert rows["kalgebra/a11y unchanged"]["median"] < rows["kalgebra/a11y fresh"]["median"]
    assert all(phases["elements"] > 0 for name, phases in parts["step"]["facts"]["breakdown"].items() if "+" in name)
    assert rows["marks/SetOfMark deskgym"]["median"] < rows["marks/published (Pillow)"]["median"]
    assert min(rows[f"vector/{count}"]["median"] for count in (1, 2, 4)) > 1
    assert rows["sleeper/beside"]["median"] > 2 * rows["sleeper/lockstep"]["median"]
    assert 0 < rows["layer/added"]["median"] < rows["vector/none"]["median"]
    assert rows["episodes/ours"]["median"] > 1 and rows["episodes/lockstep"]["median"] > 1
    assert parts["density"]["facts"]["alive"] == parts["density"]["facts"]["started"] == 4
    assert 10 < rows["density/work/memory"]["median"] < 2000
    assert ("MiniWoB++" in parts["peers"]["skipped"]) == bool(missing())
    assert rows["kalgebra/conventional/screenshot, 0.5 s sleep"]["min"] > 600
    text = page.read_text()
    assert "## Density" in text and "![Vector](page/vector.png)" in text
