"""One Spider2-V task, as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Mode = Literal["corrected", "paper"]
"""Which rules judge: upstream's own, or those with its known mistakes mended."""

Variant = Literal["abstract", "verbose"]
"""The two instructions of one environment."""

Conjunction = Literal["and", "or"]
"""How the comparisons of a task make one score: the mean unless one is 0, or the maximum."""


@dataclass(frozen=True)
class Step:
    """One step of ``config`` or ``postconfig``.

    Attributes:
        type: upstream's name, such as ``"copyfile_from_host_to_guest"``.
        parameters: as in the file, checked. A host's file is an absolute ``Path``; an address (``http…``) and a file
            that upstream's runner makes (``cache/…``) stay strings. ``actions`` are steps of their own.
    """

    type: str
    parameters: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The value of a parameter."""
        return self.parameters[name]


@dataclass(frozen=True)
class Getter:
    """Where a comparison's ``result`` or ``expected`` comes from.

    Attributes:
        type: upstream's name, such as ``"vm_file"``.
        fields: the others of its keys, checked; a host's file is an absolute ``Path``. ``rules`` are plain JSON.
    """

    type: str
    fields: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The value of a field."""
        return self.fields[name]


@dataclass(frozen=True)
class Comparison:
    """One metric function of a task, and what it is called with.

    Attributes:
        metric: upstream's name of the function, such as ``"compare_table"``.
        result: what the agent made.
        expected: what is right; None where the function takes the result alone.
        options: further arguments.
    """

    metric: str
    result: Getter
    expected: Getter | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UpstreamTask:
    """One task file, and its twin's instruction.

    Attributes:
        id: ``"dbt/0aa56709-3293-5849-ad47-e377f49fd3a0"``.
        app: the folder it is in, ``"dbt"``.
        file: where it was read from.
        variant: which of the two instructions its file has.
        counterpart: the id of the file with the other one.
        instruction: what the agent is told.
        tutorial: the expert's steps, of ``verbose_instruction.txt``.
        source: addresses and names of where upstream took it from.
        related_apps: the programs that it is about, in upstream's words.
        tags: upstream's.
        action_number: how many actions the expert took.
        config: the setup, in order.
        postconfig: what is done before the comparisons.
        comparisons: what is judged, in order.
        conjunction: how their scores make one.
        infeasible: whether ``FAIL`` is the right answer; upstream's code has this, none of its tasks.
        contexts: the pre-retrieved documents: format (``"txt"``, ``"md"``, ``"html"``) → file.
        lists: upstream's list files that name it, such as ``"test_non_account"``.
        missing: files that it names and that the copy does not have, as the task file calls them.
        notes: what a reader of its score should know; they belong in ``Verdict.notes``.
    """

    id: str
    app: str
    file: Path
    variant: Variant
    counterpart: str
    instruction: str
    tutorial: str = ""
    source: tuple[str, ...] = ()
    related_apps: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    action_number: int = 0
    config: tuple[Step, ...] = ()
    postconfig: tuple[Step, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    conjunction: Conjunction = "and"
    infeasible: bool = False
    contexts: Mapping[str, Path] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def abstract(self) -> str:
        """The instruction without an expert's steps: both twins have it."""
        return self.instruction.partition("\nHere is a step-by-step tutorial")[0]

    @property
    def folder(self) -> Path:
        """The folder with the task's files."""
        return self.file.parent
