"""TRL: a desktop as tools for ``GRPOTrainer(environment_factory=...)``.

What TRL asks of an environment is in ``deskgym.trainers.tools``; for conversations about tables there is
``deskgym.trainers.trl_tables``.

Examples:
    >>> rows = task_rows("kalgebra/*", seeds=range(2), split="train")
    >>> rows[1]["task"], rows[1]["split"], rows[1]["seed"]
    ('kalgebra/*', 'train', 1)
    >>> factory = desktop_environment(action="code", screen_size=(1280, 720))
    >>> trainer = GRPOTrainer(
    ...     model, environment_factory=factory, train_dataset=Dataset.from_list(rows)
    ... )  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.envs.registration import EnvSpec
from PIL import Image

from deskgym.envs.action.actions import Action, RefusedAction, split_keys
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError, near
from deskgym.envs.observation.texts import cut_lines, cut_text
from deskgym.envs.options import checked
from deskgym.trainers.tools import Seen, ToolEnv, rows

PROMPT = (
    "You operate a desktop program on Linux with the tools. After each call you get what the screen shows: one row per "
    "element, with its upper left corner and its size in pixels. Call done when the task is solved."
)
"""The prompt of ``task_rows``; ``reset`` adds the task and the screen."""


class DesktopToolEnv(ToolEnv):
    """What the tools of all action forms have in common; use ``desktop_environment``, which picks a subclass.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        options: see ``ToolEnv``, whose ``image`` is the screenshot; at ``text_limit`` whole rows of the screen's text
            are left out. Of the env such as ``screen_size``.
    """

    _plays: ClassVar[type[Any]] = DesktopEnv
    _seen: ClassVar[tuple[str, ...]] = ("a11y", "instruction", "feedback")
    _picture: ClassVar[str] = "screenshot"
    _machine: ClassVar[str] = "desktop"

    @checked
    def __init__(self, env_id: str | EnvSpec = "deskgym/Science-v0", **options: Any) -> None:
        if self._form == "":
            raise TypeError("DesktopToolEnv has no way to act; use desktop_environment(action='code' or 'computer')")
        super().__init__(env_id, **options)

    # --- the tools of both forms

    def done(self) -> Seen:
        """End the episode: the task is solved."""
        return self._stop("done")

    def fail(self) -> Seen:
        """End the episode: the task cannot be solved."""
        return self._stop("fail")

    def answer(self, text: str) -> Seen:
        """End the episode with an answer, for tasks that ask a question.

        Args:
            text: the answer.
        """
        return self._stop("answer", text)

    def look(self, seconds: float = 0.0) -> Seen:
        """Look at the screen again, after a while.

        Args:
            seconds: how long to wait first, 0 to 60.
        """
        return self._do({"action": "wait", "seconds": seconds})

    # --- internals

    def _stop(self, verb: str, text: str | None = None) -> Seen:
        return self._do({"action": verb} if text is None else {"action": verb, "text": text})

    def _do(self, action: dict[str, Any]) -> Seen:
        raise NotImplementedError

    def _beginning(self) -> str:
        return f"\n\nTask: {self._part('instruction')}\n\n{self._screen()}"

    def _after(self, asked: str) -> str:
        return "\n".join(filter(None, (cut_text(self._part("feedback"), self._text_limit), self._screen())))

    def _screen(self) -> str:
        return cut_lines(self._part("a11y").split("\n"), self._text_limit)

    def _content(self, text: str) -> Seen:
        if not self._image:
            return text
        screenshot = Image.fromarray(self._session.observation["screenshot"])
        return [{"type": "text", "text": text}, {"type": "image", "image": screenshot}]


class ComputerToolEnv(DesktopToolEnv):
    """Mouse and keyboard as tools, in pixels of the screen (or of the frame of a wrapper in the EnvSpec)."""

    _form = "computer"

    def click(self, x: int, y: int, button: Literal["left", "middle", "right"] = "left", clicks: int = 1) -> Seen:
        """Click at a point of the screen.

        Args:
            x: pixels from the left.
            y: pixels from the top.
            button: which mouse button.
            clicks: 2 for a double click, 3 for a triple click.
        """
        return self._do({"action": "click", "x": x, "y": y, "button": button, "clicks": clicks})

    def drag(self, x: int, y: int, to_x: int, to_y: int) -> Seen:
        """Drag with the left button from one point to another.

        Args:
            x: where it starts, pixels from the left.
            y: where it starts, pixels from the top.
            to_x: where it ends, pixels from the left.
            to_y: where it ends, pixels from the top.
        """
        return self._do({"action": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y})

    def scroll(self, x: int, y: int, down: int) -> Seen:
        """Turn the mouse wheel at a point.

        Args:
            x: pixels from the left.
            y: pixels from the top.
            down: wheel clicks downwards; negative ones go up.
        """
        return self._do({"action": "scroll", "x": x, "y": y, "dy": down})

    def type_text(self, text: str) -> Seen:
        """Type a text where the focus is.

        Args:
            text: what to type; a newline presses Return.
        """
        return self._do({"action": "type", "text": text})

    def press_keys(self, keys: str) -> Seen:
        """Press a key or a combination.

        Args:
            keys: such as "enter", "ctrl+s" or "alt+f4".
        """
        return self._do({"action": "press", "keys": list(split_keys(keys))})

    def _do(self, action: dict[str, Any]) -> Seen:
        return self._step(action)


class CodeToolEnv(DesktopToolEnv):
    """Python with pyautogui as the tool."""

    _form = "code"

    def run_code(self, code: str) -> Seen:
        """Run a Python program on the desktop; you get what it prints or raises, and the screen afterwards.

        Args:
            code: Python 3. pyautogui is imported: pyautogui.click(x, y), pyautogui.write(text), pyautogui.press(key).
        """
        return self._step(code)

    def _do(self, action: dict[str, Any]) -> Seen:
        verb = action["action"]
        if verb == "wait":
            try:
                seconds = abs(Action.from_dict(action).seconds)  # of -0.0
            except ActionError as error:
                return self._step(RefusedAction(error))
            return self._step(f"WAIT {np.format_float_positional(seconds, trim='-')}")  # WAIT takes no exponent
        return self._step(f"ANS {action['text']}" if verb == "answer" else verb.upper())


_FORMS: dict[str, type[DesktopToolEnv]] = {"code": CodeToolEnv, "computer": ComputerToolEnv}


def desktop_environment(
    env_id: str | EnvSpec = "deskgym/Science-v0", *, action: str = "code", **options: Any
) -> partial[DesktopToolEnv]:
    """A factory for ``GRPOTrainer(environment_factory=...)``; it can be pickled, for trainers with worker processes.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        action: ``"code"`` (one tool that runs Python) or ``"computer"`` (mouse and keyboard tools).
        options: see ``DesktopToolEnv``.

    Raises:
        ValueError: there is no such form, or an option is not legal; the env's own are checked now, too.
        TypeError: the env has no screen.
    """
    if action not in _FORMS:
        raise ValueError(f"action={action!r}; legal are {', '.join(_FORMS)}{near(action, _FORMS)}")
    factory = partial(_FORMS[action], env_id, **options)
    factory()
    return factory


def task_rows(
    tasks: str | Sequence[str],
    *,
    seeds: Iterable[int],
    split: str | None = None,
    prompt: str = PROMPT,
    done: Sequence[int] = (0,),
) -> list[dict[str, Any]]:
    """Rows for a trainer's dataset: each names an instance, so that all generations of a group begin alike.

    Args:
        tasks: task ids or globs.
        seeds: one row each, for each of the tasks.
        split: ``"train"``, ``"test"`` or None for both.
        prompt: the user's message, to which ``reset`` adds the task and the screen.
        done: for each of these numbers a row in which so many of the oracle's actions are done before the policy's
            turn: its groups start in the middle of the task, all of a group in the same state.

    Returns:
        Dicts with ``prompt``, ``task``, ``split``, ``seed`` and ``done``.
    """
    return rows(tasks, seeds, split, prompt, done)
