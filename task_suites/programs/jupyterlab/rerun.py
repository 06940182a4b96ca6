"""What an agent's notebook does when it is run again: in the clean machine, on data that the task gives it there.

The agent's code runs there, so it can say anything of itself. But it cannot know what is right: that stays on the host,
and a task gives the notebook other data than the agent had.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.clean_run import open_clean, run_in, surviving
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.jupyterlab.notebooks import LIMIT, read_notebook, sqlite
from deskgym.task_suites.programs.jupyterlab.server import PYTHON

SCRIPT = Path(__file__).with_name("site") / "rerun.py"
INSIDE = "/tmp/rerun.py"
TIMEOUT = 120.0
Given = dict[str, Any]
"""What the clean machine has beside the notebook, by path: a text, or an SQLite database as rows by table."""


@dataclass(frozen=True)
class Rerun:
    """What came of a notebook.

    Attributes:
        outputs: of each code cell, in the notebook's format.
        answers: the values of the expressions that were asked for.
        files: the texts of the files that were asked for; None for one that is not there.
    """

    outputs: list[Any]
    answers: list[Any]
    files: list[str | None]


def rerun(
    final: FinalState, path: str, given: Given, asked: tuple[str, ...] = (), files: tuple[str, ...] = ()
) -> Rerun:
    """Run all code cells of a notebook, in order.

    Args:
        final: the final state.
        path: the notebook.
        given: other files that the clean machine has.
        asked: Python expressions, evaluated after the last cell; ``drawn()`` gives what its figures show.
        files: what is read after that.

    Raises:
        CheckFailed: it is no notebook, a cell raises, or it takes too long.
        RuntimeError: there is no clean machine.
    """
    read_notebook(final, path)
    key = f"jupyterlab.rerun:{path}:{json.dumps([given, asked, files], sort_keys=True)}"
    said, texts = final.read_once(key, lambda machine: _run(final, machine, path, given, asked, files))
    found = parse_json(said, "what running the notebook gives")
    try:
        if found["failed"]:
            raise CheckFailed(f"{path}, run again: {found['failed']}")
        for text, answer in zip(asked, found["answers"], strict=True):
            if "error" in answer:
                raise CheckFailed(f"{path}, run again: {text} gives {answer['error']}")
        return Rerun(list(found["outputs"]), [answer["value"] for answer in found["answers"]], texts)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckFailed(f"{path}, run again, gives no sense: {error}") from None


def _run(
    final: FinalState, machine: Machine, path: str, given: Given, asked: tuple[str, ...], files: tuple[str, ...]
) -> tuple[str, list[str | None]]:
    what = f"run {path} again"
    clean = open_clean(final, what)
    for place, text in given.items():
        clean.put(place, text.encode() if isinstance(text, str) else sqlite(text))
    clean.put(path, machine.get(path, limit=LIMIT))
    clean.put(INSIDE, SCRIPT)
    done = run_in(clean, [PYTHON, INSIDE, path, json.dumps(asked)], what, TIMEOUT, output_limit=LIMIT)
    if done.returncode:
        raise CheckFailed(f"{path} cannot be run: {done.stderr[-400:].decode(errors='replace')}")
    with surviving(clean, what):
        return done.stdout.decode(errors="replace"), [_text(clean, file) for file in files]


def _text(machine: Machine, path: str) -> str | None:
    try:
        return machine.get(path, limit=LIMIT).decode(errors="replace")
    except GuestCallError:
        return None
