"""Frames: the arithmetic is exact, and a program's pyautogui takes and gives the frame's numbers."""

import collections
import contextlib
import io
import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.errors import ActionError
from deskgym.wrappers.action import coordinates_guest
from deskgym.wrappers.action.coordinates import Frame, unwrap_code

SIZES = st.integers(1, 8000)


@given(st.integers(1, 1000), st.data())
def test_a_pixel_survives_the_thousand_up_to_1000_wide(width, data):
    pixel = data.draw(st.integers(0, width - 1))
    frame = Frame((1000, 1000), (0, 0, width, 1000), "thousand")
    there = frame.outward(pixel, pixel)
    assert frame.inward(*there) == (pixel, pixel)
    assert all(isinstance(number, int) and 0 <= number <= 1000 for number in there)


@given(SIZES, st.integers(0, 50), st.data())
def test_a_pixel_survives_the_unit_and_any_finer_frame(width, origin, data):
    pixel = origin + data.draw(st.integers(0, width - 1))
    unit = Frame((1, 1), (origin, origin, width, width), "unit")
    there = unit.outward(pixel, pixel)
    assert unit.inward(*there) == (pixel, pixel)
    assert unit.inward(*np.array(there, np.float32).tolist()) == (pixel, pixel)  # a sample is float32
    finer = Frame((width + data.draw(st.integers(0, 3000)), width), (origin, origin, width, width))
    assert finer.inward(*finer.outward(pixel, pixel)) == (pixel, pixel)


@given(SIZES, SIZES, st.data())
def test_a_pixel_of_a_small_picture_survives_the_large_one(one, other, data):
    small, large = sorted((one, other))
    x = data.draw(st.integers(0, small - 1))
    frame = Frame((small, small), (0, 0, large, large))
    pixel = frame.inward(x, x)[0]
    assert 0 <= pixel < large
    assert x * large / small - 1 < pixel < (x + 1) * large / small
    assert frame.outward(pixel, pixel) == (x, x)


@given(st.integers(1, 4000), st.floats(0, 1000))
def test_a_thousandth_is_cut_as_published(width, value):
    frame = Frame((1000, 1000), (0, 0, width, 1), "thousand")
    assert frame.inward(value, 0)[0] == min(int(value * width / 1000), width - 1)


@pytest.mark.parametrize(
    ("frame", "bad"),
    [
        (Frame((80, 60), (0, 0, 160, 120)), [(80, 0), (-1, 0), (0, 60), (79.5, 0)]),
        (Frame((1, 1), (0, 0, 160, 120), "unit"), [(1.001, 0), (-0.001, 0), (0, 50)]),
        (Frame((1000, 1000), (0, 0, 160, 120), "thousand"), [(1001, 0), (0, -1)]),
    ],
)
def test_a_point_outside_is_an_error_that_says_what_is_legal(frame, bad):
    for x, y in bad:
        with pytest.raises(ActionError, match="outside the frame of the coordinates; legal are 0 to"):
            frame.inward(x, y)


def test_every_json_form_is_translated_and_nothing_is_changed_in_place():
    frame = Frame((1, 1), (0, 0, 160, 120), "unit")
    action = {"action": "drag", "x": 0.5, "y": 0.5, "to_x": 1, "to_y": 0, "button": "left"}
    assert frame.action(action) == action | {"x": 80, "y": 60, "to_x": 159, "to_y": 0}
    assert action["x"] == 0.5
    nested = {"action_type": "CLICK", "parameters": {"x": 0.5, "y": 0.25, "num_clicks": 2}}
    assert frame.action(nested)["parameters"] == {"x": 80, "y": 30, "num_clicks": 2}
    assert nested["parameters"]["x"] == 0.5
    assert frame.action({"action_type": "MOVE_TO", "x": 0.5, "y": 0.25}) == {"action_type": "MOVE_TO", "x": 80, "y": 30}
    sample = frame.action({"action": 1, "point": np.array([0.5, 1], np.float32), "to": np.zeros(2, np.float32)})
    assert sample["point"].tolist() == [80, 119] and sample["to"].dtype == np.int32
    odd = {"action": "click", "x": None, "y": "3", "button": True}
    assert frame.action(odd) == odd  # the env says what is wrong with it


def test_rows_go_outwards_and_padding_stays():
    rows = np.array([[3, 4, 5, 6, 7, 8, -1, 0], [0] * 8, [0, 0, 0, 0, 9, 0, 0, 0], [-3, 2, 4, 0, 1, 1, 1, 1]], np.int32)
    half = Frame((80, 60), (0, 0, 160, 120)).rows(rows)
    assert half.tolist() == [[1, 2, 3, 3, 7, 8, -1, 0], [0] * 8, [0, 0, 0, 0, 9, 0, 0, 0], [-2, 1, 3, 0, 1, 1, 1, 1]]
    part = Frame((50, 50), (2, 1, 50, 50)).rows(rows)
    assert part[0].tolist() == [1, 3, 5, 6, 7, 8, -1, 0] and part[1].tolist() == [0] * 8
    assert half.dtype == np.int32 and rows[0, 0] == 3


def test_tables_of_text_are_translated_in_the_right_cells():
    frame = Frame((80, 60), (0, 0, 160, 120))
    text = "index\trole\n0\ttext\t(1, 2)\t(3, 4)\t(10, 20)\t(30, 40)\tactive\n1\tlabel\t(8, 6)\t(4, 2)\tshown text"
    assert frame.table(text, 1000) == (
        "index\trole\n0\ttext\t(1, 2)\t(3, 4)\t(5, 10)\t(15, 20)\tactive\n1\tlabel\t(4, 3)\t(2, 1)\tshown text"
    )


@pytest.mark.parametrize(
    ("ending", "cut"),
    [
        ("", "head\n[3 more rows]"),
        ("\n[9 more rows]", "head\n[12 more rows]"),
        ("\n[...]", "head\n0\t(100, 100)\t(10, 10)\n[...]"),
    ],
)
def test_a_table_that_gets_too_long_is_cut_at_a_rows_end(ending, cut):
    frame = Frame((100, 100), (0, 0, 10, 10))
    text = "head\n" + "\n".join(f"{k}\t(10, 10)\t(1, 1)" for k in range(3)) + ending
    assert frame.table(text, 1000).startswith("head\n0\t(100, 100)\t(10, 10)\n1\t")
    assert frame.table(text, 1000).endswith(f"2\t(100, 100)\t(10, 10){ending}")
    assert frame.table(text, 32) == cut


# --- programs, run here with a stand-in for pyautogui whose functions call one another as the real ones do

STAND_IN = """
from collections import namedtuple
Point, Size = namedtuple("Point", "x y"), namedtuple("Size", "width height")
calls, at = [], [40, 30]
def position(x=None, y=None): return Point(*(a if b is None else int(b) for a, b in zip(at, (x, y))))
def size(): return Size(160, 120)
def onScreen(x, y=None): return 0 <= x < size()[0] and 0 <= y < size()[1]
def moveTo(x=None, y=None, duration=0.0):
    if isinstance(x, (tuple, list)): x, y = x
    at[:] = position(x, y); calls.append(("moveTo", x, y))
def click(x=None, y=None, clicks=1, button="left"):
    if not isinstance(x, str): moveTo(x, y)
    calls.append(("click", x, y, clicks))
def leftClick(x=None, y=None): click(x, y)
def scroll(clicks, x=None, y=None): moveTo(x, y); calls.append(("scroll", clicks))
def moveRel(xOffset=None, yOffset=None): moveTo(at[0] + (xOffset or 0), at[1] + (yOffset or 0))
move = moveRel
def write(message): calls.append(("write", message))
"""


def play(program, monkeypatch):
    """What a program did, printed and raised: (calls, stdout, stderr, exit status)."""
    module = types.ModuleType("pyautogui")
    exec(STAND_IN, module.__dict__)
    monkeypatch.setitem(sys.modules, "pyautogui", module)
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(compile(program, "<action>", "exec"), {"__name__": "__main__", "pyautogui": module})
        except SystemExit as leaving:
            status = leaving.code
    return module.calls, out.getvalue(), err.getvalue(), status


HALF = Frame((80, 60), (0, 0, 160, 120))


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("pyautogui.click(10, 20)", [("moveTo", 21, 41), ("click", 21, 41, 1)]),
        ("pyautogui.leftClick(x=10, y=20)", [("moveTo", 21, 41), ("click", 21, 41, 1)]),
        ("for k in (0, 9):\n    pyautogui.moveTo(k, k + 1)", [("moveTo", 1, 3), ("moveTo", 19, 21)]),
        ("from pyautogui import moveTo as go\ngo([10, 20])", [("moveTo", 21, 41)]),
        ("pyautogui.moveTo((10, 20, 4, 6))", [("moveTo", 25, 47)]),
        ("import pyautogui as p\np.scroll(-3, 10, 20)", [("moveTo", 21, 41), ("scroll", -3)]),
        ("pyautogui.scroll(5)", [("moveTo", None, None), ("scroll", 5)]),
        ("pyautogui.move(5, -5)", [("moveTo", 50, 20)]),
        ("pyautogui.click('button.png')", [("click", "button.png", None, 1)]),
        ("pyautogui.write('10')", [("write", "10")]),
    ],
)
def test_pyautogui_takes_the_frames_numbers(program, expected, monkeypatch):
    calls, _, err, status = play(HALF.code(program), monkeypatch)
    assert not err and not status
    assert calls == expected


def test_pyautogui_gives_the_frames_numbers(monkeypatch):
    program = "print(*pyautogui.position(), *pyautogui.size(), pyautogui.onScreen(79, 59), pyautogui.onScreen(80, 0))"
    assert play(HALF.code(program), monkeypatch)[1] == "20 15 80 60 True False\n"
    unit = Frame((1, 1), (0, 0, 160, 120), "unit")
    assert play(unit.code("w, h = pyautogui.size()\npyautogui.moveTo(w / 2, h / 4)"), monkeypatch)[0] == [
        ("moveTo", 80, 30)
    ]


def test_frames_on_frames_are_applied_from_the_outside_in(monkeypatch):
    unit = Frame((1, 1), (0, 0, 80, 60), "unit")
    program = HALF.code(unit.code("pyautogui.leftClick(0.5, 0.5)\nprint(pyautogui.position())"))
    calls, out, err, _ = play(program, monkeypatch)
    assert calls[0] == ("moveTo", *HALF.inward(*unit.inward(0.5, 0.5))) and not err
    assert eval(out, {"Point": collections.namedtuple("Point", "x y")}) == unit.outward(40, 30)
    assert unwrap_code(program) == (
        "pyautogui.leftClick(0.5, 0.5)\nprint(pyautogui.position())",
        [unit.axes, HALF.axes],
    )


@pytest.mark.parametrize(
    ("program", "line", "message"),
    [
        ("x = 1\n\nundefined + 1", 3, "NameError: name 'undefined' is not defined"),
        ("for k in range(3):\n    1 / k", 2, "ZeroDivisionError"),
        ("from __future__ import annotations\nraise ValueError('é')", 2, "ValueError: é"),
        ("1 +\n", 1, "SyntaxError"),
        ("pyautogui.click(80, 0)", 1, "pyautogui.click: 80 is outside the frame of the coordinates; legal are 0 to 79"),
    ],
)
def test_tracebacks_have_the_programs_own_lines(program, line, message, monkeypatch):
    _, _, err, status = play(HALF.code(HALF.code(program)) if "80" not in program else HALF.code(program), monkeypatch)
    assert status == 1 and message in err
    assert f'File "<action>", line {line}' in err
    assert program.splitlines()[line - 1].strip() in err
    if "click" not in program:
        assert err.count("File ") == 1
    else:  # its own line comes first
        assert err.index("<action>") < err.index("<string>")


def test_exit_statuses_and_names_are_the_programs_own(monkeypatch):
    assert play(HALF.code("import sys\nsys.exit(3)"), monkeypatch)[3] == 3
    out = play(HALF.code("print(sorted(n for n in globals() if not n.startswith('__')))"), monkeypatch)[1]
    assert out == "['pyautogui']\n"
    out = play(HALF.code("def f():\n    return g()\ndef g():\n    return 5\nprint(f(), __name__)"), monkeypatch)[1]
    assert out == "5 __main__\n"


def test_words_stay_words():
    for word in ("DONE", "WAIT 2", "ANS 0.5", "```\nFAIL\n```"):
        assert HALF.code(word) == word


@given(st.text(alphabet="ab'\"\\\n\t{}é😀\x00", max_size=40))
def test_any_program_comes_out_of_its_wrapping(text):
    wrapped = HALF.code(text)
    assert unwrap_code(wrapped) == (text, [HALF.axes])
    assert len(wrapped.splitlines()) == 1


def test_marks_are_points_of_the_frame(monkeypatch):
    calls = play(HALF.code("pyautogui.moveTo(*tag_2)", [(1, 2), (10, 20)]), monkeypatch)[0]
    assert calls == [("moveTo", 21, 41)]
    with pytest.raises(ActionError, match="no mark 3"):
        HALF.code("pyautogui.click(tag_3)", [(1, 2)])


def test_the_file_for_the_guest_needs_nothing_of_ours():
    with open(coordinates_guest.__file__) as file:
        assert "deskgym" not in file.read().split('"""', 2)[2]
