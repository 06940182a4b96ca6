"""Checks of a program's state, read by a registered reader and tested by a predicate."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown, unknown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.machines.base import Machine


@dataclass(frozen=True)
class Reader:
    """Reads a program's state from a machine, as JSON-able data.

    A task file writes its registered name, or ``{name: arguments}``.

    Attributes:
        name: as registered.
        function: takes the machine and the arguments.
        arguments: by name.
    """

    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, final: FinalState) -> Any:
        """The state, read once per final state and arguments."""
        key = f"reader:{self.name}:{json.dumps(self.arguments, sort_keys=True, default=str)}"
        return final.read_once(key, lambda machine: self._read(machine))

    def _read(self, machine: Machine) -> Any:
        return self.function(machine, **self.arguments)


def lookup(data: Any, at: str | list[str | int] | None) -> Any:
    """The part of JSON-like data at a path such as ``"rows.0.name"``; a list of keys where a key has a dot.

    Raises:
        CheckFailed: there is no such part; the message says how far the path led.

    Examples:
        >>> lookup({"rows": [{"name": "x"}]}, "rows.-1.name")
        'x'
    """
    keys = at.split(".") if isinstance(at, str) else list(at or [])
    for k, key in enumerate(keys):
        so_far = ".".join(map(str, keys[:k])) or "the top"
        if isinstance(data, Mapping):
            if str(key) not in data:
                raise CheckFailed(f"at {so_far}: {unknown('key', str(key), data)}")
            data = data[str(key)]
        elif isinstance(data, (list, tuple)):
            try:
                data = data[int(key)]
            except (ValueError, IndexError):
                raise CheckFailed(f"at {so_far}: no item {key!r} in a list of {len(data)}") from None
        else:
            raise CheckFailed(f"at {so_far}: {shown(data)} has no parts, but {key!r} was looked for")
    return data


def state(
    final: FinalState, read: Reader, that: Predicate, at: str | list[str | int] | None = None
) -> tuple[bool, str]:
    """What a reader reads, at a path in it, fits a predicate.

    Example:
        ```yaml
        - state: {read: program.settings, at: view.grid, that: {equals: true}}
        ```
    """
    value = lookup(read(final), at)
    where = f" at {at}" if at else ""
    return that(value), f"{read.name}{where} is {shown(value)}; right is {that}"


CHECKS: Mapping[str, CheckFunction] = {"state": state}
