"""OpenAIComputerUse: the shapes of the Responses API, on the fake machine and on a real desktop."""

import base64
import importlib.util
import json
import pickle
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import cv2
import gymnasium as gym
import numpy as np
import pytest
from fake_suite import FakeSource
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.wrappers import OpenAIComputerUse, RecordEpisode, Recording
from deskgym.wrappers.action.openai_computer_use import SCHEMA

ROOT = Path(__file__).parents[3]
SIZE = (160, 120)


def make(**options):
    """A wrapped env on the fake machine; the wrapper's options are its own."""
    own = {name: options.pop(name) for name in ("display", "version", "answers", "pixels_per_click") if name in options}
    return OpenAIComputerUse(bare(**options), **own)


def bare(**options):
    return DesktopEnv(FakeSource(), **{"machine": "fake", "screen_size": SIZE} | options)


gym.register("test/OpenAIInner-v0", entry_point=f"{__name__}:bare", nondeterministic=True)


def call(*actions, call_id="call_1", checks=(), **extra):
    """A ``computer_call`` item as the API gives it (openai-python, response_computer_tool_call.py)."""
    batch = {"actions": list(actions)} if len(actions) > 1 else {"action": actions[0]}
    return {
        "type": "computer_call", "id": "cu_1", "call_id": call_id, "status": "completed",
        "pending_safety_checks": list(checks),
    } | batch | extra  # fmt: skip


def said(text):
    """An output message as the API gives it."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CLICK = {"type": "click", "button": "left", "x": 20, "y": 30}


def done(env, action):
    """What the env carried out for an action of the model."""
    env.reset(seed=1)
    return env.step(action)[4]["actions"]


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (CLICK, [Action("click", 20, 30)]),
        ({"type": "click", "button": "wheel", "x": 1, "y": 2}, [Action("click", 1, 2, button="middle")]),
        (CLICK | {"button": "back", "keys": None}, [Action("click", 20, 30, button="back")]),
        (CLICK | {"keys": ["CTRL", "SHIFT"]}, [Action("click", 20, 30, keys=("ctrl", "shift"))]),
        ({"type": "double_click", "x": 5, "y": 6}, [Action("click", 5, 6, clicks=2)]),
        ({"type": "move", "x": 5, "y": 6}, [Action("move", 5, 6)]),
        (
            {"type": "move", "x": 5, "y": 6, "keys": ["ALT", "SHIFT"]},
            [Action("key_down", keys=("alt", "shift")), Action("move", 5, 6), Action("key_up", keys=("shift", "alt"))],
        ),
        ({"type": "keypress", "keys": ["CTRL", "S"]}, [Action("press", keys=("ctrl", "s"))]),
        ({"type": "keypress", "keys": ["ARROWLEFT"]}, [Action("press", keys=("left",))]),
        ({"type": "keypress", "keys": ["A"]}, [Action("press", keys=("A",))]),
        ({"type": "type", "text": "naïve ☃"}, [Action("type", text="naïve ☃")]),
        ({"type": "wait"}, [Action("wait", seconds=1.0)]),
        ({"type": "screenshot"}, [Action("wait", seconds=0.0)]),
        (
            {"type": "scroll", "x": 9, "y": 8, "scroll_x": 0, "scroll_y": 250},
            [Action("scroll", 9, 8, dy=3)],
        ),
        (
            {"type": "scroll", "x": 9, "y": 8, "scroll_x": -1, "scroll_y": -100, "keys": ["CTRL"]},
            [Action("scroll", 9, 8, dx=-1, dy=-1, keys=("ctrl",))],
        ),
        (
            {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 30, "y": 40}], "keys": ["SHIFT"]},
            [Action("drag", 1, 2, 30, 40, keys=("shift",))],
        ),
        (
            {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 5, "y": 5}, {"x": 9, "y": 2}]},
            [Action("mouse_down", 1, 2), Action("move", 5, 5), Action("move", 9, 2), Action("mouse_up", 9, 2)],
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)  # fmt: skip
def test_each_verb_becomes_actions(action, expected):
    env = make()
    assert done(env, action) == [part.to_dict() for part in expected]
    assert done(env, json.dumps(action)) == [part.to_dict() for part in expected]
    assert done(env, [REASONING, call(action), said("I clicked")]) == [part.to_dict() for part in expected]
    env.close()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"type": "clik", "x": 1, "y": 2}, ["'clik'", "double_click", "did you mean 'click'?"]),
        ({"type": "click", "x": 1}, ["'click'", "'y' is missing"]),
        (CLICK | {"colour": "red"}, ["'click' takes x, y, button?, keys?", "'colour'"]),
        (CLICK | {"x": 160}, ["'click'", "(160, 30)", "x from 0 to 159", "y from 0 to 119"]),
        (CLICK | {"x": float("nan")}, ["'click'", "nan"]),
        (CLICK | {"button": "middle"}, ["'click'", "button=middle", "wheel"]),
        ({"type": "keypress", "keys": []}, ["'keypress'", "one key name or more"]),
        ({"type": "keypress", "keys": ["CTLR"]}, ["'keypress'", "'CTLR'", "did you mean 'ctrl'?"]),
        ({"type": "scroll", "x": 1, "y": 1, "scroll_x": 0, "scroll_y": 1e9}, ["'scroll'", "scroll_y", "-10000 to 1"]),
        ({"type": "drag", "path": [{"x": 1, "y": 1}]}, ["'drag'", "path", "two points"]),
        ({"type": "drag", "path": [{"x": 1, "y": 1}, {"x": 1}]}, ["'drag'", "path[1]"]),
        ({"type": "type", "text": "x" * 5000}, ["'type'", "4096"]),
        ({"x": 1}, ["None", "legal are click"]),
        (17, ["int"]),
        ([17], ["int"]),
        ('{"type": "click", "x"', ["begins as JSON"]),
        ("[" * 100_000, ["JSON", "nested"]),
        ([REASONING, {"type": "function_call", "name": "f"}], ["no computer_call", "function_call"]),
        ([{"type": "computer_call", "call_id": "c"}], ["an action or a list of actions"]),
        ([call(CLICK) | {"call_id": None}], ["call_id"]),
    ],
    ids=str,
)  # fmt: skip
def test_errors_name_what_is_wrong_and_what_is_legal(action, words):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ActionError) as raised:
        env.step(action)
    message = str(raised.value)
    assert all(word in message for word in words) or (action == "[" * 100_000 and any(w in message for w in words))
    assert env.step(CLICK)[4]["step"] == 1, "nothing of it was done"
    env.close()


def test_a_batch_sums_the_reward_and_stops_at_the_end():
    env = make(answers=True)
    env.reset(seed=3)
    number = str(env.desktop.task.params["number"])
    _, reward, terminated, truncated, info = env.step(call(CLICK, {"type": "type", "text": "x"}, {"type": "wait"}))
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert [action["action"] for action in info["actions"]] == ["click", "type", "wait"] and info["step"] == 3
    _, reward, terminated, _, info = env.step([REASONING, said(f" {number}\n")])
    assert (reward, terminated) == (1.0, True) and info["actions"] == [{"action": "answer", "text": number}]

    env = make(max_steps=2)
    observation, _ = env.reset(seed=3)
    first, second = call(CLICK, CLICK, CLICK), call(CLICK, call_id="call_2")
    observation, _, _, truncated, info = env.step([first, second])
    assert truncated and len(info["actions"]) == 2
    outputs = env.output(observation)
    assert [item.get("call_id") for item in outputs] == ["call_1", "call_2", None]
    told = [part["text"] for part in outputs[2]["content"]]
    assert told == [f"call_{k}: not carried out: the episode is over" for k in (1, 2)]
    env.close()


@pytest.mark.parametrize(
    ("answers", "message", "verb"),
    [
        (False, [said("All is done, I think.")], "done"),
        (True, [said("All is done, I think.")], "answer"),
        (True, [said("DONE")], "done"),
        (True, {"object": "response", "output": [REASONING, said("FAIL\n")]}, "fail"),
        (False, said("FAIL"), "fail"),
        (False, "some last words", "done"),
        (False, [], "done"),
        (True, said("FAIL") | {"content": [{"type": "refusal", "refusal": "I will not"}]}, "answer"),
    ],
)
def test_a_message_without_a_call_ends_the_episode(answers, message, verb):
    env = make(answers=answers)
    env.reset(seed=1)
    *_, terminated, _, info = env.step(message)
    assert terminated and [action["action"] for action in info["actions"]] == [verb]
    env.close()


def test_feedback_does_what_comes_before_and_tells_the_model():
    env = make(invalid_action="feedback", observation=("screenshot", "feedback"))
    env.reset(seed=1)
    observation, _, terminated, _, info = env.step(call(CLICK, {"type": "fly"}, CLICK))
    assert not terminated and len(info["actions"]) == 1 and info["step"] == 2
    assert "unknown type 'fly'" in info["invalid_action"] == observation["feedback"]
    item, note = env.output(observation)
    assert item["call_id"] == "call_1" and "acknowledged_safety_checks" not in item
    assert note["role"] == "user" and note["content"] == [
        {"type": "input_text", "text": f"call_1: {info['invalid_action']}"}
    ]
    observation, *_, info = env.step("{no json")
    assert info["step"] == 3 and info["actions"] == []
    (note,) = env.output(observation)
    assert [part["type"] for part in note["content"]] == ["input_text", "input_image"]
    assert "begins as JSON" in note["content"][0]["text"]
    env.close()


def picture_of(url):
    head, data = url.split(",", 1)
    assert head == "data:image/png;base64"
    return cv2.cvtColor(cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), 1), cv2.COLOR_BGR2RGB)


def test_outputs_carry_the_screenshots_of_their_calls():
    env = make()
    observation, _ = env.reset(seed=1)
    (opening,) = env.output(observation)
    assert opening["role"] == "user" and opening["content"][0]["text"] == env.desktop.task.instruction
    assert np.array_equal(picture_of(opening["content"][1]["image_url"]), observation["screenshot"])
    typed = {"type": "type", "text": "hello"}
    x, y, w, h = env.desktop.machine.fake_display.field
    observation, *_ = env.step([call(CLICK | {"x": x + w // 2, "y": y + h // 2}), call(typed, call_id="call_2")])
    first, second = env.output(observation)
    assert (first["call_id"], second["call_id"]) == ("call_1", "call_2")
    assert first["output"]["type"] == "computer_screenshot"
    assert np.array_equal(picture_of(second["output"]["image_url"]), observation["screenshot"])
    assert not np.array_equal(picture_of(first["output"]["image_url"]), observation["screenshot"])
    env.close()


def test_safety_checks_are_acknowledged_only_when_asked():
    env = make()
    env.reset(seed=1)
    checks = [{"id": "sc_1", "code": "malicious_instructions", "message": "beware"}, {"id": "sc_2"}]
    observation, *_, info = env.step([call(CLICK, checks=checks)])
    assert info["pending_safety_checks"] == checks
    assert "acknowledged_safety_checks" not in env.output(observation)[0]
    assert env.output(observation, lambda check: check["id"] == "sc_1")[0]["acknowledged_safety_checks"] == checks[:1]
    assert "acknowledged_safety_checks" not in env.output(observation, lambda check: False)[0]
    assert "pending_safety_checks" not in env.step(CLICK)[4]
    env.close()


def test_the_display_is_a_frame_of_its_own():
    env = make(screen_size=(320, 240), display=(80, 80), observation=("screenshot", "elements"))
    observation, _ = env.reset(seed=1)
    assert observation["screenshot"].shape == (80, 80, 3) and observation in env.observation_space
    assert env.tool == {
        "type": "computer_use_preview", "display_width": 80, "display_height": 80, "environment": "linux",
    }  # fmt: skip
    assert env.step(CLICK | {"x": 79, "y": 0})[4]["actions"][0] | {"clicks": 1} == Action("click", 318, 1).to_dict()
    with pytest.raises(ActionError, match="x from 0 to 79"):
        env.step(CLICK | {"x": 80})
    assert env.step(Action("click", 319, 239))[4]["step"] == 2
    x, y, w, h = observation["elements"][1, :4].tolist()
    field = env.desktop.machine.fake_display.field
    env.step(CLICK | {"x": x + w // 2, "y": y + h // 2})
    assert env.desktop.machine.fake_display.focused and (w, h) != field[2:]
    assert make(version="computer").tool == {"type": "computer"}
    env.close()


def test_frames_inside_are_gone_through():
    from deskgym.wrappers import DownscaleScreenshot, RegionOfInterest

    inner = DownscaleScreenshot(RegionOfInterest(bare(screen_size=(320, 240)), (100, 40, 160, 160)), size=(80, 80))
    env = OpenAIComputerUse(inner)
    assert env.tool["display_width"] == 80
    (action,) = done(env, CLICK | {"x": 10, "y": 0})
    assert (action["x"], action["y"]) == (121, 41)
    assert env.pointer == (121, 41)
    env.close()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"action": "code"}, "needs action='computer'; the env's is 'code'"),
        ({"observation": ("elements",)}, "needs the observation 'screenshot'"),
        ({"display": (10, 10)}, r"display=\(10, 10\); legal are 64"),
        ({"display": 7}, "display=7; legal is"),
        ({"version": "computer_use"}, "legal are computer_use_preview, computer; did you mean"),
        ({"pixels_per_click": 0}, "pixels_per_click=0"),
    ],
)
def test_what_does_not_fit_is_an_error_when_built(options, match):
    with pytest.raises(ValueError, match=match):
        make(**options)


def test_the_space_samples_legal_actions():
    env = make(max_steps=10_000)
    space = env.action_space
    space.seed(5)
    samples = [space.sample() for _ in range(200)]
    space.seed(5)
    assert samples == [space.sample() for _ in range(200)]
    assert {json.loads(sample)["type"] for sample in samples} == set(SCHEMA)
    assert all(sample in space for sample in samples) and "anything" in space and "x" * 65537 not in space
    env.reset(seed=1)
    for sample in samples:
        assert not any(env.step(sample)[2:4])
    copied = pickle.loads(pickle.dumps(space))
    assert copied == space and copied.sample() == space.sample()
    with pytest.raises(ValueError, match="mask"):
        space.sample(mask=1)
    env.close()


def test_gymnasium_has_nothing_to_say():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        env = OpenAIComputerUse(gym.make("test/OpenAIInner-v0", disable_env_checker=True), display=(80, 64))
        check_env(env, skip_render_check=True)
    env.close()


def test_a_spec_builds_it_again_and_vectors_run_it():
    env = OpenAIComputerUse(gym.make("test/OpenAIInner-v0"), display=(80, 64), answers=True)
    text = env.spec.to_json()
    again = gym.make(gym.envs.registration.EnvSpec.from_json(text))
    assert isinstance(again, OpenAIComputerUse) and again.display == (80, 64) and again.answers
    assert again.spec.to_json() == text
    vector = gym.vector.AsyncVectorEnv([make_small, make_small])
    try:
        observations, _ = vector.reset(seed=1)
        assert observations["screenshot"].shape == (2, 64, 80, 3)
        for _ in range(3):
            *_, infos = vector.step(vector.action_space.sample())
        assert len(infos["actions"]) == 2
    finally:
        vector.close()


def make_small():
    return make(display=(80, 64))


DRAG = {"type": "drag", "path": [{"x": 1, "y": 2}, {"x": 50, "y": 50}, {"x": 9, "y": 2}], "keys": ["CTRL"]}
RELEASES = [{"action": "mouse_up", "button": "left"}, {"action": "key_up", "keys": ["ctrl"]}]


def guarded(*refused, **options):
    """An env where a guard refuses to move to these points, and what it asked the guard for."""
    env, asked = make(**options), []

    def guard(actions):
        asked.extend(action.to_dict() for action in actions)
        if any((action.x, action.y) in refused for action in actions):
            raise ActionError("off limits")

    env.desktop.guards.append(guard)
    env.reset(seed=1)
    return env, asked


def test_what_a_refused_drag_holds_is_let_go():
    env, asked = guarded((50, 50), invalid_action="feedback", observation=("screenshot", "feedback"))
    observation, *_, info = env.step([call(DRAG), call(CLICK, call_id="call_2")])
    assert asked[3:] == RELEASES and info["actions"] == [*asked[:2], *RELEASES]
    assert info["invalid_action"] == observation["feedback"] == "off limits"
    assert [result.error for result in env.results] == [
        "off limits",
        "not carried out: an action before it was not legal",
    ]
    assert info["step"] == 5


def test_what_a_drag_holds_is_let_go_before_the_error():
    env, asked = guarded((50, 50))
    with pytest.raises(ActionError, match="off limits"):
        env.step(call(DRAG))
    assert asked[3:] == RELEASES


def test_only_what_is_held_is_let_go():
    env, asked = guarded((1, 2), (20, 30), invalid_action="feedback")
    env.step(call(DRAG))
    assert asked[2:] == RELEASES[1:]
    env.step(call(CLICK))
    assert len(asked) == 4
    env, asked = guarded((50, 50), invalid_action="feedback", max_steps=3)
    assert env.step(call(DRAG))[3] and len(asked) == 3  # the episode is over


def test_a_recording_has_the_steps_inside_and_the_message_outside(tmp_path):
    env = RecordEpisode(OpenAIComputerUse(RecordEpisode(bare(), tmp_path / "in")), tmp_path / "out")
    env.reset(seed=1)
    env.step([call(CLICK, {"type": "type", "text": "x"})])
    env.step("DONE")
    inside, outside = (Recording.load(next((tmp_path / name).iterdir())) for name in ("in", "out"))
    assert [step["action"]["action"] for step in inside.steps[1:]] == ["click", "type", "done"]
    assert len(outside.steps) == 3 and outside.steps[1]["info"]["actions"][1]["text"] == "x"
    env.close()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from([*SCHEMA]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "x", "y", "keys", "path", "text", "action", "actions", "call_id", "output"]),
                inner,
            )
        ),
    )
)
def test_any_message_is_done_or_refused(message):
    env = FUZZED
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(message)
    assert reward == 0.0 and ("invalid_action" in info or info["actions"])
    env.output(env.env.reset()[0])


FUZZED = make(invalid_action="feedback")


# --- the SDK's own types


def test_requests_and_responses_are_what_the_sdk_knows():
    responses = pytest.importorskip("openai.types.responses")
    from pydantic import TypeAdapter

    def read(part):
        """All of it, also what pydantic validates only when it is read (the SDK's ``Iterable`` fields)."""
        if isinstance(part, dict):
            return {name: read(inner) for name, inner in part.items()}
        if isinstance(part, (str, bytes)) or not hasattr(part, "__iter__") or hasattr(part, "model_dump"):
            return part
        return [read(inner) for inner in part]

    def strict(kind):
        adapter = TypeAdapter(kind)  # what is read later needs it
        return lambda value: read(adapter.validate_python(value))

    env = make(display=(80, 64), invalid_action="feedback")
    observation, _ = env.reset(seed=1)
    knows_input, knows_tool = strict(list[responses.ResponseInputItemParam]), strict(responses.ToolParam)
    strict(responses.ComputerUsePreviewToolParam)(env.tool)
    knows_tool(env.tool), knows_tool(make(version="computer").tool)
    knows_input(env.output(observation))
    items = [REASONING, call(CLICK, {"type": "wait"}, checks=[{"id": "sc_1"}]), said("Clicked.")]
    output = strict(list[responses.ResponseOutputItem])(items)
    assert type(output[1]) is responses.ResponseComputerToolCall
    observation, *_, info = env.step(output)
    assert [action["action"] for action in info["actions"]] == ["click", "wait"]
    sent = env.output(observation, acknowledge=lambda check: True)
    assert sent[0]["acknowledged_safety_checks"][0]["id"] == "sc_1"
    assert knows_input(sent) == sent
    assert strict(responses.response_input_item_param.ComputerCallOutput)(sent[0]) == sent[0]
    observation, *_ = env.step(call({"type": "fly"}))
    knows_input(env.output(observation))
    for _ in range(100):
        action = json.loads(env.action_space.sample())
        strict(responses.ComputerAction)(action)
        assert env.step(strict(responses.ResponseComputerToolCall)(call(action)))[4]["actions"]
        if env.desktop.episodes.over:
            env.reset()
    env.close()


# --- the example and the guide, with a client that plays back a script in the API's shapes


class ScriptedClient:
    """Stands for ``openai.OpenAI()``: no model, it plays back responses and keeps the requests that it got."""

    def __init__(self, *outputs):
        self.requests, self.outputs = [], list(outputs)
        self.responses = SimpleNamespace(create=self._create)

    def _create(self, **request):
        json.dumps(request)
        self.requests.append(request)
        output = self.outputs.pop(0)
        return SimpleNamespace(id=f"resp_{len(self.requests)}", output=output() if callable(output) else output)


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_plays_an_episode(monkeypatch):
    env = make(answers=True)
    checks = [{"id": "sc_1", "code": "c", "message": "beware"}]
    client = ScriptedClient(
        [call({"type": "screenshot"})],
        [REASONING, call(CLICK, {"type": "wait"}, call_id="call_2", checks=checks)],
        lambda: [said(str(env.desktop.task.params["number"]))],
    )
    module = example("openai_computer_use")
    monkeypatch.setattr("builtins.input", lambda question: "y" if "beware" in question else "n")
    assert module.play(env, client, "scripted", seed=3) == 1.0
    assert [request.get("previous_response_id") for request in client.requests] == [None, "resp_1", "resp_2"]
    assert client.requests[1]["input"][0]["call_id"] == "call_1"
    assert client.requests[2]["input"][0]["acknowledged_safety_checks"] == checks
    assert all(request["tools"] == [env.tool] for request in client.requests)
    env.close()


@pytest.mark.sandbox
def test_the_guide_solves_a_task_on_a_real_desktop():
    """The guide's loop, word for word, with the oracle's input in OpenAI's shapes."""
    text = (ROOT / "docs" / "computer_use.md").read_text()
    (program,) = [code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "OpenAIComputerUse" in code]
    names = {"model": "scripted"}
    oracle = OracleOf(names)
    names["client"] = ScriptedClient(*[lambda: next_output(oracle)] * 60)
    exec(program, names)
    assert names["reward"] == 1.0 and names["terminated"]
    request = names["client"].requests[-1]["input"][0]
    assert picture_of(request["output"]["image_url"]).shape == (720, 1280, 3)


class OracleOf:
    """The oracle's actions for the env that a program makes under the name ``env``."""

    def __init__(self, names):
        self.names, self.actions = names, None

    def __next__(self):
        self.actions = self.actions or self.names["env"].desktop.oracle()
        return next(self.actions)


def next_output(oracle):
    """The oracle's next action as an item of OpenAI's."""
    action = next(oracle)
    if action.verb in ("done", "fail", "answer"):
        return [said(action.text or action.verb.upper())]
    shape = {
        "click": {"type": "click" if action.clicks == 1 else "double_click", "x": action.x, "y": action.y}
        | ({"button": {"middle": "wheel"}.get(action.button, action.button)} if action.clicks == 1 else {}),
        "press": {"type": "keypress", "keys": [key.upper() for key in action.keys]},
        "type": {"type": "type", "text": action.text},
        "wait": {"type": "wait"},
        "scroll": {
            "type": "scroll", "x": action.x, "y": action.y, "scroll_x": 100 * action.dx, "scroll_y": 100 * action.dy,
        },
        "drag": {"type": "drag", "path": [{"x": action.x, "y": action.y}, {"x": action.to_x, "y": action.to_y}]},
        "move": {"type": "move", "x": action.x, "y": action.y},
    }[action.verb]  # fmt: skip
    return [call(shape)]
