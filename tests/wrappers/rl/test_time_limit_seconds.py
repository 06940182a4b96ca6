"""TimeLimitSeconds: the episode ends when the time is up, and is evaluated."""

import time

import gymnasium as gym
import pytest
from fake_desktops import desktop, keeps_the_contract

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action
from deskgym.wrappers import PartialCredit, RecordEpisode, TimeLimitSeconds

WAIT = Action("wait", seconds=0)


@pytest.mark.parametrize("action", ["computer", "code", "discrete"])
def test_it_keeps_the_contract(action):
    keeps_the_contract(lambda env: TimeLimitSeconds(env, 100), action=action)


def test_it_truncates_and_evaluates_when_the_time_is_up():
    env = TimeLimitSeconds(desktop(), 0.2)
    _, info = env.reset(seed=0)
    assert info["time_left"] == 0.2
    _, reward, terminated, truncated, info = env.step(WAIT)
    assert not truncated and 0 < info["time_left"] < 0.2 and "verdict" not in info
    time.sleep(0.25)
    observation, reward, terminated, truncated, info = env.step(WAIT)
    assert (reward, terminated, truncated, info["time_left"]) == (0.0, False, True, 0.0)
    assert {check["name"]: check["outcome"] for check in info["verdict"]["checks"]}["state"] == "pass"
    assert {"act", "evaluate"} <= set(info["timing"]) and env.desktop.final.stop == "limit"
    assert env.observation_space.contains(observation)
    with pytest.raises(gym.error.ResetNeeded):
        env.step(WAIT)
    assert env.reset()[1]["time_left"] == 0.2
    assert not env.step(WAIT)[3]


def test_an_episode_that_ends_by_itself_is_evaluated_once():
    env = TimeLimitSeconds(desktop(), 0.01)
    env.reset(seed=0)
    time.sleep(0.02)
    answer = next(a for a in env.desktop.oracle() if a.verb == "answer")
    _, reward, terminated, truncated, info = env.step(answer)
    assert (reward, terminated, truncated, info["time_left"]) == (1.0, True, False, 0.0)
    assert env.desktop.stats["episodes"] == 1


def test_a_machine_that_breaks_in_the_end_is_a_fault():
    env = TimeLimitSeconds(desktop(), 0.05)
    env.reset(seed=0)
    display = env.desktop.machine.fake_display
    carry_out = display.carry_out
    display.carry_out = lambda request: (
        carry_out(request) if request.elements else env.desktop.machine.guest.close() or carry_out(request)
    )
    time.sleep(0.06)
    _, reward, terminated, truncated, info = env.step(WAIT)
    assert (reward, terminated, truncated) == (0.0, False, True) and info["fault"]["kind"] == "guest_lost"
    assert env.reset(seed=0)[1]["time_left"] == 0.05


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "60", True, None])
def test_the_time_is_checked(seconds):
    with pytest.raises(ValueError, match="a number above 0"):
        TimeLimitSeconds(desktop(), seconds)


def test_what_must_see_the_end_goes_outside(tmp_path):
    with pytest.raises(ValueError, match="RecordEpisode would not see"):
        TimeLimitSeconds(RecordEpisode(desktop(), tmp_path), 1)
    with pytest.raises(ValueError, match="PartialCredit would not see"):
        TimeLimitSeconds(PartialCredit(desktop()), 1)
    env = RecordEpisode(PartialCredit(TimeLimitSeconds(desktop(), 0.01)), tmp_path)
    env.reset(seed=0)
    time.sleep(0.02)
    _, reward, _, truncated, info = env.step(WAIT)
    env.close()
    assert truncated and reward == info["partial"] == 0 and next(tmp_path.glob("*/verdict.json"))


@pytest.mark.sandbox
def test_on_a_real_desktop():
    env = gym.make("deskgym/Science-v0", task="kalgebra/plot-2d", action="code", observation=["instruction"])
    env = TimeLimitSeconds(env, 30)
    env.reset(seed=0)
    programs = [program for program in env.desktop.oracle() if program != "DONE" and not env.step(program)[3]]
    assert programs
    env._deadline = time.monotonic()  # the time is up
    _, reward, terminated, truncated, info = env.step("WAIT 0")
    assert (reward, terminated, truncated) == (1.0, False, True) and info["verdict"]["success"]
    env.close()
