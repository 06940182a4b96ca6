"""Judges a turn's results in a clean machine: the reference runs there, pickles are loaded there, eval.py runs there.

Each step is a kernel session of its own, which leaves nothing to the next: the reference's; one that loads the agent's
pickles, whatever they do, and gives their values as data; and one that has clean pickles of these values for eval.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.machines.kernels import Kernel
from deskgym.task_suites.importers.tapilot import scripts
from deskgym.task_suites.importers.tapilot.outputs import (
    Statement,
    corrected_verdicts,
    paper_verdicts,
    slots,
    statements,
)
from deskgym.task_suites.importers.tapilot.scripts import PRED, PREPARE, REF
from deskgym.task_suites.importers.tapilot.turn import Scoring, UpstreamTurn
from deskgym.task_suites.table_analysis.guest import RESULTS

TIMEOUT = 60.0
"""Seconds of the reference's code and of the evaluation code; version 1.0's README runs them with this limit."""
LOADING = 20.0
"""Seconds for the agent's pickles to load."""
MAX_FILES = 32
MAX_FILE = 15 << 20
MAX_RESULTS = 30 << 20
"""Bytes of one result file, and of all together: a kernel's folder holds each of them three times."""
PICKLES = (".pkl", ".pickle", ".p", ".joblib")
PLAIN = (".png", ".jpg", ".jpeg", ".csv", ".txt", ".json", ".npy")
"""Files that are handed to eval.py as they are: their readers run no code."""

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Reference:
    """What the reference makes of a turn.

    Attributes:
        results: its files, by name.
        slots: how many verdicts each statement of eval.py prints; only in ``"corrected"`` scoring.
        idle: the intents that are right before the agent does anything, by place: the state of the turns before has
            what the template's last lines save. They judge nobody; only in ``"corrected"`` scoring.
        error: why the turn cannot be judged, or None.
        lost: it is this project's doing: what the reference saves cannot be carried to eval.py.
    """

    results: Files = field(default_factory=dict)
    slots: Mapping[int, int] = field(default_factory=dict)
    idle: frozenset[int] = frozenset()
    error: str | None = None
    lost: bool = False


def begin_turn(kernel: Kernel, turn: UpstreamTurn, files: Files, tables: Sequence[str], preload: Sequence[str]) -> None:
    """Open a kernel that stands at the beginning of a turn: its history has run, its result folders are empty.

    Raises:
        GuestCallError: the history's code failed.
        MachineError: the machine broke.
    """
    cells = [scripts.PREPARE, scripts.history_cell(turn, tables), scripts.EMPTY]
    kernel.open(files, [cell for cell in cells if cell.strip()], preload=preload, timeout=TIMEOUT)
    if turn.action != "plot_qa":
        kernel.forget([])  # a figure of the history is no result of this turn
    if turn.template is not None:
        kernel.run(scripts.local_paths(scripts.head_cell(turn.template, bool(turn.history_code.strip())), tables))


def finished(kernel: Kernel, turn: UpstreamTurn, tables: Sequence[str]) -> dict[str, bytes]:
    """The result files of the turn in the kernel: those that are there, and what the template's last lines save."""
    expected = scripts.result_names(turn.eval_code, turn.template.tail if turn.template else "")
    own = results_in(kernel, PRED, expected)
    cell = scripts.finish_cell(turn.template, tables) if turn.template else ""
    if not cell:
        return own
    kernel.run(cell, timeout=TIMEOUT, echo=False)
    saved = results_in(kernel, PRED, expected)
    return {**own, **{name: data for name, data in saved.items() if data}}


def results_in(kernel: Kernel, folder: str, expected: Sequence[str]) -> dict[str, bytes]:
    """The files in a result folder of the kernel that is open: those expected, and whatever else lies there."""
    try:
        listed = kernel.run(scripts.list_cell(folder), timeout=10.0, echo=False).stdout.splitlines()
    except GuestCallError:
        listed = []
    found: dict[str, bytes] = {}
    left = MAX_RESULTS
    for name in list(dict.fromkeys([*expected, *listed]))[:MAX_FILES]:
        if name.lower().endswith(PICKLES + PLAIN) and "/" not in name and not name.startswith("."):
            try:
                found[name] = kernel.get(f"{folder}/{name}", limit=min(MAX_FILE, left))
            except GuestCallError:
                continue
            left -= len(found[name])
    return found


class Judge:
    """Judges one turn in a clean machine.

    Args:
        kernel: of the clean machine; nothing of the agent has run there.
        turn: which turn.
        files: of the working folder: the tables and the private library.
        tables: the names of the tables.
        scoring: ``"paper"`` reads eval.py's output as the published harness of the turn's layout does, and counts what
            fails in the reference against the agent; ``"corrected"`` scores each intent on its own, and calls what
            fails in the reference an error.
        preload: modules that the code imports and that take long to load.
    """

    def __init__(
        self,
        kernel: Kernel,
        turn: UpstreamTurn,
        files: Files,
        tables: Sequence[str],
        scoring: Scoring,
        preload: Sequence[str] = (),
    ) -> None:
        self.kernel, self.turn, self.files, self.tables, self.scoring = kernel, turn, files, tables, scoring
        self._preload = preload
        self._code = scripts.local_paths(turn.eval_code, tables)
        self._expected = scripts.result_names(turn.eval_code, turn.reference_all, turn.reference_code)

    def reference(self) -> Reference:
        """Run the reference, and see whether eval.py accepts its results; the same each time.

        Raises:
            MachineError: the machine broke.
        """
        try:
            self._open({}, scripts.reference_cell(self.turn, self.tables))
            results = results_in(self.kernel, REF, self._expected)
        except GuestCallError as error:
            return Reference(error=f"the reference's code fails: {error!s:.800}")
        if not results:
            return Reference(error="the reference's code saves no results")
        told = ""
        try:
            if self.scoring == "paper":
                lost = self._lost(results)
                return Reference(results, error=lost or None, lost=bool(lost))
            found, told = self._statements(results, results)
            expected = slots(found, self.turn.intents)
        except (ValueError, GuestCallError) as error:
            return Reference(results, error=f"the evaluation code {error!s:.800}{told and f' ({told:.300})'}")
        return Reference(results, expected, self._idle(results, expected))

    def _lost(self, results: Files) -> str:
        """Why eval.py calls the reference's own results wrong only when they have been carried to it; or ``""``."""
        output, told = self._printed(results, results)
        carried = paper_verdicts(output, self.turn.intents, self.turn.layout)
        if all(carried):
            return ""
        direct, _ = self._printed(results, results, trusted=True)
        if paper_verdicts(direct, self.turn.intents, self.turn.layout) == carried:
            return ""
        return f"what the reference saves does not survive its way to the evaluation code: {told or output:.300}"

    def _idle(self, results: Files, expected: Mapping[int, int]) -> frozenset[int]:
        """The intents that are right where the agent has done nothing at all."""
        try:
            begin_turn(self.kernel, self.turn, self.files, self.tables, self._preload)
            untouched = finished(self.kernel, self.turn, self.tables)
            if not untouched:
                return frozenset()
            found, _ = self._statements(results, untouched)
        except (GuestCallError, ValueError):
            return frozenset()  # nothing can be saved, or what is saved cannot be judged
        return frozenset(place for place, (right, _) in enumerate(corrected_verdicts(found, expected)) if right)

    def verdicts(self, reference: Reference, results: Files) -> list[tuple[bool, str]]:
        """Whether each intent is right, and why not: what cannot be judged although the reference can is wrong.

        Args:
            reference: what ``reference`` gave; without an error, unless the scoring is the paper's.
            results: the agent's files, by name: any bytes.

        Raises:
            MachineError: the machine broke otherwise than by a guest that is lost, which files can bring about.
        """
        if reference.error is not None:
            return [(False, reference.error)] * self.turn.intents
        if not results:
            return [(False, f"nothing was saved in {PRED}/")] * self.turn.intents
        try:
            if self.scoring == "corrected":
                found, told = self._statements(reference.results, results)
                return _explained(corrected_verdicts(found, reference.slots), told)
            output, told = self._printed(reference.results, results)
        except (GuestCallError, GuestLost, ValueError) as error:
            return [(False, f"it could not be compared: {error!s:.500}")] * self.turn.intents
        right = paper_verdicts(output, self.turn.intents, self.turn.layout)
        return _explained([(item, "" if item else f"eval.py printed {output!r:.200}") for item in right], told)

    def _statements(self, reference: Files, results: Files) -> tuple[list[Statement], str]:
        """What each statement of eval.py did, and what is to be told about files that were left out."""
        told = self._prepare(reference, results)
        execution = self.kernel.run(scripts.EVALUATE, timeout=TIMEOUT, echo=False)
        if execution.status != "ok":
            raise GuestCallError(f"could not be run: {execution.status} {execution.trace[-300:]}", "evaluation")
        return statements(json.loads(self.kernel.get("verdicts.json"))), told

    def _printed(self, reference: Files, results: Files, trusted: bool = False) -> tuple[str, str]:
        """What eval.py prints, as published: with the error that it ended with, in the manner of its harness."""
        told = self._prepare(reference, results, trusted)
        execution = self.kernel.run(self._code, timeout=TIMEOUT, echo=False)
        if execution.status == "ok":
            return execution.stdout, told
        last = execution.trace.strip().splitlines()[-1:] or [execution.status]
        return (f"{execution.stdout}\nerror: {last[0]}" if self.turn.layout == "folders" else f"error: {last[0]}"), told

    def _prepare(self, reference: Files, results: Files, trusted: bool = False) -> str:
        """Open the session in which eval.py runs, with results that it is safe to load: ``trusted`` as they are."""
        pickles = [name for name in results if name.lower().endswith(PICKLES) and not trusted]
        encoded, told = self._encoded(pickles, results)
        kept = [name for name in pickles if name in encoded]
        files = {"eval.py": self._code.encode()}
        files |= {f"{REF}/{name}": data for name, data in reference.items()}
        files |= {f"{PRED}/{name}": results[name] for name in results if name not in pickles}
        files |= {f"encoded_{number}": encoded[name] for number, name in enumerate(kept)}
        self._open(files)
        cleaned = self.kernel.run(scripts.clean_cell(kept), timeout=TIMEOUT, echo=False)
        return "; ".join(filter(None, [told, cleaned.stdout.strip(), cleaned.trace.strip()[-300:]]))

    def _open(self, files: Files, *cells: str) -> None:
        """Open a session; ``files`` are put beside the turn's own one by one, since together they may be large."""
        self.kernel.open(self.files, [PREPARE], preload=self._preload, timeout=TIMEOUT)
        for name, data in files.items():
            self.kernel.put(name, data)
        for cell in cells:
            execution = self.kernel.run(cell, timeout=TIMEOUT, echo=False)
            if execution.status != "ok":
                raise GuestCallError(f"{execution.status}: {execution.trace[-1500:]}", "cell_failed")

    def _encoded(self, names: Sequence[str], results: Files) -> tuple[dict[str, bytes], str]:
        """The values of pickles as data, loaded in a session that ends with it; those that cannot be are left out."""
        from deskgym.task_suites.table_analysis.guest.comparators import answers

        if not names:
            return {}, ""
        try:
            self._open({f"{PRED}/{name}": results[name] for name in names})
            told = self.kernel.run(scripts.unpickle_cell(names), timeout=LOADING, echo=False)
            wanted = {f"result_{number}": {"type": "value", "models": True} for number in range(len(names))}
            taken = answers(self.kernel.take(f"{RESULTS}:take", {"wanted": wanted}, timeout=LOADING))
        except (GuestCallError, ValueError) as error:
            return {}, f"the results could not be loaded: {error!s:.300}"
        found: dict[str, bytes] = {}
        for number, name in enumerate(names):
            value = taken.get(f"result_{number}", {}).get("ok")
            if isinstance(value, bytes):
                found[name] = value
        return found, told.stdout.strip()[:500]


def _explained(verdicts: Sequence[tuple[bool, str]], told: str) -> list[tuple[bool, str]]:
    return [(right, message if right or not told else f"{message} ({told})"[:1000]) for right, message in verdicts]
