import os
import subprocess
import time

import pytest

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.guest.process_table import has_mark, process_table
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine


def marked(mark: str) -> list[int]:
    return [p.pid for p in process_table() if p.state != "Z" and has_mark(p.pid, mark.encode())]


def are_left(mark: str, number: int, patience: float = 3.0) -> bool:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if len(marked(mark)) == number:
            return True
        time.sleep(0.01)
    return False


def gone(mark: str) -> bool:
    return are_left(mark, 0)


def test_a_commands_streams_and_status_are_kept_apart(headless):
    result = headless.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (result.returncode, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not result.timed_out and not result.truncated


def test_a_signal_is_a_negative_status(headless):
    assert headless.run(["sh", "-c", "kill -TERM $$"]).returncode == -15


def test_stdin_environment_and_folder_reach_the_command(headless):
    result = headless.run(["sh", "-c", "cat; echo $WORD; pwd"], stdin=b"in\n" * 50_000, env={"WORD": "w"}, cwd="/usr")
    assert result.stdout == b"in\n" * 50_000 + b"w\n/usr\n"


def test_what_cannot_be_started_is_an_error_and_the_guest_lives_on(headless):
    with pytest.raises(GuestCallError, match="no-such-program") as missing:
        headless.run(["no-such-program"])
    assert missing.value.kind == "FileNotFoundError"
    with pytest.raises(GuestCallError, match="/no/folder"):
        headless.run(["true"], cwd="/no/folder")
    with pytest.raises(GuestCallError, match="argv is empty"):
        headless.run([])
    with pytest.raises(GuestCallError, match="must be 'agent' or 'guest'"):
        headless.run(["true"], user="root")
    with pytest.raises(GuestCallError, match="no method"):
        headless.guest.call("eval", text="1")
    with pytest.raises(GuestCallError) as wrong:
        headless.guest.call("run", nonsense=1)
    assert wrong.value.kind == "TypeError"
    assert headless.run(["true"]).returncode == 0


def test_endless_output_is_cut_and_the_command_killed(headless):
    result = headless.run(["yes"], timeout=0.3, output_limit=1000)
    assert result.timed_out and result.truncated
    assert len(result.stdout) == 1000


def test_a_timeout_kills_daemons_and_what_ignores_signals(headless):
    mark = f"ESCAPED={os.urandom(8).hex()}"
    script = "trap '' TERM HUP; (setsid sleep 1000 &) ; setsid -f setsid sleep 1000; sleep 1000 & wait"
    result = headless.run(["env", mark, "sh", "-c", script], timeout=0.3)
    assert result.timed_out and result.returncode == -9
    assert gone(mark)


def test_a_background_program_outlives_its_command(headless):
    mark = f"BACKGROUND={os.urandom(8).hex()}"
    began = time.monotonic()
    assert headless.run(["env", mark, "sh", "-c", "sleep 1000 & echo started"], timeout=10).stdout == b"started\n"
    assert time.monotonic() - began < 5
    assert marked(mark)


def test_the_end_of_the_connection_ends_everything():
    machine = ProcessMachine(MachineConfig(screen_size=None))
    machine.start()
    folder = machine.home.parent
    mark = f"LEFT={os.urandom(8).hex()}"
    machine.run(["env", mark, "sh", "-c", "(setsid sleep 1000 &); setsid -f sleep 1000"])
    guest = machine.guest.hello()["pid"]
    assert are_left(mark, 2)  # a program takes a moment to be one
    machine.guest.close()
    assert gone(mark)
    machine.stop()
    assert not os.path.exists(f"/proc/{guest}")
    assert not folder.exists()


def test_a_killed_host_leaves_nothing(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from deskgym.envs.machines.base import MachineConfig\n"
        "from deskgym.envs.machines.process.machine import ProcessMachine\n"
        "m = ProcessMachine(MachineConfig(screen_size=(640, 480)))\n"
        "m.start()\n"
        "m.run(['env', sys.argv[1], 'sh', '-c', 'setsid -f sleep 1000'])\n"
        "print(m.home.parent, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    mark = f"ORPHAN={os.urandom(8).hex()}"
    host = subprocess.run([os.sys.executable, "-c", code, mark], capture_output=True, text=True, timeout=30)
    folder = host.stdout.strip()
    assert folder, host.stderr
    assert gone(mark)
    end = time.monotonic() + 3
    while os.path.exists(folder) and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(folder)


def test_a_dead_guest_is_lost_for_good():
    machine = ProcessMachine(MachineConfig(screen_size=None))
    with machine:
        os.kill(machine.guest.hello()["pid"], 9)
        with pytest.raises(GuestLost):
            machine.run(["true"])
        with pytest.raises(GuestLost):
            machine.run(["true"])
        assert not machine.alive
        machine.restore()
        assert machine.run(["true"]).returncode == 0
