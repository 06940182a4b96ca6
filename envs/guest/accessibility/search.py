"""Looking for elements in what has been read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.guest.accessibility.node import STATES, Node
from deskgym.envs.guest.accessibility.program import Application, Program


class WaitFailed(TimeoutError):
    """What was waited for did not come true; the message says what it was, and what was seen instead."""


@dataclass
class Tree:
    """The accessible tree of programs, hidden parts included.

    Attributes:
        nodes: all nodes in document order, each program's root first; ``parent`` and ``children`` link them.
        complete: nothing is missing.
        cut: why something is missing, naming the program.
    """

    nodes: list[Node] = field(default_factory=list)
    complete: bool = True
    cut: str | None = None

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def find(
        self, role: str | None = None, name: str | re.Pattern[str] | None = None, states: Iterable[str] = ()
    ) -> list[Node]:
        """The nodes of that role, name (or pattern found in it) and these states."""
        wanted = state_mask(states)
        return [node for node in self.nodes if matches(node, role, name, wanted)]

    def message(self) -> dict[str, Any]:
        """As the guest protocol carries it: nodes are dicts, ``parent`` is a number in the list or -1."""
        numbers = {node: number for number, node in enumerate(self.nodes)}
        return {
            "nodes": [
                node.as_dict() | {"parent": numbers.get(node.parent, -1) if node.parent else -1} for node in self.nodes
            ],
            "complete": self.complete,
            "cut": self.cut,
        }


App = str | int | frozenset[int]
"""A program's name, its process, or its processes."""


def is_program(application: Application, app: App) -> bool:
    """Whether ``app`` is its name or process id, or has that."""
    if isinstance(app, str):
        return application.name.lower() == app.lower()
    return application.pid in ({app} if isinstance(app, int) else app)


def state_mask(states: Iterable[str]) -> int:
    """AT-SPI's bits of these states.

    Raises:
        ValueError: there is no state of that name.
    """
    mask = 0
    for state in states:
        if state not in STATES:
            raise ValueError(f"AT-SPI has no state {state!r}; it has {', '.join(STATES)}")
        mask |= 1 << STATES.index(state)
    return mask


def matches(node: Node, role: str | None, name: str | re.Pattern[str] | None, states: int) -> bool:
    """Whether a node is of that role, name (or pattern found in it) and states."""
    if node.states & states != states or (role is not None and node.role_name != role):
        return False
    if isinstance(name, re.Pattern):
        return name.search(node.name) is not None
    return name is None or node.name == name


def not_seen(
    app: App | None, role: str | None, name: str | re.Pattern[str] | None, states: Iterable[str],
    deadline: float, programs: list[Program], every: Iterable[Program],
) -> str:  # fmt: skip
    """What to say of a wait that failed: what was wanted, and what is there instead."""
    called = name.pattern if isinstance(name, re.Pattern) else name
    wanted = f"{role or 'element'}{'' if called is None else f' {called!r}'} that is {' and '.join(states)}"
    if app is not None and not programs:
        seen = [program.application.name for program in every]
        return f"no program {app!r} came to the accessibility bus within {deadline} s; there are {seen}"
    nodes = [node for p in programs for window in p.root.children for node in window.walk()]
    like = [node for node in nodes if role is None or node.role_name == role][:8]
    found = [f"{node.role_name} {node.name!r}" for node in like]
    if not found:
        common = Counter(node.role_name for node in nodes if node.role).most_common(8)
        found = ["none of that role", *([f"but {', '.join(f'{n} {kind}' for kind, n in common)}"] if common else [])]
    cuts = [program.cut for program in programs if program.cut]
    return (
        f"no {wanted} in {app or 'any program'} within {deadline} s; among {len(nodes)} elements there are "
        f"{', '.join(found)}{'; ' + '; '.join(cuts) if cuts else ''}"
    )
