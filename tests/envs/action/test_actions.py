"""Actions: the JSON form, its errors, the events and the code that it stands for."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.action.actions import MAX_TEXT, Action, parse_code, split_keys, to_pyautogui
from deskgym.envs.action.spaces import parse_computer_action
from deskgym.envs.errors import ActionError

SCREEN = (640, 480)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "unknown action None"),
        ({"action": "teleport"}, "unknown action 'teleport'; legal are move"),
        ({"action": "click", "z": 1}, "takes x, y, button, clicks, keys, but got 'z'"),
        ({"action": "done", "x": 1}, "takes no arguments"),
        ({"action": "click", "x": "1", "y": 2}, "x='1'; legal is a whole number"),
        ({"action": "click", "x": float("nan"), "y": 2}, "legal is a whole number"),
        ({"action": "click", "x": True, "y": 2}, "legal is a whole number"),
        ({"action": "click", "x": 640, "y": 2}, r"\(640, 2\) is off the screen; legal are x in 0..639"),
        ({"action": "click", "x": -1, "y": 2}, "off the screen"),
        ({"action": "click", "x": 5}, "needs x and y together"),
        ({"action": "click", "x": 5, "y": 5, "button": "thumb"}, "unknown button 'thumb'"),
        ({"action": "click", "x": 5, "y": 5, "clicks": 9}, "clicks=9; legal is 1 to 3"),
        ({"action": "drag", "x": 5, "y": 5}, "needs to_x and to_y"),
        ({"action": "press"}, "needs keys"),
        ({"action": "press", "keys": ["hyperspace"]}, "unknown key 'hyperspace'"),
        ({"action": "press", "keys": 5}, "legal is a list of key names"),
        ({"action": "type", "text": 5}, "legal is a text"),
        ({"action": "type"}, "'type' needs text"),
        ({"action": "type", "text": "x" * (MAX_TEXT + 1)}, "at most 4096"),
        ({"action": "wait", "seconds": -1}, "legal is a number from 0 to 60"),
        ({"action": "wait", "seconds": float("inf")}, "legal is a number"),
        ({"action": "scroll", "dy": 10**9}, "legal is -100 to 100"),
    ],
)
def test_illegal_actions_say_what_is_legal(data, message):
    with pytest.raises(ActionError, match=message):
        Action.from_dict(data).check(SCREEN)


def test_events_of_a_click_with_a_held_key():
    action = Action.from_dict({"action": "click", "x": 3, "y": 4, "clicks": 2, "keys": "ctrl"}).check(SCREEN)
    down, up = {"t": "down", "b": 1}, {"t": "up", "b": 1}
    assert action.events() == [
        {"t": "move", "x": 3, "y": 4}, {"t": "keydown", "k": "ctrl"}, down, up, {"t": "wait", "s": 0.05}, down, up,
        {"t": "keyup", "k": "ctrl"},
    ]  # fmt: skip


def test_a_drag_passes_through_the_points_between():
    action = Action("drag", x=0, y=0, to_x=80, to_y=40)
    xs = [event["x"] for event in action.events() if event["t"] == "move"]
    assert xs == [0, 10, 20, 30, 40, 50, 60, 70, 80]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("ctrl+s", ("ctrl", "s")),
        ("ctrl++", ("ctrl", "+")),
        ("+", ("+",)),
        ("Ctrl+Shift+A", ("ctrl", "shift", "A")),
    ],
)
def test_key_combinations(text, keys):
    assert split_keys(text) == keys


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("DONE", "done"),
        (" FAIL\n", "fail"),
        ("```DONE```", "done"),
        ("```python\nDONE\n```", "done"),
        ("WAIT", "wait"),
    ],
)
def test_words_of_code_actions(text, verb):
    action = parse_code(text)
    assert isinstance(action, Action) and action.verb == verb


def test_answers_and_waits_keep_their_argument():
    assert parse_code("ANS 5 apples").text == "5 apples"
    assert parse_code("```ANS 5```").text == "5"  # ScienceBoard's own parser loses this one
    assert parse_code("WAIT 2.5").seconds == 2.5


@pytest.mark.parametrize("program", ["FAILED = 1", "DONE()", "WAITING = 2", "x = 1", "ANSWER = 3"])
def test_programs_that_begin_like_words_stay_programs(program):
    assert parse_code(program) == program
    assert parse_code(f"```\n{program}\n```") == program


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"action_type": "CLICK", "x": 1, "y": 2, "num_clicks": 2}, {"action": "click", "x": 1, "y": 2, "clicks": 2}),
        ({"action_type": "CLICK", "parameters": {"x": 1, "y": 2}}, {"action": "click", "x": 1, "y": 2}),
        ({"action_type": "RIGHT_CLICK", "x": 1, "y": 2}, {"action": "click", "x": 1, "y": 2, "button": "right"}),
        ({"action_type": "DRAG_TO", "x": 1, "y": 2}, {"action": "drag", "to_x": 1, "to_y": 2}),
        ({"action_type": "SCROLL", "dx": 0, "dy": -3}, {"action": "scroll", "dx": 0, "dy": 3}),
        ({"action_type": "SCROLL", "parameters": {"clicks": -3}}, {"action": "scroll", "dy": 3}),
        ({"action_type": "TYPING", "text": "ü"}, {"action": "type", "text": "ü"}),
        ({"action_type": "PRESS", "key": "enter"}, {"action": "press", "keys": ["enter"]}),
        ({"action_type": "WAIT"}, {"action": "wait", "seconds": 5.0}),
        ({"action_type": "DONE"}, {"action": "done"}),
        ("FAIL", {"action": "fail"}),
    ],
)
def test_the_published_benchmarks_form(theirs, ours):
    assert parse_computer_action(theirs, SCREEN) == Action.from_dict(ours)


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        ({"action_type": "CLIK"}, "unknown action_type 'CLIK'.*did you mean 'CLICK'"),
        ({"action_type": "PRESS", "keys": ["a"]}, "PRESS takes key, but got 'keys'"),
        ({"action_type": "CLICK", "parameters": [1, 2]}, "parameters is a mapping"),
        ({"action_type": "SCROLL", "dy": 1, "clicks": 1}, "takes dy or clicks"),
        ("done", "a computer action is a dict"),
        ({"action_type": "TYPING", "text": 5}, "legal is a text"),
    ],
)
def test_mistakes_in_the_published_benchmarks_form(theirs, message):
    with pytest.raises(ActionError, match=message):
        parse_computer_action(theirs, SCREEN)


@given(st.text(max_size=200))
def test_any_text_is_a_code_action_or_an_action_error(text):
    try:
        assert isinstance(parse_code(text), (str, Action))
    except ActionError:
        pass


@pytest.mark.parametrize(
    "data",
    [
        {"action": "click", "x": 1, "y": 2, "button": "right", "clicks": 2, "keys": ["shift"]},
        {"action": "drag", "x": 1, "y": 2, "to_x": 5, "to_y": 6},
        {"action": "scroll", "x": 1, "y": 2, "dy": 3},
        {"action": "scroll", "dx": -2},
        {"action": "type", "text": 'it\'s \\ "ü"\n'},
        {"action": "hold", "keys": ["a"], "seconds": 0.2},
        {"action": "key_down", "keys": ["ctrl", "shift"]},
        {"action": "mouse_down", "x": 1, "y": 1},
        {"action": "move", "x": 1, "y": 1},
    ],
)
def test_every_action_has_a_line_of_python(data):
    code = to_pyautogui(Action.from_dict(data).check(SCREEN))
    assert ast.parse(code).body and code.count("pyautogui.") >= 1
