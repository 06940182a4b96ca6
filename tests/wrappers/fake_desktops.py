"""A desktop on the fake machine, and what every wrapper must keep."""

import json
import pickle
import warnings

import gymnasium as gym
from fake_suite import FakeSource
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from deskgym.envs.desktop_env import DesktopEnv

ALL = ("screenshot", "elements", "a11y", "instruction", "feedback")


def desktop(**options):
    """A DesktopEnv of 160x120 pixels with every part."""
    defaults = {"machine": "fake", "screen_size": (160, 120), "observation": ALL, "max_elements": 8}
    return DesktopEnv(FakeSource(), **(defaults | options))


gym.register("test/WrappedFake-v0", entry_point="fake_desktops:desktop", nondeterministic=True)


def keeps_the_contract(wrap, **options):
    """Gymnasium's checker has nothing to say, samples can be done, and the spec builds the same again."""
    env = wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version.*")
        check_env(env, skip_render_check=True)
    again = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(again.spec.to_json()) == json.loads(env.spec.to_json())
    assert again.observation_space == env.observation_space and again.action_space == env.action_space
    assert pickle.loads(pickle.dumps(again.action_space)) == env.action_space
    again.reset(seed=1)
    again.action_space.seed(4)
    over = True
    for _ in range(40):
        if over:
            observation = again.reset()[0]
        action = "pyautogui.click(0, 0)" if options.get("action") == "code" else again.action_space.sample()
        observation, _, terminated, truncated, info = again.step(action)
        assert again.observation_space.contains(observation)
        assert "invalid_action" not in info or options.get("action") == "discrete"
        over = terminated or truncated
    again.close()
    env.close()
