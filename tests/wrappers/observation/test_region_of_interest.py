"""RegionOfInterest: the crop, coordinates in it, and what it follows."""

import gymnasium as gym
import numpy as np
import pytest
from fake_desktops import desktop, keeps_the_contract

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError
from deskgym.wrappers import AccessibilityText, CoordinateFrame, DownscaleScreenshot, RegionOfInterest

BOX = (30, 20, 80, 50)


@pytest.mark.parametrize("follow", [None, "window", "focus"])
@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_it_keeps_the_contract(action, follow):
    keeps_the_contract(lambda env: RegionOfInterest(env, BOX, follow), action=action)


def test_it_shows_the_box_and_keeps_no_frame_alive():
    env = RegionOfInterest(desktop(), BOX)
    observation, info = env.reset(seed=0)
    whole = env.desktop.machine.display.capture()
    assert (observation["screenshot"] == whole[20:70, 30:110]).all()
    assert observation["screenshot"].base is None and info["region"] == [30, 20, 80, 50]


def test_points_are_of_the_region():
    env = RegionOfInterest(desktop(), BOX)
    env.reset(seed=0)
    env.step({"action": "click", "x": 5, "y": 7})
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (35, 27)
    env.step(Action("click", 5, 7))
    assert env.desktop.performed[0].x == 5
    for x, y in ((80, 0), (-1, 0), (0, 50)):
        with pytest.raises(ActionError, match="outside the frame"):
            env.step({"action": "click", "x": x, "y": y})
    assert env.action_space["point"].nvec.tolist() == [80, 50]


def test_elements_are_placed_in_the_region():
    env, plain = RegionOfInterest(desktop(), BOX), desktop()
    observation, expected = env.reset(seed=0)[0], plain.reset(seed=0)[0]
    count = len(plain.elements)
    assert (observation["elements"][:count, :2] == expected["elements"][:count, :2] - [30, 20]).all()
    assert (observation["elements"][:, 2:] == expected["elements"][:, 2:]).all()
    x, y = observation["elements"][1, :2]
    assert f"\t({x}, {y})\t" in observation["a11y"]


def test_a_text_stays_within_its_budget():
    text = AccessibilityText(desktop()).reset(seed=0)[0]["a11y"]
    for budget in range(len(text) - 20, len(text) + 1):
        env = RegionOfInterest(AccessibilityText(desktop(), budget=budget), (100, 90, 20, 20))
        observation, _ = env.reset(seed=0)
        assert observation in env.observation_space and len(observation["a11y"]) <= budget
        assert "\t(-" in observation["a11y"] or "more rows]" in observation["a11y"]
        env.close()


def test_it_follows_the_focus():
    env = RegionOfInterest(desktop(), BOX, "focus")
    assert env.reset(seed=0)[1]["region"] == list(BOX)
    field = env.desktop.elements[1]
    info = env.step(Action("click", *field.center))[-1]
    x, y = field.center
    assert info["region"] == [x - 40, min(max(0, y - 25), 70), 80, 50]
    observation, *_, info = env.step({"action": "move", "x": 40, "y": 20})
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (x, info["region"][1] + 20)
    x, y = info["region"][:2]
    assert (observation["screenshot"] == env.desktop.machine.display.capture()[y : y + 50, x : x + 80]).all()
    space = env.action_space
    assert env.reset(seed=0)[1]["region"] == list(BOX) and env.action_space is space


def test_it_follows_the_window():
    env = RegionOfInterest(desktop(), (0, 0, 50, 40), "window")
    assert env.reset(seed=0)[1]["region"] == [20, 15, 50, 40]


def test_it_follows_the_pointer_to_the_edge():
    env = RegionOfInterest(desktop(), BOX, "pointer")
    assert env.reset(seed=0)[1]["region"] == list(BOX)
    assert env.step(Action("move", 159, 60))[-1]["region"] == [80, 35, 80, 50]
    assert env.step(Action("type", text="x"))[-1]["region"] == [80, 35, 80, 50]
    assert env.step(Action("drag", 10, 10, 60, 119))[-1]["region"] == [20, 70, 80, 50]


def test_inside_of_scaling_and_frames():
    env = CoordinateFrame(DownscaleScreenshot(RegionOfInterest(desktop(), BOX, "pointer"), scale=0.5), "unit")
    observation, _ = env.reset(seed=0)
    assert observation["screenshot"].shape == (25, 40, 3)
    env.step({"action": "move", "x": 1, "y": 0})
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (109, 21)
    env.step({"action": "move", "x": 0.5, "y": 0.5})
    x, y = 109 - 40, 0
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (x + 41, y + 25)


def test_a_broken_machine_leaves_the_region_where_it_was():
    env = RegionOfInterest(desktop(), BOX, "window")
    region = env.reset(seed=0)[1]["region"]
    env.desktop.machine.guest.close()
    observation, _, _, truncated, info = env.step(Action("click", 1, 1))
    assert truncated and info["fault"] and info["region"] == region
    assert observation["screenshot"].shape == (50, 80, 3) and not observation["screenshot"].any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"box": (100, 0, 80, 50)}, "not within the screen of 160x120"),
        ({"box": (0, 0, 0, 5)}, "not within"),
        ({"box": "wide"}, "x, y, width, height"),
        ({"box": 3}, "x, y, width, height"),
        ({"box": BOX, "follow": "focsu"}, "did you mean 'focus'"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        RegionOfInterest(desktop(), **arguments)


def test_what_is_inside_must_fit():
    with pytest.raises(ValueError, match="put it inside"):
        RegionOfInterest(DownscaleScreenshot(desktop()), (0, 0, 20, 20))
    with pytest.raises(ValueError, match="put it inside"):
        RegionOfInterest(CoordinateFrame(desktop(), "unit"), (0, 0, 20, 20))
    with pytest.raises(ValueError, match="cannot see where a program"):
        RegionOfInterest(desktop(action="code"), BOX, "pointer")


@pytest.mark.sandbox
def test_on_a_real_desktop():
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", observation=["screenshot", "a11y"])
    env = RegionOfInterest(env, (0, 0, 900, 500), "window")
    observation, info = env.reset(seed=0)
    window = next(element for element in env.desktop.elements if "active" in element.states)
    assert info["region"] == [window.x, window.y, 900, 500]
    row = next(line for line in observation["a11y"].splitlines() if "page tab\t2D Graph" in line).split("\t")
    x, y = eval(row[4])
    assert 0 < x < 300 and 0 < y < 50
    after, *_, info = env.step(f"pyautogui.click({x} + 20, {y} + 10)\npyautogui.click(900, 0)")
    assert "900 is outside" in info["execution"]["stderr"]
    assert np.abs(after["screenshot"].astype(int) - observation["screenshot"]).max() > 50
    assert "2D Graph" in [element.name for element in env.desktop.elements if "focused" in element.states]
    env.close()
