"""DownscaleScreenshot: the small picture, and actions and extents in its pixels."""

import cv2
import gymnasium as gym
import numpy as np
import pytest
from fake_desktops import desktop, keeps_the_contract
from gymnasium.vector import AsyncVectorEnv

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError
from deskgym.wrappers import CoordinateFrame, DownscaleScreenshot, JointDiscrete, SetOfMark


@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_it_keeps_the_contract(action):
    keeps_the_contract(lambda env: DownscaleScreenshot(env, scale=0.25), action=action)


def test_the_picture_is_the_mean_of_the_large_one():
    env = DownscaleScreenshot(desktop())
    observation, _ = env.reset(seed=0)
    large = env.desktop.machine.display.capture()
    assert observation["screenshot"].shape == (60, 80, 3) == env.observation_space["screenshot"].shape
    means = large.reshape(60, 2, 80, 2, 3).mean(axis=(1, 3))
    assert np.abs(observation["screenshot"] - means).max() <= 0.5
    env = DownscaleScreenshot(desktop(), size=(33, 44), interpolation="nearest")
    observation = env.reset(seed=0)[0]
    assert (observation["screenshot"] == cv2.resize(large, (33, 44), interpolation=cv2.INTER_NEAREST)).all()


def test_points_are_of_the_small_picture_in_every_form():
    env = DownscaleScreenshot(desktop(), scale=0.5)
    env.reset(seed=0)
    for action in (
        {"action": "click", "x": 10, "y": 20},
        {"action_type": "CLICK", "parameters": {"x": 10, "y": 20}},
        env.action_space.sample() | {"action": 1, "point": np.array([10, 20]), "modifiers": np.zeros(4, np.int8)},
    ):
        env.step(action)
        assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (21, 41)
    env.step(Action("click", 100, 110))
    assert env.desktop.performed[0].x == 100
    with pytest.raises(ActionError, match="x=80 is outside"):
        env.step({"action": "click", "x": 80, "y": 0})


def test_a_point_outside_can_be_feedback():
    env = DownscaleScreenshot(desktop(invalid_action="feedback"))
    env.reset(seed=0)
    observation, *_, info = env.step({"action": "click", "x": 80, "y": 0})
    assert "x=80 is outside" in info["invalid_action"] and info["step"] == 1
    assert observation["feedback"] == info["invalid_action"]


def test_actions_and_elements_can_stay():
    env = DownscaleScreenshot(desktop(), scale_actions=False, scale_elements=False)
    plain = desktop()
    observation, expected = env.reset(seed=0)[0], plain.reset(seed=0)[0]
    assert (observation["elements"] == expected["elements"]).all() and observation["a11y"] == expected["a11y"]
    assert env.action_space == plain.action_space
    env.step({"action": "click", "x": 100, "y": 100})
    assert env.desktop.performed[0].x == 100


def test_elements_have_their_places_on_the_small_picture():
    env, plain = DownscaleScreenshot(desktop(), scale=0.5), desktop()
    observation, expected = env.reset(seed=0)[0], plain.reset(seed=0)[0]
    x, y, width, height = expected["elements"][1, :4]
    assert np.abs(observation["elements"][1, :4] * 2 - (x, y, width, height)).max() <= 2
    assert f"\t({x // 2}, {y // 2})\t" in observation["a11y"] and f"\t({x}, {y})\t" not in observation["a11y"]
    small = observation["elements"][1]
    env.step({"action": "click", "x": int(small[0] + small[2] // 2), "y": int(small[1] + small[3] // 2)})
    assert env.desktop.machine.display.focused
    assert (env.desktop.elements.rows[1, :4] == (x, y, width, height)).all()


def test_pictures_of_pictures():
    env = CoordinateFrame(DownscaleScreenshot(DownscaleScreenshot(desktop()), size=(20, 15)), "unit")
    env.reset(seed=0)
    env.step({"action": "click", "x": 0.5, "y": 0.5})  # 10, 7 → 42, 30 → 85, 61
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (85, 61)
    with pytest.raises(ValueError, match="put it outside"):
        DownscaleScreenshot(CoordinateFrame(desktop(), "unit"))


def test_marks_inside_can_be_named_and_are_placed():
    env = DownscaleScreenshot(SetOfMark(desktop()), scale=0.5)
    observation, _ = env.reset(seed=0)
    inner = env.env
    x, y, width, height = observation["mark_boxes"][0]
    assert np.abs(np.array([2 * x + width, 2 * y + height]) - inner.points[0]).max() <= 2
    assert set(env.action_space.spaces) == set(inner.action_space.spaces)
    env.step({"action": "click", "mark": 1})
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == tuple(
        inner.env.elements[int(inner.marked[0])].center
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": (80, 60), "scale": 0.5}, "give one of them"),
        ({"scale": 0}, "above 0"),
        ({"scale": 2}, "at most 1"),
        ({"size": (161, 60)}, "1 to 160"),
        ({"size": 5}, "width, height"),
        ({"interpolation": "aera"}, "did you mean 'area'"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        DownscaleScreenshot(desktop(), **arguments)


def test_what_is_inside_must_fit():
    with pytest.raises(ValueError, match="needs the observation 'screenshot'"):
        DownscaleScreenshot(desktop(observation=("instruction",)))
    env = DownscaleScreenshot(JointDiscrete(desktop(action="discrete")))
    env.reset(seed=0)
    assert env.action_space == env.env.action_space


def test_in_worker_processes():
    envs = AsyncVectorEnv([lambda: DownscaleScreenshot(desktop())] * 2)
    observation, _ = envs.reset(seed=0)
    assert observation["screenshot"].shape == (2, 60, 80, 3) and observation["screenshot"].any()
    observation, *_ = envs.step(envs.action_space.sample())
    assert observation["screenshot"].shape == (2, 60, 80, 3)
    envs.close()


@pytest.mark.sandbox
def test_on_a_real_desktop():
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", observation=["screenshot", "a11y", "elements"])
    env = DownscaleScreenshot(env, size=(640, 360))
    observation, _ = env.reset(seed=0)
    assert observation["screenshot"].shape == (360, 640, 3)
    row = next(line for line in observation["a11y"].splitlines() if "page tab\t2D Graph" in line).split("\t")
    x, y = eval(row[4])
    width, height = eval(row[5])
    after = env.step({"action": "click", "x": x + width // 2, "y": y + height // 2})[0]
    assert np.abs(after["screenshot"].astype(int) - observation["screenshot"]).max() > 50
    selected = [element.name for element in env.desktop.elements if "focused" in element.states]
    assert "2D Graph" in selected
    env.close()
