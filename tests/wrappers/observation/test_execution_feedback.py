"""ExecutionFeedback: responses are carried out, failures reported in the papers' form, and no action is lost."""

import json
import warnings

import gymnasium as gym
import numpy as np
import pytest
from fake_suite import FakeSource
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import GuestLost
from deskgym.envs.guest.step import CodeResult
from deskgym.wrappers import CoordinateFrame, ExecutionFeedback, SetOfMark
from deskgym.wrappers.observation.execution_feedback import FAILURES, NOTHING_FOUND

BROKEN = "```python\nthis is no Python\n```"
GOOD = "```python\npyautogui.write('ab')\nprint('typed')\n```"


def make(form="code", wrapper=None, **options):
    options = {"machine": "fake", "screen_size": (160, 120), "max_steps": 10, "action": form} | options
    env = ExecutionFeedback(DesktopEnv(FakeSource(), **options), **(wrapper or {}))
    env.reset(seed=3)
    return env


gym.register(
    "test/ExecutionFeedback-v0",
    entry_point=lambda **options: DesktopEnv(FakeSource(), **options),
    nondeterministic=True,
)


def statuses(info):
    return [execution["status"] for execution in info["executions"]]


@pytest.mark.parametrize("form", ["code", "computer"])
@pytest.mark.parametrize("observation", [("screenshot",), ("screenshot", "feedback")])
def test_check_env_has_nothing_to_say(form, observation):
    options = {"machine": "fake", "screen_size": (160, 120), "action": form, "observation": observation}
    env = ExecutionFeedback(gym.make("test/ExecutionFeedback-v0", **options).unwrapped)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env)
    env.close()


@pytest.mark.parametrize("form", ["code", "computer"])
def test_samples_are_responses_with_one_action(form):
    env = make(form, invalid_action="raise", max_steps=10_000)
    env.action_space.seed(4)
    first = [env.action_space.sample() for _ in range(30)]
    env.action_space.seed(4)
    assert first == [env.action_space.sample() for _ in range(30)] and len(set(first)) > 20
    found = 0
    for response in first:
        assert response in env.action_space
        *_, terminated, truncated, info = env.step(response)
        found += len(info["executions"]) == 1
        assert form == "code" or statuses(info) == ["success"], info["executions"]
        if terminated or truncated:
            env.reset()
    assert found >= 25  # a random program may be blank


def test_the_actions_of_a_response_are_carried_out_in_order():
    env = make()
    observation, reward, terminated, truncated, info = env.step(
        "Two:\n```python\npyautogui.click(80, 45)\n```\n" + GOOD
    )
    assert env.desktop.machine.fake_display.text == "ab"
    assert (reward, terminated, truncated, observation["feedback"]) == (0.0, False, False, "")
    assert observation in env.observation_space
    assert info["step"] == 2 and statuses(info) == ["success", "success"]
    assert info["executions"][1] == {
        "action": "pyautogui.write('ab')\nprint('typed')",
        "status": "success",
        "stdout": "typed\n",
        "stderr": "",
        "message": "",
    }


def test_the_rest_is_skipped_when_the_episode_is_over():
    env = make()
    *_, reward, terminated, _, info = env.step(f"```ANS {env.desktop.task.params['number']}```\n{GOOD}")
    assert (reward, terminated, statuses(info)) == (1.0, True, ["success", "skipped"])
    with pytest.raises(gym.error.ResetNeeded):
        env.step(GOOD)
    with pytest.raises(gym.error.ResetNeeded):
        env.step("nothing in here")


def test_failures_are_reported_in_the_papers_form():
    env = make()
    observation, *_, info = env.step(f"{GOOD}\n{BROKEN}\n{GOOD}")
    assert statuses(info) == ["success", "error", "success"]
    start = f"{FAILURES}\n\nParsed action:\n```\nthis is no Python\n```\nExecution flag: Failed with error message -> "
    assert observation["feedback"].startswith(start + "Traceback") and "SyntaxError" in observation["feedback"]
    assert "typed" not in observation["feedback"] and "typed" in info["executions"][0]["stdout"]
    assert env.step(GOOD)[0]["feedback"] == ""
    json.dumps(info["executions"])


def test_what_only_wrote_to_stderr_succeeded():
    env = make()
    display = env.desktop.machine.fake_display
    display.run_code = lambda text: CodeResult(stderr="Warning: old\n")
    observation, *_, info = env.step(GOOD)
    assert statuses(info) == ["success"]
    assert observation["feedback"].endswith("Execution flag: Succeed with error message -> Warning: old")
    display.run_code = lambda text: CodeResult(status=-9, timed_out=True)
    observation, *_, info = env.step(GOOD)
    assert statuses(info) == ["error"]
    assert observation["feedback"].endswith("Failed with error message -> [killed: the code ran past its time limit]")


def test_stop_on_failure_skips_the_rest_and_says_so():
    env = make(wrapper={"stop_on_failure": True})
    observation, *_, info = env.step(f"{BROKEN}\n{GOOD}\n{GOOD}")
    assert statuses(info) == ["error", "skipped", "skipped"] and info["step"] == 1
    assert observation["feedback"].endswith("Not carried out: the last 2 of 3 actions.")
    assert env.desktop.machine.fake_display.text == ""


@pytest.mark.parametrize("response", ["I think.", "", []])
def test_no_action_is_said_and_counts_as_a_step(response):
    env = make()
    observation, *_, info = env.step(response)
    assert observation["feedback"] == NOTHING_FOUND and info["executions"] == [] and info["step"] == 1
    env = make(max_steps=1)
    assert env.step(response)[3] is True


def test_the_published_behaviour_has_the_condition_inverted():
    env = make(wrapper={"mode": "paper"})
    assert env.step("I think.")[0]["feedback"] == ""
    assert env.step(GOOD)[0]["feedback"] == ""
    assert env.step(BROKEN)[0]["feedback"] == f"{FAILURES}\n\n{NOTHING_FOUND}\n"


@pytest.mark.parametrize("invalid_action", ["raise", "feedback"])
def test_an_illegal_action_does_not_lose_the_others(invalid_action):
    env = make("computer", invalid_action=invalid_action)
    response = """```json
    [{"action": "click", "x": 5000, "y": 2}, {"action_type": "CLICK", "x": 80, "y": 45}]
    ```
    ```json
    {"action": "type"
    ```
    ```{"action": "type", "text": "hi"}```"""
    observation, *_, info = env.step(response)
    assert statuses(info) == ["error", "success", "error", "success"]
    assert env.desktop.machine.fake_display.text == "hi"
    assert "off the screen" in info["executions"][0]["message"] and "not JSON" in info["executions"][2]["message"]
    assert info["executions"][1]["action"] == {"action_type": "CLICK", "x": 80, "y": 45}
    line = 'Parsed action: {"action": "click", "x": 5000, "y": 2}\nExecution flag: Failed with error message -> '
    assert line in observation["feedback"] and observation["feedback"].count("Execution flag") == 2
    assert info["step"] == (2 if invalid_action == "raise" else 3)


def test_only_illegal_actions_are_one_step():
    env = make("computer")
    *_, info = env.step([{"action": "jump"}, {"action": "click", "x": -1, "y": 0}])
    assert info["step"] == 1 and statuses(info) == ["error", "error"]


def test_actions_pass_untouched():
    env = make("computer")
    action = Action("click", x=80, y=45)
    env.step(action)
    assert env.desktop.performed == (action,)
    *_, info = env.step([action, Action("type", text="x")])
    assert statuses(info) == ["success", "success"] and env.desktop.machine.fake_display.text == "x"
    *_, info = env.step(env.action_space.inner.sample())
    assert statuses(info) == ["success"]


def test_a_sample_is_reported_in_its_own_frame_and_marks():
    inner = DesktopEnv(FakeSource(), machine="fake", screen_size=(160, 120), invalid_action="feedback")
    env = ExecutionFeedback(CoordinateFrame(SetOfMark(inner), "unit"))
    env.reset(seed=3)
    sample = env.action_space.inner.sample() | {"action": 0, "mark": 0, "to_mark": 0}
    *_, info = env.step([sample | {"point": np.array([0.5, 0.25], np.float32)}, sample | {"mark": 99}])
    assert [execution["action"] for execution in info["executions"]] == [
        {"action": "move", "x": 0.5, "y": 0.25},
        {"action": "move", "mark": 99},
    ]
    json.dumps(info["executions"])


def test_bare_takes_the_text_for_the_program():
    assert statuses(make().step("pyautogui.press('a')")[4]) == []
    assert statuses(make(wrapper={"bare": True}).step("pyautogui.press('a')")[4]) == ["success"]


def test_a_broken_machine_is_not_the_actions_error():
    env = make()

    def lost(text):
        raise GuestLost("gone")

    env.desktop.machine.fake_display.run_code = lost
    observation, _, _, truncated, info = env.step(f"{GOOD}\n{GOOD}")
    assert truncated and statuses(info) == ["fault", "skipped"] and info["executions"][0]["message"] == "gone"
    assert observation["feedback"] == "" and observation in env.observation_space


def test_a_long_message_is_cut():
    env = make()
    observation, *_ = env.step("```python\n(" + "x" * 40_000 + "\n```")
    assert len(observation["feedback"]) == 16384 and "characters left out" in observation["feedback"]


@pytest.mark.parametrize(
    ("options", "wrapper", "named"),
    [({"form": "discrete"}, {}, "discrete"), ({}, {"mode": "papr"}, "papr")],
)
def test_illegal_arguments(options, wrapper, named):
    with pytest.raises(ValueError, match=named):
        make(wrapper=wrapper, **options)


def test_the_spec_builds_it_again():
    env = ExecutionFeedback(gym.make("deskgym/Science-v0", action="code"), stop_on_failure=True, mode="paper")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, ExecutionFeedback) and again.stop_on_failure and again.mode == "paper"


def test_in_a_vector_env():
    vector = AsyncVectorEnv([lambda: make(observation=("screenshot",))] * 2)
    vector.reset(seed=1)
    observation, *_, info = vector.step((GOOD, "no action"))
    assert tuple(observation["feedback"]) == ("", NOTHING_FOUND)
    assert [len(executions) for executions in info["executions"]] == [1, 0]
    vector.close()


@pytest.mark.sandbox
def test_on_a_real_desktop():
    make = {"task": "kalgebra/plot-2d", "action": "code", "observation": ["screenshot"], "max_steps": 15}
    env = ExecutionFeedback(gym.make("deskgym/Science-v0", **make))
    env.reset(seed=0)
    response = """I look, then fail, then warn.
```python
x, y = pyautogui.position()
print(x * 0 + 42)
pyautogui.moveTo(100, 100)
```
```python
undefined_name + 1
```
```python
import sys
sys.stderr.write("only a warning")
WAIT 0
```"""
    observation, *_, info = env.step(response)
    assert statuses(info) == ["success", "error", "success", "success"]
    assert info["executions"][0]["stdout"] == "42\n" and "NameError" in info["executions"][1]["stderr"]
    feedback = observation["feedback"]
    assert feedback.count("Execution flag") == 2 and "NameError: name 'undefined_name'" in feedback
    assert feedback.endswith("Succeed with error message -> only a warning")
    for program in env.unwrapped.oracle():
        _, reward, terminated, _, _ = env.step(f"```python\n{program}\n```")
    assert (reward, terminated) == (1.0, True)
    assert np.asarray(observation["screenshot"]).any()
    env.close()
