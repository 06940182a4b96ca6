"""A lost machine is an error of the evaluation, a command of the agent's that fails or hangs is a wrong result."""

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.evaluation.evaluator import Check, CheckFailed
from deskgym.envs.evaluation.readers.clean_run import copy_to_clean, open_clean, run_clean, run_in, surviving
from deskgym.envs.machines.base import CommandResult
from deskgym.envs.machines.fake.machine import FakeMachine

HOME = "/home/user"


@pytest.fixture
def clean():
    with FakeMachine() as machine:
        yield machine


def test_without_a_clean_machine_the_check_is_an_error() -> None:
    final = FinalState(FakeMachine(), "done")
    with pytest.raises(RuntimeError, match="there is no second machine to compile it"):
        open_clean(final, "compile it")
    found = Check("x", lambda final: (bool(run_clean(final, ["x"], {}, "compile it", 1.0)), ""))(final)
    assert found.outcome == "error", found


def test_a_clean_machine_that_cannot_be_had_is_an_error() -> None:
    def broken(**_):
        raise MachineError("no memory", "start_failed")

    found = Check("x", lambda final: (bool(open_clean(final, "run it")), ""))(
        FinalState(FakeMachine(), "done", acted=True, clean_machine=broken)
    )
    assert found.outcome == "error" and "start_failed" in found.message, found


def test_files_are_there_when_the_command_runs_and_its_failure_is_a_result(clean) -> None:
    clean.programs["x"] = lambda call: CommandResult(3, f"{call.cwd} ".encode() + call.files.read(f"{HOME}/a"), b"")
    asked: list[dict] = []
    final = FinalState(FakeMachine(), "done", clean_machine=lambda **more: asked.append(more) or clean)
    machine, done = run_clean(final, ["x"], {f"{HOME}/a": b"12345"}, "run it", 1.0, cwd="/tmp", output_limit=9)
    assert machine is clean and (done.returncode, done.stdout, done.truncated) == (3, b"/tmp 1234", True)
    open_clean(final, "run it", libraries=("duckdb",))
    assert asked == [{}, {"libraries": ("duckdb",)}]


def test_a_command_that_hangs_or_ends_the_machine_is_the_agents_failure(clean) -> None:
    clean.programs["hang"] = lambda call: CommandResult(-9, b"", b"", timed_out=True)
    with pytest.raises(CheckFailed, match="it took longer than 0.5 s to run it"):
        run_in(clean, ["hang"], "run it", 0.5)

    def end(call):
        clean.guest.close()
        raise GuestLost("it ended")

    clean.programs["end"] = end
    with pytest.raises(CheckFailed, match="the machine that should run it did not survive it: it ended"):
        run_in(clean, ["end"], "run it", 0.5)


def test_other_errors_pass_through(clean) -> None:
    for error in (GuestLost("garbled"), GuestCallError("no such program"), ValueError("x")):
        with pytest.raises(type(error)), surviving(clean, "run it"):  # the machine lives
            raise error
    with pytest.raises(GuestCallError):
        run_in(clean, ["no-such-program"], "run it", 1.0)


def test_files_and_folders_are_copied_and_nothing_else(clean) -> None:
    with FakeMachine() as machine:
        machine.put(f"{HOME}/a", b"12345")
        machine.put(f"{HOME}/b/c/d", b"deep")
        assert copy_to_clean(machine, clean, f"{HOME}/a", 5) == "file" and clean.get(f"{HOME}/a") == b"12345"
        assert copy_to_clean(machine, clean, f"{HOME}/b", 5) == "folder" and clean.get(f"{HOME}/b/c/d") == b"deep"
        for path, limit in ((f"{HOME}/none", 5), (f"{HOME}/a", 4), (f"{HOME}/b", 3)):
            with pytest.raises(GuestCallError):
                copy_to_clean(machine, clean, path, limit)
