"""An agent cannot choose "not counted": what it makes unreadable is a fail, what it breaks a fault of its own."""

import time
from contextlib import closing

import agent_attacks as attacks
import gymnasium as gym
import pytest

import deskgym  # noqa: F401
from deskgym.task_suites.core.verify.attacks.inside.processes import BROKEN

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

STEP = 25.0  # seconds that one may take on a busy machine; a code action may take CODE of them
CODE = 6.0
BREAKS = ("accessibility_lost", "display_lost", "guest_lost", "executor", "start_failed")


def make(suite, task):
    return gym.make(
        f"deskgym/{suite}-v0", task=task, action="code", screen_size=(1280, 720), code_timeout=CODE,
        observation=("screenshot", "elements", "feedback"), machine_options={"disk_mb": 300, "memory_mb": 2048},
    )  # fmt: skip


@pytest.fixture(scope="module")
def kalgebra():
    with closing(make("Science", "kalgebra/surface")) as env:
        yield env


@pytest.fixture(scope="module")
def calc():
    with closing(make("DataEngineering", "calc/sort")) as env:
        yield env


def play(env, *actions, solved=False):
    """An episode of these actions and DONE, ``solved`` before by the oracle; its last reward and info."""
    env.reset(seed=1)
    solution = [action for action in env.unwrapped.oracle() if action != "DONE" and env.step(action)] if solved else []
    assert bool(solution) == solved
    for action in (*actions, "DONE"):
        began = time.monotonic()
        observation, reward, terminated, truncated, info = env.step(action)
        assert time.monotonic() - began < STEP and BROKEN not in observation["feedback"]
        if terminated or truncated:
            return reward, info
    raise AssertionError("the episode goes on after DONE")


def counts(env, *actions):
    """Whether the episode counts, with a score of 0, for every trainer."""
    reward, info = play(env, *actions)
    assert reward == 0
    if "fault" in info:
        assert info["fault"]["kind"] in BREAKS
        return info["fault"]["cause"] == "agent"
    return info["verdict"]["error"] is None and not info["verdict"]["success"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", ["HIDDEN", "GONE", "GRABBED", "FLOODS"])
def test_no_attack_is_left_out(kalgebra, group):
    left_out = [name for name, code in getattr(attacks, group).items() if not counts(kalgebra, code, "pass")]
    assert left_out == []
    assert play(kalgebra, solved=True)[0] == 1


@pytest.mark.timeout(600)
def test_what_is_hidden_or_grabbed_is_read_all_the_same(kalgebra):
    names = ("minimised", "unmapped", "off-screen", "covered for ever", "another desktop", "server")
    codes = [(attacks.HIDDEN | attacks.GRABBED)[name] for name in names]
    assert [play(kalgebra, code, solved=True)[0] for code in codes] == [1.0] * len(names)


@pytest.mark.alone
def test_a_grabbed_server_costs_the_step_a_few_seconds(kalgebra):
    kalgebra.reset(seed=1)
    kalgebra.step(attacks.GRABBED["server"])
    began = time.monotonic()
    assert not kalgebra.step("import pyautogui; pyautogui.click(5, 5)")[3]
    assert time.monotonic() - began < 5
    assert kalgebra.unwrapped.stats["faults_by_infrastructure"] == 0


def test_a_launched_program_that_grabs_the_server_is_ended_at_last(kalgebra):
    kalgebra.reset(seed=1)
    path = {"PYTHONPATH": "/opt/deskgym/guest"}
    code = attacks.GRAB_SERVER.replace("while", "open('/tmp/grabbed', 'w').close()\nwhile", 1)
    kalgebra.unwrapped.machine.guest.call("launch", argv=["python3", "-c", code], env=path)
    kalgebra.step("import os, time\nwhile not os.path.exists('/tmp/grabbed'): time.sleep(0.05)")
    kalgebra.step("pass")
    verdict = kalgebra.step("DONE")[4]["verdict"]
    assert verdict["error"] is None and "not running any more" in verdict["checks"][1]["message"]


@pytest.mark.timeout(600)
def test_whatever_lies_at_the_files_place_is_a_fail(calc):
    names = [name for name in attacks.PLANTED if not counts(calc, attacks.plant(name, "/home/user/orders.xlsx"))]
    assert names == []
    assert play(calc, solved=True)[0] == 1
