"""The adapter to ChimeraX's REST server, against a minimal server of our own that speaks its protocol."""

import json
from pathlib import Path

import pytest
from scienceboard_files import UPSTREAM, given, says_what_to_install

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.importers.lambdas import compile_lambda
from deskgym.task_suites.importers.scienceboard import chimerax_rest, load
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask

# A window and ``GET /run?command=...``: notes every command; ``states`` copies a file, ``info`` says a text's lines.
SERVER = """#!/usr/bin/python3
import http.server, json, shutil, sys, threading
from urllib.parse import parse_qs, urlsplit
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        command = parse_qs(urlsplit(self.path).query)["command"][0]
        error, notes = None, []
        with open("/home/user/commands", "a") as file:
            file.write(command + "\\n")
        word, *rest = command.split()
        if word == "states":
            shutil.copy("/home/user/session.json", f"{rest[0]}/{rest[1]}.json")
        elif word == "info":
            notes = ["#1/A:1 one\\n#1/A:2 two\\n"]
        elif word == "fail":
            error = {"type": "UserError", "message": "it failed"}
        self.send_response(200); self.end_headers()
        self.wfile.write(json.dumps({"log messages": {"note": notes}, "error": error}).encode())

port = int(sys.argv[-1].split()[-1])
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
window = Gtk.Window(title="UCSF ChimeraX"); window.set_default_size(400, 300); window.show_all(); Gtk.main()
"""
TASK = UpstreamTask(
    id="ChimeraX/X-01", split="VM", file=Path("X-01.json"), type="ChimeraX", sort="VM", steps=5, instruction="",
    version="0.1",
)  # fmt: skip
ROOT = "models.(1,)"
SESSION = {f"{ROOT}._name": "2olx", f"{ROOT}.count": 12, f"{ROOT}.on": False, f"{ROOT}.place": "[[1. 0.]]"}


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    molecule = tmp_path_factory.mktemp("data") / "2olx.cif"
    molecule.write_text("data_2OLX\n")
    with create_machine("sandbox", MachineConfig((640, 480))) as machine:
        machine.put(f"/opt/deskgym/bin/{chimerax_rest.EXECUTABLE}", SERVER.encode(), mode=0o755, owner="guest")
        machine.put("/home/user/session.json", json.dumps(SESSION).encode())
        chimerax_rest.open_(Setup(machine), ["log clear", f"open {chimerax_rest.FOLDER}/2olx.cif"], {"2olx": molecule})
        yield machine


def decided(machine, kind: str, **values) -> tuple[bool, str]:
    """What an item says of the machine; texts that begin with ``lambda`` are compiled."""
    arity = {"find": 2, "key": 1}
    made = {
        name: compile_lambda(value, arity=arity[name]) if str(value).startswith("lambda") else value
        for name, value in values.items()
    }
    test = chimerax_rest.test(CheckItem(type=kind, values=made), TASK)
    assert test is not None
    return test(FinalState(machine, stop="done", acted=True))


@given
def test_where_it_is_not_installed_its_tasks_say_so():
    task = load(UPSTREAM)["ChimeraX/A-04"]
    says_what_to_install(task, "SessionStates", chimerax_rest.NOTE)
    assert chimerax_rest._commands(task) == ["log clear", "open /home/user/Downloads/3ppd.cif", "turn y 1"]


@pytest.mark.sandbox
def test_the_setup_is_done_by_commands_and_one_that_fails_is_told(machine):
    assert machine.get("/home/user/commands").decode().splitlines()[:2] == [
        "log clear", f"open {chimerax_rest.FOLDER}/2olx.cif",
    ]  # fmt: skip
    assert machine.get(f"{chimerax_rest.FOLDER}/2olx.cif") == b"data_2OLX\n"
    with pytest.raises(CheckFailed, match="could not do 'fail now': .*it failed"):
        chimerax_rest.run(machine, "fail now")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("passes", "values"),
    [
        (True, {"key": f"{ROOT}._name", "value": "2olx"}),
        (False, {"key": f"{ROOT}._name", "value": "3ppd"}),
        (True, {"key": f"{ROOT}.count", "value": 12}),
        (True, {"key": f"{ROOT}.on", "value": False}),
        (False, {"key": f"{ROOT}.count", "value": 13}),
        (False, {"key": f"{ROOT}.none", "value": "x"}),
        (True, {"key": f"{ROOT}.none", "value": None}),
        (False, {"key": f"{ROOT}.count", "value": None}),
        (True, {"key": f"{ROOT}.place", "pattern": r"^\[\[ *1"}),
        (False, {"key": f"{ROOT}.place", "pattern": r"^\[\[ *2"}),
        (True, {"key": "lambda key: key.startswith('models.(2')", "value": None}),
        (False, {"key": "lambda key: key.startswith('models.(1')", "value": None}),
        (True, {
            "find": "lambda key, value: key.endswith('._name') and value == '2olx'",
            "key": "lambda key: '.'.join(key.split('.')[:-1] + ['count'])", "value": 12,
        }),
        (False, {
            "find": "lambda key, value: key.endswith('._name') and value == 'x'",
            "key": "lambda key: '.'.join(key.split('.')[:-1] + ['count'])", "value": 12,
        }),
    ],
)  # fmt: skip
def test_the_session_decides(machine, passes, values):
    assert decided(machine, "states", **values)[0] == passes


@pytest.mark.sandbox
def test_what_info_notes_and_what_is_in_a_file_decide(machine):
    assert decided(machine, "info", key="sel", value=("#1/A:2 two", "#1/A:1 one"))[0]
    assert not decided(machine, "info", key="sel", value=("#1/A:1 one",))[0]
    machine.put("/home/user/log.html", b"<b>finished</b>")
    assert decided(machine, "file", key="/home/user/log.html", value="finished")[0]
    assert not decided(machine, "file", key="/home/user/log.html", value="failed")[0]
    assert chimerax_rest.test(CheckItem(type="stop", values={}), TASK) is None
