"""What task files may name: hooks, checks, steps, functions and readers, as explicit mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import Call, CallMistakes, Convert, HostFile, Mistake, bind, convert
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.checks.state import Reader
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.discovery import load_program
from deskgym.task_suites.core.functions import FUNCTIONS
from deskgym.task_suites.core.params import BUILTIN
from deskgym.task_suites.core.script import STEPS
from deskgym.task_suites.hooks import HOOKS

Functions = Mapping[str, Callable[..., Any]]
KINDS = ("hooks", "checks", "steps", "functions", "readers")


class Names(Mapping[str, Callable[..., Any]]):
    """Functions of one kind by name: some of their own, and those of programs, such as ``kalgebra.open``.

    A program is loaded when one of its names is asked for; looking through all names loads all.

    Args:
        kind: of ``KINDS``.
        own: those that are no program's.
        programs: the programs' names.
        folders: where programs are found beside the package's own.
    """

    def __init__(self, kind: str, own: Functions, programs: Sequence[str] = (), folders: Sequence[str] = ()) -> None:
        self.kind, self.own, self.programs, self.folders = kind, dict(own), tuple(programs), tuple(folders)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        if name in self.own:
            return self.own[name]
        program = str(name).partition(".")[0]
        if program not in self.programs:
            raise KeyError(name)
        return self._of(program)[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        for program in self.programs:
            yield from self._of(program)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _of(self, program: str) -> Functions:
        kind = "macros" if self.kind == "steps" else self.kind
        return getattr(load_program(program, self.folders), kind)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Registry:
    """The functions that task files call by name.

    Attributes:
        hooks: ``hook(setup, **arguments) -> None``.
        checks: ``check(final, **arguments) -> (passed, message)``.
        steps: ``step(screen, **arguments)``: a list of actions, or for macros a generator of bursts.
        functions: ``function(**arguments)``, for derived parameters and constraints.
        readers: ``reader(machine, **arguments)``: a program's state as JSON-able data, for the ``state`` check.
        programs: the names of the programs that task files may use.
        folders: where programs are found beside the package's own.
    """

    hooks: Functions = field(default_factory=lambda: dict(HOOKS))
    checks: Functions = field(default_factory=lambda: dict(CHECKS))
    steps: Functions = field(default_factory=lambda: dict(STEPS))
    functions: Functions = field(default_factory=lambda: dict(FUNCTIONS))
    readers: Functions = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def with_programs(self, programs: Sequence[str], folders: Sequence[str] = ()) -> Registry:
        """A registry with all that these programs offer; none of them is loaded yet."""
        names = {kind: Names(kind, getattr(self, kind), programs, folders) for kind in KINDS}
        return Registry(**names, programs=tuple(programs), folders=tuple(folders))

    def extended(self, **more: Functions) -> Registry:
        """A registry with more of each kind.

        Raises:
            TaskError: a name is taken.
        """
        merged: dict[str, Any] = {}
        for kind in KINDS:
            own, added = getattr(self, kind), more.get(kind, {})
            taken = {name for name in added if name in own or (kind == "functions" and name in BUILTIN)}
            if taken:
                raise TaskError(f"{kind} {', '.join(sorted(taken))} are taken; choose names such as 'program.name'")
            merged[kind] = {**own, **added}
        return replace(self, **merged)

    def needs(self, programs: Iterable[str]) -> Needs:
        """What these programs need together."""
        return Needs.merged(*(load_program(name, self.folders).all_needs for name in programs))

    def programs_in(self, data: Any) -> set[str]:
        """The programs whose hooks, checks, steps, functions or readers a part of a task file names."""
        if isinstance(data, Mapping):
            named = {program for key in data if (program := self._program(key))}
            return named.union(*map(self.programs_in, data.values()))
        if isinstance(data, list):
            return set().union(*map(self.programs_in, data))
        return (
            {data.partition(".")[0]}
            if isinstance(data, str) and self._program(data) and data in self.readers
            else set()
        )

    def _program(self, name: Any) -> str:
        program, dot, _ = str(name).partition(".")
        return program if dot and program in self.programs else ""

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
