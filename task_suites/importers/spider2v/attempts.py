"""How apps' oracles and wrong attempts act beside mouse and keyboard: Python programs, each one code action."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.task_suites.importers.spider2v.frame import Play

PIECE = 30_000
"""Bytes of a file that one program carries; a code action has at most 65,536 characters."""


def put_file(path: str, content: bytes) -> list[str]:
    """Programs that write a file, and the folder that it is in."""
    made = [f"import os\nos.makedirs(os.path.dirname({path!r}), exist_ok=True)\nopen({path!r}, 'wb').close()"]
    for start in range(0, len(content), PIECE):
        coded = base64.b64encode(content[start : start + PIECE]).decode()
        made.append(f"import base64\nopen({path!r}, 'ab').write(base64.b64decode({coded!r}))")
    return made


def run(command: str, timeout: float = 60.0) -> str:
    """A program that runs a Bash command as somebody would in a terminal, with ``~/.bashrc``; it fails where that does.

    Args:
        command: what is typed.
        timeout: seconds.
    """
    argv = ["bash", "-ic", command]
    return f"import subprocess\nsubprocess.run({argv!r}, check=True, timeout={timeout!r}, stdin=subprocess.DEVNULL)"


def play(*bursts: BurstOrProgram) -> Play:
    """A script that does this, and says that it is done."""
    return partial(_play, bursts)


def _play(bursts: Sequence[BurstOrProgram], screen: Screen) -> Iterator[BurstOrProgram]:
    yield from bursts
    yield [Action("done")]
