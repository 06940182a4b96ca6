"""A Task: instruction, setup hooks, evaluator, limits, an oracle that solves it and attempts that must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.episode import Bursts, FinalState, Screen, Script
from deskgym.envs.errors import MachineError, SetupError
from deskgym.envs.evaluation.evaluator import Evaluator
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import NO_NEEDS, Needs
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.core.setup_key import digest


@dataclass
class Setup:
    """What a hook gets.

    Attributes:
        machine: freshly restored.
        task_id: for messages.
    """

    machine: Machine
    task_id: str = ""
    _screen: Screen | None = field(default=None, init=False, repr=False)

    @property
    def companions(self) -> Mapping[str, Companion]:
        """The services that run beside the machine, by name."""
        return self.machine.companions

    def companion(self, service: str) -> Companion:
        """That of a service. Raises SetupError where the task has no such service."""
        if service not in self.companions:
            names = ", ".join(self.companions) or "none: add one to the needs of the task's program"
            raise SetupError(f"the task has no service {service!r}; it has {names}")
        return self.companions[service]

    @property
    def screen(self) -> Screen:
        """The machine's accessible elements."""
        if self._screen is None:
            self._screen = Screen(self.machine)
        return self._screen


@dataclass(frozen=True)
class Hook:
    """One step of a task's setup.

    Attributes:
        name: as in the task file, such as ``"launch"``.
        run: returns when its state is reached; raises when it is not.
    """

    name: str
    run: Callable[[Setup], None]


@dataclass(frozen=True)
class Task:
    """One task, all parameters drawn; implements ``deskgym.envs.episode.TaskLike``.

    A TaskSuite makes them of task files. Python code may make its own.

    Attributes:
        id: such as ``"kalgebra/plot-2d#1234"``.
        instruction: what the agent is asked.
        evaluator: checks the final state.
        solve: the oracle's script.
        wrong_attempts: scripts that must not earn the reward, by name.
        hooks: the setup, in order.
        title: a few words for tables.
        verbose: the instruction as steps to follow, or empty.
        max_steps: the default step limit.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        tags: free words to filter by.
        source: where it comes from, with its licence.
        params: drawn and derived parameters, JSON-able.
        split: the split it belongs to, or None where there are none.
        seed: of the instance; None for a task without parameters.
        vocabulary: texts that the discrete action may type; empty leaves it to the instruction's own words.
        keys: keys and combinations, such as ``"ctrl+s"``, that it may press beside the usual ones.
        needs: what it needs of its machine.
    """

    id: str
    instruction: str
    evaluator: Evaluator
    solve: Script
    wrong_attempts: Mapping[str, Script] = field(default_factory=dict)
    hooks: Sequence[Hook] = ()
    title: str = ""
    verbose: Sequence[str] = ()
    max_steps: int = 25
    difficulty: str = "medium"
    tags: Sequence[str] = ()
    source: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    split: str | None = None
    seed: int | None = None
    vocabulary: Sequence[str] = ()
    keys: Sequence[str] = ()
    needs: Needs = NO_NEEDS

    @property
    def feasible(self) -> bool:
        """False where FAIL is the right answer."""
        return self.evaluator.end != "fail"

    @property
    def setup_key(self) -> str:
        """The same for tasks with the same setup, see ``deskgym.envs.episode.setup_key``.

        Hooks of which nobody can tell what they do, such as lambdas, are taken to be this instance's alone.
        """
        return digest(self.hooks) or f"{self.id} {self.seed}"

    def prepare(self, machine: Machine) -> None:
        """Run the hooks on a freshly restored machine.

        Raises:
            SetupError: a hook did not reach its state; names task and hook, and says what was seen.
            MachineError: the machine broke.
        """
        setup = Setup(machine, self.id)
        for k, hook in enumerate(self.hooks, 1):
            try:
                hook.run(setup)
            except MachineError:
                raise
            except Exception as error:
                what = str(error) if isinstance(error, SetupError) else f"{type(error).__name__}: {error}"
                raise SetupError(f"{self.id}: setup {k} of {len(self.hooks)}, {hook.name}: {what}") from error
        self.take_baselines(machine)

    def take_baselines(self, machine: Machine) -> None:
        """Read what the checks will compare with, such as a database's rows.

        Raises:
            SetupError: it cannot be read.
        """
        try:
            machine.baselines = self.evaluator.take_baselines(Setup(machine, self.id))
        except MachineError:
            raise
        except Exception as error:
            raise SetupError(f"{self.id}: what a check compares with: {type(error).__name__}: {error}") from error

    def evaluate(self, final: FinalState) -> Verdict:
        """Check the final state; never raises."""
        return self.evaluator.evaluate(final)

    def oracle(self, screen: Screen) -> Bursts:
        """Solve the task through an agent's actions."""
        return self.solve(screen)
