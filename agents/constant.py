"""An agent that always gives the same answer: what a balanced multiple choice must reward at chance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import gymnasium

from deskgym.envs.action.actions import Action
from deskgym.envs.machine_env import MachineEnv
from deskgym.envs.options import checked
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv

UNANSWERABLE = "unanswerable"
NO_ANSWER = "it cannot be answered"
_OPTION = re.compile(r"^([A-J])\. (.*)$", re.MULTILINE)


class ConstantAgent:
    """Answers every task at once, and always the same.

    Args:
        answer: such as ``"A"``. ``"unanswerable"`` takes the first option that begins with "It cannot be answered",
            and says so in words where there is none.

    Raises:
        TypeError: from ``reset``, where answers are no text: with discrete actions.
    """

    @checked
    def __init__(self, answer: str) -> None:
        self.answer = answer
        self._env: MachineEnv | None = None

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """Remember whom to answer."""
        inner = env.unwrapped
        form = inner.actions.name if isinstance(inner, MachineEnv) else ""
        if not isinstance(inner, MachineEnv) or form not in ("code", "computer", "answer"):
            what = type(inner).__name__ + (f" with {form} actions" if form else "")
            raise TypeError(f"ConstantAgent plays a MachineEnv with code, computer or answer actions, got a {what}")
        self._env = inner

    def act(self, observation: Any) -> Any:
        """The answer."""
        if self._env is None:
            raise gymnasium.error.ResetNeeded("call reset() before act()")
        text = unanswerable(asked(self._env)) if self.answer == UNANSWERABLE else self.answer
        if self._env.actions.name == "computer":
            return Action("answer", text=text)
        return text if self._env.actions.name == "answer" else f"ANS {text}"


def asked(env: MachineEnv) -> str:
    """What the agent is asked now."""
    if isinstance(env, TableAnalysisEnv) and env.conversation is not None:
        return env.conversation.texts()["instruction"]
    return env.task.instruction if env.task else ""


def options(instruction: str) -> dict[str, str]:
    r"""The options of a question, by letter; {} where it has none.

    Examples:
        >>> options("Which?\nA. 12\nB. It cannot be answered: there is no height")
        {'A': '12', 'B': 'It cannot be answered: there is no height'}
    """
    return dict(_OPTION.findall(instruction))


def unanswerable(instruction: str) -> str:
    """The letter of the first option that says that there is no answer; that in words where no option does."""
    found = (letter for letter, text in options(instruction).items() if text.lower().startswith(NO_ANSWER))
    return next(found, NO_ANSWER)
