"""Gymnasium's contract around an environment: specs, step limits from outside, windows, oddities of reset and step."""

import copy
import os
import pickle
import select
import shutil
import subprocess
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from test_desktop_env import make

import deskgym.wrappers as wrappers
from deskgym.envs.observation.spaces import OBSERVATIONS
from deskgym.envs.rendering import Window
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.task_suites import suites

SPECS = {
    "deskgym/Science-v0": [
        {"task": "kalgebra/*", "observation": ("screenshot", "elements"), "screen_size": (640, 480), "max_steps": 3},
        {"screen_size": np.array([640, 480]), "settle": {"quiet_ms": np.float64(5)}, "pool": {"depth": 2}},
        {"action": "discrete", "discrete": {"verbs": ("click", "done"), "grid": (0, 0)}, "render_mode": "rgb_array"},
        {"split": "train", "max_episode_steps": 4, "machine_options": {"memory_mb": 4000}},
    ],
    "deskgym/DataEngineering-v0": [
        {"action": "code", "code_timeout": 5, "invalid_action": "feedback"},
        {"instruction": "verbose", "observation": ("screenshot", "context", "instruction")},
    ],
    "deskgym/Proving-v0": [{"task": "proving/l*", "observation": ("goals", "feedback"), "tactic_timeout": 5}],
    "deskgym/BPM-v0": [{"observation": ("instruction",), "split": "test"}],
    "deskgym/Procedures-v0": [{"task": "validation/*", "frame_size": (64, 36), "judge": "lexical", "shown": "frames"}],
    "deskgym/TableAnalysis-v0": [
        {"observation": ("instruction", "plot"), "machine": "process"},
        {"episode": "dialogue", "user": {"endpoint": "http://127.0.0.1:9/v1", "model": "m"}, "questions": 2},
    ],
}


def test_every_id_is_tried():
    assert {entry.gym_id for entry in suites.ENTRIES} == set(SPECS)


@pytest.mark.parametrize("env_id,options", [(env_id, o) for env_id, all_of in SPECS.items() for o in all_of])
def test_a_spec_equals_what_comes_back_from_its_json_and_makes_the_same_environment(env_id, options):
    display = next(entry.display for entry in suites.ENTRIES if entry.gym_id == env_id)
    with gym.make(env_id, **({"machine": "fake"} if display else {}) | options) as env:
        spec = env.spec
        again = EnvSpec.from_json(spec.to_json())
        assert again == spec
        assert again.pprint(disable_print=True) == spec.pprint(disable_print=True)
        assert copy.deepcopy(spec) == pickle.loads(pickle.dumps(spec)) == spec
        with gym.make(again) as other:
            assert other.spec == spec
            assert (other.observation_space, other.action_space) == (env.observation_space, env.action_space)


def test_the_specs_of_wrappers_equal_what_comes_back_from_their_json():
    with gym.make("deskgym/Science-v0", machine="fake", screen_size=(640, 480)) as env:
        env = wrappers.DownscaleScreenshot(wrappers.HistoryWindow(env, parts=("screenshot",)), size=(64, 48))
        spec = env.spec
        assert EnvSpec.from_json(spec.to_json()) == spec
        assert gym.make(EnvSpec.from_json(spec.to_json())).observation_space == env.observation_space


def test_the_spec_of_a_vector_equals_what_comes_back_from_its_json():
    vector = gym.make_vec("deskgym/Science-v0", num_envs=2, machine="fake", screen_size=(64, 64), task="kalgebra/*")
    spec = vector.spec
    vector.close()
    again = EnvSpec.from_json(spec.to_json())
    assert again == spec
    other = gym.make_vec(again)
    assert (other.num_envs, other.observation_space) == (2, vector.observation_space)
    other.close()


# --- limits from outside


@pytest.mark.parametrize("around", [lambda env: env, wrappers.ExecutionFeedback, gym.wrappers.OrderEnforcing])
def test_the_last_step_of_gymnasiums_time_limit_is_evaluated(around):
    env = gym.wrappers.TimeLimit(around(make(action="code")), 2)
    for seed in (3, 4):
        env.reset(seed=seed)
        assert env.step("WAIT")[1:4] == (0.0, False, False)
        _, reward, terminated, truncated, info = env.step("WAIT")
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["verdict"]["checks"] and not info["verdict"]["success"]
        with pytest.raises(gym.error.ResetNeeded):
            env.step("WAIT")
    env.reset(seed=5)
    env.step("WAIT")
    _, reward, terminated, *_ = env.step(f"ANS {env.unwrapped.task.number}")
    assert (reward, terminated) == (1.0, True)
    env.close()


def limited():
    return gym.wrappers.TimeLimit(make(action="code"), 1)


@pytest.mark.parametrize("kind", ["DesktopVectorEnv", "SyncVectorEnv", "AsyncVectorEnv"])
def test_the_last_step_of_gymnasiums_time_limit_is_evaluated_in_a_vector_too(kind):
    gymnasiums = getattr(gym.vector, kind, None)
    vector = gymnasiums([limited] * 2) if gymnasiums else DesktopVectorEnv(limited, 2)
    vector.reset(seed=0)
    *_, truncated, infos = vector.step(("WAIT", "WAIT"))
    assert truncated.all() and infos["_verdict"].all()
    vector.close()


gym.register("test/FakeOfContract-v0", entry_point=make, nondeterministic=True)


# --- a window


@pytest.fixture
def screen(monkeypatch):
    """The user's own display: an X server, and the name of it."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    pygame = pytest.importorskip("pygame")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-nolisten", "tcp", "-noreset", "-screen", "0", "800x600x24"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        assert select.select([read], [], [], 30)[0], "Xvfb did not start"
        name = f":{os.read(read, 16).decode().strip()}"
        monkeypatch.setenv("DISPLAY", name)
        monkeypatch.setenv("SDL_VIDEODRIVER", "x11")
        yield name
    finally:
        pygame.display.quit()  # before its server: SDL ends the process otherwise
        server.terminate()
        server.wait()
        os.close(read)


def windows(display):
    """Name → pixels (height, width, 3) of the windows on a display."""
    from Xlib import X
    from Xlib.display import Display

    connection = Display(display)
    found = {}
    for window in connection.screen().root.query_tree().children:
        size = window.get_geometry()
        name = window.get_full_text_property(connection.intern_atom("_NET_WM_NAME"))
        if name and window.get_attributes().map_state == X.IsViewable:
            raw = window.get_image(0, 0, size.width, size.height, X.ZPixmap, 0xFFFFFFFF).data
            pixels = np.frombuffer(raw, np.uint8).reshape(size.height, size.width, 4)
            found[name] = pixels[:, :, 2::-1]
    connection.close()
    return found


def test_human_rendering_shows_each_observation_in_a_window(screen):
    env = gym.make("deskgym/Science-v0", machine="fake", screen_size=(320, 240), render_mode="human")
    assert env.render_mode == "human"
    env.close()
    env = gym.make("test/FakeOfContract-v0", render_mode="human", screen_size=(320, 240))
    assert windows(screen) == {}
    observation, _ = env.reset(seed=0)
    first = windows(screen)["deskgym"]
    assert np.array_equal(first, observation["screenshot"])
    x, y, *_ = env.unwrapped.machine.display.field
    env.step({"action": "click", "x": x + 2, "y": y + 2})
    observation, *_ = env.step({"action": "type", "text": "hello"})
    assert np.array_equal(windows(screen)["deskgym"], observation["screenshot"])
    assert not np.array_equal(first, observation["screenshot"])
    assert env.render() is None
    env.close()
    assert windows(screen) == {}
    env.close()


def test_without_a_display_human_rendering_says_so(monkeypatch):
    pytest.importorskip("pygame")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="needs a display.*DISPLAY=None.*'rgb_array'.*`deskgym view --live`") as error:
        gym.make("deskgym/Science-v0", machine="fake", render_mode="human")
    assert "\n" not in str(error.value)


def test_without_pygame_human_rendering_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pygame", None)
    with pytest.raises(ValueError, match=r"pip install 'deskgym\[human\]'"):
        Window()


# --- oddities


def test_step_before_reset_after_the_end_and_after_close_say_what_to_do():
    env = make(action="code")
    for _ in range(2):
        with pytest.raises(gym.error.ResetNeeded, match="call reset"):
            env.step("WAIT")
        env.reset(seed=0)
        assert env.step("DONE")[2]
        with pytest.raises(gym.error.ResetNeeded, match="call reset"):
            env.step("WAIT")
        env.close()
        env.close()


def test_a_reset_in_the_middle_of_an_episode_begins_another():
    env = make(action="code")
    env.reset(seed=1)
    env.step("WAIT")
    _, info = env.reset(seed=1)
    assert info["step"] == 0 and "verdict" not in info
    assert env.stats["episodes"] == 0
    env.close()


@pytest.mark.parametrize(
    "options,said",
    [
        ({"taks": "x"}, "unknown reset options"), ({5: 1}, "unknown reset options"), ({"task": 5}, "task=5"),
        ({"split": ["train"]}, "split="), (5, "options"), ("task", "options"), ([("task", None)], "options"),
    ],
)  # fmt: skip
def test_odd_reset_options_are_one_line(options, said):
    env = make()
    with pytest.raises(ValueError, match=said) as error:
        env.reset(options=options)
    assert "\n" not in str(error.value)
    env.reset(options={"task": None, "split": None})
    env.close()


def test_equal_seeds_give_equal_tasks_and_spaces_seeds_are_their_own():
    with make() as one, make() as other:
        for _ in range(2):
            assert one.reset(seed=7)[1]["task"] == other.reset(seed=7)[1]["task"]
            assert [one.reset()[1]["task"] for _ in range(3)] == [other.reset()[1]["task"] for _ in range(3)]
        one.action_space.seed(5)
        other.action_space.seed(5)
        assert [str(one.action_space.sample()) for _ in range(5)] == [
            str(other.action_space.sample()) for _ in range(5)
        ]
        assert one.np_random_seed == other.np_random_seed == 7


@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_gymnasiums_passive_checker_has_nothing_to_say_in_a_whole_episode(action):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        options = {"observation": OBSERVATIONS, "render_mode": "rgb_array", "invalid_action": "feedback"}
        env = gym.make("test/FakeOfContract-v0", action=action, **options)
        env.reset(seed=1)
        env.action_space.seed(1)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.sample())
            env.render()
            over = terminated or truncated
        assert info["verdict"]["score"] == 0
        env.close()
