"""What an agent may really put where a file is expected, on a machine with a real file system."""

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.checks import file as files
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine


@pytest.fixture(scope="module")
def machine():
    with ProcessMachine(MachineConfig(screen_size=None)) as machine:
        yield machine


@pytest.fixture(scope="module")
def home(machine) -> str:
    return machine.run(["sh", "-c", "echo $HOME"]).stdout.decode().strip()


TRAPS = {
    "fifo": "mkfifo {0}",
    "link to a fifo": "mkfifo {0}.fifo && ln -s {0}.fifo {0}",
    "folder": "mkdir {0}",
    "link to a device": "ln -s /dev/zero {0}",
    "dangling link": "ln -s /nowhere {0}",
    "link to itself": "ln -s {0} {0}",
    "huge sparse file": "truncate -s 1T {0}",
    "a file as a folder": "touch {0}.f && ln -s {0}.f/x {0}",
}


@pytest.mark.parametrize("trap", TRAPS)
def test_a_trap_fails_and_does_not_hang(machine, home: str, trap: str) -> None:
    path = f"{home}/{trap.replace(' ', '-')}"
    made = machine.run(["sh", "-c", TRAPS[trap].format(path)])
    assert made.returncode == 0, made.stderr
    anything = Predicate.parse({"length": {"between": [0, 10**15]}})
    checks = [
        Check("exists", lambda final: files.exists(final, path)),
        Check("text", lambda final: files.text(final, path, anything)),
        Check("absent", lambda final: files.absent(final, path)),
    ]
    verdict = Evaluator(checks).evaluate(FinalState(machine, "done"))
    assert [check.outcome for check in verdict.checks] == ["pass", "fail", "fail", "fail"], verdict
    assert verdict.error is None and path in verdict.checks[1].message


def test_a_missing_file_is_absent_and_a_link_to_a_file_is_the_file(machine, home: str) -> None:
    machine.put(f"{home}/real", b"text")
    machine.run(["ln", "-s", f"{home}/real", f"{home}/link"])
    final = FinalState(machine, "done")
    assert files.text(final, f"{home}/link", Predicate.parse({"equals": "text"}))[0]
    assert files.absent(final, f"{home}/nothing")[0] and files.absent(final, f"{home}/real/x")[0]
