"""HistoryWindow: what is in the window at each step, as arrays and as messages, and that nobody can change it."""

import base64
import json
import pickle
import warnings

import cv2
import gymnasium as gym
import numpy as np
import pytest
from fake_suite import FakeSource
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.wrappers import ExecutionFeedback, HistoryWindow
from deskgym.wrappers.observation.execution_feedback import NOTHING_FOUND
from deskgym.wrappers.observation.history_window import MAX_ENTRY
from deskgym.wrappers.observation.messages import with_data_urls

PARTS = ("screenshot", "elements", "a11y", "instruction", "feedback")


def desktop(action="computer", **options):
    options = {"machine": "fake", "screen_size": (160, 120), "max_steps": 20, "max_elements": 8} | options
    return DesktopEnv(FakeSource(), **({"observation": PARTS, "action": action} | options))


gym.register("test/HistoryWindow-v0", entry_point=desktop, nondeterministic=True)


def make(action="computer", wrapper=None, **options):
    return HistoryWindow(desktop(action, **options), **(wrapper or {}))


def typed(k):
    return Action("type", text="abcdefgh"[k])


def roles(messages):
    return [message["role"] for message in messages]


def texts(message):
    return "\n".join(part["text"] for part in message["content"] if part["type"] == "text")


def images(message):
    return [part["image"] for part in message["content"] if part["type"] == "image"]


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_check_env_has_nothing_to_say(action, k):
    env = HistoryWindow(gym.make("test/HistoryWindow-v0", action=action).unwrapped, k, form="both")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env)
    env.close()


def test_the_window_is_the_last_k_steps_oldest_first():
    env = make(wrapper={"k": 3, "parts": ["screenshot", "elements"]})
    observation, _ = env.reset(seed=1)
    env.step(Action("click", x=80, y=45))
    env.reset(seed=1)
    seen = [observation]
    for k in range(5):
        observation, *_ = env.step(typed(k))
        assert observation in env.observation_space
        real = min(k + 1, 3)
        assert observation["history_length"] == real
        for part in ("screenshot", "elements"):
            history = observation[f"{part}_history"]
            assert history.shape == (3, *observation[part].shape) and history.dtype == observation[part].dtype
            assert not history[: 3 - real].any()
            for row, past in zip(history[3 - real :], seen[-real:], strict=True):
                assert np.array_equal(row, past[part])
        actions = [f"pyautogui.write('{'abcdefgh'[j]}')" for j in range(k + 1)][-real:]
        assert json.loads(observation["actions_history"]) == [""] * (3 - real) + actions
        seen.append(observation)


def test_reset_forgets():
    env = make(wrapper={"form": "both"})
    env.reset(seed=1)
    env.step(typed(0))
    observation, _ = env.reset(seed=1)
    assert observation["history_length"] == 0 and not observation["elements_history"].any()
    assert json.loads(observation["actions_history"]) == ["", "", ""] and len(env.messages()) == 2


def test_a_discrete_action_is_flattened():
    env = make("discrete", invalid_action="feedback")
    env.reset(seed=1)
    width = int(env.action_space.nvec.sum())
    assert env.observation_space["actions_history"].shape == (3, width)
    env.action_space.seed(0)
    action = env.action_space.sample()
    env.step(action)
    env.step([int(number) for number in action])
    observation, *_ = env.step([99, 0, 0])
    rows = observation["actions_history"]
    assert np.array_equal(rows[0], gym.spaces.flatten(env.action_space, action)) and rows[0].sum() == 3
    assert np.array_equal(rows[0], rows[1])
    assert not rows[2].any()  # no member of the space


def test_by_default_the_arrays_leave_the_screenshot_out():
    added = set(make().observation_space) - set(PARTS)
    assert added == {"elements_history", "actions_history", "feedback_history", "history_length"}


def test_feedback_is_kept_with_or_without_the_part():
    for parts in (("screenshot", "feedback"), ("screenshot",)):
        env = make("code", {"form": "both"}, observation=parts, invalid_action="feedback")
        env.reset(seed=1)
        env.step("print('hello')")
        observation, *_ = env.step("WAIT 900")
        first, second, third = json.loads(observation["feedback_history"])
        assert (first, second) == ("", "hello") and "seconds=900" in third
        assert "feedback:\nhello" in texts(env.messages()[3])


def test_the_instruction_is_the_tasks_even_where_it_is_not_observed():
    env = make(wrapper={"form": "messages"}, observation=("screenshot",))
    with pytest.raises(gym.error.ResetNeeded):
        env.messages()
    env.reset(seed=1)
    system, now = env.messages("You have a mouse.")
    assert system["role"] == "system" and texts(system).startswith("You have a mouse.\nYou are asked to complete")
    assert env.desktop.task.instruction in texts(system)
    assert texts(now) == "" and len(images(now)) == 1


def test_messages_show_the_window_in_turns():
    env = make(wrapper={"k": 2, "form": "messages"})
    observation, _ = env.reset(seed=1)
    assert set(observation) == set(PARTS)
    frames = [observation["screenshot"]]
    for k in range(4):
        frames.append(env.step(typed(k))[0]["screenshot"])
    messages = env.messages()
    assert roles(messages) == ["system", "user", "assistant", "user", "assistant", "user"]
    assert [texts(messages[n]) for n in (2, 4)] == ["pyautogui.write('c')", "pyautogui.write('d')"]
    for n, frame in zip((1, 3, 5), frames[-3:], strict=True):
        assert np.array_equal(images(messages[n])[0], frame)
        assert texts(messages[n]).startswith("a11y:\nindex\trole")
    pickle.loads(pickle.dumps(messages))


def test_no_history_is_an_empty_history():
    env = make(wrapper={"k": 0, "form": "both", "parts": ["screenshot", "elements"]})
    env.reset(seed=1)
    observation, *_ = env.step(typed(0))
    assert observation in env.observation_space and observation["history_length"] == 0
    assert observation["screenshot_history"].shape == (0, 120, 160, 3)
    assert observation["actions_history"] == observation["feedback_history"] == "[]"
    assert roles(env.messages()) == ["system", "user"]
    assert np.array_equal(images(env.messages()[1])[0], observation["screenshot"])


def test_frames_are_kept_once_and_cannot_be_changed():
    env = make(wrapper={"form": "both", "parts": ["screenshot"]})
    observation, _ = env.reset(seed=1)
    first = observation["screenshot"].copy()
    observation["screenshot"][:] = 0  # the caller's own
    before = images(env.messages()[-1])[0]
    observation, *_ = env.step(typed(0))
    after = images(env.messages()[1])[0]
    assert after is before and np.array_equal(after, first)
    assert np.array_equal(observation["screenshot_history"][-1], first)
    with pytest.raises(ValueError, match="read-only"):
        after[0] = 1
    observation["screenshot_history"][:] = 7
    assert np.array_equal(env.step(typed(1))[0]["screenshot_history"][1], first)


def test_a_response_is_one_step_of_the_window():
    env = HistoryWindow(ExecutionFeedback(desktop("code", observation=("screenshot",))), form="both")
    env.reset(seed=1)
    response = "I try.\n```python\npyautogui.write('a')\n```\n```python\noh no\n```"
    env.step(response)
    env.step("")
    observation, *_ = env.step(["pyautogui.write('b')", "WAIT 0"])
    messages = env.messages()
    said = [texts(message) for message in messages if message["role"] == "assistant"]
    assert said == [response, "No valid action", "pyautogui.write('b')\nWAIT 0"]
    assert "Failed with error message -> Traceback" in texts(messages[3])
    assert texts(messages[5]) == f"feedback:\n{NOTHING_FOUND}" and texts(messages[7]) == ""
    feedbacks = json.loads(observation["feedback_history"])
    assert "SyntaxError" in feedbacks[0] and feedbacks[1:] == [NOTHING_FOUND, ""]
    assert json.loads(observation["actions_history"])[0] == response


def test_data_urls_are_lossless_json():
    env = make(wrapper={"form": "messages"})
    observation, _ = env.reset(seed=1)
    sent = json.loads(json.dumps(with_data_urls(env.messages())))
    kind, url = sent[1]["content"][-1]["type"], sent[1]["content"][-1]["image_url"]["url"]
    png = np.frombuffer(base64.b64decode(url.removeprefix("data:image/png;base64,")), np.uint8)
    assert kind == "image_url" and np.array_equal(cv2.imdecode(png, 1)[..., ::-1], observation["screenshot"])
    assert images(env.messages()[1])  # the messages stay as they were


@pytest.mark.parametrize("text", ["x" * 9000, "\n" * 9000, "\x01" * 9000, '"' * 4094, "😀" * 5000])
def test_long_texts_are_cut_to_fit(text):
    env = make("code", {"k": 2})
    env.reset(seed=1)
    for _ in range(2):
        observation, *_ = env.step(f"# {text}")
    assert observation in env.observation_space
    entries = json.loads(observation["actions_history"])
    assert all(entry.startswith("# " + text[:50]) for entry in entries)
    assert MAX_ENTRY - 12 <= len(json.dumps(entries[0], ensure_ascii=False)) <= MAX_ENTRY


def test_an_action_that_raises_leaves_the_window_alone():
    env = make(wrapper={"form": "both"})
    env.reset(seed=1)
    with pytest.raises(ActionError):
        env.step({"action": "jump"})
    assert env.step(typed(0))[0]["history_length"] == 1
    env = make(wrapper={"form": "both"}, invalid_action="feedback")
    env.reset(seed=1)
    env.step({"action": "jump"})
    assert texts(env.messages()[2]) == "{'action': 'jump'}" and "unknown action 'jump'" in texts(env.messages()[3])


@pytest.mark.parametrize(
    ("wrapper", "options", "named"),
    [
        ({"k": -1}, {}, "k=-1"),
        ({"k": 1.5}, {}, "k=1.5"),
        ({"form": "array"}, {}, "did you mean 'arrays'"),
        ({"parts": "screenshot"}, {}, "list of parts"),
        ({"parts": ["screenshoot"]}, {}, "did you mean 'screenshot'"),
        ({"parts": ["a11y"]}, {}, "takes a Box"),
        ({"parts": ["elements"], "form": "messages"}, {}, "takes a text or an RGB image"),
        ({"form": "messages"}, {"observation": ("elements", "instruction")}, "needs a text or an image"),
    ],
)
def test_illegal_arguments(wrapper, options, named):
    with pytest.raises(ValueError, match=named):
        make(wrapper=wrapper, **options)


def test_two_windows_are_an_error_and_arrays_have_no_messages():
    with pytest.raises(ValueError, match="use one HistoryWindow"):
        HistoryWindow(make())
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="form='both'"):
        env.messages()


def test_the_spec_builds_it_again():
    env = gym.make("deskgym/Science-v0", observation=["screenshot", "elements"])
    env = HistoryWindow(env, 2, parts=("screenshot",), form="both")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, HistoryWindow) and again.observation_space == env.observation_space
    assert (again.k, again.shown, again.form) == (2, ("screenshot",), "both")


@pytest.mark.parametrize("k", [0, 2])
def test_in_a_vector_env(k):
    vector = AsyncVectorEnv([lambda: make(wrapper={"k": k, "form": "both"})] * 2)
    vector.reset(seed=1)
    action = {name: space.sample() for name, space in vector.action_space.items()}
    action["action"][:] = 0  # a move, to a point of its own
    observation, *_ = vector.step(action)
    assert observation["elements_history"].shape == (2, k, 8, 8)
    assert list(observation["history_length"]) == [min(k, 1)] * 2
    assert [len(json.loads(text)) for text in observation["actions_history"]] == [k, k]
    chats = vector.call("messages")
    assert [len(chat) for chat in chats] == [2 + 2 * min(k, 1)] * 2
    assert images(chats[1][-1])[0].shape == (120, 160, 3)
    vector.close()


@pytest.mark.sandbox
def test_on_a_real_desktop():
    parts = ["screenshot", "elements", "a11y"]
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", observation=parts)
    env = HistoryWindow(env, parts=["screenshot", "elements", "a11y"], form="both")
    observation, _ = env.reset(seed=0)
    frames = [observation["screenshot"]]
    for program in env.unwrapped.oracle():
        observation, reward, *_ = env.step(program)
        frames.append(observation["screenshot"])
    assert reward == 1.0 and observation["history_length"] == 3 == len(frames) - 1
    assert observation in env.observation_space
    assert np.array_equal(observation["screenshot_history"], np.stack(frames[:3]))
    assert not np.array_equal(frames[0], frames[2])
    messages = env.messages()
    assert texts(messages[6]) == "DONE" and "pyautogui.click(" in texts(messages[2])
    assert "2D Graph" in texts(messages[1]) and np.array_equal(images(messages[5])[0], frames[2])
    env.close()


def test_documents_are_a_system_message_of_their_own(monkeypatch):
    env = make(wrapper={"form": "messages"}, observation=(*PARTS, "context"))
    env.reset(seed=1)
    assert roles(env.messages()) == ["system", "user"]
    monkeypatch.setattr(FakeSource.get(FakeSource(), "fake/copy").__class__, "context", "About copies.", raising=False)
    env.reset(seed=1)
    env.step(typed(0))
    messages = env.messages("You act.")
    assert roles(messages) == ["system", "system", "user", "assistant", "user"]
    assert texts(messages[1]).endswith("About copies.") and "About copies." not in texts(messages[2])
    env.close()
