"""Branching: what wrappers keep of an episode comes back with it, whatever is around what."""

import threading

import fake_desktops  # noqa: F401 - registers test/WrappedFake-v0
import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit, TransformReward
from test_composition import STACKS

from deskgym.envs.errors import StateError
from deskgym.wrappers import Branching, HistoryWindow, RecordEpisode, Recording, TimeLimitSeconds


def stack(name):
    wrap, options = STACKS[name]
    return Branching(wrap(gym.make("test/WrappedFake-v0", disable_env_checker=True, **options)))


def play(env, actions):
    """What came of some actions, up to the episode's end."""
    seen = []
    for action in actions:
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append((observation, reward, terminated, truncated, info["step"]))
        if terminated or truncated:
            break
    return seen


def equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return np.array_equal(one, other)


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_goes_on_as_it_did(name):
    env = stack(name)
    here, _ = env.reset(seed=3)
    env.action_space.seed(3)
    actions = [env.action_space.sample() for _ in range(8)]
    for action in actions[:3]:
        here, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            here, _ = env.reset()
    with env.save_state() as state:
        first = play(env, actions[3:])
        back, info = env.restore_state(state)
        assert equal(here, back) and info["restored"]["differs"] == ""
        assert equal(first, play(env, actions[3:]))
        back, _ = env.reset(options={"state": state})
        assert equal(here, back)
        forks = env.fork(2)
        for fork in forks:
            assert type(fork) is Branching and fork.unwrapped is not env.unwrapped
            assert equal(first, play(fork, actions[3:]))
            fork.close()
    env.close()


def make(**options):
    return gym.make("test/WrappedFake-v0", disable_env_checker=True, **options)


def test_gymnasiums_own_wrappers_go_back_too():
    env = Branching(RecordEpisodeStatistics(TimeLimit(make(), 5)))
    env.reset(seed=1)
    click = {"action": "click", "x": 3, "y": 3}
    env.step(click)
    env.step(click)
    with env.save_state() as state:
        for _ in range(2):
            assert [step[3] for step in play(env, [click] * 5)] == [False, False, True]
            env.restore_state(state)
        env.step(click)
        env.step(click)
        *_, truncated, info = env.step(click)
        assert truncated and info["episode"]["l"] == 5
    env.close()


def test_a_history_is_that_of_then():
    env = Branching(HistoryWindow(make(action="code"), k=3))
    env.reset(seed=1)
    env.step("print('first')")
    here, *_ = env.step("print('second')")
    with env.save_state() as state:
        env.step("print('third')")
        back, _ = env.restore_state(state)
        assert equal(here, back)
        on, *_ = env.step("print('fourth')")
        assert "third" not in str(on["actions_history"]) and "second" in str(on["actions_history"])
    env.close()


def test_a_recording_begins_anew_and_says_where(tmp_path):
    env = Branching(RecordEpisode(make(), tmp_path))
    env.reset(seed=1)
    env.step({"action": "click", "x": 3, "y": 3})
    with env.save_state() as state:
        env.step({"action": "done"})
        env.restore_state(state)
        env.step({"action": "fail"})
    env.close()
    first, second = sorted(tmp_path.iterdir())
    assert Recording.load(first).meta.get("branch") is None
    branch = Recording.load(second).meta["branch"]
    assert branch == {"of": first.name, "step": 1}


def test_a_wrapper_that_cannot_be_copied_is_named():
    class Locked(gym.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            self.lock = threading.Lock()

    env = Branching(Locked(make()))
    env.reset(seed=1)
    with pytest.raises(StateError, match="Locked keeps what cannot be copied.*lock"):
        env.save_state()
    env.close()


def test_other_wrappers_are_told_apart():
    env, other = Branching(TimeLimitSeconds(make(), 60)), Branching(make())
    third = Branching(TimeLimit(make(), 60))
    for one in (env, other, third):
        one.reset(seed=1)
    with env.save_state() as state:
        with pytest.raises(StateError, match="wrappers"):
            other.restore_state(state)
        with pytest.raises(StateError, match=r"TimeLimitSeconds\(seconds=60\) where TimeLimit\(max_episode_steps=60\)"):
            third.restore_state(state)
        assert not third.unwrapped.episodes.over and third.unwrapped.episodes.steps == 0  # it goes on
        with other.unwrapped.save_state() as bare, pytest.raises(StateError, match="without its wrappers"):
            other.restore_state(bare)
    for one in (env, other, third):
        one.close()


class Steps(gym.Wrapper):
    """Acts before the agent does."""

    def reset(self, **arguments):
        observation, info = self.env.reset(**arguments)
        self.env.step({"action": "click", "x": 3, "y": 3})
        return observation, info


def test_a_wrapper_that_acts_in_reset_is_told():
    env = Branching(Steps(make()))
    env.reset(seed=1)
    with env.save_state() as state, pytest.raises(StateError, match="acted in (its )?reset.*step 2, not 1"):
        env.restore_state(state)
    env.close()


def test_a_users_function_is_not_copied_and_what_was_set_is():
    kept = []
    env = Branching(TransformReward(make(), lambda reward: kept.append(reward) or reward))
    env.unwrapped.max_steps, env.unwrapped.invalid_action = 3, "feedback"
    env.reset(seed=1)
    with env.save_state() as state:
        env.restore_state(state)
        env.step({"action": "wait"})
        (fork,) = env.fork(1)
        fork.step({"action": "wait"})
        assert len(kept) == 2
        assert fork.unwrapped.max_steps == 3 and fork.unwrapped.invalid_action == "feedback"
        fork.close()
    with pytest.raises(ValueError, match="beside 'state'"):
        env.reset(options={"state": state, "task": "fake/copy"})
    env.close()


def test_only_deskgyms_environments_have_states():
    with pytest.raises(TypeError, match="MachineEnv"):
        Branching(gym.make("CartPole-v1"))
