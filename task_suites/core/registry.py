"""What task files may name: hooks, checks, steps, functions and readers, as explicit mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import Call, CallMistakes, Convert, HostFile, Mistake, bind, convert
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.checks.state import Reader
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites.core.functions import FUNCTIONS
from deskgym.task_suites.core.params import BUILTIN
from deskgym.task_suites.core.script import STEPS
from deskgym.task_suites.hooks import HOOKS

Functions = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Registry:
    """The functions that task files call by name.

    Attributes:
        hooks: ``hook(setup, **arguments) -> None``.
        checks: ``check(final, **arguments) -> (passed, message)``.
        steps: ``step(screen, **arguments)``: a list of actions, or for macros a generator of bursts.
        functions: ``function(**arguments)``, for derived parameters and constraints.
        readers: ``reader(machine, **arguments)``: a program's state as JSON-able data, for the ``state`` check.
    """

    hooks: Functions = field(default_factory=lambda: dict(HOOKS))
    checks: Functions = field(default_factory=lambda: dict(CHECKS))
    steps: Functions = field(default_factory=lambda: dict(STEPS))
    functions: Functions = field(default_factory=lambda: dict(FUNCTIONS))
    readers: Functions = field(default_factory=dict)

    def extended(self, **more: Functions) -> Registry:
        """A registry with more of each kind.

        Raises:
            TaskError: a name is taken.
        """
        merged: dict[str, Functions] = {}
        for kind in ("hooks", "checks", "steps", "functions", "readers"):
            own, added = getattr(self, kind), more.get(kind, {})
            taken = set(own) & set(added) | (set(BUILTIN) & set(added) if kind == "functions" else set())
            if taken:
                raise TaskError(f"{kind} {', '.join(sorted(taken))} are taken; choose names such as 'program.name'")
            merged[kind] = {**own, **added}
        return Registry(**merged)

    def converters(self, folder: Path) -> dict[Any, Convert]:
        """How the special annotations are made of data, for a task file in ``folder``."""

        def host_file(value: Any) -> HostFile:
            name = convert(value, str, {})
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()) or not path.exists():
                raise CallMistakes([Mistake((), f"there is no {name!r} beside the task file")])
            return HostFile(path)

        def reader(value: Any) -> Reader:
            data = {value: None} if isinstance(value, str) else value
            return Reader(*bind_call(data, self.readers, "reader", {Predicate: Predicate.parse}))

        return {Predicate: Predicate.parse, HostFile: host_file, Reader: reader}


def bind_call(
    data: Any, registry: Functions, noun: str, converters: Mapping[Any, Convert]
) -> tuple[str, Callable[..., Any], dict[str, Any]]:
    """One ``{name: arguments}`` as name, function and bound arguments.

    Raises:
        CallMistakes: all that is wrong with it.
    """
    call = Call.parse(data, registry, noun)
    try:
        return call.name, registry[call.name], bind(registry[call.name], call.arguments, converters=converters)
    except CallMistakes as wrong:
        raise CallMistakes([mistake.under(call.name) for mistake in wrong.mistakes]) from None
