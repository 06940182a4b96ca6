"""What the proof of a task depends on: its file, what is made of it, and the symbols that it reaches."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, Field, asdict, dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from deskgym.envs.episode import needs_of
from deskgym.envs.machines.packages import package_versions
from deskgym.task_suites.core.verify.data_symbols import data_key
from deskgym.task_suites.core.verify.modules import OWN_PROOFS, called_from_outside, unresolved
from deskgym.task_suites.core.verify.symbols import Index

if TYPE_CHECKING:
    from deskgym.task_suites.core.task import Task
    from deskgym.task_suites.core.template import Template

SCOPES: tuple[str, ...] = ("deskgym.task_suites", "deskgym.envs.evaluation")
"""What is followed of deskgym: what tasks are made of and judged by. The rest is the platform, see ``platform``."""
SERVICES = ("deskgym.envs.provision", "deskgym.envs.guest.companion")
"""What is followed beside it for a task with services, as far as its checks and hooks lead there."""
NO_PART = ("equivalent_mutants", "gui", "title", "tags", "difficulty", "source", "licence")
"""Keys of a task file that no proof depends on."""


@dataclass(frozen=True)
class ProofInputs:
    """All that the proof of a task depends on.

    Attributes:
        data: of its file; JSON-able. Where it changes, the proof is void.
        made: what our code makes of the file; JSON-able. Where it changes, the proof is stale.
        roots: keys of the symbols that play and judge it, in order.
        scopes: the packages in which symbols are followed.
        without: the beginnings of keys that are not followed.
        packages: Debian packages whose programs it uses.
        libraries: Python distributions that it uses in the machine.
        programs: names of what the platform must still play, such as the programs that it uses.
        judging: those of the roots that judge the final state.
        playing: those that bring it about.
        drawers: keys of the symbols that draw the instance, where they count by their result.
        draw: gives the instance that they draw; JSON-able.
    """

    data: Any
    made: Any
    roots: Sequence[str]
    scopes: frozenset[str] = frozenset(SCOPES)
    without: tuple[str, ...] = ()
    packages: Sequence[str] = ()
    libraries: Sequence[str] = ()
    programs: Sequence[str] = ()
    judging: Sequence[str] = ()
    playing: Sequence[str] = ()
    drawers: Sequence[str] = ()
    draw: Callable[[], Any] | None = None

    @cached_property
    def file(self) -> str:
        """A digest of the data."""
        return _digest(self.data)

    @cached_property
    def result(self) -> str:
        """A digest of what is made of the file."""
        return _digest(self.made)

    @cached_property
    def drawing(self) -> str:
        """A digest of the symbols that draw the instance; "" where they do not count by their result."""
        return self._index.digest(self.drawers) if self.drawers else ""

    @cached_property
    def drawn(self) -> str:
        """A digest of the instance that is drawn; it takes time, and is asked for where ``drawing`` has changed."""
        return _digest(self.draw()) if self.draw else ""

    @cached_property
    def reached(self) -> frozenset[str]:
        """The keys of the symbols that it reaches."""
        return self._index.reach(self.roots, self.without)

    @cached_property
    def code(self) -> str:
        """A digest of the symbols that it reaches."""
        return self._index.digest(self.roots, self.without)

    @cached_property
    def symbols(self) -> Mapping[str, str]:
        """The symbols that it reaches: the digest of each one's own text → its key."""
        return {self._index.symbol(key).digest: key for key in sorted(self.reached, reverse=True)}

    @cached_property
    def judging_only(self) -> frozenset[str]:
        """The symbols that only judge: judging a kept final state shows what a change in them does."""
        if not self.judging:
            return frozenset()
        return self._index.reach(self.judging, self.without) - self._index.reach(self.playing, self.without)

    def was_carried_out(self, key: str, called: Set[str]) -> bool:
        """Whether a symbol took part: it was called, or it is a constant or class of something that was."""
        if key in called or any(method in called for method in self._index.symbol(key).methods.values()):
            return True
        if self._index.is_function(key):
            return False
        return any(key in self._index.symbol(each).references for each in called & self.reached)

    @property
    def _index(self) -> Index:
        return index_of(self.scopes)

    def read(self) -> ProofInputs:
        """These inputs, their digests taken now: what is changed later does not count."""
        _ = self.file, self.result, self.drawing, self.code, self.symbols
        return self

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions of packages and libraries on this machine; "" for what is not installed."""
        installed = dict.fromkeys(self.packages, "") | package_versions(self.packages)
        return installed | {name: _library(name) for name in self.libraries}


@cache
def index_of(packages: frozenset[str]) -> Index:
    """The symbols of some packages; read once per process."""
    return Index(packages, called_from_outside())


@runtime_checkable
class Provable(Protocol):
    """A TaskSource whose proofs can be kept."""

    def proof_inputs(self, task_id: str) -> ProofInputs:
        """What the proof of a task or template depends on."""
        ...


@runtime_checkable
class Mutable(Protocol):
    """A TaskSource whose oracles can be changed."""

    def mutants(self, task: Any) -> Mapping[str, Callable[[Any], Iterator[Any]]]:
        """Changed oracles of an instance by name, such as ``"drop 3"``."""
        ...

    def equivalent_mutants(self, task_id: str) -> Mapping[str, str]:
        """Those of a task or template that solve it nevertheless: name → why."""
        ...


def inputs_of(template: Template) -> ProofInputs:
    """What the proof of a template depends on.

    The code is that of all functions that the file names, and of what they reach. What the core makes of the file
    counts by its result, the first instance: a change in the core makes stale what comes out differently.
    """
    parts = Parts()
    for call in (*template.file.params.values(), *template.file.where):
        parts.of(template.registry.functions.get(next(iter(call))))
    return _inputs(template.instance(0), given(template.file), parts)


def inputs_of_task(task: Task, data: Any, modules: Iterable[str], programs: Sequence[str] = ()) -> ProofInputs:
    """What the proof of a published benchmark's task depends on.

    Args:
        task: as it is played.
        data: what its file says; JSON-able.
        modules: names of those that decide its outcome and that no function of the task leads to.
        programs: what the platform must still play, beside the task's own programs.
    """
    parts = Parts()
    for module in modules:
        parts.key(f"{module}:*")
    return _inputs(task, data, parts, programs)


def given(file: Any) -> dict[str, Any]:
    """The keys of a dataclass that are not as by default, without those that no proof depends on."""
    return {entry.name: _plain(getattr(file, entry.name)) for entry in fields(file) if _counts(entry, file)}


def _counts(entry: Field[Any], file: Any) -> bool:
    default = entry.default if entry.default_factory is MISSING else entry.default_factory()
    return entry.name not in NO_PART and getattr(file, entry.name) != default


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _inputs(task: Task, data: Any, parts: Parts, programs: Sequence[str] = ()) -> ProofInputs:
    needs = needs_of(task)
    made = [parts.of(part) for part in (task.hooks, task.evaluator, task.solve, dict(task.wrong_attempts), needs)]
    made += [dict(task.params), task.instruction]
    parts.of(type(task))
    scopes = (*SCOPES, *parts.packages)
    if needs.services:
        scopes += SERVICES
    roots = parts.roots_in(frozenset(scopes))
    judge = Parts()
    judge.of(task.evaluator)
    judging = judge.roots_in(frozenset(scopes))
    return ProofInputs(
        [data, parts.files],
        made,
        roots,
        frozenset(scopes),
        packages=sorted(needs.packages),
        programs=tuple(sorted({*needs.programs, *programs})),
        judging=judging,
        playing=[key for key in roots if key not in judging],
    )


class Parts:
    """Takes values apart: JSON-able data that tells what they are, and the functions and classes in them.

    Attributes:
        files: digests of the files in the values that are not part of the package's code.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self._roots: dict[tuple[str, str], int] = {}
        self._open: set[int] = set()

    @property
    def packages(self) -> list[str]:
        """The packages of the functions that are neither deskgym's nor the standard library's."""
        names = {module.partition(".")[0] for module, _ in self._roots if module}
        return sorted(names - {"deskgym"} - sys.stdlib_module_names - {"builtins", "__main__"})

    def roots_in(self, scopes: frozenset[str]) -> tuple[str, ...]:
        """The keys of the functions and classes in the values, in the order in which they were found."""
        index = index_of(scopes)
        found = (index.keys_of(module, name) if module else [name] for module, name in self._roots)
        return tuple(dict.fromkeys(key for keys in found for key in keys))

    def key(self, key: str) -> int:
        """Add a symbol's key; its number among all."""
        return self._roots.setdefault(("", key), len(self._roots))

    def of(self, value: Any) -> Any:
        """The parts of a value. Of an object that is no dataclass only its type counts."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, Path):
            return self._file(value)
        if isinstance(value, partial):
            return ["call", self.of(value.func), self.of(value.args), self.of(value.keywords)]
        if isinstance(value, Mapping):
            return {str(key): self.of(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.of(item) for item in value]
        if isinstance(value, (set, frozenset)):
            return sorted((self.of(item) for item in value), key=repr)
        kind = value if hasattr(value, "__qualname__") else type(value)
        number = self._of_kind(kind)
        if isinstance(value, FunctionType):
            return [number, *self._enclosed(value)]
        if is_dataclass(value) and not isinstance(value, type):
            return [number, *(self.of(getattr(value, entry.name)) for entry in fields(value))]
        return number

    def _of_kind(self, kind: Any) -> Any:
        """The number of a function or class, or its name where it is not followed."""
        module, name = kind.__module__ or "builtins", kind.__qualname__
        ours = f"{module}.".startswith(tuple(f"{scope}." for scope in (*SCOPES, *SERVICES)))
        if not ours and (module.startswith("deskgym.") or module.partition(".")[0] in sys.stdlib_module_names):
            return name
        return self._roots.setdefault((module, name), len(self._roots))

    def _enclosed(self, function: FunctionType) -> list[Any]:
        """What a function has from where it was made, and what is attached to it."""
        if id(function) in self._open:
            return []
        self._open.add(id(function))
        cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
        found = [self.of(value) for value in (*cells, *function.__dict__.values())]
        self._open.discard(id(function))
        return found

    def _file(self, path: Path) -> Any:
        place = unresolved(path)
        if place is not None and path.exists() and not {*place.parts} & OWN_PROOFS:
            return self.key(data_key(place))
        if path.is_dir():
            return {item.name: self._file(item) for item in sorted(path.iterdir())}
        # of a file that is not there the name alone: the folder is that of whoever has the copy
        found = blake2b(path.read_bytes(), digest_size=6).hexdigest() if path.is_file() else path.name
        self.files.append(found)
        return found


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=True, default=repr)
    return blake2b(text.encode(), digest_size=6).hexdigest()


@cache
def _library(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
