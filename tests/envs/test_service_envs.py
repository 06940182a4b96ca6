"""Environments over tasks with a service: the truth is the companion's, and each desktop has one of its own."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.envs.needs import Needs
from deskgym.envs.vector_env import DesktopVectorEnv
from deskgym.task_suites.core.task import Hook, Task
from deskgym.task_suites.hooks.services import sql

sys.path.insert(0, str(Path(__file__).parent / "provision"))
from flow_service import FLOWS, HERE, THERE  # noqa: E402
from shop_service import PORT, SHOP  # noqa: E402

pytestmark = pytest.mark.sandbox


def stock(setup):
    """A hook: an order more than the shop begins with."""
    sql(setup, "shop", f"INSERT INTO orders (item) VALUES ('{setup.task_id}')")


def ordered(final):
    final.companions["shop"].require_running()
    rows = final.companions["shop"].sql("SELECT item FROM orders ORDER BY id")
    items = [row["item"] for row in rows]
    return items == ["tea", "salt", final.task_id, "coffee"], f"the orders are {items}"


class ShopSource:
    """Every other task needs the shop, if both kinds are asked for."""

    def ids(self, split=None):
        return ["shop/order", "shop/nothing"]

    def get(self, task_id, seed=None):
        if "nothing" in task_id:
            return Task(
                "shop/nothing", "Do nothing.", Evaluator([Check("x", lambda final: (not final.companions, "x"))]), None
            )
        name = f"shop/order#{seed or 0}"
        hooks = [Hook("stock", stock)]
        return Task(
            name,
            "Order coffee.",
            Evaluator([Check("ordered", ordered)]),
            None,
            hooks=hooks,
            needs=Needs(services=(SHOP,)),
        )

    def draw(self, rng, pattern=None, split=None):
        return self.get(pattern or "shop/order", int(rng.integers(1000)))


ORDER = f"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:{PORT}/', data=b'coffee').status)"


def make(source=None, **options):
    return DesktopEnv(source or ShopSource(), machine="sandbox", screen_size=(320, 240), action="code", **options)


def play(env, code=ORDER):
    _, _, terminated, _, info = env.step(code)
    assert not terminated and "fault" not in info, info
    _, reward, terminated, _, info = env.step("DONE")
    assert terminated
    return reward, info["verdict"]


def test_each_episode_begins_as_new_and_the_truth_is_the_companions():
    env = make()
    try:
        env.reset(seed=1)
        assert env.machine.companions["shop"].alive
        for code, reward in ((ORDER, 1.0), ("print('nothing')", 0.0), (ORDER + "\n" + ORDER, 0.0), (ORDER, 1.0)):
            env.reset()
            earned, verdict = play(env, code)
            assert earned == reward, verdict
        assert env.stats["companion_starts"] == 1 and env.stats["companion_roll_backs"] == 4
        _, info = env.reset(options={"task": "shop/nothing"})
        assert play(env, "1")[0] == 1.0 and "companions" not in info["timing"]
        _, info = env.reset(options={"task": "shop/order"})
        assert info["timing"]["companions"] > 0 and play(env)[0] == 1.0
        assert env.stats["companion_starts"] == 1
        companion = env.machine.companions["shop"]
    finally:
        env.close()
    assert not companion.machine.alive


def test_a_service_that_the_agent_brings_down_costs_no_more_than_its_episode():
    env = make()
    crash = f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{PORT}/crash')"
    try:
        env.reset(seed=1)
        env.step(crash)
        _, reward, terminated, _, info = env.step("DONE")
        assert terminated and reward == 0.0 and "fault" not in info
        (check,) = [check for check in info["verdict"]["checks"] if check["name"] == "ordered"]
        assert check["outcome"] == "fail" and "the shop has burnt down" in check["message"]
        env.reset()
        assert play(env)[0] == 1.0
        assert env.stats["companion_repairs"] == 1
    finally:
        env.close()


@pytest.mark.slow
def test_the_pool_prepares_companions_of_its_own():
    env = make(pool={"depth": 1})
    try:
        env.reset(seed=1)
        seen = {}
        for _ in range(4):
            companion = env.machine.companions["shop"]
            seen[id(companion)] = companion
            assert play(env)[0] == 1.0
            env.reset()
        assert env.stats["swaps"] >= 3 and 2 <= len(seen) <= 3
        assert env.stats["companion_starts"] == len(env.manager._companions._held)
        assert sum(held.companion.machine.alive for held in env.manager._companions._held) <= 3
    finally:
        env.close()
    assert not any(companion.machine.alive for companion in seen.values())


@pytest.mark.slow
def test_environments_of_a_vector_have_companions_of_their_own():
    envs = DesktopVectorEnv(make, 2, autoreset_mode="Disabled")
    try:
        for _ in range(2):
            envs.reset(seed=[1, 2])
            envs.step((ORDER, ORDER))
            _, rewards, terminated, _, _ = envs.step(("DONE", "DONE"))
            assert terminated.all() and np.array_equal(rewards, [1.0, 1.0])
        assert [stats["companion_starts"] for stats in envs.call("stats")] == [1, 1]
    finally:
        envs.close()


# --- shared folders

DAG = "import os; print(os.listdir('flows/dags')); open('flows/dags/mine.py', 'w').write('mine')"


def written(final):
    found = final.companions["flows"].run(["grep", "-r", "."], cwd=THERE).stdout.decode().split()
    wanted = ["first.py:first", "hook.py:hook", "lib/help.py:help", "mine.py:mine"]
    return sorted(found) == wanted, f"there is {found}"


class FlowSource:
    """One task: write ``mine.py`` into the shared folder, where a hook has written another file."""

    def ids(self, split=None):
        return ["flows/write"]

    def get(self, task_id, seed=None):
        hook = Hook("write", lambda setup: setup.machine.put(f"{HERE}/hook.py", b"hook"))
        evaluator = Evaluator([Check("written", written)])
        return Task("flows/write", "Write.", evaluator, None, hooks=[hook], needs=Needs(services=(FLOWS,)))

    def draw(self, rng, pattern=None, split=None):
        return self.get("flows/write")


@pytest.mark.parametrize("options", [{}, {"pool": {"depth": 1}}])
def test_a_shared_folder_is_new_in_each_episode(options):
    env = make(FlowSource(), **options)
    try:
        env.reset(seed=1)
        for code, reward in ((DAG, 1.0), ("1", 0.0), (DAG, 1.0), (DAG, 1.0)):
            observation = env.step(code)[0]
            earned, verdict = env.step("DONE")[1::3]
            assert earned == reward, verdict
            assert "mine" not in observation["feedback"]
            env.reset()
        assert not env.stats["companion_repairs"] and env.stats["companion_roll_backs"] >= 2
        assert env.stats["swaps"] >= 3 or not options
    finally:
        env.close()


@pytest.mark.slow
def test_environments_of_a_vector_share_folders_with_their_own_companions():
    envs = DesktopVectorEnv(partial(make, FlowSource()), 2, autoreset_mode="Disabled")
    try:
        for _ in range(2):
            envs.reset(seed=[1, 2])
            envs.step((DAG, "1"))
            _, rewards, terminated, _, _ = envs.step(("DONE", "DONE"))
            assert terminated.all() and np.array_equal(rewards, [1.0, 0.0])
    finally:
        envs.close()
