"""States in vectors of environments: forks fill slots, and what a worker keeps goes with it."""

import os
import signal

import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError
from vector_fakes import DONE, tricky

from deskgym.envs.errors import MachineError, StateError
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.wrappers import HistoryWindow

CLICK = {"action": "click", "x": 70, "y": 40}


def typed(letter):
    return {"action": "type", "text": letter}


def make():
    """The desktops, with a wrapper that keeps something."""
    return HistoryWindow(tricky(), k=2)


@pytest.fixture
def envs():
    envs = DesktopVectorEnv(make, 3)
    envs.reset(seed=5)
    yield envs
    envs.close()


def test_a_fork_fills_the_slots(envs):
    envs.step([CLICK] * 3)
    envs.step([typed(letter) for letter in "abc"])
    observations, infos = envs.fork(1)
    frames = observations["screenshot"]
    assert (frames == frames[1]).all()
    assert {str(k) for k in infos["step"][[0, 2]]} == {"2"} and infos["_restored"].tolist() == [True, False, True]
    observations, *_ = envs.step([typed("x"), typed("x"), typed("y")])
    frames = observations["screenshot"]
    assert (frames[0] == frames[1]).all() and not (frames[1] == frames[2]).all()
    assert observations["actions_history"][0] == observations["actions_history"][1]


def test_a_state_is_kept_by_its_worker_until_it_is_dropped(envs):
    envs.step([CLICK] * 3)
    state = envs.save_state(0)
    first, *_ = envs.step([typed("a")] * 3)
    for _ in range(2):
        observations, _ = envs.restore_state(state)
        assert (observations["screenshot"] == observations["screenshot"][0]).all()
        again, *_ = envs.step([typed("a")] * 3)
        assert (again["screenshot"][0] == first["screenshot"][0]).all()
    envs.drop_state(state)
    envs.drop_state(state)
    with pytest.raises(StateError, match="was dropped"):
        envs.restore_state(state, [2])
    state = envs.save_state(1)
    envs.restore_state(state, 2)  # one of them by its number


def test_slots_whose_episode_is_over_are_filled_too(envs):
    (*_,) = envs.step([CLICK, DONE, DONE])
    envs.fork(0, [1])
    _, _, terminated, _, infos = envs.step([CLICK, CLICK, CLICK])
    assert not terminated.any()
    assert infos["step"].tolist() == [2, 2, 0]  # the third was reset


def test_a_busy_slot_is_an_error_and_loses_nothing(envs):
    envs.send([CLICK], [1])
    with pytest.raises(AlreadyPendingCallError, match=r"\[1\] are busy"):
        envs.fork(1)
    with pytest.raises(AlreadyPendingCallError, match=r"\[1\] are busy"):
        envs.fork(0)
    envs.fork(0, [2])
    assert envs.recv()[-1]["env_id"].tolist() == [1]


@pytest.mark.parametrize("bad", [[0, 0], [3], [-1]])
def test_slots_that_are_not_there_are_told(envs, bad):
    with pytest.raises(ValueError, match="legal are different numbers from 0 to 2"):
        envs.fork(1, bad)


def test_one_that_cannot_be_restored_is_an_error_and_the_others_go_on(envs):
    state = envs.save_state(0)
    with pytest.raises(StateError, match="is closed|closed"):
        state.close()
        envs.restore_state(state)
    envs.step([CLICK] * 3)


def test_a_worker_that_is_killed_takes_its_states_and_no_others(envs):
    state = envs.save_state(0)
    (pid, *_) = envs.call("pid")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(MachineError, match="was lost"):
        envs.save_state(0)
    observations, _ = envs.restore_state(state)  # a replay
    assert np.ptp(observations["screenshot"], axis=0).max() == 0
    envs.drop_state(state)


def test_a_worker_that_was_lost_before_a_restore_costs_no_step_after_it(envs):
    state = envs.save_state(1)
    (pid, *_) = envs.call("pid")
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(MachineError, match="was lost"):
        envs.call("pid")
    envs.restore_state(state, [0])
    _, _, _, truncated, _ = envs.step([CLICK] * 3)
    assert not truncated.any()


def test_a_state_that_is_none_is_told_and_a_busy_keeper_keeps_it(envs):
    for use in (envs.restore_state, envs.drop_state):
        with pytest.raises(StateError, match="got 7"):
            use(7)
    state = envs.save_state(1)
    envs.send([CLICK], [1])
    with pytest.raises(AlreadyPendingCallError):
        envs.drop_state(state)
    envs.recv()
    envs.drop_state(state)
    envs.close()
    envs.drop_state(state)
