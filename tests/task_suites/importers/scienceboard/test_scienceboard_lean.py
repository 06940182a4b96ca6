"""ScienceBoard's Raw tasks: in Coq where the theorem says the same, and against a minimal Lake of our own."""

import os
import shutil
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from scienceboard_files import UPSTREAM, given

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.episode import FinalState
from deskgym.envs.errors import TaskError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.scienceboard import lean, load
from deskgym.task_suites.importers.scienceboard.suite import raw_suite, suite
from deskgym.task_suites.importers.scienceboard.tasks import convert
from deskgym.task_suites.proving.proof import Proof

LAKE = Path(__file__).parents[2] / "proving" / "minimal_lake.py"
coq = pytest.mark.skipif(not shutil.which("coqtop"), reason="Coq is not installed")


@pytest.fixture
def project(monkeypatch, tmp_path):
    """As if Lean were installed."""
    shutil.copy(LAKE, tmp_path / "lake")
    (tmp_path / "lake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv(lean.LIBRARY, "/opt/lean")


@given
def test_they_are_text_and_belong_to_their_own_suite():
    with pytest.raises(TaskError, match="it is text: play it with action='tactic'"):
        suite(str(UPSTREAM), "corrected").get("Raw/Lean/A-03")
    raw = raw_suite(str(UPSTREAM), "corrected")
    assert raw.ids() and all(task.startswith("Raw/Lean/") for task in raw.ids())
    for ask in (raw.get, lambda task: raw.draw(np.random.default_rng(0), task)):
        with pytest.raises(TaskError, match="it needs a desktop: play it in the suite science, without action="):
            ask("KAlgebra/A-01")


@given
def test_without_lean_they_say_what_to_install(monkeypatch):
    monkeypatch.delenv(lean.LIBRARY, raising=False)
    (blocker,) = scienceboard.blockers(load(UPSTREAM)["Raw/Lean/A-03"])
    assert blocker.kind == "not_installed" and "LEAN_LIB_PATH" in blocker.reason
    assert scienceboard.blockers(load(UPSTREAM)["Raw/Lean/A-01"], lambda _: None)[0].kind == "not_installed"


@given
def test_with_lean_all_of_them_run(project):
    raw = raw_suite(str(UPSTREAM), "corrected")
    assert all(raw.describe(task)["supported"] for task in raw.ids())
    task = raw.draw(np.random.default_rng(0), "Raw/Lean/E-01")
    assert (task.max_steps, task.params["penalty"]) == (100, "1:10") and lean.NOTE in task.evaluator.notes
    assert lean.headers(load(UPSTREAM)["Raw/Lean/A-05"]) == [
        "import Mathlib", "open Ordinal", "open Cardinal", "def ℷ (κ : Cardinal) : Cardinal := κ ^ cof κ.ord"
    ]  # fmt: skip


@pytest.mark.sandbox
@given
def test_a_theorem_is_stated_played_and_checked_by_the_minimal_lake(project):
    task = convert(load(UPSTREAM)["Raw/Lean/A-05"], "corrected")
    with create_machine("sandbox", MachineConfig(None)) as machine:
        machine.put("/opt/deskgym/bin/lake", LAKE.read_bytes(), mode=0o755, owner="guest")
        machine.put("/opt/lean/lakefile.lean", b"", owner="guest")
        task.prepare(machine)
        proof = Proof.begun(machine)

        def judged() -> tuple[bool, str]:
            final = FinalState(machine, "done", acted=True, clean_machine=lambda: machine)
            verdict = task.evaluate(final)
            assert not verdict.error and lean.NOTE in verdict.notes
            return verdict.success, str(verdict.checks)

        assert not judged()[0]
        for tactic, solved in (("cheat", False), ("close", True)):
            assert proof.play(tactic, 0, 10.0)[1] is None
            path, text = proof.file()
            machine.put(path, text.encode())
            assert judged()[0] is solved
        assert "'sorry' is not taken" in proof.play("sorry", 0, 10.0)[1]


@coq
@pytest.mark.sandbox
@given
def test_a_theorem_that_says_the_same_is_proved_in_coq(monkeypatch):
    monkeypatch.delenv(lean.LIBRARY, raising=False)
    kwargs = {"action": "tactic", "source": "scienceboard", "source_path": str(UPSTREAM), "task": "Raw/Lean/A-01"}
    with gym.make("deskgym/Science-v0", **kwargs) as env:
        paid = {}
        for name in ("oracle", "left open", "nothing"):
            env.reset(seed=0)
            played = env.unwrapped.oracle() if name == "oracle" else env.unwrapped.attempt(name)
            for action in played:
                _, paid[name], _, _, info = env.step(action)
            assert "asked in Coq" in info["verdict"]["notes"][0] and not info["verdict"]["error"]
    assert paid == {"oracle": 1.0, "left open": 0.0, "nothing": 0.0}
