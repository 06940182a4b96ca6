"""The OpenEnv environment: in-process, and over real WebSockets on the loopback device."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import gymnasium as gym
import numpy as np
import pytest
import uvicorn
from openenv.core import GenericEnvClient
from press_suite import descendants, gone, name_of
from pydantic import ValidationError

from deskgym.envs.errors import GuestLost, SetupError
from deskgym.trainers.openenv import (
    DesktopAction,
    DesktopClient,
    DesktopEnvironment,
    create_desktop_app,
    decode_png,
    encode_png,
)
from deskgym.wrappers import HistoryWindow

FAKE = "test/Press-v0"
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(app):
    """The app on a port of this process, in a thread; gives its address."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(lambda: server.started)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


def wait_for(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def address():
    with serving(create_desktop_app(FAKE, action="computer", max_concurrent_envs=8)) as address:
        yield address


def test_an_episode_in_process():
    env = DesktopEnvironment(FAKE, action="computer", observation=("screenshot", "elements", "a11y", "instruction"))
    assert env.state.over and env.state.task is None
    first = env.reset(task="fake/press#5", episode_id="mine")
    assert (
        first.instruction == "Answer 5."
        and first.task == "fake/press#5"
        and (first.reward, first.done) == (None, False)
    )
    assert decode_png(first.screenshot).shape == (120, 160, 3) and len(first.elements[0]) == 8
    second = env.step(DesktopAction(action={"action": "click", "x": 5, "y": 5}))
    assert (second.reward, second.done, second.step) == (0.0, False, 1)
    assert (env.state.episode_id, env.state.step_count, env.state.split) == ("mine", 1, "train")
    last = env.step(DesktopAction(action={"action": "answer", "text": "5"}))
    assert (last.reward, last.done, last.truncated) == (1.0, True, False) and last.verdict["success"]
    with pytest.raises(gym.error.ResetNeeded):
        env.step(DesktopAction(action={"action": "done"}))
    env.close()
    env.close()


def test_numpy_values_are_sent_as_json():
    inner = gym.make(FAKE, observation=("elements", "instruction"), action="computer")
    env = DesktopEnvironment(HistoryWindow(inner, k=2).spec)
    env.reset(task="fake/press#5")
    observation = env.step(DesktopAction(action={"action": "click", "x": 5, "y": 5}))
    sent = json.loads(observation.model_dump_json())
    assert sent["more"]["history_length"] == 1 and len(sent["more"]["elements_history"]) == 2
    env.session.observation = {"part": {"a": np.float32(0.5), "b": (np.bool_(True), [np.arange(2)])}}
    sent = json.loads(env._observation(None).model_dump_json())
    assert sent["more"] == {"part": {"a": 0.5, "b": [True, [[0, 1]]]}}
    env.close()


def test_pictures_survive():
    picture = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    assert (decode_png(encode_png(picture)) == picture).all()
    with pytest.raises(ValueError, match="not a PNG"):
        decode_png("aGVsbG8=")


def test_a_fault_has_no_reward_and_says_so():
    env = DesktopEnvironment(FAKE, action="computer")
    env.reset(task="fake/press#5")
    env.session.desktop.machine.stop()
    observation = env.step(DesktopAction(action={"action": "click", "x": 5, "y": 5}))
    assert (observation.reward, observation.done, observation.truncated) == (None, True, True)
    assert observation.fault["kind"] and env.state.faults == 1
    env.reset(task="fake/press#14")  # the evaluation of 14 breaks
    observation = env.step(DesktopAction(action={"action": "done"}))
    assert observation.reward is None and observation.fault == {
        "kind": "evaluation", "message": "the reader broke", "cause": "infrastructure",
    }  # fmt: skip
    assert env.reset(task="fake/press#5").fault is None
    with pytest.raises(SetupError):
        env.reset(task="fake/press#13")
    env.close()


def test_a_policy_that_breaks_its_machine_earns_nothing(monkeypatch):
    def lost(display, request):
        raise GuestLost("the bus is gone", "accessibility_lost")

    env = DesktopEnvironment(FAKE, action="computer")
    env.reset(task="fake/press#5")
    monkeypatch.setattr(type(env.session.desktop.machine.display), "carry_out", lost)
    observation = env.step(DesktopAction(action={"action": "click", "x": 5, "y": 5}))
    assert (observation.reward, observation.done) == (0.0, True) and observation.fault["cause"] == "agent"
    env.close()


def test_unknown_reset_arguments_and_actions_are_refused():
    env = DesktopEnvironment(FAKE)
    with pytest.raises(ValueError, match=r"\['sead'\]; legal are seed"):
        env.reset(sead=1)
    with pytest.raises(ValidationError):
        DesktopAction(action=5)
    with pytest.raises(ValueError, match="did you mean 'code'"):
        create_desktop_app(FAKE, action="cod")


def test_an_episode_over_the_socket(address):
    with DesktopClient(base_url=address).sync() as env:
        result = env.reset(task="fake/press#8")
        assert result.observation.instruction == "Answer 8." and not result.done
        result = env.step(DesktopAction(action={"action": "fly"}))
        assert "unknown action" in result.observation.feedback
        assert env.state().step_count == 1
        result = env.step(DesktopAction(action={"action": "answer", "text": "8"}))
        assert (result.reward, result.done) == (1.0, True) and result.observation.verdict["score"] == 1.0
        with pytest.raises(RuntimeError, match="the episode is over"):
            env.step(DesktopAction(action={"action": "done"}))
        with pytest.raises(RuntimeError, match="no task 'nope'"):
            env.reset(task="nope")
        with pytest.raises(RuntimeError, match="the window never came"):
            env.reset(task="fake/press#13")
        assert env.reset(seed=3).observation.task == env.reset(seed=3).observation.task


def test_other_clients_of_openenv_can_play(address):
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(task="fake/press#8")
        result = env.step({"action": {"action": "answer", "text": "8"}})
        assert result.reward == 1.0 and result.observation["verdict"]["success"]


def test_sessions_run_side_by_side_up_to_the_limit():
    app = create_desktop_app(FAKE, action="computer", max_concurrent_envs=2)
    with (
        serving(app) as address,
        DesktopClient(base_url=address).sync() as one,
        DesktopClient(base_url=address).sync() as two,
    ):
        assert one.reset(task="fake/press#1").observation.instruction == "Answer 1."
        assert two.reset(task="fake/press#2").observation.instruction == "Answer 2."
        assert one.step(DesktopAction(action={"action": "answer", "text": "1"})).reward == 1.0
        with DesktopClient(base_url=address).sync() as three, pytest.raises(RuntimeError, match="CAPACITY_REACHED"):
            three.reset()


@pytest.mark.slow
def test_an_idle_session_ends():
    with serving(create_desktop_app(FAKE, action="computer", session_timeout=0.5)) as address:
        with DesktopClient(base_url=address).sync() as env:
            env.reset(task="fake/press#1")
            time.sleep(7)  # OpenEnv looks every 5 s
            with pytest.raises(RuntimeError):
                env.step(DesktopAction(action={"action": "answer", "text": "1"}))


@contextmanager
def kalgebra_server():
    """The server of the defaults as its users start it; gives its address and process."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--factory", "deskgym.trainers.openenv:app"]
    server = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"])
    try:
        wait_for(lambda: server.poll() is None and answers(port), 60)
        yield f"http://127.0.0.1:{port}", server
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_oracle_earns_one_on_the_real_program_and_nothing_is_left():
    local = DesktopEnvironment(task="kalgebra/plot-2d")
    local.reset(seed=7)
    actions = []
    for action in local.session.desktop.oracle():
        actions.append(action)
        observation = local.step(DesktopAction(action=action))
    assert observation.reward == 1.0, observation.verdict
    local.close()

    with kalgebra_server() as (address, server):
        with DesktopClient(base_url=address).sync() as env:
            result = env.reset(task="kalgebra/plot-2d", seed=7)
            assert "page tab" in result.observation.a11y and set(descendants(server.pid))
            for action in actions:
                result = env.step(DesktopAction(action=action))
            assert (result.reward, result.done) == (1.0, True), result.observation.verdict
        assert gone([], server.pid)

        asyncio.run(drop_dead(address))  # a client that goes without a word, in the middle of an episode
        assert gone([], server.pid)

        with DesktopClient(base_url=address).sync() as env:
            env.reset(task="kalgebra/plot-2d", seed=7)
            left = descendants(server.pid)
            assert left
            server.kill()
            server.wait(10)
            wait_for(lambda: not [pid for pid in left if name_of(pid) == left[pid]], 10)


async def drop_dead(address):
    client = DesktopClient(base_url=address)
    await client.connect()
    await client.reset(task="kalgebra/plot-2d", seed=7)
    client._ws.transport.abort()


def test_descendants_sees_a_child():
    with subprocess.Popen(["sleep", "30"]) as child:
        wait_for(lambda: descendants().get(child.pid) == "sleep")
        child.kill()
    assert child.pid not in descendants()
