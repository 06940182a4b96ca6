"""Desktops that are kept for the next episode: what is taken back, and what makes the machine be thrown away."""

import json
from contextlib import closing

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.agents import OracleAgent, run_episode
from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import SettlePolicy
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox import machine as sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(300)]
SIZE = (640, 480)
DOCUMENT_WEB = 95  # AT-SPI's role
XLIB = """
import sys; sys.path.insert(0, '/opt/deskgym/guest')
from Xlib import X, Xatom, display
from Xlib.ext import xtest
from Xlib.protocol import event
d = display.Display(); r = d.screen().root
"""
DESKTOPS = """
e = event.ClientMessage(window=r, client_type=d.get_atom('_NET_NUMBER_OF_DESKTOPS'), data=(32, [7, 0, 0, 0, 0]))
r.send_event(e, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
"""
CAPS = "c = d.keysym_to_keycode(0xffe5); xtest.fake_input(d, X.KeyPress, c); xtest.fake_input(d, X.KeyRelease, c)"
SLOW_KEYS = """
import ctypes
lib = ctypes.CDLL("libX11.so.6")
lib.XOpenDisplay.restype = ctypes.c_void_p
server = ctypes.c_void_p(lib.XOpenDisplay(None))
lib.XkbChangeEnabledControls(server, 0x100, ctypes.c_ulong(2), ctypes.c_ulong(2))
lib.XSync(server, 0)
"""
RETAINED = """
w = r.create_window(5, 5, 90, 90, 0, d.screen().root_depth, background_pixel=0xff0000, override_redirect=1)
w.map(); d.set_close_down_mode(X.RetainPermanent)
"""


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig(screen_size=SIZE), reuse=True) as machine:
        yield machine


@pytest.fixture
def standing(machine):
    """A machine that has just been cleared, or started."""
    machine.restore(None)
    return machine


def pid_of(machine):
    return machine.init_pid


def shell(machine, text):
    """As the agent's user, which has no code in the episodes that a desktop is kept for: as if a program let it."""
    done = machine.run(["sh", "-c", text], timeout=20)
    assert done.returncode == 0, done
    return done.stdout.decode()


TAKEN_BACK = {
    "a file at home": "mkdir -p ~/.config/deep && echo x > ~/.config/deep/file && ln -s /etc ~/link",
    "files elsewhere": "for p in /tmp /var/tmp /dev/shm $XDG_RUNTIME_DIR; do echo x > $p/x; mkfifo $p/f; done",
    "a process": "setsid sleep 1000 > /dev/null 2>&1 &",
    "a daemon without its environment": "env -i setsid sh -c 'sleep 1000 & sleep 1001' > /dev/null 2>&1 &",
    "folders in each other": "cd /tmp; for k in $(seq 40); do mkdir d; cd d; done",
    "shared memory": "ipcmk -M 4096 > /dev/null && ipcmk -Q > /dev/null && ipcmk -S 1 > /dev/null",
}


@pytest.mark.parametrize("what", TAKEN_BACK)
def test_it_is_taken_back(standing, what):
    before = pid_of(standing), shell(standing, LOOK)
    shell(standing, TAKEN_BACK[what])
    standing.restore(None)
    assert standing.not_reused == ""
    assert (pid_of(standing), shell(standing, LOOK)) == before


LOOK = """
ls -laR --time-style=+ ~ /tmp /var/tmp /dev/shm $XDG_RUNTIME_DIR 2>&1 | grep -v '^total\\|^d.* [.]*$'
seen=$(ps -eo user,args)  # alone: beside a pipeline it sees how that starts and ends
echo "$seen" | grep -v 'ps -eo\\|grep\\|sh -c\\|sort$\\|^root' | sort
ipcs | grep 0x || true
"""


def test_a_window_manager_that_was_stopped_goes_on(standing):
    before = pid_of(standing)
    shell(standing, "kill -STOP $(pgrep openbox)")
    standing.restore(None)
    assert pid_of(standing) == before and "T" not in shell(standing, "ps -o state= -p $(pgrep openbox)")


@pytest.mark.parametrize("harm", ["kill -9 $(pgrep openbox); sleep 0.3", "taskset -p 1 $(pgrep openbox) > /dev/null"])
def test_a_desktop_that_was_harmed_costs_the_machine(standing, harm):
    before = pid_of(standing)
    shell(standing, harm)
    standing.restore(None)
    assert pid_of(standing) != before and standing.not_reused
    standing.restore(None)
    assert standing.not_reused == ""


def x(machine, code):
    """Run code with python-xlib, as the guest's user: what a program could do to the X server."""
    program = (
        XLIB
        + "from Xlib import X, display, Xatom\nfrom Xlib.ext import xtest\nd = display.Display(); r = d.screen().root\n"
    )
    done = machine.run(["/usr/bin/python3", "-c", f"{program}{code}\nd.sync()"], timeout=20)
    assert done.returncode == 0, done
    return done.stdout.decode()


PUT_BACK = {
    "a property of the root window": "r.change_property(d.get_atom('CUT_BUFFER0'), Xatom.STRING, 8, b'secret')",
    "resources": "r.change_property(d.get_atom('RESOURCE_MANAGER'), Xatom.STRING, 8, b'*background: red')",
    "a key's symbols": "d.change_keyboard_mapping(38, [(0x62, 0x42)])",
    "caps lock": CAPS,
    "a key that is held": "xtest.fake_input(d, X.KeyPress, d.keysym_to_keycode(0x61))",
    "a button that is held": "xtest.fake_input(d, X.ButtonPress, 1)",
    "the pointer": "xtest.fake_input(d, X.MotionNotify, x=3, y=470)",
    "a window that outlives its maker": RETAINED,
}
STAYS = {
    "pixels": "r.change_attributes(background_pixel=0xff0000); r.clear_area()",
    "devices: slow keys": SLOW_KEYS,
    "devices: a property": "d.xinput_change_device_property(2, d.get_atom('ZZ'), Xatom.STRING, 0, (8, b'note'))",
    "keys": "d.change_keyboard_control(auto_repeat_mode=X.AutoRepeatModeOff)",
    "access": "d.set_access_control(X.DisableAccess)",
    "root window": DESKTOPS,
}


@pytest.mark.parametrize("what", PUT_BACK)
def test_the_x_server_is_put_back(standing, what):
    before = pid_of(standing), standing.display.capture()
    x(standing, PUT_BACK[what])
    standing.restore(None)
    assert standing.not_reused == ""
    assert pid_of(standing) == before[0] and (standing.display.capture() == before[1]).all()


@pytest.mark.parametrize("what", STAYS)
def test_what_stays_in_the_x_server_costs_the_machine(standing, what):
    before = pid_of(standing)
    x(standing, STAYS[what])
    standing.restore(None)
    assert pid_of(standing) != before and standing.not_reused.startswith(what.partition(":")[0]), standing.not_reused


def test_characters_that_no_key_has_do_not_cost_the_machine(standing):
    before = pid_of(standing)
    for text in ("é", "ñ é", "a"):
        standing.display.perform([{"t": "type", "s": text}], SettlePolicy())
        standing.restore(None)
        assert (pid_of(standing), standing.not_reused) == (before, "")


def test_a_mistyped_option_is_told():
    with pytest.raises(ValueError, match="unknown option 'reuze'; legal are .*did you mean 'reuse'"):
        gym.make("deskgym/Science-v0", machine_options={"reuze": True})


def test_code_of_the_agent_costs_the_machine(standing):
    before = pid_of(standing)
    assert standing.reusable
    standing.guest.call("code", 30.0, text="print(1)", timeout=10.0)
    assert not standing.reusable
    standing.restore(None)
    assert pid_of(standing) != before and "code" in standing.not_reused


def test_it_is_kept_so_many_times_and_not_once_more(standing, monkeypatch):
    monkeypatch.setattr(sandbox, "REUSES", standing._uses + 2)
    before = pid_of(standing)
    for _ in range(2):
        standing.restore(None)
        assert pid_of(standing) == before
    standing.restore(None)
    assert pid_of(standing) != before and standing.not_reused == f"it was reused {sandbox.REUSES} times"


def test_a_snapshot_is_restored_as_ever(standing):
    standing.put("/home/user/kept.txt", b"kept")
    snapshot = standing.snapshot()
    before = pid_of(standing)
    standing.restore(snapshot)
    assert pid_of(standing) != before and standing.get("/home/user/kept.txt") == b"kept"
    standing.restore(None)
    with pytest.raises(GuestCallError):
        standing.get("/home/user/kept.txt")
    standing.drop(snapshot)


def first_look(env, seed):
    observation, _ = env.reset(seed=seed)
    return observation


def rows(observation):
    """What the elements are. KAlgebra has them in one order or another, and its empty page now, late, or twice."""
    return {tuple(row) for row in observation["elements"][:, :6].tolist() if row[4] != DOCUMENT_WEB}


def test_episodes_begin_as_on_a_new_desktop():
    options = {
        "task": "kalgebra/*",
        "screen_size": (960, 600),
        "observation": ("screenshot", "elements", "instruction"),
    }
    fresh = gym.make("deskgym/Science-v0", **options)
    kept = gym.make("deskgym/Science-v0", **options, machine_options={"reuse": True})
    with closing(fresh), closing(kept):
        for seed in range(6):
            one, other = first_look(fresh, seed), first_look(kept, seed)
            assert one["instruction"] == other["instruction"]
            assert rows(one) == rows(other)
            differ = (one["screenshot"] != other["screenshot"]).any(axis=-1).mean()
            assert differ < 0.1, seed  # a plot has a colour of its own each time
            result = run_episode(kept, OracleAgent(), seed=seed)
            assert result.outcome == "solved", json.dumps(result.verdict)
        assert kept.unwrapped.machine.reused >= 8
        kept.unwrapped.machine.display.perform([], SettlePolicy())


def test_a_pool_keeps_desktops_too():
    options = {"task": "ladder/*", "screen_size": (640, 480), "pool": {"depth": 1}}
    with closing(gym.make("deskgym/Science-v0", **options, machine_options={"reuse": True})) as env:
        machines = set()
        for seed in range(6):
            env.reset() if seed else env.reset(seed=1)
            machines.add(env.unwrapped.machine.init_pid)
            env.step({"action": "click", "x": 100, "y": 100})
        assert len(machines) <= 3, "each swap has started another desktop"
