"""Tasks on virtual machines: a reset is a restore, and a killed machine costs its episode and nothing else."""

import os
import signal

import gymnasium as gym
import numpy as np
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.machines.qemu.folders import base_folder

pytestmark = [pytest.mark.slow, pytest.mark.qemu, pytest.mark.timeout(600)]

OPTIONS = {
    "machine": "qemu",
    "screen_size": (1280, 720),
    "machine_options": {"accel": "tcg", "memory_mb": 2048},
}
TASK = "kalgebra/plot-2d"


@pytest.fixture
def env():
    env = gym.make("deskgym/Science-v0", task=TASK, **OPTIONS)
    yield env
    env.close()
    own = f"-{os.getpid()}-"
    assert [path.name for path in base_folder().iterdir() if own in path.name] == []


def play(env, actions=None):
    """Play the oracle, or these actions; the last step's reward and info."""
    for action in actions or env.unwrapped.oracle():
        _, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return reward, info
    raise AssertionError("the oracle never ended the episode")


def test_a_reset_is_a_restore_and_the_rewards_are_right(env):
    first, info = env.reset(seed=0)
    assert "setup" in info["prepared"]
    assert play(env)[0] == 1
    for seed in range(1, 3):
        observation, info = env.reset(seed=seed)
        assert "setup" not in info["prepared"], "a program was started again"
        changed = (observation["screenshot"] != first["screenshot"]).any(axis=2)
        assert changed.mean() < 0.001, "it is not the desktop after the setup"  # a caret blinks
        assert play(env)[0] == 1
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step({"action": "done"})
    assert terminated and reward == 0 and info["verdict"]["error"] is None
    stats = env.unwrapped.stats
    assert stats["snapshots_taken"] == 1 and stats["snapshots_used"] == 3 and stats["faults"] == 0


def test_a_machine_that_is_killed_in_mid_episode(env):
    env.reset(seed=0)
    env.step({"action": "move", "x": 600, "y": 300})
    os.kill(env.unwrapped.machine.pid, signal.SIGKILL)
    _, reward, terminated, truncated, info = env.step({"action": "move", "x": 700, "y": 300})
    assert (reward, terminated, truncated) == (0, False, True)
    assert info["fault"]["kind"] == "guest_lost"
    _, info = env.reset(seed=0)
    assert "setup" not in info["prepared"]
    assert play(env)[0] == 1
    assert env.unwrapped.stats["faults"] == 1 and env.unwrapped.stats["repairs"] == 1


def test_a_pool_prepares_the_next_by_a_restore():
    env = gym.make("deskgym/Science-v0", task=TASK, pool={"depth": 1}, **OPTIONS)
    try:
        env.reset(seed=0)
        play(env)
        env.reset()
        env.step({"action": "move", "x": 600, "y": 300})
        env.unwrapped.pool.wait(120)
        _, info = env.reset()
        assert info["stats"]["swaps"] >= 1 and info["stats"].get("faults", 0) == 0
        assert play(env)[0] == 1
    finally:
        env.close()


def test_turns_of_table_analysis():
    options = {"task": "penguins/ines/normal/mean-mass", "machine": "qemu", "machine_options": {"accel": "tcg"}}
    env = gym.make("deskgym/TableAnalysis-v0", **options)
    try:
        env.reset(seed=0)
        pid = env.unwrapped.machine.pid
        assert play(env)[0] == 1
        env.reset(seed=1)
        assert env.unwrapped.machine.pid == pid, "another machine was started, though only kernels were used in it"
        for name in env.unwrapped.task.wrong_attempts:
            env.reset(seed=1)
            reward, info = play(env, env.unwrapped.attempt(name))
            assert reward == 0 and info["verdict"]["error"] is None, name
        env.close()
        env.reset(seed=2)
        assert env.unwrapped.machine.pid != pid
        assert play(env)[0] == 1
        assert env.unwrapped.stats["faults"] == 0
    finally:
        env.close()


def test_several_at_once():
    envs = gym.make_vec("deskgym/Science-v0", num_envs=2, task=TASK, **OPTIONS)
    try:
        observations, _ = envs.reset(seed=0)
        assert observations["screenshot"].shape == (2, 720, 1280, 3)
        assert all(np.ptp(frame) > 100 for frame in observations["screenshot"])
        _, rewards, terminated, _, infos = envs.step(envs.action_space.sample())
        assert rewards.shape == (2,) and "fault" not in infos
    finally:
        envs.close()
