"""The TRL environments: their tools and rewards on the fake machine."""

import gc
import json
import pickle

import gymnasium as gym
import pytest
from PIL import Image
from press_suite import descendants, gone

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError, DeskgymError, GuestLost, SetupError
from deskgym.trainers.trl import CodeToolEnv, ComputerToolEnv, DesktopToolEnv, desktop_environment, task_rows
from deskgym.wrappers import PartialCredit

FAKE = "test/Press-v0"
KALGEBRA = {"task": "kalgebra/plot-2d", "screen_size": (1280, 720)}


def fake(action="computer", **options):
    return desktop_environment(FAKE, action=action, **options)()


def tools(env):
    """The methods that TRL offers as tools, as GRPOTrainer finds them."""
    import inspect

    names = (name for name, _ in inspect.getmembers(type(env), predicate=inspect.isfunction))
    return {name: getattr(env, name) for name in names if name[0] != "_" and name not in ("reset", "get_reward")}


COMMON = {"done", "fail", "answer", "look"}


@pytest.mark.parametrize(
    ("action", "own"),
    [("code", {"run_code"}), ("computer", {"click", "drag", "scroll", "type_text", "press_keys"})],
)
def test_the_public_methods_are_tools_with_schemas_and_nothing_else(action, own):
    from transformers.utils import get_json_schema

    offered = tools(fake(action))
    assert set(offered) == COMMON | own
    for name, method in offered.items():
        schema = get_json_schema(method)["function"]
        assert schema["name"] == name and len(schema["description"]) > 20
        json.dumps(schema)
        for parameter in schema["parameters"]["properties"].values():
            assert parameter["description"] and parameter["type"] in ("string", "integer", "number")


def test_an_episode_by_tools_earns_its_score():
    env = fake()
    start = env.reset(prompt=[{"role": "user", "content": "?"}], task="fake/press#42", split=None, seed=None)
    assert "Task: Answer 42." in start and "index\trole" in start
    assert "index\trole" in env.click(x=5, y=5, clicks=2)
    assert "index\trole" in env.press_keys("ctrl+s")
    assert env.answer("42") == "The episode is over."
    assert env.get_reward() == env.get_reward() == 1.0
    with pytest.raises(ActionError, match="over"):
        env.click(1, 1)


def test_equal_rows_begin_equal_tasks_and_a_row_without_an_instance_is_refused():
    rows = task_rows("fake/*", seeds=[3, 4])
    starts = [fake().reset(**row) for row in (rows[0], rows[0], rows[1])]
    assert starts[0] == starts[1] != starts[2]
    with pytest.raises(ValueError, match="needs a 'seed'.*task_rows"):
        fake().reset(task="fake/press")


def test_a_group_may_start_in_the_middle_of_a_task():
    rows = task_rows("fake/*", seeds=[3], done=(0, 1, 99))
    assert [row["done"] for row in rows] == [0, 1, 99]
    envs = [fake() for _ in range(4)]
    for env, row in zip(envs, (*rows, rows[1]), strict=True):
        env.reset(**row)
    steps = [env._session.info["step"] for env in envs]
    assert steps[0] == 0 and steps[1] == steps[3] == 1 < steps[2], "and never at the task's end"
    shown = [env._session.env.unwrapped.machine.fake_display.state for env in envs]
    assert shown[1] == shown[3] != shown[0]
    assert not any(env._session.over for env in envs)
    with pytest.raises(ValueError, match="from 0 up"):
        fake().reset(**rows[0] | {"done": -1})


def test_an_illegal_call_is_an_error_that_costs_a_step():
    env = fake(max_steps=2)
    env.reset(task="fake/press#15")
    with pytest.raises(ActionError, match="off the screen"):
        env.click(x=5000, y=1)
    with pytest.raises(ActionError, match="whole number.*\n.*over"):
        env.click(x="left", y=1)
    assert env.get_reward() == 1.0


def test_an_unfinished_episode_is_evaluated_as_it_stands_and_its_machine_stops():
    env = fake()
    env.reset(task="fake/press#15")
    machine = env._session.desktop.machine
    assert machine.alive
    assert env.get_reward() == 1.0 and not machine.alive
    env.reset(task="fake/press#16")
    assert env.get_reward() == 0.0


def test_a_reward_before_reset_is_refused():
    with pytest.raises(gym.error.ResetNeeded):
        fake().get_reward()


@pytest.mark.parametrize("action", ["code", "computer"])
@pytest.mark.parametrize("seconds", [-1, 60.5, float("nan"), float("inf"), "soon", None])
def test_a_look_that_is_not_legal_says_so(action, seconds):
    env = fake(action)
    env.reset(task="fake/press#15")
    with pytest.raises(ActionError, match=f"seconds={seconds!r}; legal is a number from 0 to 60"):
        env.look(seconds)
    assert env._session.info["step"] == 1


@pytest.mark.parametrize("seconds", [0, 1e-5, -0.0, 0.1])
def test_any_legal_look_is_a_wait(seconds):
    env = fake("code")
    env.reset(task="fake/press#15")
    assert "index\trole" in env.look(seconds)
    (performed,) = env._session.desktop.performed
    assert performed == Action("wait", seconds=seconds)


def test_the_step_limit_ends_it():
    env = fake("code", max_steps=1)
    env.reset(task="fake/press#15")
    assert "step limit" in env.look()
    assert env.get_reward() == 1.0


def test_a_fault_has_no_reward(caplog):
    env = fake()
    env.reset(task="fake/press#15")
    env._session.desktop.machine.stop()
    with pytest.raises(DeskgymError, match="the desktop broke"):
        env.click(1, 1)
    assert env.get_reward() is None
    assert "has no reward" in caplog.text
    env.reset(task="fake/press#14")  # the evaluation of 14 breaks
    env.done()
    assert env.get_reward() is None
    env.reset(task="fake/press#15")
    assert env.get_reward() == 1.0
    env = fake(fault_reward=0.0)
    env.reset(task="fake/press#14")
    assert env.get_reward() == 0.0


def test_a_policy_that_breaks_its_machine_earns_nothing(monkeypatch):
    env = fake()
    env.reset(task="fake/press#15")
    env.click(1, 1)
    monkeypatch.setattr(type(env._session.desktop.machine.display), "carry_out", lost)
    with pytest.raises(DeskgymError, match="the desktop broke"):
        env.click(1, 1)
    assert env.get_reward() == 0.0 and env._session.fault["cause"] == "agent"


def lost(display, request):
    raise GuestLost("the bus is gone", "accessibility_lost")


def test_a_reset_that_fails_has_no_reward_and_raises_when_it_goes_on():
    env = fake(reset_faults=2)
    for _ in range(2):
        assert "could not be started" in env.reset(task="fake/press#13")
        assert env.get_reward() is None
    with pytest.raises(SetupError):
        env.reset(task="fake/press#13")
    env.reset(task="fake/press#15")
    assert "could not be started" in env.reset(task="fake/press#13")


def test_an_image_comes_beside_the_text():
    env = fake(image=True)
    for content in (env.reset(task="fake/press#1"), env.look()):
        text, image = content
        assert "index\trole" in text["text"] and text["type"] == "text"
        assert isinstance(image["image"], Image.Image) and image["image"].size == (160, 120)


def test_factories_and_environments_can_be_pickled():
    factory = pickle.loads(pickle.dumps(desktop_environment(FAKE, action="code", text_limit=99, max_steps=7)))
    env = pickle.loads(pickle.dumps(factory()))
    assert isinstance(env, CodeToolEnv)
    assert env._session.desktop.max_steps == 7 and env._text_limit == 99


def test_wrappers_come_in_an_env_spec_and_see_the_end():
    inner = gym.make(FAKE, observation=("a11y", "instruction"), action="computer")
    spec = PartialCredit(inner, scale=5.0).spec
    env = desktop_environment(spec, action="computer")()
    assert isinstance(env, ComputerToolEnv)
    env.reset(task="fake/press#15")
    assert env.get_reward() == 5.0
    with pytest.raises(ValueError, match="needs an env of action='code'; the spec's is 'computer'"):
        desktop_environment(spec, action="code")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"action": "cod"}, "did you mean 'code'"),
        ({"text_limit": 0}, "from 1 up"),
        ({"invalid_action": "raise"}, "CodeToolEnv decides"),
        ({"max_steps": 0}, "from 1 up"),
    ],
)
def test_bad_options_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        desktop_environment(FAKE, **options)


def test_the_base_class_is_not_an_environment():
    with pytest.raises(TypeError, match="desktop_environment"):
        DesktopToolEnv(FAKE)


@pytest.mark.sandbox
def test_nothing_runs_after_the_reward_nor_after_deletion():
    before = descendants()
    env = desktop_environment(**KALGEBRA)()
    assert not set(descendants()) - set(before)
    env.reset(seed=1)
    assert set(descendants()) - set(before)
    assert env.get_reward() == 0.0
    assert gone(before)
    env.reset(seed=1)
    del env
    gc.collect()
    assert gone(before)
