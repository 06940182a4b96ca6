"""Agents that follow a script: the oracle, wrong attempts, and the one that gives up at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium

from deskgym.envs.episode import TaskLike
from deskgym.envs.errors import DeskgymError, TaskError, near
from deskgym.envs.machine_env import MachineEnv
from deskgym.envs.options import checked
from deskgym.envs.text_space import UnicodeText
from deskgym.task_suites.core.verify.attacks import Attackable, Target
from deskgym.task_suites.core.verify.attacks.inside.processes import BROKEN, GOT_IN
from deskgym.task_suites.core.verify.inputs import Mutable


class ScriptAgent:
    """Plays the actions of an iterator, then says DONE. A subclass says which."""

    @checked
    def __init__(self) -> None:
        self._actions: Iterator[Any] = iter(())
        self._done: Any = None

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """The actions, in the env's action form."""
        raise NotImplementedError

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """Start the script of the env's task."""
        inner = env.unwrapped
        if not isinstance(inner, MachineEnv) or inner.task is None:
            raise TypeError(f"{type(self).__name__} plays a MachineEnv after its reset, got {inner!r}")
        self._actions = iter(self.script(inner, inner.task))
        self._done = inner.done

    def act(self, observation: Any) -> Any:
        """The script's next action."""
        return next(self._actions, self._done)


class OracleAgent(ScriptAgent):
    """Solves the task with the task's own oracle."""

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """The oracle's actions."""
        return env.oracle()


class NoopAgent(ScriptAgent):
    """Says DONE at once: what a task must not reward."""

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """Nothing, so that DONE comes first."""
        return iter(())


class WrongAgent(ScriptAgent):
    """Plays one of the task's wrong attempts.

    Args:
        name: which; of ``task.wrong_attempts``.

    Raises:
        TaskError: from ``reset``, when the task has no such attempt.
    """

    @checked
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """The attempt's actions."""
        if self.name not in task.wrong_attempts:
            names = (", ".join(task.wrong_attempts) or "none") + near(self.name, task.wrong_attempts)
            raise TaskError(f"task {task.id!r} has no wrong attempt {self.name!r}; it has {names}")
        return env.attempt(self.name)


class MutantAgent(ScriptAgent):
    """Plays a mutant of the task's oracle: see ``deskgym verify --mutants``.

    Args:
        name: which; of the suite's ``mutants(task)``.

    Raises:
        TaskError: from ``reset``, when the task has no such mutant.
    """

    @checked
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """The mutant's actions."""
        mutants = env.episodes.suite.mutants(task) if isinstance(env.episodes.suite, Mutable) else {}
        if self.name not in mutants:
            names = ", ".join(mutants) or "none"
            raise TaskError(f"task {task.id!r} has no mutant {self.name!r}; it has {names}")
        return env.attempt(mutants[self.name])


class GotIn(DeskgymError):  # noqa: N818 - it is a finding
    """An attack reached what no agent may reach; the message says what."""


class AttackAgent(ScriptAgent):
    """Plays an attack on the task: see ``deskgym verify --attack``.

    Args:
        name: which; of the suite's ``attacks(task)``.

    Raises:
        TaskError: from ``reset``, when there is no such attack on the task, or the actions are not texts.
        GotIn: from ``act``, when the attack printed that it got in.
        RuntimeError: from ``act``, when the attack's own code broke: then nothing was tried.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def script(self, env: MachineEnv, task: TaskLike) -> Iterator[Any]:
        """The attack's actions."""
        suite = env.episodes.suite
        attacks = suite.attacks(task) if isinstance(suite, Attackable) else {}
        if self.name not in attacks:
            raise TaskError(f"no attack {self.name!r} on {task.id!r}; legal are {', '.join(attacks) or 'none'}")
        if not isinstance(env.action_space, UnicodeText):
            raise TaskError(f"attacks are texts; the environment has action={env.actions.name!r}")
        texts: Iterator[str] = attacks[self.name](Target(task, suite), env.attempt)
        return texts

    def act(self, observation: Any) -> Any:
        """The attack's next action, if all went as it should before."""
        feedback = str(observation.get("feedback", ""))
        if GOT_IN in feedback:
            lines = [line.removeprefix(GOT_IN) for line in feedback.splitlines() if line.startswith(GOT_IN)]
            raise GotIn(f"{GOT_IN}{'; '.join(dict.fromkeys(lines))}")
        if BROKEN in feedback:
            raise RuntimeError(f"the attack is broken: {feedback[-400:]}")
        return super().act(observation)
