"""The check of the page in front, on a real Chromium."""

from pathlib import Path

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.core.registry import Registry

PAGE = """<!DOCTYPE html><title>Order 7</title><h1>Order 7</h1><p>It is <b>paid</b> &amp; sent.</p>
<p style="display: none">secret</p><iframe srcdoc="<title>inner</title><p>a frame</p>"></iframe>
<button>Send  again</button><input value="typed"><a href="other.html">Next</a>"""
ARGUMENTS = [
    "chromium", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--force-renderer-accessibility", "--no-sandbox", "--disable-gpu", "--user-data-dir=/home/user/profile",
    "file:///home/user/page.html",
]  # fmt: skip


@pytest.fixture(scope="module")
def machine():
    with SandboxMachine(MachineConfig(screen_size=(1024, 768), processes=1024)) as machine:
        machine.put("/home/user/page.html", PAGE.encode())
        machine.put("/home/user/other.html", b"<title>Other</title>Elsewhere")
        machine.guest.launch(ARGUMENTS, wait={"node": {"role": "push button", "pattern": "Send"}}, timeout=60)
        yield machine


def outcome(machine, **arguments) -> tuple[str, str]:
    given = bind(CHECKS["web"], {"browser": "chromium", **arguments}, converters=Registry().converters(Path("/")))
    result = Check.bound("web", CHECKS["web"], given)(FinalState(machine, "done"))
    return result.outcome, result.message


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_page_in_front(machine) -> None:
    url = "file:///home/user/page.html"
    assert outcome(machine, url=url, title="Order 7", text="It is paid & sent.") == ("pass", f"the page is {url}")
    assert (
        outcome(machine, url={"matches": "file:.*page.html"}, text={"contains": ["Send again", "typed"]})[0] == "pass"
    )
    assert outcome(machine, text={"contains": "a frame"})[0] == "pass"
    assert outcome(machine, text="secret")[0] == "fail"
    result, message = outcome(machine, url="file:///home/user/other.html", title="Other")
    assert result == "fail" and f"its url is {url!r}, right is" in message and "its title is 'Order 7'" in message
    machine.guest.call("end_others", keep=[])
    assert outcome(machine, url=url) == ("fail", "chromium is not running any more")


@pytest.mark.sandbox
def test_a_reader_ends_what_the_agent_started_and_no_program_of_the_task() -> None:
    with SandboxMachine(MachineConfig(screen_size=(320, 240))) as machine:
        launched = [["sleep", "1001"], ["sh", "-c", "sleep 1002; :"]]
        kept = {machine.guest.launch(command)["pid"] for command in launched}
        machine.run(["sh", "-c", "setsid sleep 1003 >/dev/null 2>&1 &"])
        AccessibleProgram(machine, "sleep").end_others()
        left = machine.run(["pgrep", "-a", "sleep"]).stdout.decode()
        assert "1001" in left and "1002" in left and "1003" not in left
        assert all(machine.guest.exists(f"/proc/{pid}") for pid in kept)
