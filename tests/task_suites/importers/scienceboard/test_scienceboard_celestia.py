"""The adapter to ScienceBoard's build of Celestia, against a minimal server of our own that speaks its protocol."""

import json

import pytest
from scienceboard_files import UPSTREAM, given, says_what_to_install

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import SetupError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.importers.scienceboard import celestia, load
from deskgym.task_suites.importers.scienceboard.task import Body
from deskgym.task_suites.importers.scienceboard.tasks import convert

# A window and ``GET /version``, ``POST /dump``: what it tells is in a file; bodies that are asked for are told of.
SERVER = """#!/usr/bin/python3
import http.server, json, sys, threading
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, text):
        self.send_response(200); self.end_headers(); self.wfile.write(text.encode())
    def do_GET(self):
        if open("/home/user/version").read() == "silent":
            return
        self.answer(open("/home/user/version").read() if self.path == "/version" else "")
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = json.load(open("/home/user/told.json"))
        told["entity"] = {body["name"]: {"kind": body["type"]} for body in asked}
        self.answer(json.dumps(told))

server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
window = Gtk.Window(title="Celestia"); window.set_default_size(400, 300); window.show_all(); Gtk.main()
"""


@pytest.fixture(scope="module")
def machine():
    with create_machine("sandbox", MachineConfig((640, 480))) as machine:
        machine.put(f"/opt/deskgym/bin/{celestia.EXECUTABLE}", SERVER.encode(), mode=0o755, owner="guest")
        machine.put("/home/user/version", b"0.1")
        machine.put("/home/user/told.json", b'{"time": {"value": 2400000.0}}')
        yield machine


def judged(machine, task_id: str) -> tuple[bool, str]:
    """Whether the machine's state solves a given task, and why."""
    task = convert(load(UPSTREAM)[task_id], "corrected")
    verdict = task.evaluator.evaluate(FinalState(machine, stop="done", answer=None, acted=True))
    assert not verdict.error
    return verdict.success, str(verdict.checks)


@given
def test_where_its_build_is_not_installed_its_tasks_say_so():
    says_what_to_install(load(UPSTREAM)["Celestia/A-01"], "build ScienceBoard's own Celestia", celestia.NOTE)


@pytest.mark.sandbox
@given
def test_the_dump_decides_by_upstream_s_lambdas_and_tells_of_the_bodies_asked_for(machine):
    try:
        celestia.open_(Setup(machine))
        assert celestia.dump(machine, [Body("Sol", 1)])["entity"] == {"Sol": {"kind": 1}}
        assert judged(machine, "Celestia/A-01")[0]
        machine.put("/home/user/told.json", json.dumps({"time": {"value": 2400001}}).encode())
        assert not judged(machine, "Celestia/A-01")[0]
        machine.put("/home/user/told.json", b"{}")
        solved, why = judged(machine, "Celestia/A-01")
        assert not solved and "nothing that the program tells fits" in why
        machine.put("/home/user/told.json", b"[]")
        solved, why = judged(machine, "Celestia/A-01")
        assert not solved and "does not answer" in why
    finally:
        machine.guest.call("end_others", keep=[])
    solved, why = judged(machine, "Celestia/A-01")
    assert not solved and "Celestia does not answer" in why


@pytest.mark.sandbox
def test_a_program_without_such_a_server_is_refused(machine):
    machine.put("/home/user/version", b"silent")
    try:
        with pytest.raises(SetupError, match="does not answer GET /version"):
            celestia.open_(Setup(machine))
    finally:
        machine.guest.call("end_others", keep=[])


@pytest.mark.sandbox
def test_another_build_is_refused(machine):
    machine.put("/home/user/version", b"1.7.0")
    try:
        with pytest.raises(SetupError, match="answers b'1.7.0' to GET /version, not 0.1: another build of Celestia"):
            celestia.open_(Setup(machine))
    finally:
        machine.guest.call("end_others", keep=[])
