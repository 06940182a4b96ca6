"""The fake machine's display: one window with a text field and a button, drawn with rectangles."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays.base import Display, Event, StepReport, StepRequest
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.guest.step import CodeResult, ElementsReading

if TYPE_CHECKING:
    from deskgym.envs.machines.fake.machine import FakeMachine

BACKGROUND, WINDOW, FIELD, INK, POINTER = (59, 66, 82), (216, 222, 233), (255, 255, 255), (46, 52, 64), (0, 0, 0)
FRAME, TEXT, BUTTON = 23, 61, 43  # AT-SPI's roles "frame", "text" and "push button"
CELL = (4, 6)  # pixels of one character

Box = tuple[int, int, int, int]


class FakeDisplay(Display):
    """A screen that reacts: a click focuses the field or presses the button, and keys write into the field.

    Attributes:
        text: what the field holds.
        presses: how often the button was pressed.
        focused: whether the field has the focus.
        pointer: where the pointer is.
    """

    def __init__(self, machine: FakeMachine, size: tuple[int, int]) -> None:
        self.size = size
        self.text = ""
        self.presses = 0
        self.focused = False
        self.pointer = (size[0] // 2, size[1] // 2)
        self._machine = machine
        width, height = size
        self.window: Box = (width // 8, height // 8, width * 3 // 4, height * 3 // 4)
        x, y, w, h = self.window
        self.field: Box = (x + w // 8, y + h // 8, w * 3 // 4, h // 3)
        self.button: Box = (x + w // 8, y + h * 5 // 8, w // 3, h // 5)

    @property
    def state(self) -> dict[str, Any]:
        """What was done to it so far; can be set, as a whole or in part."""
        return {"text": self.text, "presses": self.presses, "focused": self.focused, "pointer": self.pointer}

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    def capture(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The screen, drawn anew; see ``Display.capture``."""
        self._machine.check()
        width, height = self.size
        frame = np.empty((height, width, 3), np.uint8) if out is None else out
        frame[:] = BACKGROUND
        _fill(frame, self.window, WINDOW)
        _fill(frame, self.field, FIELD)
        _fill(frame, self.button, (94, 129, (172 + 16 * self.presses) % 256))
        x, y, w, h = self.field
        columns = max(1, w // CELL[0])
        for k, character in enumerate(self.text[: columns * max(1, h // CELL[1])]):
            box = (x + k % columns * CELL[0], y + k // columns * CELL[1], CELL[0] - 1, CELL[1] - 1)
            if not character.isspace():
                _fill(frame, box, (INK[0], INK[1], ord(character) % 256))
        if self.focused:
            _fill(frame, (x, y, w, 1), (136, 192, 208))
        _fill(frame, (*self.pointer, 3, 3), POINTER)
        return frame

    def carry_out(self, request: StepRequest) -> StepReport:
        """Carry out events at once; see ``Display.carry_out``."""
        self._machine.check()
        before = self.state
        for event in request.events:
            self._apply(event)
        code = None if request.code is None else self.run_code(request.code.text)
        elements = None if request.elements is None else self.elements(request.elements.limit)
        damage = (0, 0, *self.size) if before != self.state else None
        return StepReport(True, damage, {"input": 0.0, "settle": 0.0}, code=code, elements=elements)

    def _apply(self, event: Event) -> None:
        kind = event["t"]
        if kind == "move":
            self.pointer = (
                min(max(int(event["x"]), 0), self.size[0] - 1),
                min(max(int(event["y"]), 0), self.size[1] - 1),
            )
        elif kind == "down" and event["b"] == 1:
            self.focused = _inside(self.pointer, self.field)
            self.presses += _inside(self.pointer, self.button)
        elif kind == "type" and self.focused:
            self.text += event["s"]
        elif kind == "keydown" and self.focused:
            self._press(str(event["k"]))

    def _press(self, key: str) -> None:
        named = {"enter": "\n", "return": "\n", "tab": "\t", "space": " "}
        if key.lower() == "backspace":
            self.text = self.text[:-1]
        elif len(key) == 1:
            self.text += key
        else:
            self.text += named.get(key.lower(), "")

    def elements(self, limit: int) -> ElementsReading:
        """The accessible elements, as a guest would answer."""
        states = {name: 1 << k for k, name in enumerate(STATE_BITS)}
        shown = states["enabled"] | states["sensitive"] | states["showing"] | states["visible"]
        focus = states["focused"] if self.focused else 0
        rows = [
            (*self.window, FRAME, shown | states["active"], -1, 0),
            (*self.field, TEXT, shown | states["editable"] | states["focusable"] | focus, 0, 0),
            (*self.button, BUTTON, shown | states["focusable"], 0, 0),
        ]
        texts = [
            ("frame", "Fake", "", ""),
            ("text", "Note", self.text, ""),
            ("push button", f"Pressed {self.presses}", "", ""),
        ]
        return ElementsReading(np.array(rows[:limit], "<i4").tobytes(), texts[:limit])

    def run_code(self, text: str) -> CodeResult:
        """Do what a code action says as far as it is pyautogui calls and prints of literals; nothing is executed."""
        stdout = []
        try:
            for statement in ast.parse(text).body:
                call = statement.value if isinstance(statement, ast.Expr) else None
                if isinstance(call, ast.Call):
                    name = ast.unparse(call.func)
                    arguments = [ast.literal_eval(argument) for argument in call.args]
                    if name == "print":
                        stdout.append(" ".join(map(str, arguments)) + "\n")
                    elif found := re.fullmatch(r"pyautogui\.(\w+)", name):
                        self._pyautogui(found[1], arguments)
        except (SyntaxError, ValueError) as error:
            message = f"Traceback (most recent call last):\n{type(error).__name__}: {error}\n"
            return CodeResult("".join(stdout), message, 1)
        return CodeResult("".join(stdout))

    def _pyautogui(self, name: str, arguments: list[Any]) -> None:
        if name in ("click", "moveTo", "mouseDown", "doubleClick") and len(arguments) >= 2:
            self._apply({"t": "move", "x": arguments[0], "y": arguments[1]})
        if name in ("click", "mouseDown", "doubleClick"):
            self._apply({"t": "down", "b": 1})
        if name in ("write", "typewrite") and arguments:
            self._apply({"t": "type", "s": str(arguments[0])})
        if name in ("press", "keyDown") and arguments:
            self._apply({"t": "keydown", "k": str(arguments[0])})


def _fill(frame: NDArray[np.uint8], box: Box, colour: tuple[int, int, int]) -> None:
    x, y, width, height = box
    frame[y : y + height, x : x + width] = colour


def _inside(point: tuple[int, int], box: Box) -> bool:
    return box[0] <= point[0] < box[0] + box[2] and box[1] <= point[1] < box[1] + box[3]
