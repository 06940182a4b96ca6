"""HistoryWindow: the last observations, actions and feedbacks, as arrays in the observation or as chat messages."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatdim, flatten, flatten_space
from numpy.typing import NDArray

from deskgym.envs.action.actions import as_code
from deskgym.envs.errors import near
from deskgym.envs.observation.texts import code_feedback, cut_text
from deskgym.envs.options import checked_after
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.observation.messages import NO_ACTION, Message, message, observed

FORMS = ("arrays", "messages", "both")
MAX_ENTRY = 4096  # characters of one action or feedback in a history text, as JSON
_NOT_SHOWN = ("instruction", "feedback", "vocabulary", "context")
"""Parts that messages have elsewhere, or have no use for."""


_CONTEXT = "Documentation that may help with the task:"
"""What stands before the documents."""


@dataclass(frozen=True)
class PastStep:
    """What was seen, what was done then, and what came of it.

    Attributes:
        observation: the kept parts; arrays are read-only.
        action: the action as text.
        feedback: what it gave.
        flat: the action as ``gymnasium.spaces.flatten`` has it; None where the action space has texts.
    """

    observation: Mapping[str, Any]
    action: str
    feedback: str
    flat: NDArray[Any] | None


class HistoryWindow(DesktopWrapper):
    """Keeps the last ``k`` observations, actions and feedbacks.

    Spider2-V (``max_trajectory_length`` of its ``agent.py``) and ScienceBoard (``context_window``) give a model its
    last three steps.

    ``form="arrays"`` adds to the observation, the oldest first and the last step at index k - 1:

    ======================  ==================  ======================================================================
    part                    space               content
    ======================  ==================  ======================================================================
    ``<part>_history``      Box (k, ...)        the chosen parts of the observations before this one
    ``actions_history``     Box (k, D)          the actions, by ``gymnasium.spaces.flatten``; zeros for an action
                                                outside of the space. Where the action space has texts, whose
                                                flattened form is thousands of numbers, it is a text instead: a JSON
                                                list of k texts, as in messages
    ``feedback_history``    UnicodeText         a JSON list of k texts: what each of these actions gave
    ``history_length``      Discrete (k + 1)    how many are real; before, there are zeros and empty texts
    ======================  ==================  ======================================================================

    A text in these lists is cut to 4096 characters. ``form="messages"`` leaves the observation as it is, and
    ``messages()`` gives the same window as a chat. ``form="both"`` does both. Each frame is kept once.

    Args:
        env: the environment; put an ``ExecutionFeedback`` inside, so that a step is a response.
        k: how many steps; 0 is none (the added parts are there, with a first axis of 0).
        parts: the parts to keep. None is for arrays each Box but the screenshot, and for messages the screenshot and
            each text but ``instruction``, ``feedback``, ``vocabulary`` and ``context``. Messages take texts and RGB
            images, arrays take Boxes; with ``"both"`` each part goes where it can.
        form: ``"arrays"``, ``"messages"`` or ``"both"``.

    Raises:
        ValueError: an argument is not legal, or a part is not there.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.wrappers import ExecutionFeedback, HistoryWindow
        >>> env = gym.make("deskgym/Science-v0", action="code", observation=["screenshot", "a11y"])  # doctest: +SKIP
        >>> env = HistoryWindow(ExecutionFeedback(env), form="messages")  # doctest: +SKIP
        >>> observation, info = env.reset()  # doctest: +SKIP
        >>> env.messages("You control a desktop.")[0]["role"]  # doctest: +SKIP
        'system'
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        k: int = 3,
        parts: Sequence[str] | None = None,
        form: str = "arrays",
    ) -> None:
        parts = list(parts) if isinstance(parts, (list, tuple)) else parts
        gymnasium.utils.RecordConstructorArgs.__init__(self, k=k, parts=parts, form=form)
        super().__init__(env)
        if isinstance(k, bool) or not isinstance(k, int) or k < 0:
            raise ValueError(f"k={k!r}; legal is a whole number from 0 up")
        if form not in FORMS:
            raise ValueError(f"form={form!r}; legal are {', '.join(map(repr, FORMS))}{near(form, FORMS)}")
        self.k, self.form = k, form
        self.stacked, self.shown = self._choose(parts)
        self.past: deque[PastStep] = deque(maxlen=self.k)
        self._now: Mapping[str, Any] = {}
        self._context = ""
        self._feedback = ""
        self._texts = _has_text(env.action_space)
        if form != "messages":
            self.observation_space = spaces.Dict(self.parts() | self._added())

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, and forget."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.past.clear()
        self._now, self._feedback = self._keep(observation), ""
        self._context = str(observation.get("context", ""))
        return self._with_history(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Step the env; what was seen before, the action and its feedback enter the window."""
        flat = None if self._texts else self._flat(action)  # before the env can change it
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._feedback = _feedback(observation, info)
        self.past.append(PastStep(self._now, self._text(action, info), self._feedback, flat))
        self._now = self._keep(observation)
        return self._with_history(observation), float(reward), terminated, truncated, info

    def messages(self, system: str = "") -> list[Message]:
        """The window as chat messages: the instruction, what was seen and done, and what is seen now.

        The first message is the system's; documents (the part ``context``) are a second one. Then user and assistant
        take turns: an observation, and the action as text
        (a text as it was given, else as Python with pyautogui and the words). The feedback of an action stands at the
        beginning of the user's next message. The last message is the current observation.

        Args:
            system: what to say before the instruction, such as what actions there are.

        Returns:
            Messages as ``deskgym.wrappers.observation.messages.Message`` tells; their images are read-only arrays,
            shared with the window. ``deskgym.wrappers.observation.messages.with_data_urls`` makes them JSON.

        Raises:
            ValueError: the form is ``"arrays"``.
            ResetNeeded: there is no episode yet.
        """
        if self.form == "arrays":
            raise ValueError("messages() needs form='messages' or form='both'; the form is 'arrays'")
        if self.desktop.task is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset() first")
        instruction = f"You are asked to complete the following task: {self.desktop.task.instruction}"
        result = [message("system", [system, instruction])]
        if self._context:
            result.append(message("system", [f"{_CONTEXT}\n{self._context}"]))
        feedback = ""  # that of the action before the window is outside of it
        for step in self.past:
            result.append(observed(self._visible(step.observation), feedback))
            result.append(message("assistant", [step.action.strip() or NO_ACTION]))
            feedback = step.feedback
        return [*result, observed(self._visible(self._now), feedback)]

    def _choose(self, parts: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The parts that are stacked, and those that messages show."""
        if isinstance(parts, str):
            raise ValueError(f"parts={parts!r}; legal is a list of parts of the observation")
        there = self.parts() if parts is None else {part: self.require(part) for part in parts}
        arrays = [part for part, space in there.items() if isinstance(space, spaces.Box)]
        shown = [part for part, space in there.items() if isinstance(space, spaces.Text) or _is_image(space)]
        if parts is None:
            arrays = [part for part in arrays if part != "screenshot"]
            shown = [part for part in shown if part not in _NOT_SHOWN]
        arrays, shown = arrays if self.form != "messages" else [], shown if self.form != "arrays" else []
        for part in parts or ():
            if part not in arrays and part not in shown:
                takes = {"arrays": "a Box", "messages": "a text or an RGB image"}.get(self.form, "a Box or a text")
                raise ValueError(
                    f"part {part!r} is a {type(there[part]).__name__}; form={self.form!r} takes {takes}: leave it out "
                    "or take another form"
                )
        if self.form != "arrays" and not shown:
            raise ValueError(
                f"form={self.form!r} needs a text or an image to show; what is inside gives {', '.join(self.parts())}: "
                "add 'screenshot', 'a11y' or 'terminal' to observation=(...)"
            )
        return tuple(arrays), tuple(shown)

    def _added(self) -> dict[str, spaces.Space[Any]]:
        """The parts that this wrapper adds to the observation space."""
        parts = self.parts()
        texts = UnicodeText(self.k * (MAX_ENTRY + 2) + 2)
        action: spaces.Space[Any] = texts
        if not self._texts:
            action = _stack(flatten_space(self.env.action_space), self.k)
        added: dict[str, spaces.Space[Any]] = {f"{part}_history": _stack(parts[part], self.k) for part in self.stacked}
        added |= {"actions_history": action, "feedback_history": texts, "history_length": spaces.Discrete(self.k + 1)}
        if taken := sorted(set(added) & set(parts)):
            raise ValueError(f"there is a {taken[0]!r} in the observation already: use one HistoryWindow")
        return added

    def _with_history(self, observation: dict[str, Any]) -> dict[str, Any]:
        if self.form == "messages":
            return observation
        added: dict[str, Any] = {}
        for part in self.stacked:
            added[f"{part}_history"] = self._stacked(f"{part}_history", [step.observation[part] for step in self.past])
        if self._texts:
            added["actions_history"] = self._listed(step.action for step in self.past)
        else:
            added["actions_history"] = self._stacked("actions_history", [step.flat for step in self.past])
        added["feedback_history"] = self._listed(step.feedback for step in self.past)
        added["history_length"] = np.int64(len(self.past))
        return observation | added

    def _stacked(self, part: str, rows: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
        space = self.observation_space[part]  # type: ignore[index]
        result = np.zeros(space.shape, space.dtype)
        for row, values in zip(result[len(result) - len(rows) :], rows, strict=True):
            row[...] = values
        return result

    def _listed(self, texts: Iterable[str]) -> str:
        entries = [_entry(text) for text in texts]
        return "[" + ", ".join(['""'] * (self.k - len(entries)) + entries) + "]"

    def _keep(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """The parts that the window needs; arrays are copied, for the caller may change what it was given."""
        if self.k == 0:
            return {part: _frozen(observation[part]) for part in self.shown}
        return {part: _frozen(observation[part]) for part in dict.fromkeys((*self.stacked, *self.shown))}

    def _visible(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        return {part: observation[part] for part in self.shown}

    def _flat(self, action: Any) -> NDArray[Any]:
        space = self.env.action_space
        if not isinstance(space, spaces.Dict) and isinstance(action, (list, tuple)):
            action = np.asarray(action)
        if action in space:
            return np.array(flatten(space, action))
        return np.zeros(flatdim(space))

    def _text(self, action: Any, info: Mapping[str, Any]) -> str:
        """The action as the assistant would have said it."""
        if isinstance(action, str):
            return action
        if "executions" in info:  # several actions in one step
            return "\n".join(_said(execution["action"]) for execution in info["executions"])
        performed = self.desktop.performed
        if not performed:
            return repr(action)  # it was not legal, and the feedback says why
        return performed if isinstance(performed, str) else "\n".join(as_code(performed))


def _has_text(space: spaces.Space[Any]) -> bool:
    if isinstance(space, spaces.Dict):
        return any(map(_has_text, space.spaces.values()))
    if isinstance(space, (spaces.Tuple, spaces.OneOf)):
        return any(map(_has_text, space.spaces))
    return isinstance(space, spaces.Text)


def _is_image(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(space.shape) == 3 and space.shape[2] == 3


def _stack(space: spaces.Space[Any], k: int) -> spaces.Box:
    """A Box of k of these, zeros included."""
    assert isinstance(space, spaces.Box)  # the callers have seen to it
    low, high = np.minimum(space.low, 0), np.maximum(space.high, 0)
    shape = (k, *space.shape)
    return spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, space.dtype.type)


def _frozen(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    value = value.copy()
    value.setflags(write=False)
    return value


def _entry(text: str) -> str:
    """The text as JSON of at most ``MAX_ENTRY`` characters."""
    limit = MAX_ENTRY - 2
    while len(entry := json.dumps(cut_text(text, limit), ensure_ascii=False)) > MAX_ENTRY:
        limit -= max(1, (len(entry) - MAX_ENTRY) // 6)  # a character has six at most
    return entry


def _said(action: Any) -> str:
    return action if isinstance(action, str) else json.dumps(action, ensure_ascii=False)


def _feedback(observation: Mapping[str, Any], info: Mapping[str, Any]) -> str:
    if "feedback" in observation:
        return str(observation["feedback"])
    return str(info.get("invalid_action") or code_feedback(info.get("execution")))
