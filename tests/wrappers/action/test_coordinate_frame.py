"""CoordinateFrame: actions in normalised coordinates or another picture's pixels."""

import gymnasium as gym
import numpy as np
import pytest
from fake_desktops import desktop, keeps_the_contract
from gymnasium import spaces

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.action.spaces import action_from_sample
from deskgym.envs.errors import ActionError
from deskgym.wrappers import AnthropicComputerUse, CoordinateFrame, ExecutionFeedback, RecordEpisode


@pytest.mark.parametrize("frame", ["pixels", "unit", "thousand", (1280, 800)])
@pytest.mark.parametrize("action", ["computer", "code"])
def test_it_keeps_the_contract(frame, action):
    keeps_the_contract(lambda env: CoordinateFrame(env, frame), action=action)


@pytest.mark.parametrize(
    ("frame", "point", "space"),
    [
        ("pixels", (80, 30), spaces.MultiDiscrete([160, 120], dtype=np.int32)),
        ("unit", (0.5, 0.25), spaces.Box(0.0, 1.0, (2,), np.float32)),
        ("thousand", (500, 250), spaces.MultiDiscrete([1001, 1001], dtype=np.int32)),
        ((1600, 1200), (800, 300), spaces.MultiDiscrete([1600, 1200], dtype=np.int32)),
    ],
)
def test_json_and_samples_in_each_frame(frame, point, space):
    env = CoordinateFrame(desktop(), frame)
    env.reset(seed=0)
    assert env.action_space["point"] == env.action_space["to"] == space
    env.step({"action": "click", "x": point[0], "y": point[1]})
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (80, 30)
    sample = env.action_space.sample() | {"action": 4, "point": np.array(point, space.dtype), "to": np.array(point)}
    sample["modifiers"] = np.zeros(4, np.int8)
    env.step(sample)
    drag = env.desktop.performed[0]
    assert (drag.verb, drag.x, drag.y, drag.to_x, drag.to_y) == ("drag", 80, 30, 80, 30)
    assert (sample["point"] == np.array(point, space.dtype)).all()


def test_the_last_number_is_the_last_pixel_and_no_further():
    for frame, last in (("unit", 1), ("thousand", 1000)):
        env = CoordinateFrame(desktop(), frame)
        env.reset(seed=0)
        env.step({"action": "move", "x": last, "y": last})
        assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (159, 119)
        with pytest.raises(ActionError, match=f"legal are 0 to {last}"):
            env.step({"action": "move", "x": last * 1.01, "y": 0})


def test_an_action_object_is_in_screen_pixels():
    env = CoordinateFrame(desktop(), "unit")
    env.reset(seed=0)
    env.step(Action("click", 3, 4))
    assert env.desktop.performed == (Action("click", 3, 4),)


def test_discrete_actions_pass():
    env = CoordinateFrame(desktop(action="discrete"), "unit")
    env.reset(seed=0)
    assert env.action_space == env.desktop.action_space
    masks = env.get_wrapper_attr("action_masks")()
    assert masks.shape == (sum(env.action_space.nvec),)


@pytest.mark.parametrize("frame", ["percent", (0, 5), 7, (1, 2, 3)])
def test_an_unknown_frame_is_an_error(frame):
    with pytest.raises(ValueError, match="legal is"):
        CoordinateFrame(desktop(), frame)


def test_a_frame_in_normalised_coordinates_is_the_outermost():
    with pytest.raises(ValueError, match="put it outside"):
        CoordinateFrame(CoordinateFrame(desktop(), "thousand"), "unit")


@pytest.mark.parametrize(("wrapper", "action"), [(ExecutionFeedback, "code"), (AnthropicComputerUse, "computer")])
def test_what_takes_whole_responses_goes_outside(wrapper, action):
    with pytest.raises(ValueError, match="put it inside that wrapper"):
        CoordinateFrame(wrapper(desktop(action=action)), "unit")


def test_the_actions_of_a_response_are_in_the_frame():
    env = ExecutionFeedback(CoordinateFrame(desktop(action="computer"), "unit"))
    env.reset(seed=0)
    env.step('```json\n{"action": "click", "x": 0.5, "y": 0.5}\n```')
    assert (env.desktop.performed[0].x, env.desktop.performed[0].y) == (80, 60)


def test_it_goes_around_a_recorder(tmp_path):
    env = CoordinateFrame(RecordEpisode(desktop(), tmp_path), "unit")
    env.reset(seed=0)
    env.step({"action": "click", "x": 0.5, "y": 0.5})
    env.close()
    assert '"x": 80' in next(tmp_path.glob("*/steps.jsonl")).read_text()


def test_samples_reach_every_pixel_column():
    env = CoordinateFrame(desktop(screen_size=(64, 64)), "unit")
    env.action_space.seed(0)
    seen = {env.frame.action(env.action_space.sample())["point"][0] for _ in range(600)}
    assert len(seen) > 60 and max(seen) < 64
    inner = env.frame.action(env.action_space.sample())
    assert env.desktop.action_space.contains(inner) and action_from_sample(inner)


@pytest.fixture(scope="module")
def real():
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", observation=["feedback"], max_steps=50)
    env.reset(seed=0)
    yield env
    env.close()


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("frame", "position", "size"),
    [("unit", "0.25 0.5", "1 1"), ("thousand", "250 500", "1000 1000"), ((1280, 720), "320 360", "1280 720")],
)
def test_real_pyautogui_in_each_frame(real, frame, position, size):
    env = CoordinateFrame(real, frame)
    x, y = (float(number) for number in position.split())
    program = f"""pyautogui.moveTo({x}, {y})
x, y = pyautogui.position()
print(round(x, 2), round(y, 2))
print(*pyautogui.size(), pyautogui.onScreen({x}, {y}))
pyautogui.leftClick({x}, y={y})
import subprocess
from pyautogui import _pyautogui_x11 as platform
print(*platform._position())
pyautogui.moveRel(*({x}, 0))
print(platform._position()[0])"""
    lines = env.step(program)[0]["feedback"].splitlines()
    assert [float(n) for n in lines[0].split()] == [x, y]
    assert lines[1] == f"{size} True"
    pixel = [int(number) for number in lines[2].split()]
    assert max(abs(pixel[0] - 480), abs(pixel[1] - 540)) <= 1
    assert int(lines[3]) == pixel[0] + 480
    assert real.step("print(*pyautogui.size(), pyautogui.click.__name__)")[0]["feedback"] == "1920 1080 click"


@pytest.mark.sandbox
def test_real_tracebacks_have_the_programs_own_lines(real):
    program = "for k in range(2):\n    pyautogui.moveTo(0.1, 0.1)\n\nprint(undefined)"
    plain, framed = real.step(program.replace("0.1", "1"))[0], CoordinateFrame(real, "unit").step(program)
    assert "line 4, in <module>" in plain["feedback"]
    assert framed[0]["feedback"] == plain["feedback"]
    assert framed[-1]["execution"]["status"] == 1
    outside = CoordinateFrame(real, "unit").step("pyautogui.click(300, 200)")[0]["feedback"]
    assert "pyautogui.click: 300 is outside the frame of the coordinates; legal are 0 to 1" in outside
