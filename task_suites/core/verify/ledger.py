"""The ledger: the proofs of a suite's tasks, one line of JSON per task, in a file beside the tasks.

A proof is *fresh* while all that it depends on is as it was when the task was played. It is *stale* when code that the
task reaches has changed, and *void* when the task's own file has.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from deskgym._version import __version__
from deskgym.envs.errors import TaskError
from deskgym.task_suites.core.verify.attempts import AttemptReport
from deskgym.task_suites.core.verify.inputs import ProofInputs
from deskgym.task_suites.core.verify.modules import LEDGER
from deskgym.task_suites.core.verify.platform import platform
from deskgym.task_suites.suites import ENTRIES

MADE = "what is made of task files"
"""Stands for a changed symbol where only the result of reading a task file is another."""
FEWER = "something that is no longer reached"
"""Stands for a changed symbol where the only change is that symbols are gone, or meant by others."""

_SUITES = Path(__file__).resolve().parents[2]


def ledger_path(suite: str, source: str | None = None) -> Path:
    """Where a ledger lies: in the folder of the importer or of the suite of that name, or in a folder of the user's."""
    if source is not None:
        return _SUITES / "importers" / source / LEDGER
    ours = any(entry.name == suite for entry in ENTRIES)
    return (_SUITES / suite if ours else Path(suite)) / LEDGER


@dataclass(frozen=True)
class Proof:
    """What was found when a task was played, and what it was made of then.

    Attributes:
        file: digest of the task's file.
        made: digest of what the core makes of it.
        code: digest of the symbols that it reaches.
        symbols: of each of these the digest of its own text, 4 letters each, sorted.
        platform: digest of the guest, displays and machines.
        oracle: the oracle's score in every episode: 1.
        noop: that of doing nothing: 0.
        wrong: how many wrong attempts earned 0.
        resets: episodes per attempt.
        seed: of the first of them.
        date: of the day, UTC.
        deskgym: its version.
        versions: of packages and libraries on the machine that played it.
        steps: the most that the oracle took in an episode, its DONE among them; None in proofs that were played before
            this was counted.
        seconds: what one episode per attempt took, all attempts together; None as for ``steps``.
        drawing: digest of what draws the instance, where that counts by its result.
        drawn: digest of the instance that it drew.
        mutants: how many mutants of the oracle earned 0 or a part, all but those that the task file names as
            equivalent; None where not all were played.
    """

    file: str
    made: str
    code: str
    symbols: str
    platform: str
    oracle: float
    noop: float
    wrong: int
    resets: int
    seed: int
    date: str
    deskgym: str
    versions: Mapping[str, str] = field(default_factory=dict)
    steps: int | None = None
    seconds: float | None = None
    drawing: str | None = None
    drawn: str | None = None
    mutants: int | None = None

    def void(self, inputs: ProofInputs) -> str:
        """Why the proof says nothing of the task as it is now, or ""."""
        return "its task file has changed" if self.file != inputs.file else ""

    def stale(self, inputs: ProofInputs) -> str:
        """What has changed since, or ""."""
        if self.file != inputs.file:
            return self.void(inputs)
        if self._made_otherwise(inputs):
            return "what is made of its task file has changed"
        return "the code that it uses has changed" if self.code != inputs.code else ""

    def has(self, symbol: str) -> bool:
        """Whether the task was played with a symbol of this digest."""
        return symbol in self._known

    def changed(self, inputs: ProofInputs) -> list[str]:
        """The keys of the symbols that it reaches and was not played with, sorted; of a fresh proof none."""
        if not self.stale(inputs):
            return []
        found = {key for symbol, key in inputs.symbols.items() if symbol not in self._known}
        if self._made_otherwise(inputs):
            found.add(MADE)
        return sorted(found) or [FEWER]

    def _made_otherwise(self, inputs: ProofInputs) -> bool:
        if self.made != inputs.result:
            return True
        return (self.drawing or "") != inputs.drawing and (self.drawn or "") != inputs.drawn

    def same_as(self, other: Proof) -> bool:
        """Whether both were played with the same task and code."""
        return all(getattr(self, name) == getattr(other, name) for name in ("file", "made", "code", "drawn"))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.symbols[k : k + 4] for k in range(0, len(self.symbols), 4))

    def other_versions(self, inputs: ProofInputs) -> dict[str, str]:
        """What was played with another version than is installed here: name → ``"then -> now"``."""
        now = inputs.versions
        return {
            name: f"{self.versions.get(name) or 'none'} -> {now.get(name) or 'none'}"
            for name in sorted({*self.versions, *now})
            if self.versions.get(name) != now.get(name)
        }


def proof_of(inputs: ProofInputs, reports: Sequence[AttemptReport]) -> Proof:
    """The proof that these reports, which have no problems, are."""
    resets = len(reports[0].results)
    first = reports[0].results[0]
    oracle = [result for report in reports if report.attempt.agent == "oracle" for result in report.results]
    return Proof(
        file=inputs.file,
        made=inputs.result,
        code=inputs.code,
        symbols="".join(sorted(inputs.symbols)),
        drawing=inputs.drawing or None,
        drawn=inputs.drawn or None,
        platform=platform(),
        oracle=1.0,
        noop=0.0,
        wrong=sum(report.attempt.agent.startswith("wrong:") for report in reports),
        resets=resets,
        seed=first.seed or 0,
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        deskgym=__version__,
        versions=inputs.versions,
        steps=max((result.steps for result in oracle), default=None),
        seconds=round(sum(result.seconds for report in reports for result in report.results) / resets, 1),
    )


class Ledger:
    """The proofs of a suite in a file. Two processes may write it at the same time.

    Args:
        path: the file; it need not be there.

    Raises:
        TaskError: a line is no proof.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.proofs = self._read()

    @property
    def writable(self) -> bool:
        """Whether proofs can be kept here."""
        return os.access(self.path if self.path.exists() else self.path.parent, os.W_OK)

    def keep(self, task: str, proof: Proof | None) -> None:
        """Write a proof; None removes it. One that is fresh and has more resets stays.

        Raises:
            OSError: the folder takes no file.
        """
        with self._locked():
            self.proofs = self._read()
            old = self.proofs.pop(task, None)
            if proof and old and old.same_as(proof):
                kept = max(old, proof, key=lambda each: each.resets)
                proof = replace(
                    kept, mutants=old.mutants, platform=proof.platform, seconds=proof.seconds, drawing=proof.drawing
                )
            if proof or old:
                self._write({**self.proofs, **({task: proof} if proof else {})})

    def keep_mutants(self, task: str, inputs: ProofInputs, count: int | None) -> None:
        """Write into a task's proof, if it holds, how many mutants earned 0 or a part; None: not all that must."""
        with self._locked():
            self.proofs = self._read()
            proof = self.proofs.get(task)
            if proof is not None and not proof.stale(inputs) and proof.mutants != count:
                self._write({**self.proofs, task: replace(proof, mutants=count)})

    def retain(self, tasks: Iterable[str]) -> None:
        """Remove the proofs of all other tasks: they are gone."""
        kept = set(tasks)
        with self._locked():
            proofs = self._read()
            if set(proofs) - kept:
                self._write({task: proof for task, proof in proofs.items() if task in kept})

    @contextmanager
    def _locked(self) -> Iterator[None]:
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _read(self) -> dict[str, Proof]:
        lines = self.path.read_text().splitlines() if self.path.is_file() else []
        proofs: dict[str, Proof] = {}
        reached: dict[str, str] = {}
        for k, line in enumerate(lines, 1):
            try:
                entry = json.loads(line)
                if "reached" in entry:
                    reached[entry["reached"]] = entry["symbols"]
                    continue
                task = entry.pop("task")
                proofs[task] = Proof(**{**entry, "symbols": reached[entry["symbols"]]})
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise TaskError(
                    f"{self.path}:{k}: this line is no proof ({type(error).__name__}: {error}); remove it, and play "
                    "its task with 'deskgym verify'"
                ) from error
        return proofs

    def _write(self, proofs: dict[str, Proof]) -> None:
        """Write the proofs, sorted; symbols that several tasks reach together are written once, before them."""
        self.proofs = dict(sorted(proofs.items()))
        names = {proof.symbols: blake2b(proof.symbols.encode(), digest_size=4).hexdigest() for proof in proofs.values()}
        lines = [json.dumps({"reached": name, "symbols": symbols}) for symbols, name in names.items()]
        told = [{"task": task, **_told(proof), "symbols": names[proof.symbols]} for task, proof in self.proofs.items()]
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in (*sorted(lines), *map(json.dumps, told))))
        new.replace(self.path)


def _told(proof: Proof) -> dict[str, Any]:
    return {key: value for key, value in asdict(proof).items() if value is not None}
