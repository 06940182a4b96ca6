import os
import shutil

import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine

pytestmark = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed")


@pytest.fixture
def machine():
    with ProcessMachine(MachineConfig(screen_size=(1280, 720))) as machine:
        yield machine


def processes(machine):
    guest = machine.guest.hello()["pid"]
    return [guest, *members(guest)]


def name(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def test_an_idle_desktop_is_small(machine):
    """Its own memory; pages of libraries are shared by all machines and the host (LLVM alone: 44 MB, for OpenGL)."""
    own = {}
    for pid in processes(machine):
        with open(f"/proc/{pid}/smaps_rollup") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}
        own[f"{name(pid)} {pid}"] = sizes["Pss_Anon"] + sizes["Pss_Shmem"]
    assert {"Xvfb", "openbox", "dbus-daemon", "python"} <= {key.split()[0] for key in own}
    assert sum(own.values()) < 80 * 1024, own


def test_it_starts_fast_and_says_how(machine):
    timing = machine.display.start_timing
    assert timing["x"] < 2000 and timing["desktop"] < 5000  # 0.1 s and 0.2 s on an idle machine
    assert {"session_bus", "accessibility", "window_manager"} <= set(timing)


def test_programs_find_the_session(machine):
    environment = machine.run(["env"]).stdout.decode().splitlines()
    names = {line.partition("=")[0] for line in environment}
    assert {"DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "GTK_MODULES"} <= names
    assert f"HOME={machine.home}" in environment
    assert os.stat(machine.home.parent / "run").st_mode & 0o777 == 0o700


@pytest.mark.skipif(shutil.which("xprop") is None, reason="xprop is not installed")
def test_it_is_ready_when_the_window_manager_is(machine):
    shown = machine.run(["xprop", "-root"]).stdout.decode()
    assert all(f"_NET_{name}(" in shown for name in ("CLIENT_LIST", "WORKAREA", "CURRENT_DESKTOP", "DESKTOP_NAMES"))


LONG_TITLES = """
from Xlib import X, display
d = display.Display()
d.set_close_down_mode(X.RetainPermanent)
root = d.screen().root
for name in ("_NET_WM_NAME", "WM_NAME"):
    window = root.create_window(0, 0, 100, 100, 0, d.screen().root_depth)
    for _ in range(100):
        window.change_property(d.intern_atom(name), d.intern_atom("UTF8_STRING"), 8, b"x" * 200_000, X.PropModeAppend)
    window.map()
d.sync()
"""


def test_titles_of_megabytes_are_cut(machine):
    report = machine.display.perform([], SettlePolicy(), code=CodeRequest(LONG_TITLES))
    assert report.code.status == 0, report.code
    machine.guest.call("wait_window", title="^x+$", timeout=5.0)
    assert {len(window["title"]) for window in machine.guest.windows()} == {1000}


def test_it_starts_only_once(machine):
    with pytest.raises(GuestCallError, match="runs already"):
        machine.guest.call("desktop", width=640, height=480)


def test_without_a_desktop_its_methods_are_errors(headless):
    for method in ("perform", "windows", "elements", "release"):
        with pytest.raises(GuestCallError, match="no desktop"):
            headless.guest.call(method)
    with pytest.raises(GuestCallError, match="16384"):
        headless.guest.call("desktop", width=1, height=1)


def test_a_killed_connection_is_made_anew(machine):
    """An agent may end every X client that it can name."""
    code = (
        "from Xlib import display\n"
        "from Xlib.error import xerror_class\n"
        "d = display.Display()\n"
        "d.display.error_classes = xerror_class.copy()\n"
        "mine = d.display.info.resource_id_base\n"
        "step = d.display.info.resource_id_mask + 1\n"
        "d.set_error_handler(lambda *ignored: None)\n"
        "for client in range(1, 40):\n"
        "    for number in range(0 if client * step == mine else 20):\n"
        "        d.create_resource_object('resource', client * step + number).kill_client()\n"
        "d.sync()\n"
    )
    for settle in (None, SettlePolicy()):
        killed = machine.display.perform([], settle, code=CodeRequest(code))
        assert killed.code.stderr == ""
        report = machine.display.perform(
            [{"t": "move", "x": 3, "y": 4}], SettlePolicy(), code=CodeRequest("print(pyautogui.position())")
        )
        assert report.code.stdout == "Point(x=3, y=4)\n"


def test_a_dead_x_server_is_a_fault(machine):
    os.kill(next(pid for pid in processes(machine) if name(pid) == "Xvfb"), 9)
    for _ in range(2):
        with pytest.raises(MachineError) as error:
            machine.display.perform([{"t": "move", "x": 1, "y": 1}], SettlePolicy())
        assert error.value.kind == "display_lost"
    assert machine.run(["true"]).returncode == 0
    machine.restore()
    assert machine.display.perform([], SettlePolicy()).settled
