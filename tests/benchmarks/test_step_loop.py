"""The benchmark itself: a quick run on a real sandbox, and the report of made-up numbers."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from deskgym.benchmarks import step_loop
from deskgym.benchmarks.conventional import LEAN, PYTHON, VARIANTS
from deskgym.benchmarks.report import markdown, write_report
from deskgym.benchmarks.rows import Row, Rows, number
from deskgym.benchmarks.targets import Target, all_ratios, check_targets
from deskgym.envs.displays.base import SettlePolicy

MEMORY = {
    "screen_size": [1280, 720],
    "pss": 60.0,
    "private": 40.0,
    "rss": 150.0,
    "supervisor_pss": 9.0,
    "processes": [],
}


def made_up_rows() -> Rows:
    """Ours take 20 ms, the conventional steps 600 ms."""
    rows = Rows()
    rows.add("start/x", "start", 200.0)
    for view in ("screenshot", "screenshot + a11y"):
        rows.add(f"mousepad/step/{view}", "ours", 20.0)
    for variant in (*VARIANTS, LEAN):
        rows.add(f"mousepad/conventional/{variant.name}", "theirs", 600.0)
    rows.add("mousepad/click/screenshot", "a click", 50.0)
    return rows


def test_row_gives_median_and_spread() -> None:
    data = Row("a", "A", samples=[float(number) for number in range(1, 12)]).to_dict()
    assert (data["n"], data["median"], data["p10"], data["p90"], data["max"]) == (11, 6.0, 2.0, 10.0, 11.0)


@pytest.mark.parametrize(("value", "text"), [(2451.3, "2451"), (47.0, "47"), (0.6854, "0.685")])
def test_numbers_have_no_exponent(value: float, text: str) -> None:
    assert number(value) == text


def test_verdict_says_by_how_much() -> None:
    assert Target("a", 40, 50, "ms").verdict == "MISS by 25%"
    assert Target("a", 40, 30, "ms").verdict == "PASS by 25%"
    assert Target("a", 25, 30, "×", at_least=True).verdict == "PASS by 20%"
    assert Target("a", 25, 20, "×", at_least=True).verdict == "MISS by 20%"


def test_targets_of_what_was_measured() -> None:
    targets = {target.what: target for target in check_targets(made_up_rows(), MEMORY, ["mousepad"])}
    assert targets["settled click step with screenshot, Mousepad"].verdict == "MISS by 25%"
    assert targets["conventional ÷ ours, screenshot + a11y, no sleep"].got == 30.0
    assert targets["conventional ÷ ours, screenshot, 0.5 s sleep"].verdict == "MISS by 25%"
    assert "accessibility of KAlgebra, first read" not in targets


def test_report_of_made_up_numbers(tmp_path: Path) -> None:
    rows = made_up_rows()
    data = {
        "host": {"cores": 2, "cpu": "a CPU", "memory_gb": 8, "system": "a system", "kernel": "6"},
        "load": {"before": [0.1], "after": [0.2]},
        "options": {"screen_size": [1920, 1080], "programs": ["mousepad"]},
        "targets": [{"cells": target.cells()} for target in check_targets(rows, MEMORY, ["mousepad"])],
        "ratios": all_ratios(rows, ["mousepad"]),
        "breakdown": {"mousepad, screenshot": {"settle": {"median": 20.0}}},
        "conventional_breakdown": {},
        "settling": [],
        "memory": MEMORY,
        "rows": [row.to_dict() for row in rows],
    }
    assert "| Mousepad, screenshot | 20 ms (20–20) | 600 ms (600–600), **30.0×** |" in markdown(data)
    paths = write_report(data, tmp_path / "new")
    assert json.loads(paths[0].read_text())["rows"] == data["rows"]
    if len(paths) == 3:
        assert paths[2].read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--programs", "emacs"], "unknown program 'emacs'"),
        (["--screen", "big"], "'big' is no screen size"),
        (["--steps", "0"], "'0' is no number from 1 up"),
    ],
)
def test_bad_arguments(arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        step_loop.main(arguments)
    assert error.value.code == 2
    assert complaint in capsys.readouterr().err


def _has_pyatspi() -> bool:
    return (
        Path(PYTHON).exists() and not subprocess.run([PYTHON, "-c", "import pyatspi"], capture_output=True).returncode
    )


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(300)
@pytest.mark.skipif(shutil.which("kalgebra") is None, reason="needs kalgebra")
@pytest.mark.skipif(not _has_pyatspi(), reason="needs python3-pyatspi")
def test_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert step_loop.main(["--quick", "--json", "--out", str(tmp_path)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == json.loads((tmp_path / "step_loop.json").read_text())
    assert (tmp_path / "step_loop.md").read_text().count("KAlgebra") > 20
    rows = {row["key"]: row for row in data["rows"]}
    assert all(row["n"] == len(row["samples"]) and 0 < row["p10"] <= row["p90"] for row in rows.values())
    assert all(ratio["kalgebra"] > 1 for ratio in data["ratios"].values()), data["ratios"]
    assert len(data["targets"]) == 13
    # a settled step holds its quiet window, the sleeping loop its sleep, and nothing is a whole step faster
    assert rows["kalgebra/step/screenshot"]["min"] > SettlePolicy().quiet_ms
    assert rows["kalgebra/conventional/screenshot, 0.5 s sleep"]["min"] > 600
    assert rows["kalgebra/a11y unchanged"]["median"] < rows["kalgebra/a11y fresh"]["median"]
    assert rows["frame/reused"]["median"] < rows["kalgebra/step/screenshot"]["median"]
    assert rows["start/guest"]["median"] < rows["start/x"]["median"] < rows["start/desktop"]["median"]
    assert rows["start/desktop"]["median"] < rows["reset"]["median"]
    assert data["elements"]["kalgebra"]["elements"] >= 30 and data["elements"]["kalgebra"]["complete"]
    names = {process["name"] for process in data["memory"]["processes"]}
    assert {"Xvfb", "openbox", "guest", "code executor"} <= names and data["memory"]["pss"] > 20
    for phases in data["breakdown"].values():
        assert phases["settle"]["median"] >= SettlePolicy().quiet_ms and phases["rest"]["median"] >= 0
