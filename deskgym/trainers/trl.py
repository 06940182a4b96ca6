"""TRL: a desktop as tools for ``GRPOTrainer(environment_factory=...)``.

TRL makes one object per rollout, calls ``reset(**row)`` with the dataset's row, offers every other public method as a
tool (its type hints and docstring are the tool's schema), and asks ``get_reward()`` at the end. So no method here may
be public that is not a tool. Written for TRL 1.16; it imports nothing of TRL.

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

import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from gymnasium.envs.registration import EnvSpec
from PIL import Image

from deskgym.envs.actions import Action, split_keys
from deskgym.envs.errors import ActionError, DeskgymError, MachineError, SetupError, near
from deskgym.envs.observations import cut_lines, cut_text
from deskgym.trainers.session import Session

Seen = str | list[dict[str, Any]]
"""What a tool returns: a text, or with ``image=True`` content blocks of a text and a PIL image."""

PROMPT = (
    "You operate a desktop program on Linux with the tools. After each call you get what the screen shows: one row per "
    "element, with its upper left corner and its size in pixels. Call done when the task is solved."
)
"""The prompt of ``task_rows``; ``reset`` adds the task and the screen."""


class DesktopToolEnv:
    """What the tools of all action forms have in common; use ``desktop_environment``, which picks a subclass.

    The machine starts with ``reset`` and stops with ``get_reward``, so that no desktop holds memory while the trainer
    learns; one that is dropped earlier stops when the object is deleted or the process exits.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec with wrappers.
        image: give the screenshot too (for models that see).
        text_limit: characters of the screen's text in one answer; whole rows are left out beyond it.
        reset_faults: how many resets in a row may fail; such episodes have no reward. One more raises.
        fault_reward: the reward of an episode with a fault. None, which leaves it out, is right where faults are
            chance; give 0.0 where a policy that runs code learns to break its desktop rather than to fail.
        options: of the env, such as ``task``, ``screen_size``, ``max_steps``, ``machine``.

    Raises:
        ValueError: ``action`` or ``invalid_action`` is among the options: the subclass decides them.
    """

    _form: ClassVar[str] = ""

    def __init__(
        self,
        env_id: str | EnvSpec = "deskgym/Science-v0",
        *,
        image: bool = False,
        text_limit: int = 6000,
        reset_faults: int = 3,
        fault_reward: float | None = None,
        **options: Any,
    ) -> None:
        if self._form == "":
            raise TypeError("DesktopToolEnv has no way to act; use desktop_environment(action='code' or 'computer')")
        for name in ("action", "invalid_action"):
            if name in options:
                raise ValueError(f"{name}={options[name]!r} cannot be chosen here; {type(self).__name__} decides it")
        if text_limit < 1:
            raise ValueError(f"text_limit={text_limit!r}; legal is a number of characters from 1 up")
        own: dict[str, Any] = {
            "image": image, "text_limit": text_limit, "reset_faults": reset_faults, "fault_reward": fault_reward,
        }  # fmt: skip
        self._build = partial(type(self), env_id, **own, **options)
        self._image, self._text_limit = image, text_limit
        self._reset_faults, self._fault_reward = reset_faults, fault_reward
        seen = ("a11y", "instruction", "feedback", *(("screenshot",) if image else ()))
        if isinstance(env_id, str):  # an EnvSpec has settled them
            options = {"observation": seen, "action": self._form, "invalid_action": "feedback", **options}
        self._session = Session(env_id, **options)
        if self._session.desktop.action_form != self._form:
            form = self._session.desktop.action_form
            raise ValueError(f"{type(self).__name__} needs an env of action={self._form!r}; the spec's is {form!r}")
        self._failed_resets = 0
        self._finalizer = weakref.finalize(self, self._session.close)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._build, ()

    # --- what TRL calls

    def reset(
        self, *, task: str | None = None, split: str | None = None, seed: int | None = None, **row: Any
    ) -> Seen | None:
        """Begin the episode of a dataset's row; equal rows begin in equal states.

        Args:
            task: a task id, a glob, or an instance id such as ``"kalgebra/plot-2d#7"``.
            split: ``"train"`` or ``"test"``.
            seed: draws the instance from what ``task`` leaves open.
            row: the rest of the row, which is not read.

        Returns:
            The instruction and the screen, which TRL adds to the prompt.

        Raises:
            ValueError: the row leaves the instance to chance: the generations of a group would get different tasks.
            SetupError, MachineError: the desktop could not be had, ``reset_faults`` times in a row before.
        """
        if seed is None and "#" not in (task or self._session.desktop.task_pattern or ""):
            raise ValueError(
                "a row needs a 'seed' (or an instance such as 'kalgebra/plot-2d#7' as its 'task'), so that all "
                f"generations of a group get the same task; got task={task!r}, seed=None; task_rows() makes such rows"
            )
        try:
            self._session.reset(seed, task, split)
        except (MachineError, SetupError):
            self._failed_resets += 1
            if self._failed_resets > self._reset_faults:
                raise
            return "\n\nThe desktop could not be started; there is nothing to do."
        self._failed_resets = 0
        instruction = self._session.observation.get("instruction", "")
        return self._content(f"\n\nTask: {instruction}\n\n{self._screen()}")

    def get_reward(self) -> float | None:
        """The score of the episode, in [0, 1]; one that is not over is evaluated as it stands, and the machine stops.

        After a fault it is ``fault_reward``: TRL leaves a rollout whose reward is None out of its group's baseline and
        gives it no advantage.
        """
        self._session.conclude()
        self._session.close()
        return self._session.reward if self._session.fault is None else self._fault_reward

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

    def _step(self, action: Any) -> Seen:
        """Act and tell what came of it.

        Raises:
            DeskgymError: the action was not legal or the desktop broke; TRL tells the model and counts it.
        """
        if self._session.over:
            raise ActionError("the episode is over; no tool does anything any more")
        self._session.step(action)
        fault, invalid = self._session.info.get("fault"), self._session.info.get("invalid_action")
        if fault:
            raise DeskgymError(f"the desktop broke, and the episode is over: {fault['message']}")
        end = "\nThe episode is over." if self._session.over else ""
        if invalid:
            raise ActionError(f"{invalid}{end}")
        if self._session.over:
            return "The step limit is reached." + end if self._session.truncated else end.strip()
        feedback = cut_text(str(self._session.observation.get("feedback", "")), self._text_limit)
        return self._content("\n".join(filter(None, (feedback, self._screen()))))

    def _screen(self) -> str:
        return cut_lines(str(self._session.observation.get("a11y", "")).split("\n"), self._text_limit)

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
                return self._step(error)  # the env treats it as it does any illegal action
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
    """
    if action not in _FORMS:
        raise ValueError(f"action={action!r}; legal are {', '.join(_FORMS)}{near(action, _FORMS)}")
    factory = partial(_FORMS[action], env_id, **options)
    factory()
    return factory


def task_rows(
    tasks: str | Sequence[str], *, seeds: Iterable[int], split: str | None = None, prompt: str = PROMPT
) -> list[dict[str, Any]]:
    """Rows for a trainer's dataset: each names an instance, so that all generations of a group begin alike.

    Args:
        tasks: task ids or globs.
        seeds: one row each, for each of the tasks.
        split: ``"train"``, ``"test"`` or None for both.
        prompt: the user's message, to which ``reset`` adds the task and the screen.

    Returns:
        Dicts with ``prompt``, ``task``, ``split`` and ``seed``.
    """
    names = [tasks] if isinstance(tasks, str) else list(tasks)
    return [
        {"prompt": [{"role": "user", "content": prompt}], "task": task, "split": split, "seed": int(seed)}
        for seed in seeds
        for task in names
    ]
