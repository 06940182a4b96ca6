"""ScienceBoard's KAlgebra tasks: verdicts on given states of the program, in both modes."""

from typing import Any

import pytest
from scienceboard_files import CURVE, SPHERE, UPSTREAM, file_of, given, installed, looks

from deskgym.envs.episode import FinalState
from deskgym.task_suites.importers.scienceboard.suite import suite

FRONT = {"tab": "2d", "mode": "evaluate", "grid": True, "aspect": True, "resolution": 832, "style": "Solid"}


def judge(task: Any, stop: str = "done", answer: str | None = None, **state: Any) -> Any:
    """The verdict on a state of the program, without one."""
    final = FinalState(None, stop, answer)  # type: ignore[arg-type]
    values = {
        "front": FRONT | state.get("front", {}),
        "calculator": {"variables": state.get("variables", {}), "log": []},
        "plots": {"functions": state.get("functions", []), "viewport": {}},
        "space": {"expression": state.get("surface", ""), "plotted": state.get("plotted", True)},
    }
    for name, value in values.items():
        final.read_once(f"kalgebra.{name}", lambda machine, value=value: value)
    verdict = task.evaluate(final)
    assert verdict.error is None
    return verdict


def function(expression: str, color: str = "#00ff00") -> dict[str, Any]:
    return {"name": "f1", "expression": expression, "shown": True, "color": color}


PARABOLA = function("x->x^2")
VERDICTS = [
    (CURVE, {"functions": [PARABOLA]}, 1),
    (CURVE, {"functions": [function("x->x^3"), function("y=x^2")]}, 1),
    (CURVE, {"functions": [function("x->x^2+0.01")]}, 0),
    (CURVE, {}, 0),
    (looks(CURVE, color="#000000"), {"functions": [function("x->x^2", "#000000")]}, 1),
    (looks(CURVE, color="#000000"), {"functions": [PARABOLA, function("x->x^3", "#000000")]}, 0),
    (looks(CURVE, res=1664), {"functions": [PARABOLA], "front": {"resolution": 1664}}, 1),
    (looks(CURVE, res=1664), {"functions": [PARABOLA]}, 0),
    (SPHERE, {"surface": "(x,y,z)->x^2+y^2+z^2-4"}, 1),
    (SPHERE, {"surface": "(x,y,z)->x^2+y^2+z^2-4", "plotted": False}, 0),
    (SPHERE, {"surface": "(x,y,z)->x^2+y^2+z^2-8"}, 0),
    (looks(SPHERE, style=2), {"surface": "(x,y,z)->x^2+y^2+z^2-4", "front": {"style": "Lines"}}, 1),
    (looks(SPHERE, style=2), {"surface": "(x,y,z)->x^2+y^2+z^2-4", "front": {"style": "Dots"}}, 0),
    (looks(SPHERE, style=1), {"surface": "(x,y,z)->x^2+y^2+z^2-4", "front": {"style": "Dots"}}, 1),
    ({"type": "eqn", "key": "#SIZE", "value": 0}, {}, 1),
    ({"type": "eqn", "key": "#SIZE", "value": 0}, {"functions": [PARABOLA]}, 0),
    ({"type": "val", "key": "p", "value": 0.5}, {"variables": {"p": "0.5000009"}}, 1),
    ({"type": "val", "key": "p", "value": 0.5}, {"variables": {"p": "0.5000011"}}, 0),
    ({"type": "val", "key": "p", "value": 0.5}, {"variables": {"q": "0.5"}}, 0),
    ({"type": "var", "key": "p", "value": "1+-i"}, {"variables": {"p": "1+-i"}}, 1),
    ({"type": "var", "key": "p", "value": "1+-i"}, {"variables": {"p": "1+i"}}, 0),
    ({"type": "var", "key": "p", "value": "#UNDEF"}, {}, 1),
    ({"type": "var", "key": "p", "value": "#UNDEF"}, {"variables": {"p": "1"}}, 0),
]


@installed
@pytest.mark.parametrize(("item", "state", "score"), VERDICTS)
def test_every_kind_of_check(source, item, state, score):
    assert judge(source(KAlgebra_A_01=file_of(item)).get("KAlgebra/A-01"), **state).score == score


@installed
@pytest.mark.parametrize(
    ("mode", "answer", "score"),
    [
        ("paper", "46368", 1), ("paper", "46368.0", 0), ("paper", "46369", 0), ("paper", None, 0),
        ("corrected", "46368", 1), ("corrected", "46,368.0", 1), ("corrected", "f(24) = 46368", 1),
        ("corrected", "46368.1", 0), ("corrected", "46368 or 46369", 0), ("corrected", None, 0),
    ],
)  # fmt: skip
def test_answers(source, mode, answer, score):
    item = {"type": "stop", "value": "ANS", "args": ["46368"]}
    task = source(mode, KAlgebra_A_01=file_of(item)).get("KAlgebra/A-01")
    assert judge(task, "done" if answer is None else "answer", answer).score == score


@installed
@pytest.mark.parametrize("mode", ["paper", "corrected"])
def test_words_of_an_answer(source, mode):
    item = {"type": "stop", "value": "ANS", "args": ["two", "Words"]}
    task = source(mode, KAlgebra_A_01=file_of(item)).get("KAlgebra/A-01")
    assert judge(task, "answer", "two Words").score == 1
    assert judge(task, "answer", "two words").score == (mode == "corrected")
    assert judge(task, "answer", "twowords").score == 0


@installed
@pytest.mark.parametrize(
    ("mode", "stop", "score"),
    [(mode, stop, 1) for mode in ("paper", "corrected") for stop in ("done", "limit")]
    + [("paper", "fail", 1), ("paper", "answer", 1), ("corrected", "fail", 0), ("corrected", "answer", 0)],
)
def test_the_stop_counts_only_where_the_paper_does_not_rule(source, mode, stop, score):
    task = source(mode, KAlgebra_A_01=file_of(CURVE)).get("KAlgebra/A-01")
    assert judge(task, stop, functions=[PARABOLA]).score == score
    assert judge(task, stop).score == 0


@installed
def test_infeasible_and_done(source):
    tasks = source(
        "paper",
        KAlgebra_A_01=file_of({"type": "stop", "value": "FAIL"}),
        KAlgebra_A_02=file_of({"type": "stop", "value": "DONE"}),
    )
    scores = {stop: judge(tasks.get("KAlgebra/A-01"), stop).score for stop in ("done", "fail", "answer", "limit")}
    assert scores == {"done": 0, "fail": 1, "answer": 0, "limit": 0}
    scores = {stop: judge(tasks.get("KAlgebra/A-02"), stop).score for stop in ("done", "fail", "answer", "limit")}
    assert scores == {"done": 1, "fail": 0, "answer": 0, "limit": 0}


@installed
@given
def test_known_bad_references_by_mode():
    right, wrong = "((x-1)^2+y^2)*((x+1)^2+y^2)=256", "(x^2+y^2)^2=32*(x^2-y^2)"
    for mode, expected in (("corrected", (1, 0)), ("paper", (0, 1))):
        task = suite(str(UPSTREAM), mode).get("KAlgebra/C-12")
        verdicts = [judge(task, functions=[function(text)]) for text in (right, wrong)]
        assert tuple(verdict.score for verdict in verdicts) == expected
        assert "foci (4, 0)" in verdicts[0].notes[0]
