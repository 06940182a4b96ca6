"""Runs the builder's tools: their output goes to a log, and none of them outlives this process or an interruption."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import userns
from deskgym.envs.machines.image import tree
from deskgym.envs.machines.sandbox.host import find_tool

NAMESPACES = ("unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child", "--mount-proc")
"""What runs in these takes all that it starts and mounts along when it ends."""


class ToolFailed(Exception):
    """A tool ended with an error; ``lines`` are the last ones that it printed."""

    def __init__(self, tool: str, status: int, lines: list[str]) -> None:
        super().__init__(f"{tool} ended with status {status}")
        self.tool = tool
        self.lines = lines


def need_tools(*tools: tuple[str, str]) -> None:
    """Check that programs are there, given with the Debian packages that have them.

    Raises:
        MachineError: kind ``"not_installed"``, with the command that installs what is missing.
    """
    missing = {tool: package for tool, package in tools if find_tool(tool) is None}
    if missing:
        packages = " ".join(sorted(set(missing.values())))
        raise MachineError(
            f"building an image needs {', '.join(missing)}: install with `sudo apt-get install {packages}`",
            kind="not_installed",
        )


def as_root(command: Sequence[str]) -> list[str]:
    """The command line that runs a program as root, of a user namespace with ids of its own if this user is another.

    Raises:
        MachineError: kind ``"not_allowed"``: this user has no such ids.
    """
    if os.geteuid() == 0:
        return [*NAMESPACES, *command]
    try:
        ids = userns.id_map()
    except userns.NoIdsError as error:
        raise MachineError(f"an image cannot be built: {error}", kind="not_allowed") from None
    return [*userns.command(ids), tree.__file__, "run", "setpriv", "--pdeathsig=KILL", *NAMESPACES, *command]


def run_tool(
    command: Sequence[str],
    log: Path,
    *,
    on_line: Callable[[str], None] = lambda line: None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a program to its end; it is killed if this process dies first, or is interrupted.

    Args:
        command: program and arguments.
        log: file that its output is appended to.
        on_line: called with every line of output.
        environment: variables to set.

    Raises:
        ToolFailed: its status is not 0.
    """
    setpriv, tool = find_tool("setpriv"), find_tool(command[0]) or command[0]
    process = subprocess.Popen(
        [str(setpriv), "--pdeathsig=KILL", tool, *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        start_new_session=True,  # the terminal's Ctrl-C is for us; we end it in our own way
    )
    try:
        status, lines = _follow(process, log, on_line)
    finally:
        _end(process)
    if status != 0:
        raise ToolFailed(os.path.basename(command[0]), status, lines)


def _follow(process: subprocess.Popen[bytes], log: Path, on_line: Callable[[str], None]) -> tuple[int, list[str]]:
    last: list[str] = []
    assert process.stdout is not None
    with log.open("ab") as file, process.stdout as output:
        for raw in output:
            file.write(raw)
            file.flush()
            line = raw.decode(errors="replace").rstrip().rpartition("\r")[2]
            if line:
                last = [*last[-199:], line]
                on_line(line)
    return process.wait(), last


def _end(process: subprocess.Popen[bytes]) -> None:
    """Whatever is left of the process and its session's group ends now."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
