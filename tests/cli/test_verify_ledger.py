"""The ledger of proofs and the mutants, by the command line, over a user's folder of tasks on the fake machine."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from deskgym.cli import verify_proofs
from deskgym.cli.verify_states import States
from deskgym.envs.action.actions import Action
from deskgym.task_suites.core.verify.ledger import Ledger

FAKE = ("--machine", "fake")
TASK = """\
id: sums/{name}
title: A sum
instruction: What is {{a}} + {{b}}?
difficulty: easy
end: answer
params:
  a: {{integer: [1, 99]}}
  b: {{integer: [1, 99]}}
  sum: {{formula: a + b}}
where:
  - formula: a != b
setup:
  - write: {{path: /home/user/start, text: "{{a}}"}}
checks:
  - answer.number: {{to: "{{sum}}", abs: {within}}}
oracle:
  - answer: "{{sum}}"
wrong:
  difference:
    - answer: "-{{b}}"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two tasks of a user's, whose proofs on a fake machine are kept."""
    monkeypatch.setitem(verify_proofs.KEPT_WITH, "machine", "fake")
    tasks = tmp_path / "my_tasks"
    tasks.mkdir()
    for name in ("one", "two"):
        (tasks / f"{name}.yaml").write_text(TASK.format(name=name, within=0))
    return tasks


def played(cli, folder, *options, status=0):
    code, out, err = cli("verify", str(folder), "--resets", "2", *FAKE, "--json", *options)
    assert code == status, err
    return [row["task"] for row in json.loads(out)["tasks"]]


def test_what_is_proven_is_not_played_again(cli, folder):
    assert played(cli, folder) == ["sums/one", "sums/two"]
    proof = Ledger(folder / "proofs.jsonl").proofs["sums/one"]
    assert (proof.oracle, proof.noop, proof.wrong, proof.resets, proof.seed) == (1, 0, 1, 2, 0)
    assert played(cli, folder) == []
    assert cli("verify", str(folder), *FAKE)[1].strip() == "2 not played: their proofs hold (--all plays them too)"
    assert played(cli, folder, "--all") == ["sums/one", "sums/two"]
    assert "oracles of more than 15 actions: 0 of the 2 whose last proof says how many" in cli("tasks", str(folder))[1]


def test_a_proof_says_how_many_steps_the_oracle_took(cli, folder):
    cli("verify", str(folder), *FAKE)
    proofs = Ledger(folder / "proofs.jsonl").proofs
    assert proofs and all(proof.steps >= 1 for proof in proofs.values())


def test_a_changed_task_is_played_again_and_no_other(cli, folder):
    played(cli, folder)
    path = folder / "one.yaml"
    path.write_text("# a comment changes nothing\n" + path.read_text().replace("title: A sum", "title: Another title"))
    assert played(cli, folder) == []
    path.write_text(path.read_text().replace("[1, 99]", "[1, 98]", 1))
    assert played(cli, folder) == ["sums/one"]


PROGRAM = """\
from deskgym.envs.evaluation.checks.answer import answered
from deskgym.task_suites.core.program import Program


def twice(number: int) -> int:
    \"\"\"Twice.\"\"\"
    return 2 * number


def right(final, to: str) -> tuple[bool, str]:
    said = answered(final)
    return said == to, f"the answer is {said!r}"


PROGRAM = Program(name="frotz", title="Frotz", functions={"frotz.twice": twice}, checks={"frotz.right": right})
"""
RUN = (
    "import sys; from deskgym.cli import main, verify_proofs; verify_proofs.KEPT_WITH['machine'] = 'fake'; "
    "sys.exit(main())"
)


@pytest.fixture
def program(folder):
    """A program of the user's, with a function and a check of both tasks: its file."""
    file = folder / "programs" / "frotz" / "__init__.py"
    file.parent.mkdir(parents=True)
    file.write_text(PROGRAM)
    for path in folder.glob("*.yaml"):
        text = path.read_text().replace("  sum:", "  c: {frotz.twice: {number: 1}}\n  sum:")
        path.write_text(text.replace("\noracle:", '\n  - frotz.right: {to: "{sum}"}\noracle:'))
    return file


def verify_in_a_process(folder, *options):
    """Each process reads the code once."""
    command = [sys.executable, "-c", RUN, "verify", str(folder), *FAKE, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_changed_function_makes_proofs_stale_and_not_void(folder, program):
    verify = partial(verify_in_a_process, folder)
    assert verify("--resets", "1").returncode == 0
    assert verify("--release").returncode == 0
    program.write_text(PROGRAM.replace("Twice.", "Another text.").replace("number: int", "number: float"))
    assert "0 stale" in verify("--check").stdout
    program.write_text(PROGRAM.replace("2 * number", "number + number"))
    checked = verify("--check")
    assert checked.returncode == 0 and "2 of 2 tasks are proven, 2 stale" in checked.stdout
    assert "2 proofs are stale by deskgym_program_frotz:twice" in checked.stdout
    release = verify("--release")
    assert release.returncode == 1 and "sums/one: the code that it uses has changed" in release.stdout
    plan = json.loads(verify("--replay", "--plan", "--shares", "1000000", "--json").stdout)
    assert {each["task"] for each in plan["replays"]} == {"sums/one", "sums/two"} and plan["stale"] == 2
    replayed = verify("--replay", "--shares", "1000000")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "2 of 2 replays" in replayed.stdout
    assert verify("--release").returncode == 0
    path = folder / "one.yaml"
    path.write_text(path.read_text().replace("abs: 0", "abs: 99"))
    failed = verify("--check")
    assert failed.returncode == 1 and "sums/one: its task file has changed" in failed.stdout


def test_a_changed_check_is_judged_on_kept_final_states(folder, program):
    verify = partial(verify_in_a_process, folder)
    assert verify("--resets", "1").returncode == 0
    assert len(list((folder / "states").iterdir())) == 2
    program.write_text(PROGRAM.replace("said == to", "to == said"))
    replayed = verify("--replay", "--shares", "1000000")
    assert replayed.returncode == 0 and "2 stale proofs are fresh again" in replayed.stderr
    assert "0 of 0 replays" in replayed.stdout
    assert verify("--release").returncode == 0
    program.write_text(PROGRAM.replace("said == to", "said != to"))
    broken = verify("--replay", "--shares", "1000000")
    assert broken.returncode == 1
    assert "a kept final state is judged otherwise: oracle: score 0, must be 1" in broken.stdout


def test_what_the_core_makes_of_a_file_counts(cli, folder, monkeypatch):
    from deskgym.task_suites.core import params

    played(cli, folder)
    draws = {**params.BUILTIN, "integer": lambda rng, bounds, step=1: params.integer(rng, bounds, step) // 2 * 2 + 1}
    monkeypatch.setattr(params, "BUILTIN", draws)
    assert played(cli, folder) == ["sums/one", "sums/two"]


def test_check_names_each_task_and_what_mends_it(cli, folder):
    played(cli, folder, "--task", "sums/one")
    status, out, _ = cli("verify", str(folder), "--check", *FAKE)
    assert status == 1
    assert "sums/two: it has no proof" in out and "sums/one" not in out.replace(str(folder), "")
    assert f"deskgym verify {folder}" in out
    played(cli, folder)
    status, out, _ = cli("verify", str(folder), "--check", *FAKE)
    assert status == 0 and "2 of 2 tasks are proven" in out


def test_a_task_that_fails_loses_its_proof(cli, folder):
    played(cli, folder)
    path = folder / "two.yaml"
    path.write_text(path.read_text().replace("abs: 0", "abs: 999"))
    assert played(cli, folder, status=1) == ["sums/two"]
    assert list(Ledger(folder / "proofs.jsonl").proofs) == ["sums/one"]
    path.unlink()
    played(cli, folder)
    assert list(Ledger(folder / "proofs.jsonl").proofs) == ["sums/one"]


def test_a_sample_is_random_and_its_seed_gives_it_again(cli, folder):
    played(cli, folder)
    _, out, err = cli("verify", str(folder), *FAKE, "--sample", "0.5", "--json")
    seed = json.loads(out)["sample_seed"]
    assert f"--seed {seed}" in err
    first = [row["task"] for row in json.loads(out)["tasks"]]
    assert len(first) == 1
    assert played(cli, folder, "--sample", "0.5", "--seed", str(seed)) == first


def test_other_versions_are_shown_and_count_only_where_asked(cli, folder):
    played(cli, folder)
    path = folder / "proofs.jsonl"
    path.write_text(path.read_text().replace('"versions": {}', '"versions": {"frotz": "1.0"}'))
    status, out, _ = cli("verify", str(folder), "--check", *FAKE)
    assert status == 0 and "2 tasks were proven with another version: frotz 1.0 -> none" in out
    status, out, _ = cli("verify", str(folder), "--check", "--strict-versions", *FAKE)
    assert status == 1 and "sums/one: other versions: frotz 1.0 -> none" in out


def test_with_other_options_no_proof_is_kept(cli, folder):
    code, _, err = cli("verify", str(folder), "--resets", "1", *FAKE, "--action", "code")
    assert code == 0 and "no proof is kept or looked up: played with --action" in err
    assert not (folder / "proofs.jsonl").exists()


@pytest.mark.parametrize("option", [("--action", "code"), ("--split", "train")])
def test_check_names_the_option_with_which_there_is_no_proof(cli, folder, option):
    status, out, err = cli("verify", str(folder), "--check", *FAKE, *option)
    assert status == 1 and out == "" and f"leave out --check or {option[0]}\n" in err


def test_tasks_without_a_ledger_cannot_be_checked(cli):
    status, out, err = cli("verify", "science", "--check")
    assert (status, out, err) == (1, "", "deskgym: the tasks of science have no ledger; leave out --check\n")


@pytest.mark.parametrize("instead", ["--check", "--mutants", "--blind"])
def test_a_sample_beside_what_takes_none_is_refused(cli, folder, instead):
    status, out, err = cli("verify", str(folder), *FAKE, instead, "--sample", "0.5")
    assert status == 1 and out == "" and f"--sample 0.5 beside {instead}; legal is" in err


def test_a_broken_line_is_named(cli, folder):
    (folder / "proofs.jsonl").write_text('{"task": "sums/one", "frotz": 1}\n')
    status, _, err = cli("verify", str(folder), *FAKE)
    assert status == 1 and "proofs.jsonl:1: this line is no proof" in err


def test_mutants_are_killed_by_a_sharp_check_and_survive_a_loose_one(cli, folder):
    status, out, _ = cli("verify", str(folder), "--mutants", *FAKE, "--json")
    found = {(row["task"], row["mutant"]): row["outcome"] for row in json.loads(out)["mutants"]}
    assert status == 0 and found == {("sums/one#0", "other sum"): "killed", ("sums/two#0", "other sum"): "killed"}
    path = folder / "two.yaml"
    path.write_text(path.read_text().replace("abs: 0", "abs: 999"))
    status, out, _ = cli("verify", str(folder), "--mutants", *FAKE)
    assert status == 1 and "survived" in out and "answer.number" in out
    path.write_text(path.read_text() + "equivalent_mutants:\n  other sum: any number will do\n")
    status, out, _ = cli("verify", str(folder), "--mutants", *FAKE)
    assert status == 0 and "any number will do" in out
    path.write_text(path.read_text().replace("other sum:", "drop 7:"))
    status, out, _ = cli("verify", str(folder), "--mutants", *FAKE)
    assert status == 1 and "equivalent_mutants names 'drop 7'" in out


def test_mutants_that_earned_nothing_are_not_played_again_while_the_proof_holds(cli, folder):
    def mutants(*options, status=0):
        code, out, err = cli("verify", str(folder), "--mutants", *FAKE, "--json", *options)
        assert code == status, (out, err)
        found = json.loads(out)
        kept = {task: proof.mutants for task, proof in Ledger(folder / "proofs.jsonl").proofs.items()}
        return [row["task"] for row in found["mutants"]], found["unchanged"], kept

    both = ["sums/one#0", "sums/two#0"]
    assert mutants() == (both, 0, {})  # a task that is not proven keeps nothing
    played(cli, folder)
    assert mutants() == (both, 0, {"sums/one": 1, "sums/two": 1})
    assert mutants() == ([], 2, {"sums/one": 1, "sums/two": 1})
    assert mutants("--all")[:2] == (both, 0) and mutants("--task", "sums/one")[:2] == ([], 1)
    assert "mutants of 2 proven tasks were played" in cli("verify", str(folder), "--check", *FAKE)[1]
    played(cli, folder, "--all")  # the same proof again: what is known of mutants stays
    assert mutants()[:2] == ([], 2)
    path = folder / "two.yaml"
    path.write_text(path.read_text() + "equivalent_mutants:\n  other sum: it is not\n")  # it voids no proof
    assert mutants() == (["sums/two#0"], 1, {"sums/one": 1, "sums/two": 0})
    path.write_text(path.read_text().replace("abs: 0", "abs: 999").replace("-{b}", "-9999"))
    played(cli, folder)
    assert mutants() == (["sums/two#0"], 1, {"sums/one": 1, "sums/two": 0})
    path.write_text(path.read_text().replace("equivalent_mutants:\n  other sum: it is not\n", ""))
    assert mutants(status=1) == (["sums/two#0"], 1, {"sums/one": 1, "sums/two": None})


def test_what_a_busy_machine_spoils_is_played_again_and_named(cli, folder, monkeypatch):
    from deskgym.cli import verifying

    spoiled = []

    def rollout(env, agent, **given):
        result = original(env, agent, **given)
        if not spoiled:
            spoiled.append(result.task)
            return type(result)(**{**result.__dict__, "outcome": "error", "score": None, "message": "too slow"})
        return result

    original = verifying.rollout
    monkeypatch.setattr(verifying, "rollout", rollout)
    status, out, err = cli("verify", str(folder), *FAKE, "--retry", "--json")
    assert status == 0 and "flaky" in err
    assert json.loads(out)["flaky"] == [f"{spoiled[0].split('#')[0]}: oracle seed 0: error: too slow"]
    assert played(cli, folder) == []


def test_a_reward_for_a_wrong_attempt_is_never_taken_for_bad_luck(cli, folder):
    path = folder / "two.yaml"
    path.write_text(path.read_text().replace("abs: 0", "abs: 999"))
    status, out, _ = cli("verify", str(folder), *FAKE, "--retry", "--json")
    assert status == 1 and json.loads(out)["flaky"] == []


def test_a_change_while_it_is_played_ends_the_proof(cli, folder, monkeypatch):
    from deskgym.cli import verifying

    def rollout(env, agent, **given):
        path = folder / "one.yaml"
        path.write_text(path.read_text().replace("[1, 99]", "[1, 98]", 1))
        return original(env, agent, **given)

    original = verifying.rollout
    monkeypatch.setattr(verifying, "rollout", rollout)
    assert played(cli, folder) == ["sums/one", "sums/two"]
    assert played(cli, folder) == ["sums/one"]


def test_task_files_that_break_while_they_are_played_cost_no_table(cli, folder, monkeypatch):
    from deskgym.cli import verifying

    def rollout(env, agent, **given):
        result = original(env, agent, **given)
        (folder / "two.yaml").write_text("frotz: 1")
        return replace(result, outcome="error", score=None) if type(agent).__name__ == "NoopAgent" else result

    original = verifying.rollout
    monkeypatch.setattr(verifying, "rollout", rollout)
    status, out, err = cli("verify", str(folder), *FAKE, "--retry")  # in an environment that reads the files anew
    assert status == 1 and "frotz" in err and "broken off" in err, err
    assert "sums/one" in out and re.search("^FAILED .*: broken off: ", out, re.MULTILINE)


def test_a_wrong_attempt_whose_own_program_fails_proves_nothing(cli, folder, monkeypatch):
    from deskgym.task_suites.core import template

    programs = {"difference": "float('x"}
    build = template.Template.build

    def built(self, *given):
        task = build(self, *given)
        wrong = {name: lambda screen, code=code: iter([code, [Action("done")]]) for name, code in programs.items()}
        return replace(task, wrong_attempts=wrong)

    monkeypatch.setattr(template.Template, "build", built)
    status, out, err = cli("verify", str(folder), "--task", "sums/one", "--resets", "1", *FAKE, "--action", "code")
    assert status == 1 and "wrong:difference seed 0: error: its program failed in step 1: SyntaxError" in err, err
    programs["difference"] = "print('no mistake')"
    assert cli("verify", str(folder), "--task", "sums/one", "--resets", "1", *FAKE, "--action", "code")[0] == 0


def test_states_go_with_their_proofs(tmp_path):
    states = States(tmp_path / "proofs.jsonl")
    for task in ("a/one", "a/two", "a/three"):
        states.keep(task, {"oracle": "{}", "noop": "{}"})
    states.keep("a/two", {"oracle": "{}", "noop": ""})  # one of its states is missing
    states.retain(["a/one", "a/two"])
    assert [bool(states.load(task)) for task in ("a/one", "a/two", "a/three")] == [True, False, False]
