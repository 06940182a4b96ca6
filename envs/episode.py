"""What an environment knows of tasks: the protocols between an episode and whoever supplies its tasks.

``DesktopEnv`` draws a ``TaskLike`` from a ``TaskSource``, lets it prepare the machine, and hands it the
``FinalState`` to evaluate. ``deskgym.task_suites`` implements these; nothing here imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from deskgym.envs.errors import GuestCallError, GuestLost, ServiceError, SetupError
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import NO_NEEDS, Needs
from deskgym.envs.observation.elements import Element as Element
from deskgym.envs.observation.screen import Screen as Screen

if TYPE_CHECKING:
    from deskgym.envs.action.actions import Action
    from deskgym.envs.provision.companions import Companion

Stop = Literal["done", "fail", "answer", "limit"]
"""How an episode ended: the agent's DONE, FAIL or ANS, or its step limit."""

T = TypeVar("T")
_UNREADABLE = (LookupError, ValueError, TypeError, ArithmeticError, RecursionError)
"""What a reader raises over data that it did not expect."""


@dataclass
class FinalState:
    """What an evaluator gets: the machine as the episode left it, and how it ended.

    Attributes:
        machine: still running; evaluators read from it, and may do what reading takes, such as pressing a tab.
        stop: how the episode ended.
        answer: the text of ANS, or None.
        task_id: the instance that was run.
        seed: the seed that drew it, or None for a task without parameters.
        steps: how many steps the agent took.
        acted: whether it did anything in them: what cannot be read is then its doing, see ``blames_agent``.
        reads: what was read through ``read_once``, by key: the value, or the exception that it raised.
        scratch: what readers keep for each other, such as where a program's parts are; never recorded.
        clean_machine: gives a second machine, as new, for what must be executed, with the guest plugins and libraries
            that it is called with, see ``MachineManager.clean_machine``; None where there is none.
    """

    machine: Machine
    stop: Stop
    answer: str | None = None
    task_id: str = ""
    seed: int | None = None
    steps: int = 0
    acted: bool = False
    reads: dict[str, tuple[Any, Exception | None]] = field(default_factory=dict, init=False, repr=False)
    scratch: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    clean_machine: Callable[..., Machine] | None = field(default=None, repr=False)

    @property
    def companions(self) -> Mapping[str, Companion]:
        """The services that run beside the machine, by name: what they hold is the truth about them."""
        return self.machine.companions

    def baseline(self, key: str) -> Any:
        """What a check's baseline read when the setup was done, see ``evaluation.evaluator.with_baseline``.

        Raises:
            RuntimeError: it was not read.
        """
        return self.read_once(f"baseline:{key}", lambda machine: _known(machine.baselines, key))

    def blames_agent(self, error: Exception) -> bool:
        """Whether this error says that the state cannot be read, and the agent may have made it so.

        Whatever a program, its window, a file or a service does not let anybody read is taken for the agent's doing
        once it has acted. What breaks otherwise is the evaluator's own mistake, or the host's.
        """
        if not self.acted or self.machine.host_lost:
            return False
        if isinstance(error, GuestLost):  # a machine that is gone is a fault
            return self.machine.alive
        if isinstance(error, (SetupError, GuestCallError, ServiceError)):
            return True
        read = any(error is failure for _, failure in self.reads.values())
        return read and isinstance(error, _UNREADABLE)

    def read_once(self, key: str, read: Callable[[Machine], T]) -> T:
        """``read(machine)``, carried out at most once per key, so that all checks see the same state.

        A read that raises is not repeated either: the same exception is raised again.
        """
        if key not in self.reads:
            try:
                self.reads[key] = (read(self.machine), None)
            except Exception as error:
                self.reads[key] = (None, error)
        value, failure = self.reads[key]
        if failure is not None:
            raise failure
        return value  # type: ignore[no-any-return]


def _known(baselines: Mapping[str, Any], key: str) -> Any:
    if key not in baselines:
        raise RuntimeError(f"nothing was read at the episode's start for {key!r}; there is {sorted(baselines)}")
    return baselines[key]


Bursts = Iterator[list["Action"]]
"""What a script yields: the actions that a person would do without looking at the screen again.

A burst is never empty. ``wait``, ``done``, ``fail`` and ``answer`` stand alone in theirs, so that a burst is
either input only (one code action) or exactly one of the words WAIT, DONE, FAIL, ANS.
"""

BurstOrProgram: TypeAlias = "list[Action] | str"
"""A script for ``action="code"`` alone may also yield Python programs, each one code action."""

Script = Callable[[Screen], Bursts]
"""Something that plays an episode: it looks at the screen between its bursts."""


@runtime_checkable
class TaskLike(Protocol):
    """One task instance, all parameters drawn.

    It may also have ``needs`` (a ``Needs``), ``setup_key`` and ``context``; see the functions ``needs_of``,
    ``setup_key`` and ``context_of``.

    Attributes:
        id: such as ``"kalgebra/plot-2d#1234"``; the same id is the same instance everywhere and for ever.
        instruction: what the agent is asked.
        verbose: the same as steps to follow, or empty.
        max_steps: the default step limit.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        tags: free words to filter by.
        source: where it comes from, with its licence.
        params: the drawn and derived parameters, JSON-able.
        split: ``"train"``, ``"test"``, or None where there are no splits.
        seed: the instance's seed, None for a task without parameters.
        feasible: False where FAIL is the right answer.
        wrong_attempts: scripts that must not earn the reward, by name.
        vocabulary: texts that the discrete action may type; empty leaves it to the instruction's own words.
        keys: keys and combinations that it may press beside the usual ones.
    """

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def instruction(self) -> str: ...  # noqa: D102
    @property
    def verbose(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def max_steps(self) -> int: ...  # noqa: D102
    @property
    def difficulty(self) -> str: ...  # noqa: D102
    @property
    def tags(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def source(self) -> str: ...  # noqa: D102
    @property
    def params(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def split(self) -> str | None: ...  # noqa: D102
    @property
    def seed(self) -> int | None: ...  # noqa: D102
    @property
    def feasible(self) -> bool: ...  # noqa: D102
    @property
    def wrong_attempts(self) -> Mapping[str, Callable[[Any], Iterator[Any]]]: ...  # noqa: D102
    @property
    def vocabulary(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def keys(self) -> Sequence[str]: ...  # noqa: D102

    def prepare(self, machine: Machine) -> None:
        """Run the setup hooks on a freshly restored machine; returns when the first observation is ready.

        Raises:
            SetupError: a hook did not reach its state; the message names task, hook, and what was seen.
            MachineError: the machine broke.
        """
        ...

    def evaluate(self, final: FinalState) -> Verdict:
        """Check the final state. Never raises: what goes wrong is the verdict's ``error``."""
        ...

    def oracle(self, screen: Any) -> Iterator[Any]:
        """Solve the task through an agent's actions: bursts of them on a desktop, texts in a kernel (no screen)."""
        ...


def needs_of(task: TaskLike) -> Needs:
    """What a task needs of its machine: its attribute ``needs``, or nothing where it has none."""
    own = getattr(task, "needs", None)
    return NO_NEEDS if own is None else own


def context_of(task: TaskLike) -> str:
    """Documents about a task, for the observation ``context``: its attribute ``context``, or none."""
    return str(getattr(task, "context", ""))


def take_baselines(task: TaskLike, machine: Machine) -> None:
    """Read what the task's checks will compare with: its method ``take_baselines``, if it has one.

    Its ``prepare`` does so too; this is for a machine that was restored to what ``prepare`` left before.

    Raises:
        SetupError: it cannot be read.
    """
    take = getattr(task, "take_baselines", None)
    if take is not None:
        take(machine)


def setup_key(task: TaskLike) -> str:
    """What a task's setup is known by: tasks of one environment with equal keys leave equal machines behind it.

    A machine whose snapshots keep running programs is restored to such a snapshot where a task with this key was set
    up before, and ``prepare`` is not called. A task says so by an attribute ``setup_key``; ``""`` has ``prepare``
    called each time. Without the attribute it is the task's id and seed.
    """
    own = getattr(task, "setup_key", None)
    return f"{task.id} {task.seed}" if own is None else str(own)


@runtime_checkable
class TaskSource(Protocol):
    """Where an environment gets its tasks. It is picklable, and making one reads nothing."""

    def ids(self, split: str | None = None) -> list[str]:
        """The ids of all tasks and templates (those that have instances in ``split``), in order."""
        ...

    def get(self, task_id: str, seed: int | None = None) -> TaskLike:
        """One instance: of a template by ``seed`` (0 if None), or by an instance id such as ``"a/b#1234"``.

        Raises:
            TaskError: there is no such id; the message lists near matches.
        """
        ...

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> TaskLike:
        """Draw an instance from the tasks that match ``pattern`` (id, glob, or None for all) and ``split``.

        Raises:
            TaskError: nothing matches, or no instance of the split was found.
        """
        ...


@runtime_checkable
class KnowsNeeds(Protocol):
    """A TaskSource that says what its tasks need before one of them is drawn."""

    def needs(self, pattern: str | None = None, split: str | None = None) -> Needs:
        """What all tasks that match need together.

        Raises:
            TaskError: nothing matches.
        """
        ...
