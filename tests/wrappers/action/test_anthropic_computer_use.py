"""AnthropicComputerUse: the shapes of the Messages API, on the fake machine and on a real desktop."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.wrappers import AnthropicComputerUse, DownscaleScreenshot
from deskgym.wrappers.action.anthropic_computer_use import SCHEMAS, TOOLSET

ROOT = Path(__file__).parents[3]
SIZE = (160, 120)
OLD, MIDDLE, NEW = "computer_20241022", "computer_20250124", "computer_20251124"


def bare(**options):
    return DesktopEnv(FakeSource(), **{"machine": "fake", "screen_size": SIZE} | options)


def make(**options):
    """A wrapped env on the fake machine; the wrapper's options are its own."""
    own = {name: options.pop(name) for name in ("display", "version", "answers") if name in options}
    return AnthropicComputerUse(bare(**options), **own)


gym.register("test/AnthropicInner-v0", entry_point=f"{__name__}:bare", nondeterministic=True)


def use(number, name="computer", **fields):
    """A ``tool_use`` block as the API gives it (anthropic-python, types/beta/beta_tool_use_block.py)."""
    return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": fields}


def text(words):
    return {"type": "text", "text": words, "citations": None}


THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
CLICK = {"action": "left_click", "coordinate": [20, 30]}


def done(env, message):
    """What the env carried out for a message of the model."""
    env.reset(seed=1)
    return env.step(message)[4]["actions"]


@pytest.mark.parametrize(
    ("version", "action", "expected"),
    [
        (OLD, {"action": "key", "text": "ctrl+s"}, [Action("press", keys=("ctrl", "s"))]),
        (OLD, {"action": "key", "text": "Return"}, [Action("press", keys=("enter",))]),
        (OLD, {"action": "key", "text": "ctrl+Page_Down"}, [Action("press", keys=("ctrl", "pagedown"))]),
        (OLD, {"action": "key", "text": "Super_L"}, [Action("press", keys=("win",))]),
        (OLD, {"action": "key", "text": "KP_0"}, [Action("press", keys=("num0",))]),
        (OLD, {"action": "key", "text": "ctrl+plus"}, [Action("press", keys=("ctrl", "plus"))]),
        (OLD, {"action": "key", "text": "ctrl++"}, [Action("press", keys=("ctrl", "+"))]),
        (OLD, {"action": "key", "text": " "}, [Action("press", keys=("space",))]),
        (
            OLD,
            {"action": "key", "text": "Down Down Return"},
            [Action("press", keys=("down",)), Action("press", keys=("down",)), Action("press", keys=("enter",))],
        ),
        (OLD, {"action": "type", "text": "naïve ☃"}, [Action("type", text="naïve ☃")]),
        (OLD, {"action": "mouse_move", "coordinate": [3, 4]}, [Action("move", 3, 4)]),
        (OLD, CLICK, [Action("click", 20, 30)]),
        (OLD, {"action": "right_click"}, [Action("click", button="right")]),
        (OLD, {"action": "middle_click", "coordinate": None}, [Action("click", button="middle")]),
        (OLD, {"action": "double_click"}, [Action("click", clicks=2)]),
        (OLD, {"action": "left_click_drag", "coordinate": [7, 8]}, [Action("drag", 80, 60, 7, 8)]),
        (OLD, {"action": "screenshot"}, [Action("wait", seconds=0.0)]),
        (OLD, {"action": "cursor_position"}, [Action("wait", seconds=0.0)]),
        (MIDDLE, CLICK | {"text": "ctrl+shift"}, [Action("click", 20, 30, keys=("ctrl", "shift"))]),
        (MIDDLE, {"action": "triple_click", "coordinate": [1, 2]}, [Action("click", 1, 2, clicks=3)]),
        (MIDDLE, {"action": "left_mouse_down"}, [Action("mouse_down")]),
        (MIDDLE, {"action": "left_mouse_up"}, [Action("mouse_up")]),
        (
            MIDDLE,
            {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [7, 8], "text": "shift"},
            [Action("drag", 1, 2, 7, 8, keys=("shift",))],
        ),
        (
            MIDDLE,
            {"action": "scroll", "scroll_direction": "up", "scroll_amount": 3, "coordinate": [9, 8], "text": "ctrl"},
            [Action("scroll", 9, 8, dy=-3, keys=("ctrl",))],
        ),
        (MIDDLE, {"action": "scroll", "scroll_direction": "right", "scroll_amount": 2}, [Action("scroll", dx=2)]),
        (MIDDLE, {"action": "hold_key", "text": "shift", "duration": 2}, [Action("hold", keys=("shift",), seconds=2)]),
        (MIDDLE, {"action": "wait", "duration": 0.5}, [Action("wait", seconds=0.5)]),
        (NEW, {"action": "zoom", "region": [0, 0, 80, 60]}, [Action("wait", seconds=0.0)]),
        (TOOLSET, {"action": "key", "text": "Tab", "repeat": 2}, [Action("press", keys=("tab",))] * 2),
    ],
    ids=str,
)  # fmt: skip
def test_each_verb_becomes_actions(version, action, expected):
    versions = [name for name in SCHEMAS if name >= version or name == version]
    for name in versions:
        env = make(version=name)
        assert done(env, action) == [part.to_dict() for part in expected]
        assert done(env, json.dumps(action)) == [part.to_dict() for part in expected]
        block = use(1, **action)
        if name == TOOLSET:
            fields = {field: value for field, value in action.items() if field != "action"}
            block = use(1, name=action["action"], **fields) | {"toolset_name": "computer"}
        assert done(env, [THINKING, text("I will."), block]) == [part.to_dict() for part in expected]
        env.close()


@pytest.mark.parametrize("version", SCHEMAS)
def test_a_version_takes_its_own_verbs_only(version):
    env = make(version=version, max_steps=1000)
    env.reset(seed=1)
    for verb in set().union(*SCHEMAS.values()) - set(SCHEMAS[version]):
        with pytest.raises(ActionError, match=f"unknown action '{verb}'; legal are key, type"):
            env.step({"action": verb})
    assert len(SCHEMAS[version]) == {OLD: 10, MIDDLE: 16, NEW: 17, TOOLSET: 17}[version]
    env.close()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"action": "left_klick"}, ["'left_klick'", "did you mean 'left_click'?"]),
        ({"action": "mouse_move"}, ["'mouse_move'", "'coordinate' is missing"]),
        ({"action": "left_mouse_down", "coordinate": [1, 2]}, ["'left_mouse_down' takes no fields", "'coordinate'"]),
        (CLICK | {"coordinate": [1]}, ["'left_click'", "coordinate=[1]", "[x, y]"]),
        (CLICK | {"coordinate": [160, 5]}, ["'left_click'", "(160, 5)", "x from 0 to 159"]),
        (CLICK | {"coordinate": [True, 5]}, ["'left_click'", "(True, 5)"]),
        ({"action": "key", "text": "ctrl+Retrun"}, ["'key'", "'Retrun'", "did you mean 'return'?"]),
        ({"action": "key", "text": ""}, ["'key'", "key names"]),
        ({"action": "key", "text": "x", "repeat": 2}, ["'key' takes text", "'repeat'"]),
        ({"action": "hold_key", "text": "shift", "duration": 61}, ["'hold_key'", "duration=61", "0 to 60"]),
        ({"action": "hold_key", "text": "", "duration": 1}, ["'hold_key'", "key names"]),
        (
            {"action": "scroll", "scroll_direction": "north", "scroll_amount": 1},
            ["'scroll'", "scroll_direction=north", "up or down"],
        ),
        ({"action": "scroll", "scroll_direction": "up", "scroll_amount": -1}, ["'scroll'", "scroll_amount=-1"]),
        (None, ["NoneType"]),
        ([None], ["NoneType"]),
        ({"type": "tool_use", "name": "computer", "input": CLICK}, ["a tool_use has an id"]),
        (use(1) | {"input": "click"}, ["an action is a dict with 'action', got str"]),
        ([text("I use bash."), use(1, name="bash", command="ls")], ["no tool_use of the computer", "text, tool_use"]),
    ],
    ids=str,
)  # fmt: skip
def test_errors_name_what_is_wrong_and_what_is_legal(message, words):
    env = make()
    env.reset(seed=1)
    with pytest.raises(ActionError) as raised:
        env.step(message)
    assert all(word in str(raised.value) for word in words), str(raised.value)
    assert env.step(CLICK)[4]["step"] == 1, "nothing of it was done"
    env.close()


@pytest.mark.parametrize("region", [[0, 0, 161, 60], [5, 5, 5, 9], [0, 0, 9], "all", [0, 0, 1.5, 2]])
def test_a_region_that_is_none_is_an_error(region):
    env = make(version=NEW)
    env.reset(seed=1)
    with pytest.raises(ActionError, match=r"'zoom' got region=.*0 <= x0 < x1 <= 160"):
        env.step({"action": "zoom", "region": region})
    env.close()


def picture_of(block):
    (image,) = block["content"]
    assert image["type"] == "image" and image["source"]["type"] == "base64"
    assert image["source"]["media_type"] == "image/png"
    data = np.frombuffer(base64.b64decode(image["source"]["data"]), np.uint8)
    return cv2.cvtColor(cv2.imdecode(data, 1), cv2.COLOR_BGR2RGB)


def test_parallel_calls_have_a_result_each():
    env = make(version=NEW, display=(80, 64), screen_size=(320, 256))
    observation, _ = env.reset(seed=1)
    opening = env.output(observation)
    assert [block["type"] for block in opening] == ["text", "image"]
    assert opening[0]["text"] == env.desktop.task.instruction
    x, y, w, h = env.desktop.machine.fake_display.field
    message = {
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [
            THINKING,
            use(1, action="left_click", coordinate=[(x + w // 2) // 4, (y + h // 2) // 4]),
            use(2, action="type", text="hello"),
            use(3, action="cursor_position"),
            use(4, action="zoom", region=[20, 20, 60, 30]),
            use(5, name="bash", command="ls"),
            use(6, action="screenshot"),
        ],
    }  # fmt: skip
    observation, _, _, _, info = env.step(message)
    assert info["step"] == 5
    results = env.output(observation)
    assert [block["tool_use_id"] for block in results] == [f"toolu_{k}" for k in (1, 2, 3, 4, 6)]
    assert all(block["type"] == "tool_result" and "is_error" not in block for block in results)
    assert not np.array_equal(picture_of(results[0]), picture_of(results[1]))
    assert np.array_equal(picture_of(results[4]), observation["screenshot"])
    assert results[2]["content"] == [{"type": "text", "text": f"X={(x + w // 2) // 4},Y={(y + h // 2) // 4}"}]
    frame = env.desktop.machine.display.capture()
    crop = frame[80:120, 80:240]
    assert np.array_equal(picture_of(results[3]), cv2.resize(crop, (80, 20), interpolation=cv2.INTER_AREA))
    env.close()


def test_zoom_shows_more_than_the_display():
    env = make(version=NEW, display=(80, 64), screen_size=(320, 256))
    env.reset(seed=1)
    observation, *_ = env.step(use(1, action="zoom", region=[10, 8, 30, 24]))
    zoomed = picture_of(env.output(observation)[0])
    assert np.array_equal(zoomed, env.desktop.machine.display.capture()[32:96, 40:120])
    env.close()


def test_the_pointer_is_where_the_actions_left_it():
    env = make()
    observation, _ = env.reset(seed=1)

    def position():
        observation, *_ = env.step(use(1, action="cursor_position"))
        return env.output(observation)[0]["content"][0]["text"]

    assert position() == "X=80,Y=60"
    env.step([use(1, **CLICK), use(2, action="right_click"), use(3, action="left_click_drag", coordinate=[9, 8])])
    assert env.desktop.performed[0].x == 20 and position() == "X=9,Y=8"
    env.step(Action("move", 33, 44))
    assert position() == "X=33,Y=44"
    env.reset(seed=1)
    assert position() == "X=80,Y=60"
    env.close()


def test_what_is_not_carried_out_is_an_error_result():
    env = make(invalid_action="feedback")
    env.reset(seed=1)
    calls = [use(1, **CLICK), use(2, action="triple_klick"), use(3, action="type", text="x"), use(4, **CLICK)]
    observation, _, terminated, truncated, info = env.step(calls)
    assert not (terminated or truncated) and info["step"] == 2 and len(info["actions"]) == 1
    first, second, third, fourth = env.output(observation)
    assert "is_error" not in first and second["is_error"] and third["is_error"]
    assert second["content"] == [{"type": "text", "text": info["invalid_action"]}]
    assert third["content"][0]["text"] == "not carried out: an action before it was not legal"
    assert fourth["content"] == third["content"]
    assert "invalid_action" not in env.step(use(4, **CLICK))[4]

    env = make(max_steps=1)
    env.reset(seed=1)
    observation, _, _, truncated, _ = env.step([use(1, **CLICK), use(2, **CLICK)])
    assert truncated
    assert [block.get("is_error", False) for block in env.output(observation)] == [False, True]
    env.close()


@pytest.mark.parametrize(
    ("answers", "message", "expected"),
    [
        (False, [text("All is done.")], {"action": "done"}),
        (True, [THINKING, text("All is"), text("done.")], {"action": "answer", "text": "All is\ndone."}),
        (True, {"type": "message", "content": [text("FAIL")], "stop_reason": "end_turn"}, {"action": "fail"}),
        (True, text(" DONE"), {"action": "done"}),
        (False, [], {"action": "done"}),
        (True, "42", {"action": "answer", "text": "42"}),
        (True, {"role": "assistant", "content": "42"}, {"action": "answer", "text": "42"}),
    ],
)
def test_a_message_without_a_tool_use_ends_the_episode(answers, message, expected):
    env = make(answers=answers)
    env.reset(seed=1)
    *_, terminated, _, info = env.step(message)
    assert terminated and info["actions"] == [expected]
    env.close()


def test_an_answer_that_is_too_long_is_an_error():
    env = make(answers=True)
    env.reset(seed=1)
    with pytest.raises(ActionError, match="5000 characters; legal are at most 4096"):
        env.step([text("x" * 5000)])
    env.close()


@pytest.mark.parametrize(
    ("version", "tool", "betas"),
    [
        (OLD, {"name": "computer", "display_width_px": 80, "display_height_px": 64}, ["computer-use-2024-10-22"]),
        (MIDDLE, {"name": "computer", "display_width_px": 80, "display_height_px": 64}, ["computer-use-2025-01-24"]),
        (
            NEW,
            {"name": "computer", "display_width_px": 80, "display_height_px": 64, "enable_zoom": True},
            ["computer-use-2025-11-24"],
        ),
        (TOOLSET, {}, []),
    ],
)
def test_the_tool_is_what_the_api_wants(version, tool, betas):
    env = make(version=version, display=(80, 64))
    assert env.tool == tool | {"type": version} and env.betas == betas
    env.close()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"action": "discrete"}, "needs action='computer'; the env's is 'discrete'"),
        ({"observation": ("instruction",)}, "needs the observation 'screenshot'"),
        ({"display": (10, 10)}, r"display=\(10, 10\); legal are 64"),
        ({"version": "computer_20250123"}, "legal are computer_20241022.*did you mean 'computer_2025"),
    ],
)
def test_what_does_not_fit_is_an_error_when_built(options, match):
    with pytest.raises(ValueError, match=match):
        make(**options)


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_space_samples_legal_actions(version):
    env = make(max_steps=10_000, version=version)
    space = env.action_space
    space.seed(5)
    samples = [space.sample() for _ in range(200)]
    space.seed(5)
    assert samples == [space.sample() for _ in range(200)]
    assert {json.loads(sample)["action"] for sample in samples} == set(SCHEMAS[version])
    env.reset(seed=1)
    for sample in samples:
        assert not any(env.step(sample)[2:4])
    copied = pickle.loads(pickle.dumps(space))
    assert copied.sample() == space.sample()
    env.close()


def test_gymnasium_has_nothing_to_say():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        env = AnthropicComputerUse(gym.make("test/AnthropicInner-v0", disable_env_checker=True), display=(80, 64))
        check_env(env, skip_render_check=True)
    env.close()


def test_elements_lie_on_the_picture_whatever_the_frame_of_the_actions():
    parts = {"observation": ("screenshot", "elements")}
    small = DownscaleScreenshot(bare(**parts), scale=0.5, scale_actions=False)
    env = AnthropicComputerUse(small)
    assert (env.reset(seed=1)[0]["elements"] == small.reset(seed=1)[0]["elements"]).all()
    env.step(use(1, action="left_click", coordinate=[20, 30]))
    assert env.desktop.performed[0].x == 41
    plain = AnthropicComputerUse(bare(**parts), display=(80, 64)).reset(seed=1)[0]["elements"]
    twice = AnthropicComputerUse(small, display=(80, 64)).reset(seed=1)[0]["elements"]
    assert abs(plain - twice).max() <= 2 and plain.any()


def test_a_spec_builds_it_again_and_vectors_run_it():
    env = AnthropicComputerUse(gym.make("test/AnthropicInner-v0"), display=(80, 64), version=NEW)
    spec = env.spec.to_json()
    again = gym.make(gym.envs.registration.EnvSpec.from_json(spec))
    assert isinstance(again, AnthropicComputerUse) and again.tool == env.tool
    assert again.spec.to_json() == spec
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


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a busy machine
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=5)
        | st.sampled_from([*SCHEMAS[NEW]]),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "action", "coordinate", "text", "duration", "region", "id", "name", "input", "content"]
                ),
                inner,
            )
        ),
    )
)
def test_any_message_is_done_or_refused(message):
    FUZZED.reset(seed=0)
    observation, reward, _, _, info = FUZZED.step(message)
    assert reward == 0.0 and ("invalid_action" in info or info["actions"])
    FUZZED.output(observation)


FUZZED = make(invalid_action="feedback", version=NEW)


# --- the SDK's own types


def check(kind, value):
    """Validate, and read through what pydantic validates only when it is read (the SDK's ``Iterable`` fields)."""
    from pydantic import TypeAdapter

    def read(part):
        if isinstance(part, dict):
            return {name: read(inner) for name, inner in part.items()}
        if isinstance(part, (str, bytes)) or not hasattr(part, "__iter__") or hasattr(part, "model_dump"):
            return part
        return [read(inner) for inner in part]

    adapter = TypeAdapter(kind)  # what is read later needs it
    return read(adapter.validate_python(value))


def test_the_sdk_knows_the_tools_and_results():
    beta = pytest.importorskip("anthropic.types.beta")
    kinds = {
        OLD: beta.BetaToolComputerUse20241022Param,
        MIDDLE: beta.BetaToolComputerUse20250124Param,
        NEW: beta.BetaToolComputerUse20251124Param,
        TOOLSET: beta.BetaComputerToolset20260801Param,
    }
    for version, kind in kinds.items():
        env = make(version=version, display=(80, 64), invalid_action="feedback")
        assert check(kind, env.tool) == env.tool
        observation, _ = env.reset(seed=1)
        opening = env.output(observation)
        assert check(list[beta.BetaContentBlockParam], opening) == opening
        name, fields = ("left_click", {"coordinate": [1, 2]}) if version == TOOLSET else ("computer", CLICK)
        family = {"toolset_name": "computer"} if version == TOOLSET else {}
        blocks = [use(1, name, **fields) | family, use(2, name, text=3, **fields) | family, use(3, name) | family]
        content = check(list[beta.BetaToolUseBlock], blocks)
        observation, *_, info = env.step(content)
        assert len(info["actions"]) == 1 and "invalid_action" in info
        results = env.output(observation)
        assert check(list[beta.BetaToolResultBlockParam], results) == results
        assert [set(block) for block in results] == [
            {"type", "tool_use_id", "content", *family},
            *[{"type", "tool_use_id", "content", "is_error", *family}] * 2,
        ]
        env.close()


def test_the_toolset_has_the_fields_that_the_sdk_has():
    beta = pytest.importorskip("anthropic.types.beta")
    for verb, fields in SCHEMAS[TOOLSET].items():
        name = "".join(part.capitalize() for part in verb.split("_"))
        known = getattr(beta, f"BetaComputer{name}Input").model_fields
        ours = {field.rstrip("?"): not field.endswith("?") for field in fields.split()}
        theirs = {field: info.is_required() for field, info in known.items()}
        assert set(ours) == set(theirs), verb
        assert all(theirs[field] or not needed for field, needed in ours.items()), verb


# --- the example and the guide, with a client that plays back a script in the API's shapes


class ScriptedClient:
    """Stands for ``anthropic.Anthropic()``: no model, it plays back contents and keeps the requests that it got."""

    def __init__(self, *contents):
        self.requests, self.contents = [], list(contents)
        self.beta = SimpleNamespace(messages=SimpleNamespace(create=self._create))

    def _create(self, **request):
        self.requests.append(json.loads(json.dumps(request)))
        content = self.contents.pop(0)
        content = content() if callable(content) else content
        return SimpleNamespace(
            content=content, stop_reason="tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
        )


def test_the_example_plays_an_episode():
    path = ROOT / "examples" / "anthropic_computer_use.py"
    spec = importlib.util.spec_from_file_location("anthropic_computer_use_example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    env = make(answers=True)
    client = ScriptedClient(
        [use(1, action="screenshot")],
        [text("Both."), use(2, **CLICK), use(3, action="type", text="x")],
        lambda: [text(str(env.desktop.task.params["number"]))],
    )
    assert module.play(env, client, "scripted", seed=3) == 1.0
    last = client.requests[-1]
    assert [message["role"] for message in last["messages"]] == ["user", "assistant"] * 2 + ["user"]
    assert [block["tool_use_id"] for block in last["messages"][-1]["content"]] == ["toolu_2", "toolu_3"]
    assert last["tools"] == [env.tool] and last["betas"] == ["computer-use-2025-01-24"]
    env.close()


class OracleOf:
    """The oracle's actions for the env that a program makes under the name ``env``."""

    def __init__(self, names):
        self.names, self.actions = names, None

    def __next__(self):
        self.actions = self.actions or self.names["env"].desktop.oracle()
        return next(self.actions)


def next_content(names, oracle):
    """The oracle's next action as a content list of Anthropic's, in the pixels of the display."""
    action = next(oracle)
    if action.verb in ("done", "fail", "answer"):
        return [text(action.text or action.verb.upper())]
    (width, height), (across, down) = names["env"].display, names["env"].desktop.screen_size
    at = None if action.x is None else [action.x * width // across, action.y * height // down]
    click = {1: f"{action.button}_click", 2: "double_click", 3: "triple_click"}[action.clicks]
    fields = {
        "click": {"action": click, "coordinate": at},
        "press": {"action": "key", "text": "+".join(action.keys)},
        "type": {"action": "type", "text": action.text},
        "wait": {"action": "wait", "duration": action.seconds},
        "move": {"action": "mouse_move", "coordinate": at},
    }[action.verb]
    return [THINKING, use(1, **fields)]


@pytest.mark.sandbox
def test_the_guide_solves_a_task_on_a_real_desktop():
    """The guide's loop, word for word, with the oracle's input in Anthropic's shapes and a scaled display."""
    guide = (ROOT / "docs" / "computer_use.md").read_text()
    (program,) = [code for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "AnthropicComputer" in code]
    names = {"model": "scripted"}
    oracle = OracleOf(names)
    names["client"] = ScriptedClient(*[lambda: next_content(names, oracle)] * 60)
    exec(program, names)
    assert names["reward"] == 1.0 and names["terminated"]
    sent = names["client"].requests[-1]["messages"][-1]["content"]
    assert picture_of(sent[0]).shape == (720, 1280, 3)


@pytest.mark.sandbox
def test_the_pointer_starts_in_the_middle_of_a_real_screen():
    env = gym.make("deskgym/Science-v0", task="kalgebra/*", action="code", screen_size=(1280, 720))
    env.reset(seed=1)
    observation, *_ = env.step("import pyautogui; print(*pyautogui.position())")
    assert observation["feedback"] == "640 360"
    env.close()
