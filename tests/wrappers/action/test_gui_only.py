"""GuiOnly: programs that are more than mouse and keyboard are refused, and so is whatever reaches a console."""

import gymnasium as gym
import numpy as np
import pytest
from fake_desktops import desktop, keeps_the_contract
from hypothesis import given
from hypothesis import strategies as st

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action, as_code
from deskgym.envs.errors import ActionError
from deskgym.wrappers import CoordinateFrame, DownscaleScreenshot, GuiOnly, JointDiscrete, SetOfMark
from deskgym.wrappers.action.coordinates import Frame
from deskgym.wrappers.action.gui_code import read_program

FIELD = [{"role": "text"}]  # the fake window's text field stands for a console
CODE = {"action": "code"}
HALF = Frame((80, 60), (0, 0, 160, 120))


@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_it_keeps_the_contract(action):
    keeps_the_contract(GuiOnly, action=action)
    env = GuiOnly(desktop(action=action), FIELD)
    assert env.desktop.observer.reads_elements


@pytest.mark.parametrize(
    "program",
    [
        "import pyautogui, time\npyautogui.click(1, 2)\ntime.sleep(0.1)",
        "import pyautogui as p\np.moveTo((3, 4), duration=0.2, tween=None)\np.dragTo(5, 6, button='left')",
        "from pyautogui import click, write as w\nclick(x=1, y=-2 + 5)\nw('import os', interval=0.01)",
        "index_3 = tag_3 = (10, 20)\npyautogui.click(*index_3)\npyautogui.click(tag_3)\npyautogui.click(tag_3[0], 4)",
        "'a docstring'\n# a comment\npass\npyautogui.hotkey('ctrl', 's'); pyautogui.scroll(-3, 5, 5)",
        "pyautogui.click(1, 1)\npyautogui.moveRel(5, 5)\npyautogui.click()\npyautogui.keyUp('a')",
        "pyautogui.click(5, 5, button=pyautogui.RIGHT)\nfrom time import sleep\nsleep(1)",
        "",
    ],
)
def test_straight_programs_are_done(program):
    env = GuiOnly(desktop(**CODE))
    env.reset(seed=0)
    env.step(program)
    assert env.desktop.performed == program


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("import os", 1),
        ("pyautogui.click(1, 2)\nimport subprocess as pyautogui", 2),
        ("from pyautogui import platformModule", 1),
        ("from os import system as click\nclick('ls')", 1),
        ("from pyautogui import *", 1),
        ("open('/etc/passwd').read()", 1),
        ("\n\nprint(1)", 3),
        ("x = open('f')", 1),
        ("pyautogui.click(*open('f'))", 1),
        ("pyautogui.click(x=len('ab'), y=3)", 1),
        ("pyautogui.click(**{'x': 1})", 1),
        ("pyautogui.click('button.png')", 1),
        ("pyautogui.click(1)", 1),
        ("pyautogui.screenshot('f.png')", 1),
        ("pyautogui.run('c')", 1),
        ("pyautogui.click.__globals__['os'].system('ls')", 1),
        ("pyautogui.platformModule.os.system('ls')", 1),
        ("time.sleep.__self__", 1),
        ("for k in range(3):\n    pyautogui.click(k, k)", 1),
        ("if True:\n    pyautogui.click(1, 1)", 1),
        ("def f(): pass", 1),
        ("@pyautogui.click\nclass A: pass", 2),
        ("f = lambda: 1", 1),
        ("pyautogui.click = 3", 1),
        ("pyautogui = time", 1),
        ("click = pyautogui.click", 1),
        ("pyautogui.write(f'{open}')", 1),
        ("pyautogui.write('a' * 10)", 1),
        ("x = 1e8 * 1e8 * 1e8", 1),
        ("x = 1 / 0", 1),
        ("x = (1, 2)[5]", 1),
        ("[pyautogui.click(1, 1) for _ in 'ab']", 1),
        ("with pyautogui.hold('ctrl'):\n    pass", 1),
        ("pyautogui.write(__import__('os').name)", 1),
        ("(x := 3)", 1),
        ("1 +", 1),
        ("pyautogui.click(1, 2)\n  x = 3", 2),
        ("x = '\x00'", 1),
        ("(" * 500 + ")" * 500, 1),
        ("pyautogui.moveRel(5, 5)", 1),
    ],
)
def test_everything_else_is_refused_by_its_line(program, line):
    env = GuiOnly(desktop(**CODE))
    env.reset(seed=0)
    before = env.desktop.performed
    with pytest.raises(ActionError, match=rf"^line {line}: "):
        env.step(program)
    assert env.desktop.performed == before
    assert env.step("pyautogui.click(1, 1)")[-1]["step"] == 1


@pytest.mark.parametrize(
    "inside",
    ["(5, ())", "('import os', ())", "('pyautogui.click(1, 1)', 7)", "('x', ()), 1)(", "('', ()) or open('f')"],
)
def test_a_frame_of_the_agents_own_hides_nothing(inside):
    head, tail = HALF.code("").split(repr(("", HALF.axes)))
    env = GuiOnly(desktop(**CODE), FIELD)
    env.reset(seed=0)
    with pytest.raises(ActionError, match="^line 1: "):
        env.step(head + inside + tail)
    with pytest.raises(ActionError, match="points at a console"):
        x, y = HALF.outward(*center(env, 1))
        env.step(HALF.code(f"pyautogui.click({x}, {y})"))


@given(st.lists(st.builds(lambda x, y: Action("click", x, y), st.integers(0, 99), st.integers(0, 99)), max_size=4))
def test_it_reads_back_what_scripts_write(burst):
    deeds = [deed for program in as_code(burst) for deed in read_program(program)]
    assert [deed.point for deed in deeds] == [(action.x, action.y) for action in burst]
    assert all(deed.click for deed in deeds)


def test_words_are_no_programs():
    env = GuiOnly(desktop(**CODE), [{"role": "*"}])
    env.reset(seed=0)
    env.step("WAIT 0")
    assert env.step("ANS 5")[2]


def test_a_refusal_can_be_feedback():
    env = GuiOnly(desktop(invalid_action="feedback", **CODE), FIELD)
    env.reset(seed=0)
    observation, *_, info = env.step("import os")
    assert info["step"] == 1 and "line 1: 'import os'" in observation["feedback"] == info["invalid_action"]
    x, y = env.desktop.elements[1].center
    assert "points at a console" in env.step(f"pyautogui.click({x}, {y})")[-1]["invalid_action"]


def center(env, row):
    """The middle of an element on the screen."""
    return env.desktop.elements[row].center


@pytest.mark.parametrize("verb", ["move", "click", "mouse_down", "mouse_up", "scroll"])
def test_nothing_points_at_a_console(verb):
    env = GuiOnly(desktop(), FIELD)
    env.reset(seed=0)
    with pytest.raises(ActionError, match="points at a console"):
        env.step(Action(verb, *center(env, 1)))
    x, y = center(env, 1)
    with pytest.raises(ActionError, match="points at a console"):
        env.step({"action": verb, "x": x, "y": y})
    env.step(Action(verb, *center(env, 2)))


def test_a_drag_neither_begins_nor_ends_in_a_console():
    env = GuiOnly(desktop(), FIELD)
    env.reset(seed=0)
    field, button = center(env, 1), center(env, 2)
    for start, end in ((field, button), (button, field)):
        with pytest.raises(ActionError, match="points at a console"):
            env.step(Action("drag", *start, *end))


def focused(form="computer", consoles=FIELD, **options):
    """An env whose console had the focus before the wrapper was there."""
    env = desktop(action=form, **options)
    env.observer.reads_elements = True
    env.reset(seed=0)
    wrapped = GuiOnly(env, consoles)
    env.machine.fake_display.focused = True
    env.look()
    return wrapped


@pytest.mark.parametrize(
    "action",
    [
        Action("type", text="ls"),
        Action("press", keys=("enter",)),
        Action("key_down", keys=("a",)),
        Action("hold", keys=("a",), seconds=0),
        Action("click", 1, 1, keys=("ctrl",)),
    ],
)
def test_nothing_types_into_a_console(action):
    env = focused()
    with pytest.raises(ActionError, match="types into a console"):
        env.step(action)
    env.step(Action("key_up", keys=("a",)))
    env.step(Action("click", 1, 1))
    env.step(action)  # the click has taken the focus away


@pytest.mark.parametrize(
    "program",
    [
        "pyautogui.write('ls')",
        "pyautogui.moveTo({0}, {1})\npyautogui.write('ls')",
        "pyautogui.click({0}, {1}, clicks=0)\npyautogui.write('ls')",
        "pyautogui.click({0}, {1}, 0)\npyautogui.press('enter')",
        "pyautogui.scroll(3, {0}, {1})\npyautogui.typewrite('ls')",
        "pyautogui.click({0}, {1})\npyautogui.hotkey('ctrl', 'v')",
    ],
)
def test_no_program_types_into_a_console(program):
    env = focused("code")
    with pytest.raises(ActionError, match="types into a console"):
        env.step(program.format(*center(env, 2)))  # a button keeps no one from typing where the focus was


def test_a_console_that_comes_under_the_pointer_is_not_clicked():
    env = GuiOnly(desktop(), FIELD)
    env.reset(seed=0)
    inside = center(env, 1)
    env.consoles = ()
    env.desktop.look()
    env.step(Action("move", *inside))
    env.consoles = tuple(FIELD)
    env.desktop.look()
    for action in (Action("click"), Action("drag", to_x=1, to_y=1)):
        with pytest.raises(ActionError, match="points at a console"):
            env.step(action)
    env.reset(seed=0)
    env.step(Action("click"))  # where the pointer is, nobody knows yet


@pytest.mark.parametrize(
    ("consoles", "rows"),
    [
        ([{"role": "text"}], [1]),
        ([{"name": "no*"}], [1]),
        ([{"role": "push button", "name": "Note"}], []),
        ([{"role": "frame"}], [0, 1, 2]),
        ([{"window": "fake"}], [0, 1, 2]),
        ([{"role": "text"}, {"role": "push*"}], [1, 2]),
        (None, []),
        ([], []),
    ],
)
def test_what_is_a_console(consoles, rows):
    env = GuiOnly(desktop(), consoles)
    env.reset(seed=0)
    places = env.console_places()
    assert places.tolist() == env.desktop.elements.rows[rows, :4].tolist() and places.dtype == np.int32


def test_a_terminal_window_counts_by_its_class():
    env = GuiOnly(desktop())
    env.reset(seed=0)
    window = {"title": "~", "class": "XTerm", "x": 0, "y": 0, "width": 10, "height": 9, "active": True}
    env.desktop.machine.guest.methods["windows"] = lambda: {"windows": [window, window | {"class": "kalgebra", "x": 9}]}
    env.desktop.look()
    assert env.console_places().tolist() == [[0, 0, 10, 9]]
    with pytest.raises(ActionError, match="points at"):
        env.step(Action("click", 9, 8))
    with pytest.raises(ActionError, match="types into"):
        env.step(Action("type", text="ls"))


def test_discrete_actions_are_masked_exactly():
    env = GuiOnly(desktop(action="discrete", discrete={"grid": [16, 12]}), FIELD)
    env.reset(seed=0)
    discrete = env.desktop.discrete
    masks = env.get_wrapper_attr("action_masks")()
    verbs, targets = masks[: len(discrete.verbs)], masks[len(discrete.verbs) :]
    names = [verb.name for verb in discrete.verbs]
    assert not targets[1] and targets[2] and not verbs[names.index("fill")] and verbs[names.index("click")]
    x, y, width, height = env.desktop.elements.rows[1, :4]
    for k, (px, py) in enumerate(discrete.grid):
        inside = x <= px < x + width and y <= py < y + height
        assert targets[8 + k] == (not inside)
    cell = next(k for k, (px, py) in enumerate(discrete.grid) if x <= px < x + width and y <= py < y + height)
    for target in (1, 8 + cell):
        info = env.step([names.index("click"), target, 0])[-1]
        assert "click cannot" in info["invalid_action"]
    plain = desktop(action="discrete", discrete={"grid": [16, 12]})
    plain.reset(seed=0)
    assert plain.action_masks()[len(names) + 1]


def test_discrete_keys_are_masked_while_a_console_has_the_focus():
    env = focused("discrete")
    names = [verb.name for verb in env.desktop.discrete.verbs]
    masks = dict(zip(names, env.get_wrapper_attr("action_masks")(), strict=False))
    assert not (masks["type"] or masks["press"] or masks["fill"] or masks["submit"])
    assert masks["click"] and masks["wait"] and masks["done"] and masks["answer"]


def test_joint_masks_know_it_and_random_play_never_reaches_the_console():
    env = JointDiscrete(GuiOnly(desktop(action="discrete", discrete={"grid": [16, 12]}), FIELD))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(150):
        action = rng.choice(np.flatnonzero(env.action_masks()))
        _, _, terminated, truncated, info = env.step(int(action))
        assert "invalid_action" not in info
        assert not env.desktop.machine.alive or not env.desktop.machine.fake_display.focused
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize("outside", [True, False], ids=["outside", "inside"])
@pytest.mark.parametrize("form", ["computer", "code"])
def test_the_order_of_wrappers_does_not_matter(form, outside):
    def gui(env):
        return GuiOnly(env, FIELD)

    def frames(env):
        return CoordinateFrame(DownscaleScreenshot(env), "unit")

    env = gui(frames(desktop(action=form))) if outside else frames(gui(desktop(action=form)))
    env.reset(seed=0)
    for row, allowed in ((1, False), (2, True)):
        x, y = (number / size for number, size in zip(center(env, row), (160, 120), strict=True))
        action = f"pyautogui.click({x}, {y})" if form == "code" else {"action": "click", "x": x, "y": y}
        if allowed:
            env.step(action)
        else:
            with pytest.raises(ActionError, match="points at a console"):
                env.step(action)
    if form == "code":
        with pytest.raises(ActionError, match="line 1: 'import os'"):
            env.step("import os")
        with pytest.raises(ActionError, match="outside the frame"):
            env.step("pyautogui.click(3, 3)")


def test_marks_can_be_named():
    for wrap in (
        SetOfMark,
        lambda env: DownscaleScreenshot(SetOfMark(env)),
        lambda env: GuiOnly(SetOfMark(env), FIELD),
    ):
        env = wrap(GuiOnly(desktop(**CODE), FIELD))
        env.reset(seed=0)
        env.step("pyautogui.click(tag_2)\npyautogui.click(*index_2)")
        with pytest.raises(ActionError, match="points at a console"):
            env.step("pyautogui.click(1, 1)\npyautogui.click(*tag_1)")


def test_the_space_has_programs_that_are_allowed():
    env = GuiOnly(desktop(**CODE))
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(20):
        program = env.action_space.sample()
        assert env.action_space.contains(program) and len(read_program(program)) == 1
    assert "DONE" in env.action_space and "import os" not in env.action_space and 5 not in env.action_space
    assert "pyautogui.click(1, 1)" in env.action_space and "x" * 70000 not in env.action_space


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "no fields"),
        ({"rôle": "text"}, "unknown field"),
        ({"nane": "x"}, "did you mean 'name'"),
        ({"role": 3}, "a text"),
        ({"role": "text", "class": "x"}, "give one of them"),
    ],
)
def test_consoles_are_checked(entry, message):
    with pytest.raises(ValueError, match=message):
        GuiOnly(desktop(), [entry])


@pytest.mark.sandbox
def test_on_a_real_desktop():
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", max_steps=20)
    inner = env
    env = GuiOnly(env)
    env.reset(seed=0)
    assert len(env.console_places()) == 0
    with pytest.raises(ActionError, match="line 2"):
        env.step("pyautogui.press('esc')\nimport os")
    for program in env.desktop.oracle():
        _, reward, *_ = env.step(program)
    assert reward == 1
    env = GuiOnly(inner, [{"class": "kalgebra"}])
    env.reset(seed=0)
    assert env.console_places().shape == (1, 4)
    with pytest.raises(ActionError, match="types into a console"):
        env.step("pyautogui.write('1+1')")
    with pytest.raises(ActionError, match="points at a console"):
        env.step("pyautogui.click(960, 540)")
    env.step("pyautogui.click(5, 5)")
    env.close()
