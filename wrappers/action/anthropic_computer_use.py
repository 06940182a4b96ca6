"""AnthropicComputerUse: an env that a model with Anthropic's computer tool can act in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from deskgym.envs.action.actions import MAX_SCROLL, Action
from deskgym.envs.errors import ActionError, near
from deskgym.envs.options import checked_after
from deskgym.wrappers.action.computer_use import LOOK, Call, ComputerUse, Deed, Result
from deskgym.wrappers.action.computer_use_fields import Fields, Picture, Point, View, png_base64
from deskgym.wrappers.action.json_text import Draw

_FIRST = {
    "key": "text",
    "type": "text",
    "mouse_move": "coordinate",
    "left_click": "coordinate?",
    "left_click_drag": "coordinate start_coordinate?",
    "right_click": "coordinate?",
    "middle_click": "coordinate?",
    "double_click": "coordinate?",
    "screenshot": "",
    "cursor_position": "",
}
_SECOND = _FIRST | {
    "left_click": "coordinate? text?",
    "left_click_drag": "coordinate start_coordinate? text?",
    "right_click": "coordinate? text?",
    "middle_click": "coordinate? text?",
    "double_click": "coordinate? text?",
    "triple_click": "coordinate? text?",
    "left_mouse_down": "",
    "left_mouse_up": "",
    "scroll": "scroll_direction scroll_amount coordinate? text?",
    "hold_key": "text duration",
    "wait": "duration",
}
_THIRD = _SECOND | {"zoom": "region"}

TOOLSET = "computer_toolset_20260801"
SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "computer_20241022": _FIRST,
    "computer_20250124": _SECOND,
    "computer_20251124": _THIRD,
    TOOLSET: _THIRD | {"key": "text repeat?"},
}
"""The verbs of each version of the tool and their fields, optional ones with a ``?``. The toolset's are those of the
``types/computer_*_input.py`` of anthropic-python 2.12; the older tools' are in no schema of the SDK, and are those of
Anthropic's documentation and of its reference implementation (anthropic-quickstarts, computer-use-demo)."""

BETAS = {
    "computer_20241022": ("computer-use-2024-10-22",),
    "computer_20250124": ("computer-use-2025-01-24",),
    "computer_20251124": ("computer-use-2025-11-24",),
    TOOLSET: (),
}
"""The ``betas`` that a request with the tool needs (anthropic-python 2.12, ``types/anthropic_beta_param.py``)."""

CLICKS: Mapping[str, tuple[str, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
DIRECTIONS: Mapping[str, Point] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
SPEECH = ("text", "thinking", "redacted_thinking")
"""The blocks of a message that ask for nothing."""

MAX_REPEAT = 100


class AnthropicComputerUse(ComputerUse):
    """Steps with what Anthropic's Messages API gives for its computer tool, and gives back what the API takes.

    ``step`` takes a message or its ``content`` list, with as many ``tool_use`` blocks as it has, one such block, the
    ``input`` of one, or a list of inputs: as dicts, as JSON text, or as the SDK's objects. Blocks of other tools are
    ignored. A message that uses no tool ends the episode with DONE; with FAIL where its text is just ``FAIL``; with
    ``answers=True`` its text is the answer. Each action is one step of the env, except that a ``key`` text of several
    combinations (``"Down Down Return"``) or with ``repeat`` is several. ``screenshot``, ``cursor_position`` and
    ``zoom`` are steps that do nothing.

    Args:
        env: a DesktopEnv with ``action="computer"`` and a ``screenshot``.
        display: width and height that the model is told of; the screenshot, ``elements`` and ``a11y`` are scaled to it
            and the model's points are scaled back. None takes the size of the env's screenshot. Anthropic's reference
            implementation recommends at most XGA (1024, 768) or WXGA (1280, 800).
        version: which of ``SCHEMAS`` the model is given; it may use the verbs of this one only.
        answers: whether the last message's text is the answer of the episode.

    Raises:
        ValueError: the env or an argument is of the wrong kind.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = AnthropicComputerUse(gym.make("deskgym/Science-v0"), display=(1280, 720))  # doctest: +SKIP
        >>> observation, info = env.reset(seed=7)  # doctest: +SKIP
        >>> messages = [{"role": "user", "content": env.output(observation)}]  # doctest: +SKIP
        >>> message = client.beta.messages.create(  # doctest: +SKIP
        ...     model=model, max_tokens=4096, tools=[env.tool], betas=env.betas, messages=messages
        ... )
        >>> observation, reward, terminated, truncated, info = env.step(message.content)  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        *,
        display: Sequence[int] | None = None,
        version: str = "computer_20250124",
        answers: bool = False,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, display=display, version=version, answers=answers)
        if version not in SCHEMAS:
            raise ValueError(f"version={version!r}; legal are {', '.join(SCHEMAS)}{near(version, SCHEMAS)}")
        self.version, self.schema = version, SCHEMAS[version]
        super().__init__(env, display, answers)

    @property
    def tool(self) -> dict[str, Any]:
        """The tool for the request's ``tools``."""
        if self.version == TOOLSET:
            return {"type": TOOLSET}
        width, height = self.display
        tool = {"type": self.version, "name": "computer", "display_width_px": width, "display_height_px": height}
        return tool | ({"enable_zoom": True} if "zoom" in self.schema else {})

    @property
    def betas(self) -> list[str]:
        """The request's ``betas``."""
        return list(BETAS[self.version])

    def output(self, observation: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The content of the next user message: one ``tool_result`` for each ``tool_use`` of the last step.

        Each shows the screen as its action left it, except that ``cursor_position`` is answered with a text and
        ``zoom`` with the part of the screen. One that was not carried out has ``is_error`` and says why. After a
        reset, and after a step without a ``tool_use``, the content is the screenshot, and the task or what was not
        legal.

        Args:
            observation: what the last ``reset`` or ``step`` gave.
        """
        blocks = [self._block(result) for result in self.answered(observation) if result.call.id is not None]
        blocks += [_text(text) for text in self.opening()]
        if all(result.call.id is None for result in self.results):
            blocks.append(_image(observation["screenshot"]))
        return blocks

    def _block(self, result: Result) -> dict[str, Any]:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call.id}
        if self.version == TOOLSET:
            block["toolset_name"] = "computer"
        if result.error:  # the API takes nothing but texts with an error
            return block | {"content": [_text(result.error)], "is_error": True}
        return block | {"content": [_text(result.text) if result.picture is None else _image(result.picture)]}

    def sampler(self) -> Draw:
        """See ``ComputerUse.sampler``."""
        return partial(draw_action, self.version, self.display)

    def read(self, message: Any) -> list[Call] | str:
        """See ``ComputerUse.read``."""
        blocks = message
        if isinstance(message, dict):
            blocks = message["content"] if isinstance(message.get("content"), (list, str)) else [message]
        if isinstance(blocks, str):
            return blocks
        if not isinstance(blocks, list):
            raise ActionError(f"a message is a dict, a list, a text or an SDK's object; got {type(message).__name__}")
        types = [block.get("type") if isinstance(block, dict) else None for block in blocks]
        calls = [
            self._call(block)
            for block, kind in zip(blocks, types, strict=True)
            if kind == "tool_use" and self._is_ours(block)
        ]
        if calls:
            return calls
        if all(kind in SPEECH for kind in types):
            return "\n".join(str(block.get("text", "")) for block in blocks if block["type"] == "text")
        if any(isinstance(block, dict) and "action" in block for block in blocks) or None in types:
            return [Call(None, blocks)]
        raise ActionError(f"there is no tool_use of the computer among the blocks {', '.join(map(str, types))}")

    def _is_ours(self, block: Mapping[str, Any]) -> bool:
        if self.version == TOOLSET:
            return block.get("toolset_name") == "computer"
        return block.get("name") == "computer"

    def _call(self, block: Mapping[str, Any]) -> Call:
        call_id, given = block.get("id"), block.get("input")
        if not isinstance(call_id, str):
            raise ActionError(f"a tool_use has an id; got {call_id!r}")
        if self.version == TOOLSET and isinstance(given, dict):
            given = given | {"action": block.get("name")}
        return Call(call_id, [given])

    def translate(self, action: Any, view: View, pointer: Point) -> Deed:
        """See ``ComputerUse.translate``."""
        fields = Fields.of(action, "action", self.schema, view)
        verb = fields.verb
        if verb in CLICKS:
            button, clicks = CLICKS[verb]
            x, y = fields.pair("coordinate")
            return Deed([Action("click", x, y, button=button, clicks=clicks, keys=fields.keys("text"))])
        return _OTHERS[verb](fields, pointer)


def _presses(fields: Fields, pointer: Point) -> Deed:
    """``"ctrl+s"``; several combinations one after the other, as xdotool takes them, are separated by spaces."""
    text = fields.text()
    combinations = text.split() or ([text] if text else [])
    if not combinations:
        raise fields.wrong("text", "key names such as 'Return' or 'ctrl+s'")
    repeat = int(fields.number("repeat", 1, MAX_REPEAT, 1))
    presses = [Action("press", keys=fields.names("text", [combination])) for combination in combinations]
    return Deed(presses * repeat)


def _drag(fields: Fields, pointer: Point) -> Deed:
    """From where it is said, else from where the pointer is."""
    x, y = fields.pair("start_coordinate")
    if x is None:
        x, y = pointer
    to_x, to_y = fields.pair("coordinate")
    return Deed([Action("drag", x, y, to_x, to_y, keys=fields.keys("text"))])


def _scroll(fields: Fields, pointer: Point) -> Deed:
    amount = int(fields.number("scroll_amount", 0, MAX_SCROLL))
    right, down = fields.choice("scroll_direction", DIRECTIONS, "")
    x, y = fields.pair("coordinate")
    return Deed([Action("scroll", x, y, dx=right * amount, dy=down * amount, keys=fields.keys("text"))])


def _hold(fields: Fields, pointer: Point) -> Deed:
    keys = fields.keys("text")
    if not keys:
        raise fields.wrong("text", "key names such as 'shift' or 'ctrl+Right'")
    return Deed([Action("hold", keys=keys, seconds=fields.seconds("duration"))])


def _zoom(fields: Fields, pointer: Point) -> Deed:
    region, (width, height) = fields.data["region"], fields.view.display
    legal = f"[x0, y0, x1, y1] with 0 <= x0 < x1 <= {width} and 0 <= y0 < y1 <= {height}"
    whole = isinstance(region, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in region)
    if not whole or len(region) != 4:
        raise fields.wrong("region", legal)
    x0, y0, x1, y1 = region
    if not (0 <= x0 < x1 <= width and 0 <= y0 < y1 <= height):
        raise fields.wrong("region", legal)
    return Deed([LOOK], (x0, y0, x1, y1))


_OTHERS: Mapping[str, Callable[[Fields, Point], Deed]] = {
    "key": _presses,
    "type": lambda fields, _: Deed([Action("type", text=fields.text())]),
    "mouse_move": lambda fields, _: Deed([Action("move", *fields.pair("coordinate"))]),
    "left_click_drag": _drag,
    "left_mouse_down": lambda *_: Deed([Action("mouse_down")]),
    "left_mouse_up": lambda *_: Deed([Action("mouse_up")]),
    "scroll": _scroll,
    "hold_key": _hold,
    "wait": lambda fields, _: Deed([Action("wait", seconds=fields.seconds("duration"))]),
    "screenshot": lambda *_: Deed([LOOK]),
    "cursor_position": lambda *_: Deed([LOOK], "pointer"),
    "zoom": _zoom,
}
"""What the verbs that are no clicks come to, from their fields and where the pointer is."""


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(picture: Picture) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png_base64(picture)}}


def draw_action(version: str, display: Point, rng: np.random.Generator) -> dict[str, Any]:
    """A legal ``input``, drawn evenly over the verbs.

    Args:
        version: which of ``SCHEMAS``.
        display: width and height of the display in pixels.
        rng: draws it.
    """
    verb = str(rng.choice(list(SCHEMAS[version])))
    width, height = display

    def at() -> list[int]:
        return [int(rng.integers(width)), int(rng.integers(height))]

    def region() -> list[int]:
        x, y = int(rng.integers(width - 16)), int(rng.integers(height - 16))
        return [x, y, int(rng.integers(x + 8, width + 1)), int(rng.integers(y + 8, height + 1))]

    texts = {"type": ["abc", "12 é"], "key": ["Return", "ctrl+a", "Page_Down", "x"], "hold_key": ["shift", "Right"]}
    values: dict[str, Callable[[], Any]] = {
        "coordinate": at,
        "start_coordinate": at,
        "text": lambda: str(rng.choice(texts.get(verb, ["ctrl", "shift"]))),
        "scroll_direction": lambda: str(rng.choice(list(DIRECTIONS))),
        "scroll_amount": lambda: int(rng.integers(1, 6)),
        "duration": lambda: int(rng.integers(2)),
        "repeat": lambda: int(rng.integers(1, 4)),
        "region": region,
    }
    optional = 0.3  # how often a field that may be left out is left out
    fields = [field for field in SCHEMAS[version][verb].split() if not field.endswith("?") or rng.random() > optional]
    return {"action": verb} | {field.rstrip("?"): values[field.rstrip("?")]() for field in fields}
