"""A prover's REPL in a machine, from the outside."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.errors import GuestCallError, GuestLost, SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch

PATIENCE = 60.0
"""Seconds in which a REPL must have carried out one of its opening requests, or take back one of its proof states."""
_FOLDER = "/tmp/prover"
_SOCKET = f"{_FOLDER}/socket"
_SERVER = "python3"
_MEMORY_MB = 1536
_GUEST = Path(__file__).parent / "guest"


@dataclass(frozen=True)
class About:
    """What an episode must know of its proof.

    Attributes:
        headers: what the statement stands on, as text, such as ``"Require Import Lia."``.
        path: of the file that a whole proof is written into.
        before: what stands in it before the tactics.
        after: what stands in it after them.
        indent: what each line of the tactics begins with.
        forbidden: words that no tactic may have outside comments.
    """

    headers: str
    path: str
    before: str
    after: str = ""
    indent: str = ""
    forbidden: Sequence[str] = ()

    def file(self, tactics: Sequence[str]) -> str:
        """The file of a whole proof."""
        lines = [f"{self.indent}{line}\n" for tactic in tactics for line in tactic.strip().splitlines()]
        return "".join([self.before, *lines, self.after])


@dataclass(frozen=True)
class Opening:
    """How a proof begins.

    Attributes:
        about: what an episode must know of it.
        state: the number of its first proof state.
        goals: what is to be proved.
    """

    about: About
    state: int
    goals: tuple[str, ...]


def open_repl(
    setup: Setup, argv: Sequence[str], requests: Sequence[Mapping[str, Any]], about: About, *, cwd: str = "/",
    memory_mb: int = _MEMORY_MB, patience: float = PATIENCE,
) -> None:  # fmt: skip
    """Start a REPL, and have it carry out requests; returns when the first proof state is there.

    Args:
        setup: the machine.
        argv: the REPL's program and arguments; it reads and writes JSON, with a blank line after each request and each
            answer, as leanprover-community/repl does. ``GUEST`` in it is the folder of our own files.
        requests: ``{"cmd": ...}``, each in the environment that the one before leaves; the last one leaves a proof
            state.
        about: what an episode must know of the proof.
        cwd: the REPL's working folder.
        memory_mb: what the REPL may have.
        patience: seconds for each request.

    Raises:
        SetupError: it does not start, or does not take a request.
    """
    setting = {
        "argv": [word.replace("GUEST", _FOLDER) for word in argv], "cwd": cwd, "open": [*requests],
        "about": asdict(about), "memory_mb": memory_mb, "patience": patience,
    }  # fmt: skip
    machine = setup.machine
    for name in ("repl_server.py", "coq_repl.py"):
        machine.put(f"{_FOLDER}/{name}", (_GUEST / name).read_bytes())
    machine.put(f"{_FOLDER}/setting.json", json.dumps(setting).encode())
    launch(
        setup, [_SERVER, f"{_FOLDER}/repl_server.py", _SOCKET, f"{_FOLDER}/setting.json"], file=_SOCKET,
        timeout=patience * (len(requests) + 1),
    )  # fmt: skip
    try:
        Session(machine).opening()
    except ValueError as error:
        raise SetupError(f"{argv[0]}: {error}") from error


class Session:
    """Asks the REPL that ``open_repl`` has started.

    Args:
        machine: where it runs.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def opening(self) -> Opening:
        """How the proof begins.

        Raises:
            ValueError: the REPL did not take a request; the message has its answer.
            GuestLost: the REPL is gone.
        """
        told = self._ask({})
        answers = told.get("opening")
        last = answers[-1] if isinstance(answers, list) and answers else None
        sorries = last.get("sorries") if isinstance(last, dict) else None
        if not isinstance(sorries, list) or len(sorries) != 1 or not isinstance(sorries[0].get("proofState"), int):
            raise ValueError(f"there is no first proof state: {json.dumps(answers, ensure_ascii=False)[:1000]}")
        return Opening(About(**told["about"]), sorries[0]["proofState"], (str(sorries[0].get("goal")),))

    def play(self, tactic: str, state: int, seconds: float) -> dict[str, Any]:
        """What the REPL answers to a tactic in a proof state: it has ``message`` where nothing came of it.

        Args:
            tactic: its text.
            state: the number of the proof state.
            seconds: that it may take.

        Raises:
            GuestLost: the REPL is gone.
        """
        return self._ask({"request": {"tactic": tactic, "proofState": state}, "seconds": seconds}, seconds)

    def _ask(self, asked: dict[str, Any], seconds: float = 0.0) -> dict[str, Any]:
        try:
            # what was lost before may have to be carried out again first
            answer = ProgramChannel(self._machine, _SERVER).unix(
                _SOCKET, json.dumps(asked).encode(), timeout=seconds + 8 * PATIENCE
            )
            found = json.loads(answer)
        except (GuestCallError, ValueError, RecursionError) as error:
            raise GuestLost(f"the prover does not answer: {error}", "prover_lost") from error
        if not isinstance(found, dict):
            raise GuestLost("the prover answers no JSON object", "prover_lost")
        return found
