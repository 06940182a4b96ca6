"""What OpenAIComputerUse and AnthropicComputerUse share: carrying out the tool calls of a model's message."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from deskgym.envs.action.actions import MAX_TEXT, Action, RefusedAction
from deskgym.envs.action.spaces import parse_computer_action
from deskgym.envs.errors import ActionError
from deskgym.wrappers.action.computer_use_fields import Picture, Point, View, plain, read_text, resized
from deskgym.wrappers.action.coordinates import Frame, FramedActions, inner_size
from deskgym.wrappers.action.json_text import Draw, JsonText
from deskgym.wrappers.base import DesktopWrapper

MAX_MESSAGE = 65536
"""The longest message as JSON text, in characters."""

LOOK = Action("wait", seconds=0.0)
"""Does nothing: what a verb that only looks comes to."""


@dataclass(frozen=True)
class Call:
    """One tool call of a message.

    Attributes:
        id: what its result must name; None for actions that came without a call.
        actions: the vendor's actions, in order.
        checks: its pending safety checks.
    """

    id: str | None
    actions: Sequence[Any]
    checks: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Deed:
    """What one vendor action comes to.

    Attributes:
        actions: in screen pixels, one or more.
        shows: what the result shows: the screen, where the pointer is, or this part of the display (x0, y0, x1, y1).
    """

    actions: Sequence[Action]
    shows: str | tuple[int, int, int, int] = "screen"


@dataclass
class Result:
    """What came of a call.

    Attributes:
        call: the call.
        picture: uint8 (height, width, 3) RGB, or None where the answer is a text.
        text: the answer where it is a text.
        error: why it was not carried out, or not wholly.
    """

    call: Call
    picture: Picture | None = None
    text: str = ""
    error: str = ""


@dataclass
class _Run:
    """The steps that a message comes to."""

    observation: dict[str, Any] = field(default_factory=dict)
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = field(default_factory=dict)
    actions: list[dict[str, Any]] = field(default_factory=list)


class ComputerUse(DesktopWrapper, ABC):
    """Steps with the messages of a model's computer tool; what differs by vendor is in the subclasses.

    Attributes:
        display: width and height, in pixels, of the display that the model is told of.
        pointer: where the pointer is, in screen pixels: in the middle after a reset, then where the actions left it.
        results: what came of the calls of the last step.
    """

    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], display: Sequence[int] | None, answers: bool) -> None:
        super().__init__(env)
        name = type(self).__name__
        if self.desktop.actions.name != "computer":
            raise ValueError(f"{name} needs action='computer'; the env's is {self.desktop.actions.name!r}")
        shape, dtype = self.require("screenshot").shape or (), self.require("screenshot").dtype
        if len(shape) != 3 or shape[2] != 3 or dtype != np.uint8:
            raise ValueError(f"{name} needs one RGB picture as screenshot; what is inside gives {shape} {dtype}")
        self.display: Point = (shape[1], shape[0]) if display is None else _display(display)
        self._frame = Frame(self.display, (0, 0, *inner_size(env)))
        self._picture = Frame(self.display, (0, 0, shape[1], shape[0]))
        self.answers = bool(answers)
        width, height = self.display
        picture = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = spaces.Dict(self.parts() | {"screenshot": picture})
        self.action_space = JsonText(MAX_MESSAGE, self.sampler())
        self.pointer: Point = (0, 0)
        self.results: list[Result] = []
        self._greeting = ""

    @abstractmethod
    def sampler(self) -> Draw:
        """What draws one legal vendor action."""

    @abstractmethod
    def read(self, message: Any) -> list[Call] | str:
        """The calls of a message of plain dicts and lists, or its text where it calls no tool.

        Raises:
            ActionError: it is neither.
        """

    @abstractmethod
    def translate(self, action: Any, view: View, pointer: Point) -> Deed:
        """One vendor action, on the display as it is seen, with the pointer on the screen's pixel where it then is.

        Raises:
            ActionError: it is not legal.
        """

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env; the next ``output`` begins the conversation."""
        observation, info = self.env.reset(seed=seed, options=options)
        width, height = self.desktop.screen_size
        self.pointer, self.results = (width // 2, height // 2), []
        self._greeting = self.desktop.task.instruction if self.desktop.task else ""
        return self._shown(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out a message of the model, action by action, each one step of the env.

        It stops at the end of the episode and at the first action that is not legal. The reward is the sum,
        ``info["actions"]`` is what was done, and ``info["pending_safety_checks"]`` what the API wants acknowledged.
        Keys and buttons that an action was holding when it was cut short are let go of, by steps of their own.

        Raises:
            ActionError: an action of the message is not legal, and nothing was done; or a guard such as ``GuiOnly``'s
                refused a step, and what the message did before it stays done (neither with
                ``invalid_action="feedback"``).
        """
        self.results, self._greeting = [], ""
        run = _Run()
        if isinstance(action, Action):
            self._step(action, run)
            return run.observation, run.reward, run.terminated, run.truncated, run.info
        stop = ""
        for call, deeds in self._plan(action):
            result = Result(call)
            self.results.append(result)
            for deed in deeds:
                if stop:
                    result.error = result.error or f"not carried out: {stop}"
                else:
                    stop = self._carry_out(deed, result, run)
        run.info["actions"] = run.actions
        if checks := [dict(check) for result in self.results for check in result.call.checks]:
            run.info["pending_safety_checks"] = checks
        return run.observation, run.reward, run.terminated, run.truncated, run.info

    def answered(self, observation: Mapping[str, Any]) -> Iterator[Result]:
        """The results of the last step; one that shows the screen as it now is shows this observation."""
        for result in self.results:
            picture = observation["screenshot"] if result.picture is self._newest else result.picture
            yield Result(result.call, picture, result.text, result.error)

    def opening(self) -> list[str]:
        """The texts of a message that answers no call: the task after a reset, what went wrong after a step."""
        told = [self._greeting, *(t for r in self.results if r.call.id is None for t in (r.text, r.error))]
        return [text for text in told if text]

    # --- internals

    def _plan(self, message: Any) -> list[tuple[Call, list[Deed | RefusedAction]]]:
        """What the calls come to. The first action that is not legal is raised, or is the error in its place."""
        try:
            read = self._read(message)
        except (ActionError, RecursionError) as error:
            return [(Call(None, [message]), [self._refuse(error)])]
        if isinstance(read, str):
            final = self._final(read)
            return [(Call(None, [message]), [final])]
        view, pointer, plan = self._view(), self.pointer, []
        for call in read:
            deeds: list[Deed | RefusedAction] = []
            for action in call.actions:
                try:
                    deed = self.translate(action, view, pointer)
                    for part in deed.actions:
                        parse_computer_action(part, self.desktop.screen_size)
                except ActionError as error:
                    deeds.append(self._refuse(error))
                    break
                deeds.append(deed)
                pointer = _moved(pointer, deed.actions)
            plan.append((call, deeds))
        return plan

    def _read(self, message: Any) -> list[Call] | str:
        read = plain(read_text(message) if isinstance(message, str) else message)
        return read if isinstance(read, str) else self.read(read)

    def _refuse(self, error: Exception) -> RefusedAction:
        refused = error if isinstance(error, ActionError) else ActionError("the message is nested too deeply")
        if self.desktop.invalid_action == "raise":
            raise refused from error
        return RefusedAction(refused)

    def _final(self, text: str) -> Deed | RefusedAction:
        """The end of the episode that a text stands for."""
        word = text.strip()
        if word in ("DONE", "FAIL"):
            return Deed([Action(word.lower())])
        if self.answers and len(word) > MAX_TEXT:
            return self._refuse(ActionError(f"the answer has {len(word)} characters; legal are at most {MAX_TEXT}"))
        return Deed([Action("answer", text=word) if self.answers else Action("done")])

    def _carry_out(self, deed: Deed | RefusedAction, result: Result, run: _Run) -> str:
        """Step through one action of the vendor; why nothing may follow, or an empty text."""
        done: list[Action] = []
        try:
            for action in [deed] if isinstance(deed, RefusedAction) else deed.actions:
                self._step(action, run)
                if "invalid_action" in run.info or run.terminated or run.truncated:
                    break
                done += [action] if isinstance(action, Action) else []
        except Exception:
            self._let_go(done, run)
            raise
        if isinstance(deed, RefusedAction) or "invalid_action" in run.info:
            why = deed.error if isinstance(deed, RefusedAction) else ""
            result.error = str(run.info.get("invalid_action", why))
            self._let_go(done, run)
            return "an action before it was not legal"
        result.text, result.picture = "", self._newest
        if deed.shows == "pointer":
            x, y = self._view().to_display(*self.pointer)
            result.text, result.picture = f"X={x},Y={y}", None
        elif not isinstance(deed.shows, str):
            result.picture = self._zoomed(deed.shows)
        return "the episode is over" if run.terminated or run.truncated else ""

    def _let_go(self, done: Sequence[Action], run: _Run) -> None:
        """Release what these steps of an action that was cut short hold; what is told of the refusal stays."""
        told = {part: run.observation[part] for part in ("feedback",) if part in run.observation}
        refused = {name: run.info[name] for name in ("invalid_action",) if name in run.info}
        for action in _releases(done):
            if not (run.terminated or run.truncated):
                with suppress(Exception):  # the caller hears of the first one
                    self._step(action, run)
        run.observation |= told
        run.info |= refused

    def _view(self) -> View:
        """The display over the screen as it is now: what is inside may show another part of it than before."""
        frames, env = [self._frame], self.env
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, FramedActions) and env.frame is not None:
                frames.append(env.frame)
            env = env.env
        return View(self.display, frames)

    def _step(self, action: Action | RefusedAction, run: _Run) -> None:
        observation, reward, run.terminated, run.truncated, info = self.env.step(action)
        if isinstance(self.desktop.performed, tuple):
            self.pointer = _moved(self.pointer, self.desktop.performed)
        run.observation, run.info = self._shown(observation), dict(info)
        run.reward += float(reward)
        if isinstance(action, Action) and "invalid_action" not in info:
            run.actions.append(action.to_dict())

    def _shown(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """The observation in the display's size."""
        self._full: Picture = observation["screenshot"]
        self._newest = resized(self._full, self.display)
        shown = dict(observation) | {"screenshot": self._newest}
        if self.display != self._picture.box[2:]:
            shown |= self._picture.elements(observation, self.parts())
        return shown

    def _zoomed(self, region: tuple[int, int, int, int]) -> Picture:
        """A part of the display from the picture inside, as large as the display has room for, undistorted."""
        height, width = self._full.shape[:2]
        across, down = width / self.display[0], height / self.display[1]
        left, top = math.floor(region[0] * across), math.floor(region[1] * down)
        right, bottom = math.ceil(region[2] * across), math.ceil(region[3] * down)
        part = self._full[top:bottom, left:right]
        scale = min(self.display[0] / part.shape[1], self.display[1] / part.shape[0])
        return resized(part, (max(1, round(part.shape[1] * scale)), max(1, round(part.shape[0] * scale))))


def _display(display: Sequence[int]) -> Point:
    try:
        width, height = (int(number) for number in display)
    except (TypeError, ValueError) as error:
        raise ValueError(f"display={display!r}; legal is (width, height) in pixels") from error
    if not (64 <= width <= 7680 and 64 <= height <= 4320):
        raise ValueError(f"display={display!r}; legal are 64 to 7680 by 64 to 4320 pixels")
    return width, height


def _releases(actions: Sequence[Action]) -> list[Action]:
    """What lets go of the buttons and keys that these actions, one after the other, leave held down."""
    buttons: list[str] = []
    keys: list[str] = []
    for action in actions:
        if action.verb == "mouse_down":
            buttons.append(action.button)
        elif action.verb == "mouse_up":
            buttons = [button for button in buttons if button != action.button]
        elif action.verb == "key_down":
            keys += action.keys
        elif action.verb == "key_up":
            keys = [key for key in keys if key not in action.keys]
    up = [Action("mouse_up", button=button) for button in buttons]
    return [*up, Action("key_up", keys=tuple(reversed(keys)))] if keys else up


def _moved(pointer: Point, actions: Sequence[Action]) -> Point:
    """Where the pointer is after these actions."""
    for action in actions:
        for x, y in ((action.x, action.y), (action.to_x, action.to_y)):
            if x is not None and y is not None:
                pointer = (x, y)
    return pointer
