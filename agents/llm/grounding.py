"""Grounding: a model that finds the place of something on a screenshot, and the forms in which models say a place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deskgym.agents.llm.apis import Reply
from deskgym.agents.llm.prompts import prompt
from deskgym.envs.errors import near
from deskgym.wrappers.observation.messages import Message, message

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

FRAMES: Mapping[str, float | None] = {"pixels": None, "unit": 1.0, "thousand": 1000.0}
"""Of a model's coordinates: how far the screen reaches; None for its pixels."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
_TAGGED = re.compile(
    r"<(?:point|box|bbox|click)>(.*?)</|<\|box_start\|>(.*?)<\|box_end\|>|[(\[]([^()\[\]]*)[)\]]", re.DOTALL
)
_MOST_TEXT = 2000  # characters: a place is a few numbers
_LEFT_OUT = re.compile(r"[a-z_]+\d+\s*=", re.IGNORECASE)  # the digit of x1= is part of a name

Ask = Callable[..., Reply]


def place(said: str, frame: str, width: int, height: int) -> tuple[int, int] | None:
    """The pixel that a grounding model names; None where it names none on the screen.

    A place is two numbers, or four of a box, whose middle it is: in brackets, in a tag such as ``<point>``, after
    ``x=`` and ``y=``, or on their own. What is said last is meant.

    Args:
        said: the answer.
        frame: of ``FRAMES``.
        width: of the screen, in pixels.
        height: of the screen, in pixels.

    Examples:
        >>> place("<point>[[500, 250]]</point>", "thousand", 1280, 720)
        (640, 180)
        >>> place("It is at (0.5, 0.25).", "unit", 1280, 720)
        (640, 180)
        >>> place("x1=10, y1=20, x2=30, y2=40", "pixels", 1280, 720)
        (20, 30)
    """
    said = _LEFT_OUT.sub(" ", said[-_MOST_TEXT:])
    candidates = [next(part for part in groups if part) for groups in _TAGGED.findall(said) if any(groups)]
    for text in (*reversed(candidates), said):
        numbers = [float(number) for number in _NUMBER.findall(text)]
        if len(numbers) == 4:
            numbers = [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
        if len(numbers) == 2:
            extent = FRAMES[frame]
            x, y = (
                number if extent is None else number / extent * side
                for number, side in zip(numbers, (width, height), strict=True)
            )
            if 0 <= x <= width and 0 <= y <= height:
                return min(int(x), width - 1), min(int(y), height - 1)
    return None


class Grounder:
    """Finds places.

    Args:
        ask: how a model is asked; ``LLMAgent.ask``.
        model: that is asked; None takes the agent's own.
        frame: of ``FRAMES``: how it says a place.

    Raises:
        ValueError: there is no such frame.
    """

    def __init__(self, ask: Ask, model: Model | None = None, frame: str = "pixels") -> None:
        if frame not in FRAMES:
            raise ValueError(f"grounding={frame!r}; legal are {', '.join(FRAMES)}{near(frame, FRAMES)}")
        self.ask, self.model, self.frame = ask, model, frame

    def find(self, screenshot: NDArray[np.uint8], what: str) -> tuple[int, int] | None:
        """The pixel of what is described; None where the model names none."""
        height, width = screenshot.shape[:2]
        told: list[Message] = [
            message("system", [prompt("grounding", frame=self.frame, width=width, height=height)]),
            message("user", [what], [screenshot]),
        ]
        return place(self.ask(told, role="grounder", model=self.model).text, self.frame, width, height)
