"""What only holds where the agent has a user of its own."""

import time
from collections.abc import Iterator

import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxMachine]:
    with SandboxMachine(MachineConfig(screen_size=(640, 480), processes=200)) as machine:
        yield machine


@pytest.fixture
def act(sandbox):
    def act(text, timeout=10.0):
        return vars(sandbox.display.perform(code=CodeRequest(text, timeout)).code)

    yield act
    assert act("print('alive')")["stdout"] == "alive\n"


def test_code_runs_as_the_agent_without_privileges(act):
    result = act(
        "import os\nprint(os.getresuid(), os.getresgid(), os.getgroups())\nprint(open('/proc/self/status').read())"
    )
    assert result["stdout"].startswith("(1000, 1000, 1000) (1000, 1000, 1000) []\n")
    assert "NoNewPrivs:\t1" in result["stdout"] and "CapEff:\t0000000000000000" in result["stdout"]


def test_the_agent_cannot_touch_guest_or_display(act, sandbox):
    result = act(
        "import os\n"
        "for pid in sorted(int(name) for name in os.listdir('/proc') if name.isdigit()):\n"
        "    if 'Uid:\\t0' in open(f'/proc/{pid}/status').read():\n"
        "        look = lambda: os.listdir(f'/proc/{pid}/fd')\n"
        "        for attempt in (lambda: os.kill(pid, 9), lambda: open(f'/proc/{pid}/mem', 'rb'), look):\n"
        "            try: attempt(); print('could', pid)\n"
        "            except PermissionError: pass\n"
        "for path in ('/run/deskgym/framebuffer', '/run/deskgym/server-cookie'):\n"
        "    try: os.listdir(path) if 'buffer' in path else open(path); print('could', path)\n"
        "    except PermissionError: pass\n"
        "print('done')"
    )
    assert result["stdout"] == "done\n", result


def test_a_fork_bomb_is_put_out(act, sandbox):
    began = time.monotonic()
    text = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert act(text, timeout=1.0)["timed_out"]
    shell = sandbox.run(["sh", "-c", "b() { b | b & b | b; }; b"], timeout=1.0)
    assert shell.timed_out or shell.returncode != 0
    assert time.monotonic() - began < 20
    assert act("import os; print(len([n for n in os.listdir('/proc') if n.isdigit()]))")["status"] == 0
    assert sandbox.display.perform([{"t": "move", "x": 5, "y": 5}], SettlePolicy()).settled


def test_files_in_the_agents_folders_are_written_with_its_rights(sandbox):
    sandbox.put("/home/user/made/file", b"1")
    sandbox.put("/opt/made/file", b"1")
    for path in ("/home/user/made", "/home/user/made/file", "/opt/made", "/opt/made/file"):
        assert sandbox.guest.stat(path)["uid"] == 1000
    sandbox.run(["sh", "-c", "umask 077; mkdir /opt/own; chmod 755 /opt/own; echo s > /opt/own/secret"], user="guest")
    sandbox.run(["ln", "-s", "/opt/own", "/home/user/way-out"])
    for attempt in (
        lambda: sandbox.put("/home/user/way-out/planted", b"1"),
        lambda: sandbox.get("/home/user/way-out/secret"),
    ):
        with pytest.raises(GuestCallError):
            attempt()
    assert sandbox.get("/opt/own/secret") == b"s\n"
    assert not sandbox.guest.exists("/opt/own/planted")


def test_the_guests_own_commands_are_privileged(sandbox):
    assert sandbox.run(["id", "-u"], user="guest").stdout == b"0\n"
    assert sandbox.run(["id", "-u"]).stdout == b"1000\n"
