"""CoqIDE in real sandboxes: its first screen, and files that look like proofs and are none."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.coqide import functions

PATH = "/home/user/proofs/work.v"
SEED = 3


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="coqide/linear", action="code", screen_size=(1280, 720)) as made:
        yield made


def reward(env, change: str) -> tuple[float, str]:
    """What an agent is paid that runs this, and why; ``name`` and ``statement`` are those of the file's theorem."""
    params = env.unwrapped.task.params
    given = {key: params[key] for key in ("name", "statement")}
    env.step(f"name, statement, PATH = {given['name']!r}, {given['statement']!r}, {PATH!r}\n{change}")
    _, paid, terminated, _, info = env.step("DONE")
    assert terminated and not info["verdict"]["error"], info["verdict"]
    return paid, str(info["verdict"]["checks"])


def write(text: str) -> str:
    """Code that writes a file, in which ``NAME`` and ``STATEMENT`` are replaced."""
    return f"open(PATH, 'w').write({text!r}.replace('NAME', name).replace('STATEMENT', statement))"


HONEST = "Require Import Lia.\nLemma own : STATEMENT.\nProof. lia. Qed.\nDefinition NAME := own.\n"

ASSUMED = {
    "admitted": write("Theorem NAME : STATEMENT.\nProof.\nAdmitted.\n"),
    "an axiom": write("Axiom a : STATEMENT.\nTheorem NAME : STATEMENT.\nProof. exact a. Qed.\n"),
    "an axiom in a module": write("Module M. Axiom a : STATEMENT. End M.\nDefinition NAME := M.a.\n"),
    "a parameter": write("Parameter NAME : STATEMENT.\n"),
    "false assumed": write("Axiom f : False.\nTheorem NAME : STATEMENT.\nProof. destruct f. Qed.\n"),
    "guards off": write(
        "Unset Guard Checking.\nFixpoint loop (n : nat) : False := loop n.\n"
        "Theorem NAME : STATEMENT.\nProof. destruct (loop 0). Qed.\n"
    ),
    "universes off": write(
        "Require Import Lia.\nUnset Universe Checking.\nTheorem NAME : STATEMENT.\nProof. lia. Qed.\n"
    ),
    "its own answer": write(
        'Redirect "/tmp/ours/given" Print nat.\nRedirect "/tmp/ours/asked" Print nat.\n'
        "Theorem NAME : STATEMENT.\nProof.\nAdmitted.\n"
    ),
}
"""Coq accepts them, and lists what they assume."""

OTHER = {
    "another meaning of <": write(
        'Notation "n < m" := True.\nNotation "n <= m" := True.\nNotation "n = m" := True.\n'
        "Theorem NAME : STATEMENT.\nProof. intros; exact I. Qed.\n"
    ),
    "another nat": write(
        "Inductive nat := O.\nTheorem NAME : forall n m : nat, n = m.\nProof. intros [] []; reflexivity. Qed.\n"
    ),
    "in a comment": write("(* Theorem NAME : STATEMENT. Proof. lia. Qed. *)\n"),
    "a section's hypothesis": write(
        "Section S. Hypothesis h : STATEMENT.\nTheorem NAME : STATEMENT.\nProof. exact h. Qed.\nEnd S.\n"
    ),
    "a function of false": write("Definition NAME (f : False) : STATEMENT := match f with end.\n"),
}
"""Coq accepts them, and they say something else."""

FILES = {
    "no file": "import os; os.remove(PATH)",
    "a link": "import os; os.remove(PATH); os.symlink('/etc/passwd', PATH)",
    "never ends": write("Theorem NAME : STATEMENT.\nProof.\nrepeat (assert True by exact I).\nQed.\n"),
}


@pytest.mark.sandbox
def test_a_proof_of_another_form_is_one(env):
    env.reset(seed=SEED)
    assert reward(env, write(HONEST))[0] == 1


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", ASSUMED.values(), ids=ASSUMED)
def test_what_is_assumed_earns_nothing(env, change):
    env.reset(seed=SEED)
    paid, why = reward(env, change)
    assert paid == 0 and "is not proved" in why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", OTHER.values(), ids=OTHER)
def test_what_says_something_else_earns_nothing(env, change):
    env.reset(seed=SEED)
    paid, why = reward(env, change)
    assert paid == 0 and "does not have what is asked for" in why


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("change", FILES.values(), ids=FILES)
def test_files_that_coq_cannot_read_to_their_end_earn_nothing(env, change):
    env.reset(seed=SEED)
    assert reward(env, change)[0] == 0


@pytest.mark.sandbox
def test_the_first_screen_has_the_file_and_coqs_greeting():
    with gym.make("deskgym/Science-v0", task="coqide/linear", observation=("a11y",), screen_size=(1280, 720)) as env:
        observation, _ = env.reset(seed=SEED)
        assert "Theorem" in observation["a11y"] and "Welcome to CoqIDE" in observation["a11y"]


def test_values_of_functions_on_lists():
    assert functions.lists("affine", "f", 2, 1, 0)[0] == ["list nat", "@f (nil)", "(nil)"]
    _, term, value = functions.lists("framed", "f", 2, 7, 5)[1]
    assert value == f"(2 :: {term.removeprefix('@f (').removesuffix('nil)')}7 :: nil)"


def test_recurrence():
    assert [functions.recurrence(1, 2, 3, n) for n in range(4)] == [1, 5, 14, 33]
