"""What keeps a REPL running, around a minimal one of our own, without a machine."""

import sys
from pathlib import Path

import pytest

from deskgym.task_suites.programs.prover.guest.repl_server import Lost, Repl

LAKE = str(Path(__file__).parent / "minimal_lake.py")


@pytest.fixture
def repl(tmp_path):
    opening = [{"cmd": "import Mathlib"}, {"cmd": "open Set"}, {"cmd": "theorem T (x : Nat) : x = x := by sorry"}]
    setting = {"argv": [sys.executable, LAKE, "env", "repl"], "cwd": str(tmp_path), "open": opening}
    made = Repl({**setting, "memory_mb": 512, "patience": 20.0})
    yield made
    made.end()


def played(repl, tactic, state, seconds=10.0):
    return repl.ask({"tactic": tactic, "proofState": state}, seconds)


def test_each_command_is_given_the_environment_of_the_one_before(repl):
    assert [answer["env"] for answer in repl.open()] == [0, 1, 2]


def test_a_tactic_can_go_on_from_any_state(repl):
    repl.open()
    assert played(repl, "split", 0) == {"proofState": 1, "goals": ["⊢ x = x"] * 2}
    assert played(repl, "close", 0) == {"proofState": 2, "goals": []}
    assert played(repl, "close", 1)["proofState"] == 3
    assert "Unknown proof state" in played(repl, "close", 9)["message"]
    assert "unknown tactic" in played(repl, "nonsense", 0)["message"]


@pytest.mark.parametrize(
    "tactic, why",
    [("loop", "no answer within"), ("end", "has ended"), ("flood", "longer than"), ("garble", "no JSON object")],
)
def test_a_repl_that_is_lost_comes_back_with_its_states(repl, tactic, why):
    repl.open()
    played(repl, "split", 0)
    played(repl, "nonsense", 0)
    with pytest.raises(Lost, match=why):
        played(repl, tactic, 1, 1.0)
    assert played(repl, "close", 1) == {"proofState": 2, "goals": ["⊢ x = x"]}


def test_a_repl_that_is_not_there_is_lost(tmp_path):
    missing = {"argv": ["/no/such/repl"], "cwd": str(tmp_path), "open": [], "memory_mb": 512, "patience": 5.0}
    with pytest.raises(Lost, match="cannot be started"):
        Repl(missing).open()
