import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.evaluation.checks import answer as answers
from deskgym.envs.evaluation.checks.answer import MAX_ANSWER, parse_number
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.predicates import Predicate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-1,234.5", -1234.5), ("−2", -2), ("+.5", 0.5), ("1.2e-3", 0.0012), ("1.5×10^3", 1500),
        ("2 * 10**-2", 0.02), ("3/4", 0.75), ("x = 3.5", 3.5), ("f(2): 7", 7), (" 4. ", 4), ("３", 3), ("5 cm", 5),
        ("1/0", None), ("nan", None), ("inf", None), ("1e999", None), ("1_000", None), ("0x10", None), ("", None),
        ("3 or 4", None), ("3, 4", None), ("3 4", None), ("about 3", None), ("3!", None), ("1,2", None), ("5 m", None),
        ("10⁻³", None), ("__import__('os')", None), ("9" * 5000, None), ("()" * 2000, None),
    ],
)  # fmt: skip
def test_parse_number(text: str, value: float | None) -> None:
    assert parse_number(text, ["cm"]) == value


@given(st.text(max_size=300))
def test_any_text_is_a_finite_number_or_none(text: str) -> None:
    value = parse_number(text, ["m"])
    assert value is None or math.isfinite(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_writes_is_read_back(value: float) -> None:
    assert parse_number(repr(value)) == value


def test_text(state) -> None:
    assert answers.answer_text(state(answer="  New\nYORK "), to="new york")[0]
    assert not answers.answer_text(state(answer="  New YORK "), to="new york", exact=True)[0]
    assert answers.answer_text(state(answer="b"), to=["a", "b"])[0]
    passed, message = answers.answer_text(state(answer="a or b"), to=["a", "b"])
    assert not passed and "'a or b'" in message


def test_number(state) -> None:
    assert answers.answer_number(state(answer="3.509"), to=3.5, abs=0.01)[0]
    assert answers.answer_number(state(answer="3.51"), to=3.5, abs=0.01)[0]
    assert not answers.answer_number(state(answer="3.52"), to=3.5, abs=0.01)[0]
    assert answers.answer_number(state(answer="101 kg"), to=100, rel=0.01, units=["kg", "g"])[0]
    assert not answers.answer_number(state(answer="100 200 300"), to=100)[0]


@pytest.mark.parametrize(
    ("answer", "to", "ordered", "right"),
    [
        ("2 and 1", [1, 2], False, True), ("2, 1", [1, 2], True, False), ("1; 2", [1, 2], True, True),
        ("(1, 2)", [1, 2], True, True), ("1,234.5, 2", [1234.5, 2], True, True), ("[1,2]", [1, 2], True, True),
        ("1, 2, 3", [1, 2], False, False), ("1, 1", [1, 2], False, False), ("x = 1, y = 2", [1, 2], True, True),
        ("Blue, red.", ["red", "blue"], False, True), ("red", ["red", "blue"], False, False),
        ("red, blue, green", ["red", "blue"], False, False), ("red and blue", ["red", "blue"], True, True),
    ],
)  # fmt: skip
def test_items(state, answer: str, to: list, ordered: bool, right: bool) -> None:
    assert answers.answer_items(state(answer=answer), to=to, ordered=ordered)[0] is right


def test_fits(state) -> None:
    that = Predicate.parse({"matches": {"pattern": r"https://\S+/chart/\d+", "case": False}})
    assert answers.answer_fits(state(answer=" HTTPS://x/chart/12 "), that)[0]
    assert not answers.answer_fits(state(answer="https://x/chart/"), that)[0]


@pytest.mark.parametrize("answer", [None, "x" * (MAX_ANSWER + 1)])
def test_no_answer_and_a_flood_of_it_fail(state, answer: str | None) -> None:
    for check in (answers.answer_text, answers.answer_items):
        with pytest.raises(CheckFailed):
            check(state(answer=answer), to=["x"])


def test_stopped_with(state) -> None:
    assert answers.stopped_with(state(stop="fail"), "fail")[0]
    assert not answers.stopped_with(state(stop="limit"), "fail")[0]
