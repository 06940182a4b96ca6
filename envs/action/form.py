"""ActionForm: what the actions of an environment look like, and what they mean. Computer actions and code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gymnasium import spaces

from deskgym.envs.action.actions import STOPS, Action, as_code, parse_code
from deskgym.envs.action.spaces import ComputerActionSpace, parse_computer_action
from deskgym.envs.episode import BurstOrProgram, Stop
from deskgym.envs.errors import ActionError
from deskgym.envs.text_space import UnicodeText

Performed = Sequence[Action] | str
"""What is carried out in one step: actions in pixels of the screen, or a program's text."""

MAX_CODE = 65536  # characters of a code action


def end_of(performed: Performed) -> tuple[Stop | None, str | None]:
    """How an episode ends with what was carried out (None where it goes on), and the answer that was given."""
    last = performed[-1] if performed and not isinstance(performed, str) else None
    if last is None or last.verb not in STOPS:
        return None, None
    stop: Stop = last.verb  # type: ignore[assignment]
    return stop, last.text if stop == "answer" else None


def touches(performed: Performed) -> bool:
    """Whether what is carried out may change anything: code, or any action but a wait and the episode's end."""
    return isinstance(performed, str) or any(action.verb not in (*STOPS, "wait") for action in performed)


class ActionForm(ABC):
    """One way to write actions; an environment has one as ``env.unwrapped.actions``.

    Attributes:
        name: as in ``gymnasium.make(..., action=name)``.
        space: the environment's action space.
    """

    name: str
    space: spaces.Space[Any]

    @abstractmethod
    def parse(self, action: Any) -> Performed:
        """What an action stands for.

        Raises:
            ActionError: it is not legal; ``InvalidAction`` where it is only not possible now.
        """

    @abstractmethod
    def scripted(self, script: Iterator[BurstOrProgram], look: Callable[[], None]) -> Iterator[Any]:
        """The actions of a script in this form.

        Args:
            script: yields what can be done without looking at the screen again.
            look: takes notice of what is on the screen now; for forms whose actions depend on it.

        Raises:
            ActionError: the script has a program, and this form is not that of code actions.
        """


def input_of(burst: BurstOrProgram) -> list[Action]:
    """A burst of mouse and keyboard. Raises ActionError where it is a program."""
    if isinstance(burst, str):
        raise ActionError("this script runs programs: play it with action='code'")
    return burst


class ComputerActions(ActionForm):
    """Structured mouse and keyboard actions, each one step.

    Args:
        size: width and height of the screen in pixels.
    """

    name = "computer"

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.space = ComputerActionSpace(size)

    def parse(self, action: Any) -> Performed:
        """See ``parse_computer_action``."""
        return (parse_computer_action(action, self.size),)

    def scripted(self, script: Iterator[BurstOrProgram], look: Callable[[], None]) -> Iterator[Action]:
        """The script's actions one by one."""
        for burst in script:
            yield from input_of(burst)


class CodeActions(ActionForm):
    """Texts: a Python program with pyautogui at hand, or one of the words WAIT, DONE, FAIL, ANS."""

    name = "code"

    def __init__(self) -> None:
        self.space = UnicodeText(MAX_CODE)

    def parse(self, action: Any) -> Performed:
        """See ``parse_code``. Raises ActionError also for a text that is too long."""
        parsed = parse_code(action)
        if isinstance(parsed, Action):
            return (parsed,)
        if len(parsed) > MAX_CODE:
            raise ActionError(f"a code action has at most {MAX_CODE} characters, got {len(parsed)}")
        return parsed

    def scripted(self, script: Iterator[BurstOrProgram], look: Callable[[], None]) -> Iterator[str]:
        """One program for what is done without looking, and the words on their own."""
        for burst in script:
            yield from [burst] if isinstance(burst, str) else as_code(burst)
