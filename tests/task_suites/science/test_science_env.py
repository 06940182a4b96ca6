"""The whole environment on the real program in a real sandbox."""

import os
import signal
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.utils.performance import benchmark_step

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.actions import Action

pytestmark = pytest.mark.sandbox
ALL = ("screenshot", "elements", "a11y", "instruction", "feedback", "terminal")
SIZE = (1280, 720)


def make(**options):
    options = {"task": "kalgebra/*", "observation": ALL, "screen_size": SIZE} | options
    return gym.make("deskgym/Science-v0", **options)


@pytest.fixture(scope="module")
def code_env():
    env = make(action="code", max_steps=100, code_timeout=3.0)
    yield env
    env.close()


def step(env, action):
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation in env.observation_space
    return observation, info


@pytest.mark.parametrize("form", ["computer", pytest.param("code", marks=pytest.mark.slow)])
def test_check_env_has_nothing_to_say(form):
    env = make(action=form, task="kalgebra/plot-2d").unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


def test_random_steps_and_benchmark_step():
    env = make(task="kalgebra/plot-2d")
    assert benchmark_step(env, target_duration=5, seed=0) > 0.5
    env.close()


@pytest.mark.parametrize("form", ["computer", "code"])
def test_the_oracle_earns_one_and_a_no_op_nothing(form):
    env = make(action=form, task="kalgebra/plot-2d")
    env.reset(seed=3)
    for action in env.unwrapped.oracle():
        observation, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (1.0, True, False), info["verdict"]
    env.reset(seed=3)
    _, reward, terminated, _, info = env.step("DONE" if form == "code" else Action("done"))
    assert (reward, terminated) == (0.0, True)
    assert info["verdict"]["error"] is None
    env.close()


def test_first_observation_shows_the_program():
    env = make(task="kalgebra/set-variable")
    observation, info = env.reset(seed=1)
    assert "page tab\tCalculator" in observation["a11y"]
    assert "KAlgebra" in observation["instruction"]
    assert len(np.unique(observation["screenshot"].reshape(-1, 3), axis=0)) > 50
    rows = observation["elements"]
    assert (rows[:, 2] > 0).sum() > 30
    assert set(info["timing"]) >= {"restore", "setup", "observe"}
    env.close()


def test_two_envs_in_one_process_do_not_see_each_other():
    first, second = make(action="code", task="kalgebra/tab"), make(action="code", task="kalgebra/tab")
    first.reset(seed=1)
    second.reset(seed=1)
    step(first, "open('/tmp/mine', 'w').write('x')")
    observation, _ = step(second, "import os; print(os.path.exists('/tmp/mine'))")
    assert observation["feedback"] == "False"
    first.close()
    observation, _ = step(second, "print(1 + 1)")
    assert observation["feedback"] == "2"
    second.close()


def test_async_vector_env():
    options = {"task": "kalgebra/tab", "screen_size": (640, 480), "observation": ("screenshot", "a11y", "instruction")}
    env = gym.vector.AsyncVectorEnv([lambda: make(**options)] * 2)
    try:
        observations, _ = env.reset(seed=[1, 2])
        assert observations["screenshot"].shape == (2, 480, 640, 3)
        assert all("KAlgebra" in text for text in observations["instruction"])
        observations, *_ = env.step(env.action_space.sample())
        assert all("page tab" in text for text in observations["a11y"])
    finally:
        env.close()


# --- code that misbehaves: the environment says so and goes on


@pytest.mark.parametrize(
    ("code", "feedback"),
    [
        ("print('hello'); 1/0", "ZeroDivisionError"),
        ("this is no python", "SyntaxError"),
        ("import sys; sys.exit(3)", "exit status 3"),
        ("while True: pass", "time limit"),
        ("import time; time.sleep(100)", "time limit"),
        ("import os\nwhile True: print('x' * 10**6)", "left out"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "exit status -9"),
        ("import os; print(os.getuid(), os.path.exists('/root/.bashrc'), os.path.exists('/work'))", "1000 False False"),
        ("import os; os.kill(1, 9)", "PermissionError"),
        ("open('/opt/deskgym/guest/boot.py', 'w')", "OSError"),
        ("import deskgym.task_suites", "ModuleNotFoundError"),
        ("x = bytearray(10**12)", "MemoryError"),
        ("import socket; socket.create_connection(('1.1.1.1', 80), 2)", "OSError"),
        ("import pyautogui; print(pyautogui.size())", "width=1280, height=720"),
        ("print('Ünïcødé 日本語 😀')", "Ünïcødé 日本語 😀"),
    ],
)
def test_code_that_misbehaves_is_reported(code_env, code, feedback):
    if code_env.unwrapped.episodes.over:
        code_env.reset(seed=1)
    observation, info = step(code_env, code)
    assert feedback in observation["feedback"]
    assert "fault" not in info
    observation, info = step(code_env, "print(6 * 7)")
    assert observation["feedback"] == "42"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
        "import os, signal\nos.kill(-1, signal.SIGKILL)",
        "open('/tmp/full', 'wb').write(b'x' * (4 << 30))",
        "f = open('/home/user/full', 'wb')\nwhile True: f.write(b'x' * (1 << 24))",
        "import os; os.system('pkill -9 kalgebra; pkill -9 dbus-daemon; pkill -9 openbox; pkill -9 at-spi')",
        "import os; os.system('rm -rf /home/user /tmp/* /usr /etc /var 2>/dev/null')",
    ],
    ids=["fork bomb", "kill everything", "fill /tmp", "fill home", "kill the desktop", "remove everything"],
)
def test_after_destruction_the_next_reset_works(code_env, code):
    code_env.reset(seed=1)
    observation, reward, terminated, truncated, info = code_env.step(code)
    assert observation in code_env.observation_space
    assert truncated == ("fault" in info)
    assert os.path.exists("/usr/bin/env")
    observation, info = code_env.reset(seed=1)
    assert "page tab\tCalculator" in observation["a11y"]
    observation, info = step(code_env, "print('well')")
    assert observation["feedback"] == "well"


def test_the_agent_that_ends_the_program_fails_and_is_no_error(code_env):
    code_env.reset(seed=1, options={"task": "kalgebra/set-variable"})
    step(code_env, "import os; os.system('pkill -9 kalgebra')")
    _, reward, terminated, _, info = code_env.step("DONE")
    assert (reward, terminated) == (0.0, True)
    assert info["verdict"]["error"] is None
    assert any("not running" in check["message"] for check in info["verdict"]["checks"])


@pytest.mark.parametrize("victim", ["guest", "Xvfb"])
def test_a_killed_guest_or_screen_is_a_fault_and_the_next_reset_repairs(code_env, victim):
    code_env.reset(seed=1)
    machine = code_env.unwrapped.machine
    pid = find_process(machine, victim)
    os.kill(pid, signal.SIGKILL)
    _, reward, terminated, truncated, info = code_env.step("print(1)")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["fault"]["kind"] in ("guest_lost", "display_lost")
    observation, _ = code_env.reset(seed=1)
    assert "page tab\tCalculator" in observation["a11y"]


def find_process(machine, victim):
    """The host's pid of the machine's guest (PID 1) or X server; needs the rights to see it."""
    init = machine.init_pid
    if victim == "guest":
        return init
    with open(f"/proc/{init}/task/{init}/children") as children:
        for child in map(int, children.read().split()):
            with open(f"/proc/{child}/comm") as comm:
                if comm.read().strip() == victim:
                    return child
    raise LookupError(f"no {victim} below {init}")


PYTHON_GTK = "subprocess.Popen(['/usr/bin/python3', '-c', script], start_new_session=True)"

FAKE_KALGEBRA = f"""
import os, subprocess
os.system('pkill -9 kalgebra')
script = '''
import gi, os
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk, GLib
GLib.set_prgname("kalgebra")
window = Gtk.Window(title="KAlgebra")
window.show_all()
Gtk.main()
'''
{PYTHON_GTK}
"""

COVER = f"""
import subprocess
script = '''
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(type=Gtk.WindowType.POPUP)
window.move(200, 150)
window.resize(900, 420)
window.add(Gtk.Label(label="a cover"))
window.show_all()
Gtk.main()
'''
{PYTHON_GTK}
"""


def test_a_program_that_only_calls_itself_kalgebra_is_not_read(code_env):
    code_env.reset(seed=1, options={"task": "kalgebra/set-variable"})
    step(code_env, FAKE_KALGEBRA)
    code_env.unwrapped.screen.find(role="frame", name="KAlgebra", timeout=10.0)
    _, reward, _, _, info = code_env.step("DONE")
    assert reward == 0
    assert any("not running" in check["message"] for check in info["verdict"]["checks"])


def test_a_cover_over_a_surface_that_was_not_plotted_earns_nothing(code_env):
    code_env.reset(seed=1, options={"task": "kalgebra/surface"})
    for action in code_env.unwrapped.scripted(
        code_env.unwrapped.task.wrong_attempts["typed but not submitted"](code_env.unwrapped.screen)
    ):
        if action == "DONE":
            step(code_env, COVER)
            code_env.unwrapped.screen.find(role="label", name="a cover", timeout=10.0)
        _, reward, *_, info = code_env.step(action)
    assert reward == 0
    assert any("not what is plotted" in check["message"] for check in info["verdict"]["checks"]), info["verdict"]


def test_a_program_that_the_agent_stopped_is_let_go_on_and_judged(code_env):
    code_env.reset(seed=1, options={"task": "kalgebra/set-variable"})
    step(code_env, "import os; os.system('pkill -STOP kalgebra')")
    _, reward, terminated, _, info = code_env.step("DONE")
    assert (reward, terminated) == (0.0, True)
    assert any("there is no variable" in check["message"] for check in info["verdict"]["checks"]), info["verdict"]
