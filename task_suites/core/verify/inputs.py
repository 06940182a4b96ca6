"""What the proof of a task depends on: its file, what is made of it, and the code that it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property, partial
from hashlib import blake2b
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from deskgym.envs.episode import needs_of
from deskgym.envs.machines.packages import package_versions
from deskgym.task_suites.core.verify.sources import SCOPES, SERVICES, closure, digest_of_sources

if TYPE_CHECKING:
    from deskgym.task_suites.core.task import Task
    from deskgym.task_suites.core.template import Template

_OF_SERVICES = ("deskgym.envs.provision.companion_keeper", "deskgym.envs.guest.companion.methods")
NO_PART = ("equivalent_mutants", "gui", "title", "tags", "difficulty", "source", "licence")
"""Keys of a task file that no proof depends on."""


@dataclass(frozen=True)
class ProofInputs:
    """All that the proof of a task depends on.

    Attributes:
        data: of its file, and of what the core makes of it; JSON-able.
        modules: names of our modules that decide its outcome, sorted.
        packages: Debian packages whose programs it uses.
        libraries: Python distributions that it uses in the machine.
    """

    data: Any
    modules: Sequence[str]
    packages: Sequence[str] = ()
    libraries: Sequence[str] = ()

    @cached_property
    def file(self) -> str:
        """A digest of the data."""
        text = json.dumps(self.data, sort_keys=True, ensure_ascii=True, default=repr)
        return blake2b(text.encode(), digest_size=6).hexdigest()

    @cached_property
    def code(self) -> str:
        """A digest of the modules' sources."""
        return digest_of_sources(self.modules)

    def read(self) -> ProofInputs:
        """These inputs, their digests taken now: what is changed later does not count."""
        _ = self.file, self.code
        return self

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions of packages and libraries on this machine; "" for what is not installed."""
        installed = dict.fromkeys(self.packages, "") | package_versions(self.packages)
        return installed | {name: _library(name) for name in self.libraries}


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

    The code is that of all functions that the file names, of the programs that they belong to, and of what they
    import. What the core makes of the file counts by its result, the first instance: so a change in the core makes
    stale what comes out differently, and nothing else.
    """
    task = template.instance(0)
    found = Parts()
    for call in (*template.file.params.values(), *template.file.where):
        found.of(template.registry.functions.get(next(iter(call))))
    file = {key: value for key, value in asdict(template.file).items() if key not in NO_PART}
    return _inputs(task, file, found)


def inputs_of_task(task: Task, modules: Iterable[str]) -> ProofInputs:
    """What the proof of a published benchmark's task depends on.

    Args:
        task: as it is played; its evaluator holds what its file says.
        modules: names of those that decide its outcome and that no function of the task leads to.
    """
    found = Parts()
    found.modules.update(modules)
    return _inputs(task, None, found)


def _inputs(task: Task, file: Any, found: Parts) -> ProofInputs:
    made = [found.of(part) for part in (task.hooks, task.evaluator, task.solve, dict(task.wrong_attempts))]
    needs = needs_of(task)
    made += [dict(task.params), task.instruction, found.of(needs)]
    roots = found.modules | {type(task).__module__} | set(_programs(found.modules))
    scopes = SCOPES
    if needs.services:
        roots, scopes = roots.union(_OF_SERVICES), SCOPES + SERVICES
    return ProofInputs([file, made], closure(roots, scopes=scopes), sorted(needs.packages))


def _programs(modules: Iterable[str]) -> Iterator[str]:
    """The packages of the programs that modules belong to: a program counts as a whole."""
    for name in modules:
        head, mark, rest = name.partition(".programs.")
        if mark:
            yield f"{head}{mark}{rest.partition('.')[0]}"
        elif not name.startswith("deskgym."):
            yield name.rpartition(".")[0] or name


class Parts:
    """Takes values apart: JSON-able data that tells what they are, and the modules of the functions in them."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

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
        kind = value if hasattr(value, "__qualname__") else type(value)
        self.modules.add(kind.__module__)
        if is_dataclass(value) and not isinstance(value, type):
            return [kind.__qualname__, *(self.of(getattr(value, entry.name)) for entry in fields(value))]
        return kind.__qualname__

    def _file(self, path: Path) -> Any:
        if path.is_dir():
            return {item.name: self._file(item) for item in sorted(path.iterdir())}
        # of a file that is not there the name alone: the folder is that of whoever has the copy
        return blake2b(path.read_bytes(), digest_size=6).hexdigest() if path.is_file() else path.name


def _library(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
