"""The red team: every attack is legal code, a leaky check is found out, and a sound one passes."""

import argparse
import json

import pytest

from deskgym.agents.scripted import AttackAgent, GotIn
from deskgym.cli import attacks, verify, verify_play
from deskgym.cli.attacks import Row, only_broke
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.attacks import GENERIC, Target, desktop_attacks, inside
from deskgym.task_suites.core.verify.attempts import Attempt, AttemptReport

MOST = 65536  # characters of a code action
TASK = """\
id: files/report
title: A report
instruction: Write the number {{number}} into /home/user/report.txt.
difficulty: easy
params:
  number: {{integer: [10, 999999]}}
checks:
  - {check}
oracle:
  - press: ctrl+l
  - done:
wrong:
  nothing:
    - done:
"""
SOUND = 'file.text: {path: /home/user/report.txt, that: {text: "{number}"}}'
LEAKY = "file.exists: /home/user/report.txt"


@pytest.fixture
def folder(tmp_path):
    def write(check):
        (tmp_path / "report.yaml").write_text(TASK.format(check=check))
        return str(tmp_path)

    return write


def play(script):
    return iter(["pyautogui.press('x')", "DONE"])


@pytest.mark.parametrize("name", ["bpm", "data_engineering"])
def test_every_attack_of_a_desktop_is_a_code_action_that_compiles(name):
    suite, names = load_suite(name), set()
    chosen = {(task_id.partition("/")[0], number % 3): task_id for number, task_id in enumerate(suite.ids())}
    for task_id in chosen.values():  # of each program three
        task = suite.get(task_id)
        for attack, script in suite.attacks(task).items():
            texts = list(script(Target(task, suite), play))
            assert texts and all(len(text) <= MOST for text in texts), attack
            for text in texts:
                if text.partition(" ")[0] not in ("DONE", "FAIL", "ANS"):
                    compile(text, attack, "exec")
            names.add(attack)
    assert {attack.name for attack in GENERIC} >= names and len(names) > 30


def test_calls_name_functions_that_are_there():
    suite = load_suite("data_engineering")
    task = suite.get("calc/sort")
    for attack, script in desktop_attacks(Target(task, suite)).items():
        for text in script(Target(task, suite), play):
            called = text.rstrip().rpartition("\nrun(")[2].partition(",")[0] if "\nrun(" in text else "run"
            assert f"\ndef {called}(" in inside.source(), (attack, called)


def test_what_applies_depends_on_the_task(folder):
    suite = load_suite(folder(SOUND))
    names = set(suite.attacks(suite.get("files/report")))
    assert {"file: empty", "FAIL at once", "ptrace the program", "window minimised"} <= names
    assert not {"answer '0'", "impostor", "DONE at once"} & names
    table = load_suite("table_analysis")
    choice = next(t for t in map(table.get, table.ids()) if t.turns[0].choice is not None)
    code = table.get("penguins/ines/normal/mean-mass")
    assert set(table.attacks(choice)) & set(table.attacks(code)) <= {"DONE", "FAIL"}
    assert {"pass", "a syntax error", "endless repr", "shadowed modules"} <= set(table.attacks(code))


class Result:
    def __init__(self, outcome, score, message=""):
        self.outcome, self.score, self.message = outcome, score, message
        self.seed = 0


WRONG = Result("failed", 0.0)


@pytest.mark.parametrize(("right_on", "found"), [((), []), ((0, 1), []), ((1, 2, 3), []), ((0, 1, 2, 3), ["t#0"])])
def test_a_blind_answer_counts_when_it_is_right_on_four_instances(right_on, found, folder, monkeypatch, capsys):
    def play_attempts(arguments, attempts, resets, seed, workers, each, max_steps):
        assert max_steps == attacks.STEPS  # a limit of the task would cut attacks off after their honest part
        for attempt in attempts:
            played.append(attempt.task)
            each(AttemptReport(attempt, [Result("solved", 1.0) if int(attempt.task[2:]) in right_on else WRONG]))

    played = []
    blind = Attempt("t#0", "attack:answer '0'", 0.0)
    others = [Attempt(f"t#{number}", blind.agent, 0.0) for number in (1, 2, 3)]
    left_out = Attempt("u#0", blind.agent, 0.0)  # of a sample
    monkeypatch.setattr(attacks, "_attempts", lambda arguments: ([blind], {blind: others, left_out: others}, None))
    monkeypatch.setattr(verify_play, "play_attempts", play_attempts)
    parser = argparse.ArgumentParser()
    verify.add_arguments(parser)
    status = attacks.play_attacks(parser.parse_args([folder(SOUND), "--attack", "--json"]))
    (row,) = json.loads(capsys.readouterr().out)["attacks"]
    assert (status, [*row["found"]]) == (int(bool(found)), found)
    assert played == ["t#0", "t#1", "t#2", "t#3"][: 4 if 0 in right_on else 1] and row["played"] == len(played)


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (Result("failed", 0.0), None),
        (Result("solved", 1.0), "earned"),
        (Result("failed", 0.5), "earned"),
        (Result("error", None, "the check broke"), "error"),
        (Result("fault", None, "guest_lost: gone"), "fault"),
        (Result("error", None, "GOT IN: it can be traced"), "got in"),
    ],
)
def test_what_counts_as_found(result, kind):
    row = Row("x")
    row.add(AttemptReport(Attempt("files/report", "attack:x", 0.0), (result,)))
    assert row.counts == {name: int(name == kind) for name in ("earned", "error", "fault", "got in")}
    assert bool(row.found) is (kind is not None)


def test_what_ended_without_a_verdict_may_be_played_again():
    for result, again in (
        (Result("failed", 0.0, ""), False),
        (Result("solved", 1.0, ""), False),
        (Result("error", None, "GOT IN: it can be traced"), False),
        (Result("fault", None, "guest_lost: gone"), True),
        (Result("error", None, "no window"), True),
    ):
        assert only_broke(AttemptReport(Attempt("files/report", "attack:x", 0.0), (result,))) is again


def test_an_attack_that_got_in_or_broke_is_said():
    with pytest.raises(GotIn, match="GOT IN: a; b"):
        AttackAgent("x").act({"feedback": "GOT IN: a\nGOT IN: b\nGOT IN: a"})
    with pytest.raises(RuntimeError, match="the attack is broken"):
        AttackAgent("x").act({"feedback": "Traceback\nTHE ATTACK IS BROKEN"})


@pytest.mark.parametrize("options", [("--machine", "process"), ("--action", "computer"), ("--sample", "1.5")])
def test_what_does_not_go_with_it_is_said(cli, folder, options):
    status, _, err = cli("verify", folder(SOUND), "--attack", *options)
    assert status == 1 and options[0] in err and "legal" in err or "leave it out" in err


@pytest.mark.sandbox
def test_a_leaky_check_is_found_out_and_a_sound_one_is_not(cli, folder):
    only = ("--attack", "--only", "file: [et]*", "--json")
    status, out, _ = cli("verify", folder(LEAKY), *only)
    found = {row["attack"]: row["found"] for row in json.loads(out)["attacks"]}
    assert status == 1 and found == {name: {"files/report#0": "earned 1"} for name in ("file: empty", "file: touched")}
    status, out, err = cli("verify", folder(SOUND), *only)
    assert status == 0 and json.loads(out)["ok"], err


@pytest.mark.sandbox
def test_a_sample_says_its_seed(cli, folder):
    status, out, err = cli("verify", folder(SOUND), "--attack", "--only", "file: *", "--sample", "2", "--seed", "7")
    assert status == 0 and "--sample 2 --seed 7" in err and "2 attacks, 0 of which" in out
