"""Rules that choose without looking at the data: what each picks, and that none beats chance on our choices."""

import json
import random
from collections.abc import Iterable

import pytest

from deskgym.cli.main import main
from deskgym.task_suites.core.verify.blind_rules import RULES, Question
from deskgym.task_suites.core.verify.blind_trials import ALL_RULES, LEARNED, REMEMBERED, allowed, suspects, try_rules
from deskgym.task_suites.table_analysis.suite import TableAnalysisSuite

TASKS = ["wines/giulia/action/cellar-difference.insight_mining", "clinic/jonas/action/patient-means.fast_fail"]


@pytest.mark.parametrize(
    ("rule", "options", "picked"),
    [
        ("always C", ["a", "b", "c", "d"], "c"),
        ("longest", ["a", "bbb", "c", "dd"], "bbb"),
        ("last number, rank 1", ["1: 30", "2: 4", "3: 12", "no"], "2: 4"),
        ("last number, rank 2", ["1: 30", "2: 4", "3: 12", "no"], "3: 12"),
        ("first number, rank 4", ["5 of 9", "7 of 8", "1 of 3", "6 of 6"], "7 of 8"),
        ("nearest to the mean", ["0", "10", "12", "30"], "12"),
        ("most common words", ["more, 1", "less, 2", "less, 3", "less of it, 4"], ["less, 2", "less, 3"]),
        ("least like the others", ["from May", "from June", "from July", "nobody knows"], "nobody knows"),
        ("most words of the question", ["in Rome", "in Pisa", "in Bari", "in Asti"], "in Pisa"),
        ("says that it is not there", ["1", "2", "it is not there", "three"], "it is not there"),
        ("alphabetical, rank 4", ["b", "d", "a", "c"], "d"),
        ("nearest to the median", ["0", "10", "12", "90"], ["10", "12"]),
        ("least round number", ["10", "300", "7", "20"], "7"),
        ("rarest form", ["12 %", "9 %", "30", "4 %"], "30"),
        ("rarest form", ["-12.5", "9.1", "30.2", "4.0"], "-12.5"),
        ("most common form", ["12 km", "9 km", "30", "4 m"], ["12 km", "9 km"]),
        ("most common digits", ["131", "141", "171", "928"], ["131", "141", "171"]),
        ("shares most words", ["a b c d", "a b", "a c", "d"], "a b c d"),
        ("says that it is there", ["not 1", "no", "it is", "nothing"], "it is"),
        ("most common form, then longest", ["12 km", "9 km", "30", "4 m"], "12 km"),
    ],
)
def test_what_a_rule_picks(rule: str, options: list[str], picked: str | list[str]):
    scores = list(RULES[rule](Question("How much in Pisa?", tuple(options), 0)))
    best = [option for option, score in zip(options, scores, strict=True) if score == max(scores)]
    assert best == ([picked] if isinstance(picked, str) else picked)


def test_a_guess_among_ties_counts_as_a_share():
    questions = [Question("?", ("1", "2", "3", "4"), k) for k in (0, 0, 1, 1, 2, 2, 3, 3)] * 3
    assert {hits.rate for hits in try_rules(questions)} == {0.25}


def asked(count: int, leak: float, seed: int = 3) -> list[Question]:
    """The right one is the second largest in this share of questions, and any in the others."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        values = rng.sample(range(100, 1000), 4)
        right = values.index(sorted(values)[2]) if rng.random() < leak else rng.randrange(4)
        found.append(Question("?", tuple(f"{value} euros" for value in values), right))
    return found


def test_chance_is_acquitted_and_a_leak_convicted():
    """What version 0.1 gave away was 41 %, a leak of 0.21."""
    lucky = suspects(try_rules(asked(400, 0.0)))
    assert not any(hits.beats(len(lucky)) for hits in try_rules(asked(2000, 0.0, seed=4), lucky))
    found = suspects(try_rules(asked(400, 0.21)))
    convicted = [hits.rule for hits in try_rules(asked(2000, 0.21, seed=4), found) if hits.beats(len(found))]
    assert "last number, rank 3" in convicted and LEARNED in convicted and REMEMBERED not in convicted


def test_what_is_allowed_falls_with_questions_and_rises_with_trials():
    assert allowed(2000, 1) == pytest.approx(0.3238, abs=1e-4)
    assert 0.30 < allowed(8000, 1) < allowed(2000, 1) < allowed(2000, 100) < 0.34
    assert allowed(0, 5) == 1.0


def test_learning_rules_find_what_no_rule_names():
    """The text that is right whenever it is offered; and one of three forms that is right more often."""
    rng = random.Random(5)
    texts = [f"in {name}" for name in "Rome Pisa Bari Asti Como Lodi".split()]
    known, formed = [], []
    for _ in range(300):
        options = rng.sample(texts, 4)
        known.append(Question("?", tuple(options), options.index("in Bari") if "in Bari" in options else 0))
        options = rng.sample(["7 m", "5 km", "123 km, at most", "80 m"], 4)
        likely = [k for k, option in enumerate(options) if "km" in option]
        formed.append(Question("?", tuple(options), rng.choice(likely)))
    assert try_rules(known, [REMEMBERED])[0].rate > 0.6
    assert try_rules(formed, [LEARNED])[0].rate > 0.4


@pytest.mark.parametrize("task", TASKS)
def test_no_rule_beats_chance_on_a_choice(task: str):
    suite = TableAnalysisSuite()
    accused = suspects(try_rules(suite.questions(task, range(7000, 7200))))
    assert not any(hits.beats(len(accused)) for hits in try_rules(suite.questions(task, range(7200, 7800)), accused))


def test_code_turns_ask_nothing():
    suite = TableAnalysisSuite()
    assert suite.questions("wines/giulia/normal/" + suite.files["wines/giulia"].turns[0].id, range(3)) == []


class Planted(TableAnalysisSuite):
    """A suite in which one template's right option is the second largest too often."""

    def questions(self, task_id: str, seeds: Iterable[int]) -> list[Question]:
        if task_id not in TASKS:
            return []
        return asked(len(seeds := list(seeds)), 0.2 if task_id == TASKS[0] else 0.0, seed=seeds[0])


def test_the_command_fails_on_a_planted_bias(monkeypatch, capsys):
    monkeypatch.setattr("deskgym.cli.blind.tasks_of", lambda arguments: Planted())
    assert main(["verify", "table_analysis", "--blind", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    again = found["again"]["tasks"]
    assert not found["ok"] and again[TASKS[0]]["last number, rank 3"] > found["again"]["may_be_right"]
    assert all(rate <= found["again"]["may_be_right"] for rate in again.get(TASKS[1], {}).values())
    assert main(["verify", "table_analysis", "--blind", "--task", TASKS[1]]) == 0
    assert "too often" not in capsys.readouterr().out


def test_the_command(monkeypatch, capsys):
    monkeypatch.setattr("deskgym.cli.blind.QUESTIONS", 120)
    monkeypatch.setattr("deskgym.cli.blind.AGAIN", 240)
    assert main(["verify", "table_analysis", "--blind", "--task", TASKS[1], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and set(found["tasks"][TASKS[1]]) == set(ALL_RULES) == set(found["all"])
    assert set(ALL_RULES) > set(RULES)
    assert main(["verify", "science", "--blind"]) != 0
    assert "has none of them" in capsys.readouterr().err
