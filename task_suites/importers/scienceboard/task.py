"""One ScienceBoard task, as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from deskgym.task_suites.importers.scienceboard.check_items import CheckItem, Stop

Split = Literal["VM", "Dual", "Raw"]


@dataclass(frozen=True)
class InitItem:
    """One step of a task's setup.

    Attributes:
        func: upstream's name of the function.
        values: the fields that the file has. ``launch`` also has the ``program``, the local launcher that its command
            stands for, and its ``arguments``: the command names paths of ScienceBoard's image, and is never run.
        wait: the seconds that upstream sleeps after it; deskgym waits for a condition instead.
    """

    func: str
    values: Mapping[str, Any]
    wait: float = 0.0

    def __getitem__(self, name: str) -> Any:
        """The value of a field."""
        return self.values[name]


@dataclass(frozen=True)
class Penalty:
    """Raw: every ``invalid`` invalid steps take ``steps`` off the step limit."""

    invalid: int
    steps: int


@dataclass(frozen=True)
class Body:
    """Celestia: a body that the dump must tell of; ``kind`` is 1 for a star, 2 for a body, 3 for a deep-sky object."""

    name: str
    kind: int


@dataclass(frozen=True, kw_only=True)
class UpstreamTask:
    """One task file.

    Attributes:
        id: ``"KAlgebra/B-01"``, or with the split in front when it is not VM: ``"Dual/ChimeraX/A-01"``.
        split: the folder it is in.
        file: where it was read from.
        type: the program it is about.
        sort: ``"VM"`` or ``"Raw"``: whether it runs on a desktop or as text.
        steps: the step limit.
        instruction: what the agent is told.
        version: of the format.
        snapshot: upstream's VM snapshot, if it names one.
        ans: a hint for people, never used for scoring: upstream's, or the right one where the reference was corrected.
        query: Celestia's bodies to dump.
        penalty: Raw's penalty for invalid steps.
        initialize: the setup, in order.
        evaluate: the conditions, in order.
        notes: what a reader of its score should know; they belong in ``Verdict.notes``.
    """

    id: str
    split: Split
    file: Path
    type: str
    sort: str
    steps: int
    instruction: str
    version: str
    snapshot: str | None = None
    ans: str | None = None
    query: tuple[Body, ...] = ()
    penalty: Penalty | None = None
    initialize: tuple[InitItem, ...] = ()
    evaluate: tuple[CheckItem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def stop(self) -> Stop | None:
        """How the episode must end, when the task says so."""
        return next((item for item in self.evaluate if isinstance(item, Stop)), None)

    @property
    def difficulty(self) -> str | None:
        """The paper's difficulty, which is the step limit by another name (Table 2); None for Raw."""
        return {5: "easy", 10: "medium", 15: "hard", 20: "open"}.get(self.steps) if self.sort == "VM" else None
