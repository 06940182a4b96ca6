"""A Program: a desktop or web program that tasks use, as one object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from deskgym.envs.needs import Needs
from deskgym.envs.options import CheckedFields

Functions = Mapping[str, Callable[..., Any]]
KINDS = ("hooks", "checks", "macros", "functions", "readers", "attacks")
_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True, eq=False)
class Program(CheckedFields):
    """A program: what it consists of, what it needs, and what task files can say about it.

    It is ``PROGRAM`` of its folder ``NAME/__init__.py``. See ``docs/programs.md`` for how to add one.

    Attributes:
        name: its folder's name; all that task files call of it begins with ``NAME.``, such as ``kalgebra.open``.
        title: what people call it.
        packages: the Debian packages that it consists of. Written out as texts in the call of ``Program``: they are
            read without importing anything, before anything is installed.
        needs: what every task with it needs, beside its packages: memory, prepared layers, services.
        hooks: ``hook(setup, **arguments)``: bring it into a state, such as ``NAME.open``.
        checks: ``check(final, **arguments) -> (passed, message)``.
        macros: ``macro(screen, **arguments)``: a generator of bursts for oracles and wrong attempts.
        functions: ``function(**arguments)``: for parameters and constraints.
        readers: ``reader(machine, **arguments)``: its state as JSON-able data, for the ``state`` check.
        attacks: ``attack(target, play)``: yields code actions that try to earn a reward by what only this program has;
            see ``deskgym.task_suites.core.verify.attacks``.
        parts: anything else that others may use of it by name, such as checks that only an importer calls.

    Raises:
        ValueError: a name is not legal; the message says what is.
    """

    name: str
    title: str
    packages: tuple[str, ...] = ()
    needs: Needs = field(default_factory=Needs)
    hooks: Functions = field(default_factory=dict)
    checks: Functions = field(default_factory=dict)
    macros: Functions = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    readers: Functions = field(default_factory=dict)
    attacks: Functions = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.match(self.name):
            raise ValueError(
                f"a program's name is of small letters, digits and _, such as 'my_program', got {self.name!r}"
            )
        for kind in KINDS:
            for name in getattr(self, kind):
                if not name.startswith(f"{self.name}."):
                    raise ValueError(f"{self.title}: {kind} {name!r}; legal are names such as '{self.name}.open'")

    @property
    def all_needs(self) -> Needs:
        """What every task with it needs, its packages among it."""
        return Needs.merged(self.needs, Needs(programs=(self.name,), packages=self.packages))

    def __repr__(self) -> str:
        """Its name, and how many functions of each kind it has."""
        counts = {entry.name: len(getattr(self, entry.name)) for entry in fields(self) if entry.name in KINDS}
        return f"Program({self.name!r}, {', '.join(f'{count} {kind}' for kind, count in counts.items())})"
