"""Runs what checks must execute over the agent's files: in the second, clean machine, never in the agent's.

Two failures must not be mixed up. A command over the agent's files that fails, hangs or takes the clean machine down
is a wrong result: ``CheckFailed``. A clean machine that cannot be had or breaks for another reason is an error of the
evaluation: ``RuntimeError`` or ``MachineError``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import MachineError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import CommandResult, Machine

OUTPUT = 1 << 20
"""Bytes kept of what a command writes to standard output, and to standard error."""


def open_clean(final: FinalState, what: str, **more: tuple[str, ...]) -> Machine:
    """The clean machine, as new.

    Args:
        final: the final state.
        what: what the check does there, for messages, such as ``"compile the document"``.
        more: ``plugins`` and ``libraries``, see ``MachineManager.clean_machine``.

    Raises:
        RuntimeError: this environment has no clean machine.
        MachineError: it could not be started.
    """
    if final.clean_machine is None:
        raise RuntimeError(f"there is no second machine to {what}")
    return final.clean_machine(**more)


@contextmanager
def surviving(clean: Machine, what: str) -> Iterator[None]:
    """Wraps what runs over the agent's files.

    Raises:
        CheckFailed: in place of a MachineError after which the machine is gone: the agent's files ended it.
    """
    try:
        yield
    except MachineError as error:
        if clean.alive:
            raise
        raise CheckFailed(f"the machine that should {what} did not survive it: {error}") from error


def run_in(
    clean: Machine,
    argv: Sequence[str],
    what: str,
    timeout: float,
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    output_limit: int = OUTPUT,
) -> CommandResult:
    """Run a command in a clean machine that has the agent's files already; see ``Machine.run`` for the arguments.

    Raises:
        CheckFailed: the machine did not survive it, or it took longer than ``timeout`` seconds.
    """
    with surviving(clean, what):
        done = clean.run(list(argv), cwd=cwd, env=env, stdin=stdin, timeout=timeout, output_limit=output_limit)
    if done.timed_out:
        raise CheckFailed(f"it took longer than {timeout:g} s to {what}")
    return done


def run_clean(
    final: FinalState,
    argv: Sequence[str],
    files: Mapping[str, bytes | Path],
    what: str,
    timeout: float,
    *,
    cwd: str | None = None,
    output_limit: int = OUTPUT,
) -> tuple[Machine, CommandResult]:
    """Write files to the clean machine and run one command there; gives the machine and how the command ended.

    Args:
        final: the final state.
        argv: program and arguments.
        files: what is written first, by absolute path.
        what: what the command does, for messages, such as ``"compile the document"``.
        timeout: seconds.
        cwd: working folder; the user's home if None.
        output_limit: bytes kept of stdout and of stderr, each.

    Raises:
        CheckFailed: the machine did not survive it, or it took longer: the agent's files are to blame for both.
        RuntimeError: there is no clean machine.
    """
    clean = open_clean(final, what)
    for path, content in files.items():
        clean.put(path, content)
    return clean, run_in(clean, argv, what, timeout, cwd=cwd, output_limit=output_limit)


def copy_to_clean(machine: Machine, clean: Machine, path: str, limit: int) -> str:
    """Copy a file or a folder of the agent's to the same path; links and devices are left out.

    Args:
        machine: the agent's.
        clean: where it is copied to.
        path: absolute.
        limit: most bytes of the file, or of all files of the folder together.

    Returns:
        Its type: ``"file"``, ``"folder"``, or what it is instead; then nothing was copied.

    Raises:
        GuestCallError: it is missing, too large or cannot be read.
    """
    kind = str(machine.guest.stat(path)["type"])
    if kind == "file":
        clean.put(path, machine.get(path, limit=limit))
    elif kind == "folder":
        with tempfile.TemporaryDirectory() as folder:
            machine.get_folder(path, Path(folder, "copy"), limit=limit)
            clean.put(path, Path(folder, "copy"))
    return kind
