"""Frames: the coordinates that an agent uses, and their pixels in the frame of what is inside."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, RefusedAction, parse_code
from deskgym.envs.action.spaces import ComputerActionSpace
from deskgym.envs.errors import ActionError
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.action import coordinates_guest
from deskgym.wrappers.action.coordinates_guest import Axis
from deskgym.wrappers.action.mark_actions import Point, with_marks
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.observation.set_of_mark import SetOfMark
from deskgym.wrappers.observation.text_budget import longest

Kind = Literal["pixels", "unit", "thousand"]
_AXIS = {"x": 0, "y": 1, "to_x": 0, "to_y": 1}
_ROW = re.compile(r"\A(.*\t)\((-?\d+), (-?\d+)\)\t\((\d+), (\d+)\)(?=\t|\Z)")
_ENDING = re.compile(r"\[(?:(\d+) more rows|\.\.\.)\]")  # where a table was cut: ``element_text.ENDINGS``
_GUEST = Path(coordinates_guest.__file__).read_text()
_HEAD = f"(lambda m, a: (exec({_GUEST!r}, m), m['run'](*a, globals())))({{'__name__': 'frame'}}, "
_TAIL = ")"


@dataclass(frozen=True)
class Frame:
    """The coordinates of an agent: which pixels of the inner picture they run over, and in which numbers.

    The arithmetic, and how it rounds, is in ``deskgym.wrappers.action.coordinates_guest``.

    Attributes:
        size: width and height in the frame's numbers: (1, 1) for ``unit``, (1000, 1000) for ``thousand``.
        box: x, y, width, height of what it covers, in the pixels of what is inside.
        kind: what the numbers are.

    Examples:
        >>> half = Frame((960, 540), (0, 0, 1920, 1080))
        >>> half.inward(10, 20), half.outward(21, 41)
        ((21, 41), (10, 20))
        >>> Frame((1000, 1000), (0, 0, 1920, 1080), "thousand").inward(500, 1000)
        (960, 1079)
    """

    size: tuple[int, int]
    box: tuple[int, int, int, int]
    kind: Kind = "pixels"

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Both axes as ``coordinates_guest`` takes them."""
        x, y, width, height = self.box
        return (x, width, self.size[0], self.kind), (y, height, self.size[1], self.kind)

    def inward(self, x: float, y: float) -> tuple[int, int]:
        """The inner pixel of a point of the frame.

        Raises:
            ActionError: it is outside.
        """
        return self._inward("x", x), self._inward("y", y)

    def outward(self, x: int, y: int) -> tuple[float, float]:
        """The point of the frame that stands for an inner pixel; numbers outside the frame where it lies outside."""
        return coordinates_guest.outward(x, self.axes[0]), coordinates_guest.outward(y, self.axes[1])

    def action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """A computer action (JSON, OSWorld's form, or a sample) in the inner frame; what makes no sense stays.

        Raises:
            ActionError: a point is outside the frame.
        """
        result = dict(action)
        if "action_type" in result or isinstance(result.get("action"), str):
            nested = result.get("parameters")
            if isinstance(nested, Mapping):
                result["parameters"] = self._numbers(nested)
            return self._numbers(result)
        for part in ("point", "to"):
            value: Any = result.get(part)
            if np.shape(value) == (2,):
                result[part] = np.array(self.inward(float(value[0]), float(value[1])), np.int32)
        return result

    def code(self, text: str, marks: Sequence[Point] | None = None) -> str:
        """A program that uses this frame, as one for the inner frame; words (DONE, WAIT, ...) stay.

        It becomes one line that fits pyautogui's functions for the program and then runs it: those that take a point
        or a distance, ``position``, ``size`` and ``onScreen``. What looks at the screen itself (``screenshot``,
        ``locateOnScreen``) stays in screen pixels. Tracebacks show the program's own lines, with their numbers.

        Args:
            text: a code action.
            marks: points of this frame that the program may name as ``tag_1``, ...; None without ``SetOfMark``.

        Raises:
            ActionError: the program names a mark that there is not.
        """
        program = parse_code(text)
        if isinstance(program, Action):
            return text
        return f"{_HEAD}{(program if marks is None else with_marks(program, marks), self.axes)!r}{_TAIL}"

    def elements(self, observation: Mapping[str, Any], parts: Mapping[str, spaces.Space[Any]]) -> dict[str, Any]:
        """Those parts of an observation that tell where elements are, in this frame; ``parts`` are their spaces."""
        tables = {name: self.rows(observation[name]) for name in ("elements", "mark_boxes") if name in observation}
        texts = {
            name: self.table(observation[name], parts[name].max_length)  # type: ignore[attr-defined]
            for name in ("a11y", "marks")
            if name in observation
        }
        return tables | texts

    def rows(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Rows that begin with x, y, width, height, with these in this frame, which must be of pixels: a copy.

        Edges go outwards to whole numbers. Rows of zeros, which are padding, stay.
        """
        start = (rows[:, :2] - self.box[:2]) * np.array(self.size)
        stop = start + rows[:, 2:4] * np.array(self.size)
        low = start // self.box[2:]
        high = -(-stop // self.box[2:])
        result = rows.copy()
        used = rows.any(axis=1)
        result[used, :2] = low[used]
        result[used, 2:4] = np.where(rows[:, 2:4] > 0, high - low, 0)[used]
        return result

    def table(self, text: str, limit: int) -> str:
        """A table such as ``a11y`` with its cells (x, y) and (width, height) in this frame, which must be of pixels.

        One that gets longer than ``limit`` characters is cut at a row's end, and says so.
        """

        def place(found: re.Match[str]) -> str:
            row = np.array([[int(number) for number in found.groups()[1:]]], np.int32)
            x, y, width, height = self.rows(row)[0].tolist()
            return f"{found[1]}({x}, {y})\t({width}, {height})"

        return _cut([_ROW.sub(place, line) for line in text.split("\n")], limit)

    def _numbers(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._inward(name, value) if name in _AXIS and _is_number(value) else value
            for name, value in data.items()
        }

    def _inward(self, name: str, value: float) -> int:
        try:
            return coordinates_guest.inward(value, self.axes[_AXIS[name]])
        except ValueError as error:
            raise ActionError(f"{name}={error}") from None


def _cut(rows: list[str], limit: int) -> str:
    """The rows as one text of at most ``limit`` characters; rows that were missing before count as missing."""
    ending, missing = _ENDING.fullmatch(rows[-1]), 0
    if ending:
        rows, missing = rows[:-1], int(ending[1] or 0)

    def first(count: int) -> str:
        left = missing + len(rows) - count
        note = [ending[0]] if ending and not ending[1] else [f"[{left} more rows]"] if left else []
        return "\n".join([*rows[:count], *note])

    return longest(len(rows), first, lambda text: len(text) <= limit)[:limit]


def unwrap_code(text: str) -> tuple[str, list[tuple[Axis, Axis]]]:
    """A program that ``Frame.code`` was applied to, possibly several times, as it was.

    Returns:
        The program, and the axes of the frames, from the one that the program's numbers are in inwards.
    """
    frames: list[tuple[Axis, Axis]] = []
    while text.startswith(_HEAD) and text.endswith(_TAIL):
        try:
            inner, axes = ast.literal_eval(text[len(_HEAD) : -len(_TAIL)])
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            break
        if not isinstance(inner, str):
            break
        text = inner
        frames.insert(0, axes)
    return text, frames


class FramedActions(DesktopWrapper):
    """What wrappers have in common that take actions in a frame of their own; ``frame`` is None where they do not.

    An ``Action`` passes untouched, and so do discrete actions. A point outside the frame is an illegal action: raised
    or fed back as the env's ``invalid_action`` says.
    """

    frame: Frame | None = None

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step with an action in this frame."""
        return self.env.step(self.inward(action))

    def inward(self, action: Any) -> Any:
        """The action in the inner frame, or the RefusedAction that stands for it; what is not understood stays."""
        form = self.desktop.actions.name
        try:
            if self.frame is not None and form == "computer" and isinstance(action, Mapping):
                return self.frame.action(action)
            if self.frame is not None and form == "code" and isinstance(action, str):
                return self.frame.code(action, self._marks())
        except ActionError as error:
            return RefusedAction(error)
        return action

    def _marks(self) -> list[Point] | None:
        """The marks of a SetOfMark inside, as points of this frame; None where there is none."""
        frames: list[Frame] = []
        layer: gymnasium.Env[Any, Any] = self
        while isinstance(layer, gymnasium.Wrapper) and not isinstance(layer, SetOfMark):
            if isinstance(layer, FramedActions) and layer.frame is not None:
                frames.insert(0, layer.frame)
            layer = layer.env
        if not isinstance(layer, SetOfMark):
            return None
        points: list[Any] = list(layer.points)
        for frame in frames:
            points = [frame.outward(*point) for point in points]
        return points

    def set_frame(self, frame: Frame) -> None:
        """Take actions in this frame, and give the action space for it.

        Raises:
            ValueError: what is inside takes actions of a form that has no points.
        """
        form, space = self.desktop.actions.name, self.env.action_space
        has_points = {
            "computer": isinstance(space, spaces.Dict) and "point" in space.spaces,
            "code": getattr(space, "programs", type(space) is UnicodeText),
        }
        if not has_points.get(form, True):
            raise ValueError(
                f"{type(self).__name__} translates the points of {form} actions, and what is inside takes a "
                f"{type(space).__name__}: put it inside that wrapper"
            )
        if form == "computer" and isinstance(space, spaces.Dict):
            self.action_space = _computer_space(frame, space)
        self.frame = frame


def inner_size(env: gymnasium.Env[Any, Any]) -> tuple[int, int]:
    """Width and height of the frame, in pixels, that ``env`` takes its actions in.

    Raises:
        ValueError: it takes normalised coordinates.
    """
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, FramedActions) and env.frame is not None:
            if env.frame.kind != "pixels":
                raise ValueError(f"{type(env).__name__} gives normalised coordinates: put it outside of this wrapper")
            return env.frame.size
        env = env.env
    size: tuple[int, int] = env.unwrapped.screen_size  # type: ignore[attr-defined]
    return size


def _computer_space(frame: Frame, inner: spaces.Dict) -> spaces.Dict:
    if frame.kind == "pixels" and isinstance(inner, ComputerActionSpace):
        return ComputerActionSpace(frame.size)
    last = frame.kind == "thousand"  # the extent itself is legal
    points: list[spaces.Space[Any]] = [
        spaces.Box(0.0, 1.0, (2,), np.float32)
        if frame.kind == "unit"
        else spaces.MultiDiscrete([extent + last for extent in frame.size], dtype=np.int32)
        for _ in range(2)
    ]
    return spaces.Dict({**inner.spaces, "point": points[0], "to": points[1]})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
