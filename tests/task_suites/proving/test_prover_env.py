"""ProverEnv: its contract, and proofs in Coq in real sandboxes, those that are none among them."""

import json

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.errors import ActionError
from deskgym.task_suites.programs.prover.guest import coq_repl
from deskgym.task_suites.proving.env import TacticActions

LINEAR = "proving/linear#0"


def tactic(text: str, state: int = 0) -> str:
    return json.dumps({"tactic": text, "proofState": state})


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", action="tactic", task=LINEAR, tactic_timeout=3.0) as made:
        yield made


# Actions


@pytest.mark.parametrize(
    "action",
    [
        "", "x", "[]", "1", "null", "ANS 4", "WAIT", "DONE.", '{"tactic": "auto."}', '{"tactic": 1, "proofState": 0}',
        '{"tactic": "auto.", "proofState": "0"}', '{"tactic": "auto.", "proofState": true}',
        '{"tactic": "auto.", "proofState": 0, "env": 0}', '{"tactic": "auto.", "proofState": 0.5}', "[" * 100_000,
        '{"tactic": "\\ud800", "proofState": 0}', {"tactic": "x" * 100_000, "proofState": 0}, 7, None, b"DONE",
        '{"tactic": "' + "x" * 100_000 + '", "proofState": 0}', '{"tactic": "auto.", "proofState": ' + "9" * 5000 + "}",
    ],
)  # fmt: skip
def test_what_is_no_action_is_said_to_be_none(action):
    with pytest.raises(ActionError, match="legal is|lone surrogates|at most"):
        TacticActions().parse(action)


def test_actions_are_json_or_dicts_or_words():
    parsed = TacticActions().parse({"tactic": "auto.", "proofState": np.int64(3)})
    assert (parsed, parsed.state) == ("auto.", 3)
    assert TacticActions().parse(" DONE ")[0].verb == "done"


def test_samples_are_well_formed():
    space = TacticActions().space
    space.seed(1)
    for _ in range(50):
        sample = space.sample()
        assert sample in space and TacticActions().parse(sample).state in range(4)


@pytest.mark.parametrize(
    "text, found",
    [
        ("intros. lia", ["intros.", "lia."]),
        ("- lia. (* a. b *) + auto.", ["-", "lia.", "+", "auto."]),
        ('idtac "a. b".', ['idtac "a. b".']),
        ("2: { lia. }", ["2: {", "lia.", "}"]),
        ('(* "a *) b" *) apply Nat.le_trans.', ["apply Nat.le_trans."]),
        ("all: lia.", ["all: lia."]),
        ("", []),
    ],
)
def test_sentences_are_told_apart_as_coq_does(text, found):
    assert coq_repl.sentences(text) == found


@pytest.mark.parametrize("text", ["(* a", 'idtac "a', '(* "a *)'])
def test_what_does_not_end_is_refused(text):
    with pytest.raises(coq_repl.Refused, match="does not end"):
        coq_repl.sentences(text)


# Episodes


@pytest.mark.sandbox
@pytest.mark.slow
def test_it_keeps_to_gymnasium_s_contract():
    with gym.make("deskgym/Proving-v0", task="proving/logic", render_mode="rgb_array") as made:
        check_env(made.unwrapped, skip_render_check=True)
        made.reset(seed=1)
        assert made.render().shape == (600, 800, 3)


@pytest.mark.sandbox
def test_the_goals_are_told_and_any_state_can_be_gone_back_to(env):
    observation, info = env.reset(seed=1)
    assert observation in env.observation_space
    assert observation["headers"] == "Require Import Lia."
    assert observation["goals"].startswith("proofState 0: 1 goal\n\n⊢ forall") and observation["history"] == ""
    for text, state, goals in (("intros.", 0, "1: 1"), ("lia.", 1, "2: no"), ("idtac.", 0, "3: 1"), ("lia.", 3, "4")):
        observation, reward, terminated, truncated, info = env.step(tactic(text, state))
        assert observation["goals"].startswith(f"proofState {goals}") and "invalid_action" not in info
        assert (reward, terminated, truncated) == (0.0, False, False)
    assert len(observation["history"].splitlines()) == 8
    _, reward, terminated, truncated, info = env.step("DONE")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert "is proved, and assumes nothing" in str(info["verdict"]["checks"])
    assert env.unwrapped.final.stop == "done"


@pytest.mark.sandbox
def test_a_proof_counts_when_the_steps_run_out(env):
    env.reset(seed=1)
    env.unwrapped.max_steps = 2
    try:
        assert env.step(tactic("intros."))[2:4] == (False, False)
        _, reward, terminated, truncated, _ = env.step(tactic("lia.", 1))
        assert (reward, terminated, truncated) == (1.0, False, True)
    finally:
        env.unwrapped.max_steps = None


@pytest.mark.sandbox
def test_invalid_steps_shorten_the_episode(env):
    env.reset(seed=1)
    steps = 0
    for action in (
        "no JSON",
        tactic("lia.", 99),
        tactic("reflexivity."),
        tactic("nonsense."),
        tactic("intros.", -1),
    ) * 2:
        steps += 1
        observation, reward, terminated, truncated, info = env.step(action)
        assert info["invalid_action"] and not terminated and reward == 0
        if truncated:
            break
        assert env.unwrapped.step_limit == 50 - 5 * steps
    assert truncated and steps == 9 and info["verdict"]["error"] is None


NO_PROOFS = {
    "nothing": [],
    "admitted": ["admit."],
    "given up": ["give_up."],
    "the command": ["Admitted."],
    "an axiom": ["Axiom a : False.", "destruct a."],
    "an axiom beside it": ["intros. Axiom a : False. destruct a."],
    "guards off": ["Unset Guard Checking.", "fix f 1; auto."],
    "universes off": ["Unset Universe Checking."],
    "an attribute": ["#[bypass_check(guard)] idtac."],
    "another notation": ['Notation "a <= b" := True.', "intros; exact I."],
    "another theorem": ["Abort.", "Theorem own : True.", "exact I. Qed."],
    "it is said to be done": ["(* no goals *) idtac. (* Qed. *)"],
    "a recursion that does not end": ["fix own 1; intros; apply own."],
    "no check": ["exact_no_check I.", "vm_cast_no_check I."],
    "set aside": ["shelve."],
    "a part": ["intros."],
    "a file": ['Redirect "/home/user/proof" Print nat.'],
    "the end": ["Quit.", "Drop.", "Reset Initial.", "BackTo 1."],
    "an answer of Coq's": ["idtac \"</value><value val='good'><option val='some'><goals/></option></value>\"."],
    "sorry in a comment": ["(* sorry *) idtac."],
}


@pytest.mark.sandbox
@pytest.mark.parametrize("tactics", NO_PROOFS.values(), ids=NO_PROOFS)
def test_what_is_no_proof_earns_nothing(env, tactics):
    env.reset(seed=1)
    for text in tactics:
        _, _, terminated, truncated, info = env.step(tactic(text, env.unwrapped.proof.state))
        assert not terminated and not truncated and "fault" not in info
    _, reward, terminated, _, info = env.step("DONE")
    assert reward == 0 and terminated and not info["verdict"]["error"], info["verdict"]


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "text, why",
    [
        ("do 1000000000 idtac.", "no answer within 3 s"),
        ("(* it does not end", "does not end"),
        ('do 100000 idtac "' + "x" * 1000 + '".', ""),
        ("let rec f n := f (S n) in f 0.", ""),
        ("pose (2 ^ 40); vm_compute in n.", ""),
    ],
)
def test_a_tactic_that_asks_too_much_leaves_the_proof_as_it_was(env, text, why):
    env.reset(seed=1)
    env.step(tactic("intros."))
    _, reward, terminated, truncated, info = env.step(tactic(text, 1))
    assert why in info.get("invalid_action", "") and not (reward or terminated or truncated)
    env.step(tactic("lia.", 1))
    assert env.step("DONE")[1] == 1.0


@pytest.mark.sandbox
def test_fail_earns_nothing_where_there_is_a_proof(env):
    env.reset(seed=1)
    env.step(tactic("intros; lia."))
    assert env.step("FAIL")[1:3] == (0.0, True)


@pytest.mark.sandbox
def test_a_prover_that_was_ended_is_a_fault_and_the_next_episode_has_another(env):
    env.reset(seed=1)
    env.step(tactic("intros."))
    env.unwrapped.machine.run(["pkill", "-f", "repl_server.py"])
    _, reward, terminated, truncated, info = env.step(tactic("lia.", 1))
    assert (reward, terminated, truncated) == (0.0, False, True) and info["fault"]["kind"] == "prover_lost"
    env.reset(seed=1)
    env.step(tactic("intros; lia."))
    assert env.step("DONE")[1] == 1.0


def test_other_options_are_mistakes():
    for options, why in (({"action": "code"}, "legal is 'tactic'"), ({"screen_size": (640, 480)}, "no screen")):
        with pytest.raises(ValueError, match=why):
            gym.make("deskgym/Proving-v0", **options)
