"""OpenAIComputerUse: an env that a model with OpenAI's computer tool can act in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from deskgym.envs.action.actions import MAX_SCROLL, Action
from deskgym.envs.errors import ActionError, near
from deskgym.envs.options import checked_after
from deskgym.wrappers.action.computer_use import LOOK, Call, ComputerUse, Deed
from deskgym.wrappers.action.computer_use_fields import Fields, Point, View, png_base64
from deskgym.wrappers.action.json_text import Draw

VERSIONS = ("computer_use_preview", "computer")

SCHEMA = {
    "click": "x y button? keys?",
    "double_click": "x y keys?",
    "drag": "path keys?",
    "keypress": "keys",
    "move": "x y keys?",
    "screenshot": "",
    "scroll": "x y scroll_x scroll_y keys?",
    "type": "text",
    "wait": "",
}
"""The fields of each verb (openai-python 3.54, ``types/responses/computer_action.py``); optional ones with a ``?``.
There ``button`` is not optional; here it may be left out for the left one."""

BUTTONS = {"left": "left", "right": "right", "wheel": "middle", "back": "back", "forward": "forward"}
"""OpenAI's buttons, and ours."""

SPEECH = ("message", "reasoning")
"""The items of an output that ask for nothing."""

WAIT = Action("wait", seconds=1.0)  # OpenAI's sample app waits 1000 ms
Acknowledge = Callable[[Mapping[str, Any]], bool]


class OpenAIComputerUse(ComputerUse):
    """Steps with what OpenAI's Responses API gives for its computer tool, and gives back what the API takes.

    ``step`` takes a response or its ``output`` list, a ``computer_call``, one action or a list of them: as dicts, as
    JSON text, or as the SDK's objects. Items that ask for nothing are ignored. An output without any tool call ends
    the episode with DONE; with FAIL where its text is just ``FAIL``; with ``answers=True`` its text is the answer.
    Each action is one step of the env, except that a drag of more than two points, and keys held during a move, are
    several. ``screenshot`` is a step that does nothing.

    Args:
        env: a DesktopEnv with ``action="computer"`` and a ``screenshot``.
        display: width and height that the model is told of; the screenshot, ``elements`` and ``a11y`` are scaled to it
            and the model's points are scaled back. None takes the size of the env's screenshot.
        version: the tool's type, ``"computer_use_preview"`` or ``"computer"``.
        answers: whether the last message's text is the answer of the episode.
        pixels_per_click: ``scroll_x`` and ``scroll_y`` are pixels; so many, or a part of them, are one click of the
            mouse wheel. Browsers scroll by about 100.

    Raises:
        ValueError: the env or an argument is of the wrong kind.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = OpenAIComputerUse(gym.make("deskgym/Science-v0"), display=(1280, 720))  # doctest: +SKIP
        >>> observation, info = env.reset(seed=7)  # doctest: +SKIP
        >>> response = client.responses.create(  # doctest: +SKIP
        ...     model=model, tools=[env.tool], input=env.output(observation), truncation="auto"
        ... )
        >>> observation, reward, terminated, truncated, info = env.step(response.output)  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        *,
        display: Sequence[int] | None = None,
        version: str = VERSIONS[0],
        answers: bool = False,
        pixels_per_click: int = 100,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self, display=display, version=version, answers=answers, pixels_per_click=pixels_per_click
        )
        super().__init__(env, display, answers)
        if version not in VERSIONS:
            raise ValueError(f"version={version!r}; legal are {', '.join(VERSIONS)}{near(version, VERSIONS)}")
        if isinstance(pixels_per_click, bool) or not isinstance(pixels_per_click, int) or pixels_per_click < 1:
            raise ValueError(f"pixels_per_click={pixels_per_click!r}; legal is a whole number from 1 up")
        self.version, self.pixels_per_click = version, pixels_per_click

    @property
    def tool(self) -> dict[str, Any]:
        """The tool for the request's ``tools``."""
        if self.version == "computer":
            return {"type": "computer"}
        width, height = self.display
        return {"type": self.version, "display_width": width, "display_height": height, "environment": "linux"}

    def output(self, observation: Mapping[str, Any], acknowledge: Acknowledge | None = None) -> list[dict[str, Any]]:
        """The ``input`` of the next request: one ``computer_call_output`` for each call of the last step.

        After a reset, and after a step without a ``call_id``, it is a user message with the screenshot, and with the
        task or what was not legal. A call's own error follows the outputs as a user message, since an output holds
        nothing but a screenshot.

        Args:
            observation: what the last ``reset`` or ``step`` gave.
            acknowledge: is asked for each pending safety check, a dict with ``id``, ``code`` and ``message``; those
                for which it answers yes are acknowledged. None acknowledges none.
        """
        items: list[dict[str, Any]] = []
        told = self.opening()
        for result in self.answered(observation):
            if result.call.id is None:
                continue
            picture = observation["screenshot"] if result.picture is None else result.picture
            item = {
                "type": "computer_call_output",
                "call_id": result.call.id,
                "output": {"type": "computer_screenshot", "image_url": _data_url(picture)},
            }
            checks = [dict(check) for check in result.call.checks if acknowledge is not None and acknowledge(check)]
            items.append(item | ({"acknowledged_safety_checks": checks} if checks else {}))
            if result.error:
                told.append(f"{result.call.id}: {result.error}")
        content: list[dict[str, Any]] = [{"type": "input_text", "text": text} for text in told]
        if not items:
            picture_url = _data_url(observation["screenshot"])
            content.append({"type": "input_image", "image_url": picture_url, "detail": "auto"})
        return items + ([{"role": "user", "content": content}] if content else [])

    def sampler(self) -> Draw:
        """See ``ComputerUse.sampler``."""
        return partial(draw_action, self.display)

    def read(self, message: Any) -> list[Call] | str:
        """See ``ComputerUse.read``."""
        items = message
        if isinstance(message, dict):
            items = message["output"] if isinstance(message.get("output"), list) else [message]
        if not isinstance(items, list):
            raise ActionError(f"a message is a dict, a list, a text or an SDK's object; got {type(message).__name__}")
        types = [item.get("type") if isinstance(item, dict) else None for item in items]
        if "computer_call" in types:
            return [_call(item) for item, kind in zip(items, types, strict=True) if kind == "computer_call"]
        if all(kind in SPEECH for kind in types):
            return "\n".join(text for item in items for text in _texts(item))
        if any(isinstance(kind, str) and kind.endswith("_call") for kind in types):
            raise ActionError(f"there is no computer_call among the items {', '.join(map(str, types))}")
        return [Call(None, items)]

    def translate(self, action: Any, view: View, pointer: Point) -> Deed:
        """See ``ComputerUse.translate``."""
        fields = Fields.of(action, "type", SCHEMA, view)
        if fields.verb == "screenshot":
            return Deed([LOOK])
        if fields.verb == "wait":
            return Deed([WAIT])
        if fields.verb == "type":
            return Deed([Action("type", text=fields.text())])
        keys = fields.keys("keys")
        if fields.verb == "keypress":
            if not keys:
                raise fields.wrong("keys", "one key name or more")
            return Deed([Action("press", keys=keys)])
        if fields.verb == "drag":
            return Deed(_drag(fields, keys))
        x, y = fields.point("(x, y)", fields.data["x"], fields.data["y"])
        if fields.verb == "move":
            return Deed(_held(keys, [Action("move", x, y)]))
        if fields.verb == "scroll":
            dx, dy = (self._wheel(fields, name) for name in ("scroll_x", "scroll_y"))
            return Deed([Action("scroll", x, y, dx=dx, dy=dy, keys=keys)])
        button = fields.choice("button", BUTTONS, "left")
        return Deed([Action("click", x, y, button=button, clicks=1 + (fields.verb == "double_click"), keys=keys)])

    def _wheel(self, fields: Fields, name: str) -> int:
        """Pixels as clicks of the wheel, rounded away from 0 so that a small scroll does something."""
        limit = MAX_SCROLL * self.pixels_per_click
        pixels = fields.number(name, -limit, limit)
        return int(math.copysign(math.ceil(abs(pixels) / self.pixels_per_click), pixels))


def _call(item: Mapping[str, Any]) -> Call:
    actions = item.get("actions") or [item[name] for name in ("action",) if name in item]
    if not isinstance(actions, list) or not actions:
        raise ActionError(f"a computer_call has an action or a list of actions; got {', '.join(item)}")
    checks, call_id = item.get("pending_safety_checks", []), item.get("call_id")
    if not isinstance(checks, list) or not all(isinstance(check, dict) for check in checks):
        raise ActionError(f"a computer_call's pending_safety_checks is a list of dicts; got {str(checks)[:80]}")
    if not isinstance(call_id, str):
        raise ActionError(f"a computer_call has a call_id; got {call_id!r}")
    return Call(call_id, actions, checks)


def _texts(item: Mapping[str, Any]) -> list[str]:
    """What a message says; a refusal is said too."""
    content = item.get("content") if item["type"] == "message" else None
    if isinstance(content, str):
        return [content]
    parts = [part for part in content or () if isinstance(part, dict)]
    return [str(part.get("text", part.get("refusal", ""))) for part in parts]


def _drag(fields: Fields, keys: tuple[str, ...]) -> list[Action]:
    path = fields.data["path"]
    if not isinstance(path, list) or len(path) < 2 or not all(isinstance(at, dict) for at in path):
        raise fields.wrong("path", "a list of two points or more, each {'x': ..., 'y': ...}")
    points = [fields.point(f"path[{k}]", at.get("x"), at.get("y")) for k, at in enumerate(path)]
    (x, y), (to_x, to_y) = points[0], points[-1]
    if len(points) == 2:
        return [Action("drag", x, y, to_x, to_y, keys=keys)]
    moves = [Action("move", *point) for point in points[1:]]
    return _held(keys, [Action("mouse_down", x, y), *moves, Action("mouse_up", to_x, to_y)])


def _held(keys: tuple[str, ...], inner: list[Action]) -> list[Action]:
    return [Action("key_down", keys=keys), *inner, Action("key_up", keys=keys[::-1])] if keys else inner


def _data_url(picture: Any) -> str:
    return f"data:image/png;base64,{png_base64(picture)}"


def draw_action(display: Point, rng: np.random.Generator) -> dict[str, Any]:
    """A legal action, drawn evenly over the verbs.

    Args:
        display: width and height of the display in pixels.
        rng: draws it.
    """
    verb = str(rng.choice(list(SCHEMA)))

    def at() -> dict[str, int]:
        return {"x": int(rng.integers(display[0])), "y": int(rng.integers(display[1]))}

    def held() -> list[str]:
        return [["CTRL"], ["SHIFT"], []][int(rng.integers(3))]

    values: dict[str, Callable[[], Any]] = {
        "button": lambda: str(rng.choice(list(BUTTONS))),
        "path": lambda: [at() for _ in range(int(rng.integers(2, 5)))],
        "scroll_x": lambda: int(rng.integers(-300, 301)),
        "scroll_y": lambda: int(rng.integers(-600, 601)),
        "text": lambda: "".join(rng.choice(list("abc 123é"), size=4)),
        "keys": held if verb != "keypress" else lambda: [*held(), str(rng.choice(["A", "ENTER", "PAGEDOWN", "TAB"]))],
    }
    action: dict[str, Any] = {"type": verb}
    for name in (field.rstrip("?") for field in SCHEMA[verb].split()):
        action |= at() if name == "x" else {} if name == "y" else {name: values[name]()}
    return action
