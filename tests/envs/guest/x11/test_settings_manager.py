"""GTK 3 programs load modules that any X client can name; what the agent has named them is not believed."""

import shutil

import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.core.verify.attacks import Target
from deskgym.task_suites.hooks.browser import COMMAND

pytestmark = pytest.mark.sandbox
END_CLIENTS = """
from Xlib import display
from Xlib.error import xerror_class
d = display.Display()
d.display.error_classes = xerror_class.copy()
d.set_error_handler(lambda *ignored: None)
step = d.display.info.resource_id_mask + 1
for client in range(1, 40):
    for number in range(0 if client * step == d.display.info.resource_id_base else 20):
        d.create_resource_object('resource', client * step + number).kill_client()
d.sync()
"""


@pytest.fixture
def machine():
    with create_machine("sandbox", MachineConfig((1024, 768))) as machine:
        machine.put("/home/user/note.txt", b"a note")
        yield machine


def act(machine, text):
    done = machine.display.perform(code=CodeRequest(text, 20.0)).code
    assert (done.status, done.stdout, done.stderr) == (0, "", ""), done


def refused(machine, name):
    with pytest.raises(GuestCallError) as error:
        AccessibleProgram(machine, name).tree()
    assert error.value.kind == "ForeignPeer"
    return str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to build the module with")
def test_a_program_that_loaded_the_agents_module_is_not_believed(machine):
    wait = {"window": {"class": "(?i)mousepad"}, "node": {"role": "text"}}
    machine.guest.launch(["mousepad", "--disable-server", "/home/user/note.txt"], wait=wait, timeout=60)
    assert AccessibleProgram(machine, "mousepad").tree().find("text").text == "a note"
    act(machine, Target.inside("load_module", texts=["forged"]))
    shown = machine.guest.call("tree", app="mousepad", deadline=5.0)["nodes"]
    assert "forged" in [node["name"] for node in shown]  # the attack works
    machine.display.recover()
    assert "manager of XSETTINGS" in refused(machine, "mousepad")


def test_one_who_ends_the_watching_connection_gains_nothing(machine):
    machine.guest.launch(["sleep", "1000"])
    act(machine, END_CLIENTS)
    assert "connection to the X server was ended" in refused(machine, "sleep")


@pytest.mark.slow
def test_the_agent_cannot_inspect_a_program(machine):
    """GTK's inspector changes any property of any widget, once a setting of the session allows it."""
    wait = {"window": {"class": "(?i)mousepad"}, "node": {"role": "text"}}
    machine.guest.launch(["mousepad", "--disable-server", "/home/user/note.txt"], wait=wait, timeout=60)
    allow = "import subprocess, time; subprocess.run(['gsettings', 'set', 'org.gtk.Settings.Debug', 'enable-inspector-"
    act(machine, f"{allow}keybinding', 'true'], check=True); pyautogui.hotkey('ctrl', 'shift', 'd'); time.sleep(2)")
    assert len(machine.guest.windows()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["kalgebra"], ["soffice", "--calc"], [*COMMAND, "data:text/html,<title>a</title>b"]]
)
def test_honest_programs_are_believed(command):
    """They compile code while they run, and load more of their own when they are used."""
    with create_machine("sandbox", MachineConfig((1024, 768), memory_mb=3072)) as machine:
        machine.guest.launch(command, wait={"window": {"type": "normal"}}, timeout=90)
        machine.display.perform([{"t": "type", "s": "1+1"}], SettlePolicy(quiet_ms=500, cap_ms=4000))
        root = AccessibleProgram(machine, command[0]).tree(deadline=20, outline=True)
        assert root is not None and root.children
