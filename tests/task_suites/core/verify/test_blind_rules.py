"""Rules that choose without looking at the data: what each picks, and that none beats chance on our choices."""

import json
import random

import pytest

from deskgym.cli.main import main
from deskgym.task_suites.core.verify.blind_rules import RULES, Question, try_rules
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
        ("most common words", ["more, 1", "less, 2", "less, 3", "less of it, 4"], None),
        ("least like the others", ["from May", "from June", "from July", "nobody knows"], "nobody knows"),
        ("most words of the question", ["in Rome", "in Pisa", "in Bari", "in Asti"], "in Pisa"),
        ("says that it is not there", ["1", "2", "it is not there", "three"], "it is not there"),
        ("alphabetical, rank 4", ["b", "d", "a", "c"], "d"),
    ],
)
def test_what_a_rule_picks(rule: str, options: list[str], picked: str | None):
    scores = list(RULES[rule](Question("How much in Pisa?", tuple(options), 0)))
    best = [option for option, score in zip(options, scores, strict=True) if score == max(scores)]
    assert best == ([picked] if picked else ["less, 2", "less, 3"])


def test_a_guess_among_ties_counts_as_a_share():
    questions = [Question("?", ("1", "2", "3", "4"), k) for k in range(4)] * 3
    assert {hits.rate for hits in try_rules(questions)} == {0.25}


def test_a_leak_is_found_and_chance_is_not():
    """The right one is the second largest in half of the questions: about what version 0.1 gave away."""
    rng = random.Random(3)

    def asked(leak: float) -> list[Question]:
        found = []
        for _ in range(240):
            values = rng.sample(range(100, 1000), 4)
            right = values.index(sorted(values)[2]) if rng.random() < leak else rng.randrange(4)
            found.append(Question("?", tuple(f"{value} euros" for value in values), right))
        return found

    worst = try_rules(asked(0.35))[0]
    assert "rank 3" in worst.rule and worst.rate > worst.allowed
    assert all(hits.rate <= hits.allowed for hits in try_rules(asked(0.0)))


@pytest.mark.parametrize("task", TASKS)
def test_no_rule_beats_chance_on_a_choice(task: str):
    worst = try_rules(TableAnalysisSuite().questions(task, range(7000, 7300)))[0]
    assert worst.asked > 290 and worst.rate <= worst.allowed, worst


def test_code_turns_ask_nothing():
    suite = TableAnalysisSuite()
    assert suite.questions("wines/giulia/normal/" + suite.files["wines/giulia"].turns[0].id, range(3)) == []


def test_the_command(capsys):
    assert main(["verify", "table_analysis", "--blind", "--task", TASKS[0], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and set(found["tasks"][TASKS[0]]) == set(RULES) == set(found["all"])
    assert main(["verify", "science", "--blind"]) != 0
    assert "has none of them" in capsys.readouterr().err
