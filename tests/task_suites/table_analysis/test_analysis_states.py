"""Saved states of table analysis: the kernel's process is forked; another machine replays."""

from contextlib import closing

import gymnasium as gym
import numpy as np
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.agents import OracleAgent, run_episode
from deskgym.envs.errors import StateError
from deskgym.wrappers import Branching

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]
DRAW = "import random, numpy as np; (random.random(), np.random.rand())"


@pytest.fixture(scope="module")
def env():
    with closing(Branching(gym.make("deskgym/TableAnalysis-v0", observation=("dialogue", "feedback", "plot")))) as env:
        yield env


def finish(env):
    """The rest of the oracle's script, from the present turn's first step; the rewards and the last info."""
    rewards = []
    for action in env.unwrapped.oracle():
        *_, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            break
    return rewards, info


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_a_kernel_goes_on_as_it_did(env):
    env.reset(seed=3)
    here, *_ = env.step("import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); x = [1]")
    with env.save_state() as state:
        assert state.how == "process"
        there, *_ = env.step(f"x.append(2); plt.plot([3, 1]); {DRAW}")
        for _ in range(2):
            back, info = env.restore_state(state)
            assert same(here, back) and info["restored"]["how"] == "process" and info["step"] == 1
            again, *_ = env.step(f"x.append(2); plt.plot([3, 1]); {DRAW}")
            assert same(there, again)
        assert env.step("x")[0]["feedback"] == "[1, 2]"


def test_the_verdict_is_that_of_an_episode_that_was_not_saved(env):
    alone = run_episode(env, OracleAgent(), seed=8)
    env.reset(seed=8)
    with env.save_state() as state:
        rewards, info = finish(env)
        assert rewards[-1] == alone.score == 1.0
        env.restore_state(state)
        env.step("DONE")
        env.restore_state(state)
        assert finish(env)[0] == rewards


def test_a_dialogue_goes_back_a_turn():
    with closing(
        Branching(gym.make("deskgym/TableAnalysis-v0", episode="dialogue", task="penguins/ines/normal"))
    ) as env:
        env.reset(seed=1)
        script = list(env.unwrapped.oracle())
        ends = [k for k, action in enumerate(script) if action == "DONE" or action.startswith("ANS")]
        assert len(ends) > 1
        for action in script[: ends[0]]:
            here, *_ = env.step(action)
        with env.save_state() as state:
            played = [env.step(action)[:2] for action in script[ends[0] : ends[1] + 1]]
            for how in ("process", "replay"):
                back, info = env.restore_state(state)
                assert same(here, back) and info["restored"]["how"] == how
                again = [env.step(action)[:2] for action in script[ends[0] : ends[1] + 1]]
                assert all(same(one[0], two[0]) and one[1] == two[1] for one, two in zip(played, again, strict=True))
                with env.save_state() as later:  # in the next turn, reached by a replay of a turn that was judged
                    env.unwrapped.machine.stop()
                    assert env.restore_state(later)[1]["restored"]["how"] == "replay"
                    assert env.step("print(1)")[0]["feedback"] == "1"


def test_forks_have_machines_of_their_own_and_are_replays(env):
    env.reset(seed=3)
    env.step("x = 41")
    here, *_ = env.step("x += 1; x, object()")
    forks = env.fork(2)
    try:
        for k, fork in enumerate(forks):
            assert fork.step(f"x += {k}; x")[0]["feedback"] == str(42 + k)
            assert fork.unwrapped.machine is not env.unwrapped.machine
            assert fork.unwrapped.stats["states_replayed"] == 1
    finally:
        for fork in forks:
            fork.close()
    assert env.step("x")[0]["feedback"] == "42"


def test_a_replay_that_says_something_else_is_told(env):
    env.reset(seed=3)
    env.step("import os; number = os.urandom(4).hex(); number")
    with env.save_state() as state:
        assert env.restore_state(state)[1]["restored"]["how"] == "process"
        env.unwrapped.machine.stop()
        with pytest.raises(StateError, match="urandom.*says.*where it said.*strict=False"):
            env.restore_state(state)
        _, info = env.restore_state(state, strict=False)
        assert info["restored"]["how"] == "replay" and "urandom" in info["restored"]["differs"]
        assert "len" not in env.step("len(number)")[0]["feedback"]


def test_what_no_fork_copies_is_replayed_and_why_is_told(env):
    env.reset(seed=3)
    env.step("x = 7; import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()")
    with env.save_state() as state:
        assert state.how == "replay" and "2 threads" in state.why
        env.step("x = 8")
        _, info = env.restore_state(state)
        assert info["restored"]["how"] == "replay"
        assert env.step("x, threading.active_count()")[0]["feedback"] == "(7, 2)"


def test_a_kernel_that_died_comes_back(env):
    env.reset(seed=3)
    env.step("x = 7")
    with env.save_state() as state:
        assert "died" in env.step("import os; os._exit(1)")[0]["feedback"]
        _, info = env.restore_state(state)
        assert info["restored"]["how"] == "process" and env.step("x")[0]["feedback"] == "7"


def test_states_that_are_closed_do_not_stand_in_the_way_of_others(env):
    env.reset(seed=3)
    env.step(DRAW)
    with env.save_state() as first:
        for _ in range(10):
            with env.save_state() as state:
                assert (state.how, state.why) == ("process", "")
        assert env.restore_state(first)[1]["restored"]["how"] == "process"


def test_a_kernel_that_a_replay_has_ended_is_not_promised_any_more(env):
    env.reset(seed=3)
    env.step("x = 7")
    with env.save_state() as kept:
        env.step("import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()")
        with env.save_state() as threads:
            env.restore_state(threads)
        assert kept.how == "process"  # as far as is known
        assert env.restore_state(kept)[1]["restored"]["how"] == kept.how == "replay"
        assert "ended" in kept.why and env.step("x")[0]["feedback"] == "7"
