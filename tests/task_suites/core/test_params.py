"""Parameters: the same seed is the same instance, and splits are disjoint."""

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import UNKNOWN, CallMistakes
from deskgym.task_suites.core.functions import FUNCTIONS, formula
from deskgym.task_suites.core.params import Parameters, choice, integer, number, render, split_of

DECLARED = {
    "a": {"integer": [1, 9]},
    "b": {"number": {"bounds": [-1, 1], "step": 0.25}},
    "c": {"choice": ["sin", {"f": "cos", "k": 2}]},
    "d": {"integer": {"bounds": ["{a}", 10]}},
    "s": {"formula": "a + d"},
    "t": {"text": "{a}/{b:+.2f}"},
}
PARAMETERS = Parameters(DECLARED, [{"formula": "a != d"}], FUNCTIONS)


@given(st.text(max_size=30))
def test_the_same_key_draws_the_same_and_what_is_drawn_is_legal(key: str) -> None:
    values = PARAMETERS.draw(key)
    assert values == PARAMETERS.draw(key)
    assert list(values) == list(DECLARED)
    assert 1 <= values["a"] < values["d"] <= 10 and values["s"] == values["a"] + values["d"]
    assert values["b"] in [k / 4 for k in range(-4, 5)]
    assert values["t"] == f"{values['a']}/{values['b']:+.2f}"


def test_the_draw_is_the_same_in_another_process_and_for_ever() -> None:
    code = (
        "from deskgym.task_suites.core.params import Parameters\n"
        "p = Parameters({'a': {'integer': [0, 10**9]}, 'b': {'choice': list('abcdefgh')}})\n"
        "print([tuple(p.draw(f'demo/x#{k}').values()) for k in range(4)])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == PINNED


PINNED = "[(750457016, 'f'), (234630260, 'f'), (224852996, 'c'), (75129359, 'a')]"


@given(st.integers(-50, 50), st.integers(0, 50), st.integers(1, 7), st.randoms(use_true_random=False))
def test_integer_has_both_ends_and_its_step(low: int, width: int, step: int, rng: random.Random) -> None:
    legal = set(range(low, low + width + 1, step))
    drawn = {integer(rng, [low, low + width], step) for _ in range(400)}
    assert drawn <= legal
    assert len(legal) > 8 or drawn == legal


def test_number_is_exact_in_its_digits() -> None:
    rng = random.Random("x")
    assert {number(rng, [0, 1], 0.1) for _ in range(500)} == {round(k / 10, 1) for k in range(11)}


def test_choice_takes_each() -> None:
    rng = random.Random("x")
    assert {choice(rng, ["a", "b", 3]) for _ in range(100)} == {"a", "b", 3}


def test_constraints_that_never_hold_end_the_draw() -> None:
    with pytest.raises(TaskError, match="did not hold in 1000 tries"):
        Parameters({"a": {"integer": [1, 2]}}, [{"formula": "a > 2"}]).draw("x")


def test_a_function_that_breaks_is_named() -> None:
    with pytest.raises(CallMistakes, match="formula failed with {'a': 0}: ZeroDivisionError"):
        Parameters({"a": {"integer": [0, 0]}, "b": {"formula": "1/a"}}).draw("x")


def test_render() -> None:
    params = {"a": 3, "f": 2.0, "x": 0.25, "yes": True, "list": [1, [2, 3]], "map": {"k": "v"}}
    assert render("{a}", params) == 3 and render("{yes}", params) is True and render("{list}", params) == [1, [2, 3]]
    assert render("{f}{x} {a:+d} {yes} {map[k]}{list[1][0]} {{}}", params) == "20.25 +3 true v2 {}"
    assert render({"k": ["{a}", {"z": "{map}"}]}, params) == {"k": [3, {"z": {"k": "v"}}]}
    assert render("{a:02d}", params) == "03"
    assert render("x{u}", {"u": UNKNOWN}) is UNKNOWN and render("{u[k]}", {"u": UNKNOWN}) is UNKNOWN


@pytest.mark.parametrize(
    "text",
    ["{b}", "{a.__class__}", "{a!r}", "{}", "{0}", "x{list}", "{map[z]}", "{list[9]}", "{a:{f}}", "{a", "a}", "{a[}"],
)
def test_what_cannot_be_rendered(text: str) -> None:
    with pytest.raises(CallMistakes):
        render(text, {"a": 3, "f": 2.0, "list": [1], "map": {"k": 1}})


def test_a_key_that_names_a_parameter_is_a_mistake() -> None:
    assert render({"{b}": "{a}"}, {"a": 3}) == {"{b}": 3}
    with pytest.raises(CallMistakes, match=r"the key '\{a\}.csv': parameters are not filled into keys"):
        render({"files": {"{a}.csv": "x"}}, {"a": 3})


@given(st.text())
def test_rendering_any_text_gives_a_text_or_a_mistake(text: str) -> None:
    try:
        assert isinstance(render(text, {"a": "x"}), str)
    except CallMistakes:
        pass


@pytest.mark.parametrize(
    ("of", "value"),
    [("1 + 2*3", 7), ("-a**2", -9), ("(-a)**2", 9), ("7 // 2 + 7 % 2", 4), ("sqrt(a*3)", 3.0), ("max(a, 5)", 5),
     ("1 < a <= 3 and not a == 4", True), ("word == 'x' or 1/0 > 1", True), ("round(pi)", 3)],
)  # fmt: skip
def test_formula(of: str, value: object) -> None:
    assert formula({"a": 3, "word": "x"}, of) == value


@pytest.mark.parametrize(
    "of",
    ["__import__('os')", "a.real", "[1][0]", "lambda: 1", "2**999", "word*9", "open('x')", "b", "", "(-8)**0.5",
     "f'{a}'",      "1 if a else 2", "max(*a)", "round(2.5, ndigits=1)", "a := 1"],
)  # fmt: skip
def test_what_is_no_formula(of: str) -> None:
    with pytest.raises((ValueError, SyntaxError)):
        formula({"a": 3, "word": "x"}, of)


def test_split_shares_are_kept_and_do_not_depend_on_order() -> None:
    shares = {"train": 0.7, "test": 0.2, "dev": 0.1}
    splits = [split_of("a/b", {"n": n, "m": 1}, shares) for n in range(5000)]
    for name, share in shares.items():
        assert abs(splits.count(name) / 5000 - share) < 0.03
    assert split_of("a/b", {"m": 1, "n": 7}, dict(reversed(shares.items()))) == splits[7]


def test_a_function_that_changes_what_it_gets_changes_no_later_draw():
    def grown(items: list[int]) -> list[int]:
        items.append(0)
        return items

    parameters = Parameters({"a": {"grown": {"items": [1, 2]}}}, functions={"grown": grown})
    assert [parameters.draw(str(seed)) for seed in range(3)] == [{"a": [1, 2, 0]}] * 3
