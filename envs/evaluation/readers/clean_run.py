"""Runs a command over the agent's files in the second, clean machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import MachineError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import CommandResult, Machine


def run_clean(
    final: FinalState, argv: Sequence[str], files: Mapping[str, bytes | Path], what: str, timeout: float
) -> tuple[Machine, CommandResult]:
    """The clean machine, and what came of a command in it.

    Args:
        final: the final state.
        argv: program and arguments.
        files: what is put there before, by absolute path.
        what: what the command does, for messages, such as ``"compile the document"``.
        timeout: seconds.

    Raises:
        CheckFailed: the machine did not survive it, or it took longer: both are the agent's doing.
        RuntimeError: there is no clean machine.
    """
    if final.clean_machine is None:
        raise RuntimeError(f"there is no second machine to {what}")
    clean = final.clean_machine()
    for path, content in files.items():
        clean.put(path, content)
    try:
        done = clean.run(list(argv), timeout=timeout)
    except MachineError as error:
        if clean.alive:
            raise
        raise CheckFailed(f"the machine that should {what} did not survive it: {error}") from error
    if done.timed_out:
        raise CheckFailed(f"it took longer than {timeout:g} s to {what}")
    return clean, done
