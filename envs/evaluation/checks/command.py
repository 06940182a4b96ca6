"""A check that runs something over what the agent left: in the second, clean machine, never in the agent's."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import HostFile, shown
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.clean_run import copy_to_clean, open_clean, run_in
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.machines.base import Machine

LIMIT = 64 << 20


def command(
    final: FinalState,
    run: str | list[str],
    files: list[str] | None = None,
    with_: dict[str, HostFile] | None = None,
    exit: int = 0,
    that: Predicate | None = None,
    at: str | list[str | int] | None = None,
    timeout: float = 60.0,
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """A script over copies of the agent's files ends and prints as it should, in a machine that the agent never had.

    Args:
        final: the final state.
        run: a Bash script, or a program and its arguments; it starts in the home folder, as the agent's user.
        files: files and folders of the agent's machine, copied to the same places; links are not followed.
        with_: files beside the task file, by the place where they are put; they never enter the agent's machine.
        exit: the exit status that is right.
        that: what the standard output must be, without the white space around it.
        at: the output is JSON, and ``that`` is about the value at this path in it.
        timeout: seconds; a script that takes longer fails.
        limit: bytes of each file, and of each folder.

    Example:
        ```yaml
        - command:
            run: python3 main.py < /tmp/input.txt
            files: [/home/user/main.py]
            with: {/tmp/input.txt: input.txt}
            that: {equals: '42'}
        ```
    """
    given = {place: sha256(file.read_bytes()).hexdigest() for place, file in (with_ or {}).items()}
    key = f"command:{run}:{files}:{given}:{timeout}:{limit}"
    done = final.read_once(key, lambda machine: _run(final, machine, run, files or [], with_ or {}, timeout, limit))
    said = f"it wrote {shown(done['stdout'], 400)} and to standard error {shown(done['stderr'][-400:], 400)}"
    if done["returncode"] != exit:
        return False, f"it ended with {done['returncode']}, right is {exit}; {said}"
    if that is None:
        return True, f"it ended with {exit}"
    output = done["stdout"].strip()
    value = output if at is None else lookup(parse_json(output, "the output"), at)
    return that(value), f"it wrote {shown(value, 400)}; right is {that}"


def _run(
    final: FinalState, machine: Machine, run: str | list[str], files: list[str], given: Mapping[str, HostFile],
    timeout: float, limit: int,
) -> dict[str, Any]:  # fmt: skip
    clean = open_clean(final, "run the script")
    for path in files:
        _copy(machine, clean, path, limit)
    for place, file in given.items():
        clean.put(place, file)
    argv = ["bash", "-c", run] if isinstance(run, str) else run
    done = run_in(clean, argv, "run the script", timeout)
    output, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return {"returncode": done.returncode, "stdout": output, "stderr": errors}


def _copy(machine: Machine, clean: Machine, path: str, limit: int) -> None:
    """Copy a file or a folder. Raises CheckFailed where it is something else, or too large."""
    try:
        kind = copy_to_clean(machine, clean, path, limit)
    except GuestCallError as error:
        raise CheckFailed(f"{path}: {error}") from None
    if kind not in ("file", "folder"):
        raise CheckFailed(f"{path} is no file and no folder, but a {kind}")


CHECKS: Mapping[str, CheckFunction] = {"command": command}
