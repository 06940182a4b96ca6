"""What was launched: the program with all its processes, and when it counts as ready, in a real sandbox."""

import os
import signal
import subprocess
import time

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.launched import Family
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.observation.accessible_program import AccessibleProgram

pytestmark = pytest.mark.sandbox
WRAPPER = b"#!/bin/sh\nmousepad --disable-server /home/user/note.txt\nexit 0\n"
EDITOR = {"window": {"class": "(?i)mousepad"}, "node": {"role": "text"}}


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig((1280, 720))) as machine:
        machine.put("/home/user/note.txt", b"a note")
        machine.put("/home/user/jotter", WRAPPER, mode=0o755)
        yield machine


@pytest.fixture
def guest(machine):
    yield machine.guest
    machine.guest.call("end_others", keep=[])


def pids(guest, name):
    return guest.call("launched", name=name)["pids"]


def becomes(check):
    end = time.monotonic() + 30
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_script_that_starts_the_program_is_the_program(machine, guest):
    pid = guest.launch(["/home/user/jotter"], wait=EDITOR, timeout=60)["pid"]
    family = pids(guest, "jotter")
    assert pid in family and len(family) > 1 and pids(guest, "mousepad") == family
    tree = AccessibleProgram(machine, "jotter").tree()
    assert tree is not None and tree.find("text").text == "a note"
    guest.call("end_others", keep=["jotter"])
    assert pids(guest, "jotter") == family
    machine.run(["pkill", "-9", "mousepad"])
    becomes(lambda: not pids(guest, "jotter"))
    assert AccessibleProgram(machine, "jotter").tree() is None


def test_the_tree_of_a_process_that_became_another_program_is_not_believed(machine, guest):
    machine.put("/home/user/forged.txt", b"forged")
    script = "mousepad --disable-server /home/user/note.txt & trap 'kill %1; exec mousepad --disable-server /home/user/"
    script += "forged.txt' USR1; while :; do sleep 0.05; done"
    pid = guest.launch(["bash", "-c", script], wait=EDITOR, timeout=60)["pid"]
    assert AccessibleProgram(machine, "bash").tree().find("text").text == "a note"
    machine.run(["kill", "-USR1", str(pid)])
    becomes(lambda: any("forged" in window["title"] for window in guest.windows()))
    with pytest.raises(GuestCallError, match=f"mousepad \\({pid}\\) runs another program now") as refused:
        AccessibleProgram(machine, "bash").tree()
    assert refused.value.kind == "ForeignPeer"


def test_a_program_outlives_the_script_that_started_it(machine, guest):
    pid = guest.launch(["bash", "-c", "mousepad --disable-server & exit 0"], wait=EDITOR, timeout=60)["pid"]
    becomes(lambda: pid not in pids(guest, "bash"))
    assert len(pids(guest, "mousepad")) == 1 and pids(guest, "bash") == pids(guest, "mousepad")
    machine.run(["pkill", "-9", "mousepad"])
    becomes(lambda: not pids(guest, "bash"))


def test_one_that_leaves_the_session_while_it_is_launched_belongs_to_it(guest):
    daemon = "setsid setsid --fork sleep 1000 & sleep 1000"
    guest.launch(["bash", "-c", daemon], wait={"process": "sleep", "file": "/home/user/note.txt"})
    becomes(lambda: len(pids(guest, "bash")) >= 2)


def test_what_the_agent_starts_belongs_to_no_program(machine, guest):
    guest.launch(["/home/user/jotter"], wait=EDITOR, timeout=60)
    family = pids(guest, "jotter")
    forged = "for job in $(seq 50); do DESKGYM_JOB=$job setsid sleep 1000 & done; (exec -a jotter sleep 1000) & exit 0"
    machine.run(["bash", "-c", forged])
    assert pids(guest, "jotter") == family and pids(guest, "sleep") == []


def test_all_conditions_are_awaited(machine, guest):
    serve = "sleep 0.3; python3 -m http.server 8123 --bind 127.0.0.1 & sleep 0.6; touch /tmp/ready; wait"
    wait = {"port": 8123, "file": "/tmp/ready", "process": "python3"}
    guest.launch(["bash", "-c", serve], wait=wait, timeout=30)
    assert machine.run(["bash", "-c", "test -e /tmp/ready && : </dev/tcp/127.0.0.1/8123"]).returncode == 0


def test_what_never_came_is_said_with_what_came_instead(guest):
    wait = {
        "window": {"title": "Never", "size": [2000, 10]}, "port": 8999, "file": "/tmp/never", "process": "never",
    }  # fmt: skip
    with pytest.raises(GuestCallError) as error:
        guest.launch(["/home/user/jotter"], wait=wait, timeout=4.0)
    said = str(error.value)
    for part in ("no window with title 'Never'", "[2000, 10]", "nobody answers at port 8999", "no file /tmp/never"):
        assert part in said
    assert "no process 'never' belongs to the program; there are jotter, mousepad" in said and "Mousepad" in said


def test_a_window_is_placed(guest):
    window = guest.launch(["/home/user/jotter"], wait=EDITOR, place=[100, 90, 700, 400], timeout=60)["window"]
    assert abs(window["x"] - 100) <= 1 and abs(window["y"] - 90) <= 1
    assert abs(window["width"] - 700) <= 32 and abs(window["height"] - 400) <= 32
    assert window["type"] == "normal"


def test_a_window_is_maximised(guest):
    window = guest.launch(["/home/user/jotter"], wait=EDITOR, place="maximized", timeout=60)["window"]
    becomes(lambda: guest.windows()[-1]["width"] >= 1270)
    assert window["type"] == "normal"


def test_a_splash_screen_is_not_the_window(guest):
    script = (
        "import gi; gi.require_version('Gtk', '3.0')\n"
        "from gi.repository import Gdk, GLib, Gtk\n"
        "def show(kind, width):\n"
        "    window = Gtk.Window(title='Same', type_hint=kind, default_width=width); window.show_all()\n"
        "show(Gdk.WindowTypeHint.SPLASHSCREEN, 300)\n"
        "GLib.timeout_add(700, show, Gdk.WindowTypeHint.NORMAL, 500)\n"
        "Gtk.main()\n"
    )
    window = guest.launch(["python3", "-c", script], wait={"window": {"title": "^Same$"}}, timeout=60)["window"]
    assert window["type"] == "normal" and window["width"] >= 500


def test_a_first_process_that_nobody_has_waited_for_yet_keeps_the_others_in():
    with subprocess.Popen(["bash", "-c", "sleep 60 & exit 0"], start_new_session=True) as first:
        family = Family(first.pid, "bash", "")
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)  # it has ended; its number stays
        (other,) = family.members()
        os.kill(other, signal.SIGKILL)
