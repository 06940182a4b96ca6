"""An agent's file of code, run again in the clean machine, and what a database that it makes there has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome
from deskgym.envs.evaluation.readers.clean import ask_duckdb
from deskgym.envs.evaluation.readers.clean_run import open_clean, run_in
from deskgym.envs.evaluation.readers.compare import Rules, differences, listed
from deskgym.envs.evaluation.readers.tables import Table
from deskgym.envs.machines.base import CommandResult, Machine

LIMIT = 8 << 20  # bytes of the file, and of the database


class CodeAgain:
    """The clean machine with one file of the agent's in a folder, and nothing else of the agent's.

    Args:
        final: the final state.
        machine: the agent's.
        folder: where the file is, in both machines.
        script: its name.

    Raises:
        CheckFailed: the agent has no such file.
        RuntimeError: there is no clean machine.
    """

    def __init__(self, final: FinalState, machine: Machine, folder: str, script: str) -> None:
        try:
            code = machine.get(f"{folder}/{script}", limit=LIMIT)
        except GuestCallError as error:
            raise CheckFailed(f"{folder}/{script}: {error}") from None
        self._machine = open_clean(final, f"run {script}")
        self._folder, self._script = folder, script
        self.put({script: code})

    def put(self, files: Mapping[str, bytes]) -> None:
        """Write files, by their paths in the folder. Raises CheckFailed where the code left something else there."""
        for path, content in files.items():
            try:
                self._machine.put(f"{self._folder}/{path}", content)
            except GuestCallError as error:
                raise CheckFailed(f"{path} on other data: {error}") from None

    def run(self, argv: Sequence[str], timeout: float, env: Mapping[str, str] | None = None) -> CommandResult:
        """Run a command in the folder. Raises CheckFailed where it fails, takes too long or breaks the machine."""
        done = run_in(self._machine, argv, f"run {self._script}", timeout, cwd=self._folder, env=env)
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()[-400:]
            raise CheckFailed(f"{self._script} did not run through on other data: {said}")
        return done

    def get(self, path: str) -> bytes:
        """A file of the folder. Raises CheckFailed where there is none."""
        try:
            return bytes(self._machine.get(f"{self._folder}/{path}", limit=LIMIT))
        except GuestCallError as error:
            raise CheckFailed(f"{self._script} on other data: {error}") from None


def compare(final: FinalState, content: bytes, name: str, query: str, rows: list[list[Any]]) -> Outcome:
    """Whether a query gives these rows, in any order, in a DuckDB database."""
    answer = ask_duckdb(final, content, name, "duckdb", query)
    places = [f"row {k}" for k in range(1, len(answer["rows"]) + 1)]
    wrong = differences(
        Table(name, answer["columns"], answer["rows"], places), rows, Rules(), ordered=False, more=False
    )
    return not wrong, f"{name}: {listed(wrong) or f'its {len(rows)} rows are right'}"
