"""Generic hooks and Task.prepare, on a fake machine."""

import base64
import os

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import MachineError, SetupError
from deskgym.envs.evaluation.calls import HostFile
from deskgym.envs.evaluation.evaluator import Evaluator
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.task_suites.core.task import Hook, Setup, Task
from deskgym.task_suites.hooks import files, input, programs, waits
from deskgym.task_suites.hooks.browser import forwarded


@pytest.fixture
def setup():
    with FakeMachine() as machine:
        yield Setup(machine, "demo/x")


def test_files(setup: Setup, tmp_path) -> None:
    files.write(setup, "/home/user/new/a.txt", "é")
    assert setup.machine.get("/home/user/new/a.txt") == "é".encode()
    files.write_bytes(setup, "/tmp/b", base64.b64encode(b"\x00\xff").decode())
    assert setup.machine.get("/tmp/b") == b"\x00\xff"
    (tmp_path / "data.csv").write_text("1,2")
    files.copy(setup, HostFile(tmp_path / "data.csv"), "/home/user/data.csv")
    assert setup.machine.get("/home/user/data.csv") == b"1,2"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/home/user/../x", "relative", "/home/user", "/tmp/../etc/x", "/home/username/x"]
)
def test_files_elsewhere_are_refused(setup: Setup, path: str) -> None:
    with pytest.raises(SetupError, match="is not below /home/user or /tmp"):
        files.write(setup, path, "x")


def test_bad_base64(setup: Setup) -> None:
    with pytest.raises(SetupError, match="not base64"):
        files.write_bytes(setup, "/tmp/b", "!!!")


def test_run(setup: Setup) -> None:
    programs.run(setup, ["sh", "-c", "exit 3"], expect=3)
    with pytest.raises(SetupError, match=r"ended with 1, not 0; it wrote nothing"):
        programs.run(setup, ["false"])
    with pytest.raises(SetupError, match=r"ended with 2, not 0; it wrote oops"):
        programs.run(setup, ["sh", "-c", "echo oops >&2; exit 2"])
    with pytest.raises(SetupError, match="took longer than 0.1 s"):
        programs.run(setup, ["sleep", "5"], timeout=0.1)


def test_launch_asks_the_guest_to_wait(setup: Setup) -> None:
    asked = {}
    setup.machine.guest.methods["launch"] = lambda **params: asked.update(params) or {"pid": 1}
    programs.launch(setup, ["kate", "a.txt"], window="*a.txt — Kate*", app="kate", role="text", timeout=5)
    assert asked["argv"] == ["kate", "a.txt"] and asked["timeout"] == 5
    assert asked["wait"] == {"window": {"title": r"\A.*a\.txt\ —\ Kate.*\Z"}, "app": "kate", "node": {"role": "text"}}
    with pytest.raises(SetupError, match="launch needs window, window_class, app"):
        programs.launch(setup, "kate")


def test_wait_for_element(setup: Setup) -> None:
    waits.wait_for_element(setup, role="push button")
    waits.wait_for_element(setup, window="Fake")
    with pytest.raises(SetupError, match="Cancel"):
        waits.wait_for_element(setup, name="Cancel", timeout=0.05)


def test_wait_for_file_and_command(setup: Setup) -> None:
    setup.machine.put("/tmp/x", b"ready")
    waits.wait_for_file(setup, "/tmp/x", Predicate.parse({"contains": "ready"}))
    waits.wait_for_command(setup, ["true"])
    with pytest.raises(SetupError, match="awaited is .*done.*"):
        waits.wait_for_file(setup, "/tmp/x", Predicate.parse({"contains": "done"}), timeout=0.1)
    with pytest.raises(SetupError, match="/tmp/no was not there"):
        waits.wait_for_file(setup, "/tmp/no", timeout=0.1)
    with pytest.raises(SetupError, match="did not end with 0 within 0.1 s: last 1"):
        waits.wait_for_command(setup, ["false"], timeout=0.1)


def test_input(setup: Setup) -> None:
    input.click(setup, role="text")
    input.type_(setup, "hé")
    input.press(setup, "a")
    assert setup.machine.fake_display.text == "héa"


def task(*hooks: Hook) -> Task:
    return Task("demo/x#1", "Do it.", Evaluator([], "fail"), lambda screen: iter([]), hooks=hooks)


def test_prepare_names_task_and_hook_and_says_what_was_seen(setup: Setup) -> None:
    good = Hook("run", lambda setup: programs.run(setup, ["true"]))
    task(good).prepare(setup.machine)
    with pytest.raises(SetupError, match=r"demo/x#1: setup 2 of 2, run: \['false'\] ended with 1, not 0"):
        task(good, Hook("run", lambda setup: programs.run(setup, ["false"]))).prepare(setup.machine)
    with pytest.raises(SetupError, match=r"setup 1 of 1, run: GuestCallError: .*nothere"):
        task(Hook("run", lambda setup: programs.run(setup, ["nothere"]))).prepare(setup.machine)


def test_a_broken_machine_is_not_a_hooks_fault(setup: Setup) -> None:
    setup.machine.guest.close()
    with pytest.raises(MachineError):
        task(Hook("run", lambda setup: programs.run(setup, ["true"]))).prepare(setup.machine)


def test_a_task_without_checks_whose_answer_is_fail(setup: Setup) -> None:
    assert not task().feasible
    assert task().evaluate(FinalState(setup.machine, "fail")).success
    assert task().evaluate(FinalState(setup.machine, "done")).score == 0


def test_a_port_of_a_machine_that_gives_no_link(setup: Setup, monkeypatch, tmp_path) -> None:
    """Standard input must not be taken for the link, and what is wrong with a link is said at once."""
    machine, links = setup.machine, [None, os.open(tmp_path, os.O_RDONLY)]
    monkeypatch.setattr(type(machine), "isolates", True)
    monkeypatch.setattr(type(machine), "can", frozenset({"companions"}))
    monkeypatch.setattr(machine.guest, "call_with_fd", lambda method, ports: ({}, links.pop(0)), raising=False)
    with pytest.raises(SetupError, match="the machine gave no link to its port 9222"), forwarded(machine, 9222):
        pass
    with pytest.raises(OSError, match="non-socket"), forwarded(machine, 9222):
        pass
