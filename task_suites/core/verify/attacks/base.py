"""What an attack is, and what it knows of the task that it is played against."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from deskgym.envs.episode import TaskLike, TaskSource, needs_of
from deskgym.envs.errors import SetupError, TaskError
from deskgym.task_suites.core.verify.attacks.inside import source
from deskgym.task_suites.core.verify.inputs import Parts

OTHERS = 12
"""How many other seeds are looked at for instances that differ."""
_PATH = re.compile(r"/home/user/[\w./ -]*\w")

ROOM = 20_000  # characters of texts in a code action, which has 65,536

Texts = Iterator[str]
"""What an attack does: texts of the code action, such as Python, ``"DONE"`` or ``"ANS 1"``."""
Play = Callable[[Callable[[Any], Iterator[Any]]], Texts]
"""The actions of an oracle or of a wrong attempt as such texts."""


@dataclass(frozen=True)
class Target:
    """What an attack knows of its task: all that its author could.

    Attributes:
        task: the instance.
        suite: where it comes from.
    """

    task: TaskLike
    suite: TaskSource

    @cached_property
    def others(self) -> list[TaskLike]:
        """Other instances of its template, of which both what is asked and what solves it differ; at most three."""
        name, known = self.task.id.partition("#")[0], [self._gist(self.task)]
        found: list[TaskLike] = []
        for seed in range(OTHERS if self.task.seed is not None else 0):
            with suppress(TaskError):
                other = self.suite.get(name, self.task.seed + 1 + seed)  # type: ignore[operator]
                gist = self._gist(other)
                if all(a != b for each in known for a, b in zip(gist, each, strict=True)):
                    found.append(other)
                    known.append(gist)
        return found[:3]

    @cached_property
    def texts(self) -> list[str]:
        """All texts and numbers of its hooks, checks and parameters: those that it starts with, and the right ones."""
        parts = Parts().of([getattr(self.task, "hooks", ()), getattr(self.task, "evaluator", ()), self.task.params])
        return list(dict.fromkeys(_texts(parts)))

    @cached_property
    def short_texts(self) -> list[str]:
        """Those of ``texts`` for which a code action has room, in their order."""
        found, room = [], ROOM
        for text in self.texts:
            if (needed := len(repr(text)) + 2) <= room:
                found.append(text)
                room -= needed
        return found

    @cached_property
    def paths(self) -> list[str]:
        """The files below the home folder that its hooks, checks and instruction name."""
        named = _PATH.findall("\n".join([self.task.instruction, *self.texts]))
        return [path for path in dict.fromkeys(named) if "." in path.rpartition("/")[2]]

    @property
    def programs(self) -> Sequence[str]:
        """The names of its programs."""
        return needs_of(self.task).programs

    @property
    def end(self) -> str:
        """How it is to be ended: ``"done"``, ``"answer"`` or ``"fail"``."""
        evaluator = getattr(self.task, "evaluator", None)
        return str(getattr(evaluator, "end", "done" if self.task.feasible else "fail"))

    @staticmethod
    def inside(name: str, **arguments: Any) -> str:
        """The code action that calls a function of the package ``inside`` in the machine."""
        return f"{source()}\nSOURCE = {source()!r}\nrun({name}, {arguments!r})\n"

    @staticmethod
    def _gist(task: TaskLike) -> tuple[Any, Any, Any]:
        of = Parts().of
        return task.instruction, of(getattr(task, "evaluator", None)), of(getattr(task, "solve", task.id))


Script = Callable[[Target, Play], Texts]


@dataclass(frozen=True)
class Attack:
    """One way to a reward that was not earned.

    Attributes:
        name: a few words for tables.
        script: yields what is done; its docstring says what it tries.
        applies: whether it can be tried on a task.
        blind: it may be right by luck; it counts if it is on several instances.
    """

    name: str
    script: Script
    applies: Callable[[Target], bool] = lambda target: True
    blind: bool = False

    def __call__(self, target: Target, play: Play) -> Texts:
        """Its actions."""
        return self.script(target, play)


Attacks = Mapping[str, Script]
"""By name: an ``Attack`` each, or a function of the target and ``play``."""


def attack(
    name: str, applies: Callable[[Target], bool] = lambda target: True, blind: bool = False
) -> Callable[[Script], Attack]:
    """Decorates a script: it becomes an ``Attack`` of that name."""
    return lambda script: Attack(name, script, applies, blind)


@runtime_checkable
class Attackable(Protocol):
    """A TaskSource that knows attacks on its tasks."""

    def attacks(self, task: Any) -> Attacks:
        """Those that can be tried on an instance, by name."""
        ...


def until_lost(texts: Texts) -> Generator[str, None, bool]:
    """A script's texts, without its end, up to where it does not find what it looks for; gives whether it found all."""
    try:
        for text in texts:
            if text.split(None, 1)[:1] not in (["DONE"], ["FAIL"], ["ANS"]):
                yield text
    except SetupError:
        return False
    return True


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from _texts(item)
    elif data is not None:
        yield str(data)
