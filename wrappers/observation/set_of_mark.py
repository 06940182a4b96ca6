"""SetOfMark: numbered boxes on the screenshot, their table beside it, and actions that name a mark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.actions import VERBS, Action, RefusedAction, parse_code
from deskgym.envs.action.spaces import action_from_sample
from deskgym.envs.errors import ActionError, InvalidAction
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.texts import cut_lines
from deskgym.envs.options import checked_after
from deskgym.envs.text_space import UnicodeText
from deskgym.wrappers.action.mark_actions import Point, point_of, with_marks
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.observation.element_rules import check_preset, kept_rows
from deskgym.wrappers.observation.element_text import table as table_of
from deskgym.wrappers.observation.marks import draw_benchmark_marks, draw_readable_marks

MAX_TABLE = 65536  # characters of the table of marks
_MOST_MARKS = 4096
_VERBS = tuple(VERBS)
_MARKS = (("mark", "x", "y"), ("to_mark", "to_x", "to_y"))  # what stands for what


class SetOfMark(DesktopWrapper):
    """Draws a numbered box around each element that can be acted on, and lets actions name the number.

    The observation gets these parts, ``screenshot`` being replaced:

    ==============  =====================  ==========================================================================
    part            space                  holds
    ==============  =====================  ==========================================================================
    ``screenshot``  as it was              the screen with the marks drawn on a copy
    ``mark_boxes``  int32 (max_marks, 4)   x, y, width, height in screen pixels; row k is mark k + 1; zero-padded
    ``marks``       UnicodeText            a header and one line per mark: line k is mark k (with ``table=True``)
    ==============  =====================  ==========================================================================

    A **code** action may use ``index_7`` or ``tag_7``, the pixel (x, y) in the middle of mark 7, as
    ``pyautogui.click(tag_7)`` or ``pyautogui.moveTo(*index_7)``. A **computer** action may say
    ``{"action": "click", "mark": 7}`` instead of x and y, and ``to_mark`` for a drag's end; the sample space gets the
    parts ``mark`` and ``to_mark``, in which 0 is none, and which count only where the verb reads a point. A
    **discrete** action is passed on. Marks are those of the last observation.

    A mark that there is not raises ActionError, or with ``invalid_action="feedback"`` the step counts, nothing is done,
    and ``feedback`` and ``info["invalid_action"]`` say why. A member of the sample space never raises: it does nothing,
    with ``info["invalid_action"]``.

    ================  ===============================================  =============================================
    preset            marks                                            looks
    ================  ===============================================  =============================================
    ``deskgym``       what can be reached and clicked, edited or read  coloured boxes, labels that do not hide
                                                                       each other where that is possible
    ``spider2v``      Spider2-V's rule; not what shows one colour      red boxes, white on black at the bottom left
    ``scienceboard``  the same (both have it from OSWorld)             the same; a table of four columns
    ================  ===============================================  =============================================

    The rules are in ``deskgym.wrappers.observation.element_rules``, the tables in
    ``deskgym.wrappers.observation.element_text``. 300 marks at 1920x1080 take a few ms: ``python
    benchmarks/set_of_mark.py``.

    Args:
        env: an environment with the part ``screenshot`` in the screen's own size.
        preset: whose rules and looks.
        max_marks: no more than the first so many are drawn.
        table: whether there is the part ``marks``.

    Attributes:
        points: the pixel in the middle of marks 1, 2, 3, ... of the last observation.
        marked: their rows in ``desktop.elements``: intp (K,).

    Raises:
        ValueError: an argument is not legal, or ``screenshot`` is missing or of another size.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = SetOfMark(gym.make("deskgym/Science-v0", action="code"))  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
        >>> env.step("pyautogui.click(tag_3)")  # doctest: +SKIP
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        preset: str = "deskgym",
        max_marks: int = 300,
        table: bool = True,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, preset=preset, max_marks=max_marks, table=table)
        super().__init__(env)
        self.preset = check_preset(preset)
        if not 1 <= max_marks <= _MOST_MARKS:
            raise ValueError(f"max_marks={max_marks!r}; legal is 1 to {_MOST_MARKS}")
        self.max_marks, self.table = max_marks, table
        self.points: list[tuple[int, int]] = []
        self.marked: NDArray[np.intp] = np.zeros(0, np.intp)
        self._check_screenshot()
        limits = np.iinfo(np.int32)
        parts = self.parts() | {"mark_boxes": spaces.Box(limits.min, limits.max, (max_marks, 4), np.int32)}
        if table:
            parts["marks"] = UnicodeText(MAX_TABLE)
        self.observation_space = spaces.Dict(parts)
        self.desktop.observer.reads_elements = True
        self._frames = _frames(env)
        if self.desktop.actions.name == "computer" and isinstance(env.action_space, spaces.Dict):
            numbers = {part: spaces.Discrete(max_marks + 1) for part, _, _ in _MARKS}
            self.action_space = spaces.Dict({**env.action_space.spaces, **numbers})

    def _check_screenshot(self) -> None:
        width, height = self.desktop.screen_size
        shape = self.require("screenshot").shape
        if shape != (height, width, 3):
            raise ValueError(
                f"SetOfMark draws on a screenshot of {(height, width, 3)}, the screen's own size; what is inside gives "
                f"{shape}: put SetOfMark inside of the wrapper that changes it"
            )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, and mark what it shows."""
        self.points = []
        observation, info = self.env.reset(seed=seed, options=options)
        return self.mark(observation, self.desktop.elements), info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Replace marks by their pixels, step the env, and mark what it shows.

        Raises:
            ActionError: the action names a mark that there is not, or is not legal; nothing was done (unless
                ``invalid_action="feedback"``).
        """
        try:
            action = self._translate(action)
        except ActionError as error:
            action = RefusedAction(error)
        observation, reward, terminated, truncated, info = self.env.step(action)
        seen = NO_ELEMENTS if "fault" in info else self.desktop.elements  # a broken machine has an empty frame
        return self.mark(observation, seen), float(reward), terminated, truncated, info

    def mark(self, observation: Mapping[str, Any], elements: Elements) -> dict[str, Any]:
        """A copy of an observation with marks for these elements, which actions then mean."""
        rows = kept_rows(elements, self.desktop.screen_size, self.preset)
        boxes = elements.rows[rows, :4]
        screenshot = observation["screenshot"]
        if len(rows):
            screenshot = np.array(screenshot, np.uint8, order="C")
            if self.preset == "deskgym":
                drawn = list(range(min(len(rows), self.max_marks)))
                draw_readable_marks(screenshot, boxes[drawn].tolist())
            else:
                drawn = draw_benchmark_marks(screenshot, boxes.tolist(), self.max_marks)
            rows, boxes = rows[drawn], boxes[drawn]
        self.marked = rows
        self.points = [(x + w // 2, y + h // 2) for x, y, w, h in boxes.tolist()]
        padded = np.zeros((self.max_marks, 4), np.int32)
        padded[: len(boxes)] = boxes
        marked = {**observation, "screenshot": screenshot, "mark_boxes": padded}
        if self.table:
            marked["marks"] = cut_lines(table_of(elements, rows.tolist(), self.preset, marks=True), MAX_TABLE)
        return marked

    def _translate(self, action: Any) -> Any:
        """The action for what is inside.

        Raises:
            ActionError: it is not legal.
            InvalidAction: a sample that names a mark that there is not.
        """
        if isinstance(action, str) and self.desktop.actions.name == "code":
            program = parse_code(action)
            return action if isinstance(program, Action) else self._program(program, action)
        if self.desktop.actions.name != "computer" or not isinstance(action, Mapping):
            return action
        if "mark" not in action and "to_mark" not in action:
            return action
        if isinstance(action.get("action"), str):
            return self._named(action)
        return self._sampled(action)

    def _program(self, program: str, action: str) -> str:
        """The action itself, or where its program names marks, the program with these."""
        named = with_marks(program, [self._outward(point) for point in self.points])
        return action if named == program else named

    def _outward(self, point: tuple[int, int]) -> Point:
        """A pixel of the screen in the coordinates that what is inside takes."""
        result: Point = point
        for frame in self._frames:
            result = frame.outward(int(result[0]), int(result[1]))
        return result

    def _named(self, action: Mapping[str, Any]) -> Any:
        """The JSON form with ``mark`` or ``to_mark``: an Action where marks say all, else with the marks' x and y."""
        data = _without_marks(action)
        reads = VERBS.get(action["action"], ("x", "to_x"))  # what is inside tells of an unknown verb
        pixels: dict[str, int] = {}
        for part, x, y in _MARKS:
            if part not in action:
                continue
            number = action[part]
            if isinstance(number, bool) or not isinstance(number, int | np.integer):
                raise ActionError(f"{part}={number!r}; legal is a whole number, from 1 to {len(self.points)} now")
            if x not in reads:
                raise ActionError(f"action {action['action']!r} takes no {part!r}")
            if x in action or y in action:
                raise ActionError(f"an action takes {part!r} or {x!r} and {y!r}, not both")
            pixels[x], pixels[y] = point_of(int(number), self.points)
        if "x" not in data and "to_x" not in data:
            return Action.from_dict(data | pixels).check(self.desktop.screen_size)
        for _, x, y in _MARKS:
            if x in pixels:
                data[x], data[y] = self._outward((pixels[x], pixels[y]))
        return data

    def _sampled(self, action: Mapping[str, Any]) -> Any:
        """A member of the sample space: what is inside gets its own part of it, or an Action in screen pixels."""
        inner = _without_marks(action)
        try:
            reads = VERBS[_VERBS[int(action["action"])]]
            numbers = {part: int(action.get(part, 0)) if x in reads else 0 for part, x, _ in _MARKS}
        except (IndexError, KeyError, TypeError, ValueError):
            return inner  # what is inside says what is wrong with it
        if not any(numbers.values()):
            return inner
        try:
            pixels = {x: point_of(numbers[part], self.points) for part, x, _ in _MARKS if numbers[part]}
        except ActionError as error:
            raise InvalidAction(str(error)) from error
        if "to_x" in reads and len(pixels) == 1:
            for x, part in (("x", "point"), ("to_x", "to")):
                if x in pixels:
                    inner[part] = np.array(self._outward(pixels[x]), np.asarray(inner[part]).dtype)
            return inner
        data = action_from_sample(inner).to_dict()
        for _, x, y in _MARKS:
            if x in pixels:
                data[x], data[y] = pixels[x]
        try:
            return Action.from_dict(data).check(self.desktop.screen_size)
        except ActionError as error:  # the middle of an element that reaches over the screen's edge
            raise InvalidAction(str(error)) from error


class _Frame(Protocol):
    """What is needed of a ``deskgym.wrappers.action.coordinates.Frame`` (that module imports this one)."""

    def outward(self, x: int, y: int) -> Point: ...


def _frames(env: gymnasium.Env[Any, Any]) -> list[_Frame]:
    """The frames of coordinates that an action for ``env`` goes through, the one next to the screen first."""
    frames: list[_Frame] = []
    while isinstance(env, gymnasium.Wrapper):
        frame: _Frame | None = getattr(env, "frame", None)  # of a FramedActions
        if frame is not None:
            frames.insert(0, frame)
        env = env.env
    return frames


def _without_marks(action: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in action.items() if name not in ("mark", "to_mark")}
