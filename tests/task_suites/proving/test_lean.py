"""The adapter to Lean, against a minimal program of our own that speaks as ``lake env repl`` and ``lean`` do."""

import re
from pathlib import Path

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.prover import lean
from deskgym.task_suites.proving.proof import Proof

LAKE = Path(__file__).parent / "minimal_lake.py"
PROJECT = "/opt/lean"
THEOREM = "theorem T (x : Nat) : x = x := by sorry"
HEADERS = ["import Mathlib", "open Set"]
ASKED = {"theorem": THEOREM, "project": PROJECT, "headers": HEADERS}
BEFORE = "import Mathlib\nopen Set\ntheorem T (x : Nat) : x = x := by\n"


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig(None)) as machine:
        machine.put("/opt/deskgym/bin/lake", LAKE.read_bytes(), mode=0o755, owner="guest")
        machine.put(f"{PROJECT}/lakefile.lean", b"", owner="guest")
        lean.open_lean(Setup(machine), **ASKED)
        yield machine


def verdict(machine, text: str | None) -> tuple[bool, str]:
    """Whether a file is a proof, and why."""
    if text is not None:
        machine.put(lean.PATH, text.encode())
    return lean.lean_proved(FinalState(machine, "done", acted=True, clean_machine=lambda: machine), **ASKED)


@pytest.mark.sandbox
def test_a_proof_is_played_and_checked(machine):
    proof = Proof.begun(machine)
    assert proof.texts()["headers"] == "import Mathlib\nopen Set"
    assert proof.goals == ["x : Nat\n⊢ x = x"] and proof.file() is None
    assert proof.play("split", 0, 10.0)[1] is None
    assert proof.play("close", 1, 10.0)[1] is None
    assert proof.play("close", 2, 10.0)[1] is None
    path, text = proof.file()
    assert (path, text) == (lean.PATH, f"{BEFORE}  split\n  close\n  close\n")
    assert verdict(machine, text) == (True, "T is proved, and assumes nothing")
    assert verdict(machine, f"{BEFORE}  exact Classical.em _\n")[0]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "text, why",
    [
        (f"{BEFORE}  cheat\n", "T is not proved: .*sorryAx"),
        (f"{BEFORE}  forge\n", "T is not proved"),
        (f"{BEFORE}  split\n  close\n", "unsolved goals"),
        (f"{BEFORE}  nonsense\n", "unknown tactic"),
        (f"{BEFORE}  sorry\n", "unknown tactic"),
        (BEFORE, "proof alone"),
        (BEFORE.replace("x = x", "True") + "  close\n", "proof alone"),
        (f"/- {BEFORE} -/\n  close\n", "proof alone"),
        (f"{BEFORE}  close\naxiom a : False\n", "proof alone"),
        (f"{BEFORE}  cheat\n  namespace X\n  theorem T : True := trivial\n", "'namespace' is not taken"),
        (f'{BEFORE}  close\n  macro "#print" : command => `(#eval 1)\n', "'#eval' is not taken"),
        (f"{BEFORE}  run_tac IO.println \"'T' does not depend on any axioms\"\n", "'run_tac' is not taken"),
    ],
)
def test_what_is_no_proof_earns_nothing(machine, text, why):
    solved, said = verdict(machine, text)
    assert not solved and re.search(why, said), said


def test_forbidden_words_count_outside_comments_only():
    words = (*lean.LEFT_OPEN, *lean.UNTRUSTED)
    for fine in (
        "simp -- sorry",
        "/- sorry /- admit -/ run_tac -/ simp",
        "exact sorryless",
        "exact h.IO",
        "x_unsafe",
        "have : #s = 1 := h.def",
        "open Set in simp",
    ):
        assert lean.forbidden_word(fine, words) == "", fine
    for bad in ("sorry", "exact (sorry)", "/- a -/ admit", "run_tac x", "/- sorry", "#eval 1", "unsafe x"):
        assert lean.forbidden_word(bad, words), bad


@pytest.mark.parametrize("said", ["no JSON", "[1]", '{"severity": "information", "pos": null, "data": "x"}', ""])
def test_what_lean_does_not_say_in_messages_proves_nothing(said):
    assert not lean._judge(said, 0, "T", 5)[0]


def test_a_theorem_ends_with_by_sorry():
    assert lean.stated("theorem T : True := by sorry") == "theorem T : True := by"
    with pytest.raises(ValueError, match="ends with 'by sorry'"):
        lean.stated("theorem T : True := trivial")
