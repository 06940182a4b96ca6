"""Scripts: how oracles and wrong attempts act, written as steps and played as bursts of an agent's actions.

A step that looks at the screen (it names an element, or it is a macro) begins a new burst; a step that does not joins
the burst before it, as a person types on after a click. ``wait``, ``done``, ``fail`` and ``answer`` stand alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from deskgym.envs.action.actions import STOPS, Action, split_keys
from deskgym.envs.episode import Bursts, Screen

Button = Literal["left", "middle", "right"]


@dataclass(frozen=True)
class Target:
    """Where to point: an element's center by what it is called, or a point; moved by ``dx``, ``dy`` pixels.

    Attributes:
        name: the element's accessible name; see ``deskgym.envs.episode.Screen.find``.
        role: its AT-SPI role.
        text: its text content.
        window: the title of its window.
        nth: which of several.
        timeout: seconds to wait for it.
        x: a point in screen pixels, with ``y`` and instead of an element.
        y: the same, downwards.
        dx: moves the point to the right.
        dy: moves the point downwards.
    """

    name: str | None = None
    role: str | None = None
    text: str | None = None
    window: str | None = None
    nth: int = 0
    timeout: float = 10.0
    x: int | None = None
    y: int | None = None
    dx: int = 0
    dy: int = 0

    @property
    def looks(self) -> bool:
        """Whether the screen must be seen to find it."""
        return any(part is not None for part in (self.name, self.role, self.text, self.window))

    def point(self, screen: Screen) -> tuple[int | None, int | None]:
        """The pixel, or (None, None) for where the pointer is.

        Raises:
            SetupError: there is no such element.
        """
        if not self.looks:
            return (None, None) if self.x is None or self.y is None else (self.x + self.dx, self.y + self.dy)
        element = screen.find(
            role=self.role, name=self.name, text=self.text, window=self.window, nth=self.nth,
            timeout=self.timeout,
        )  # fmt: skip
        x, y = element.center
        return x + self.dx, y + self.dy


def click(
    screen: Screen,
    name: str | None = None,
    role: str | None = None,
    text: str | None = None,
    window: str | None = None,
    nth: int = 0,
    x: int | None = None,
    y: int | None = None,
    dx: int = 0,
    dy: int = 0,
    timeout: float = 10.0,
    button: Button = "left",
    clicks: int = 1,
    keys: str = "",
) -> list[Action]:
    """Click an element or a point (see ``Target``), with ``keys`` such as ``"ctrl"`` held down."""
    at = Target(name, role, text, window, nth, timeout, x, y, dx, dy).point(screen)
    return [Action("click", *at, button=button, clicks=clicks, keys=split_keys(keys))]


def move(screen: Screen, to: Target) -> list[Action]:
    """Put the pointer there."""
    x, y = to.point(screen)
    return [Action("move", x, y)]


def drag(screen: Screen, from_: Target, to: Target, button: Button = "left", keys: str = "") -> list[Action]:
    """Press, move, release. ``to`` without an element or a point counts ``dx``, ``dy`` from where the drag begins."""
    x, y = from_.point(screen)
    to_x, to_y = to.point(screen)
    if to_x is None and x is not None and y is not None:
        to_x, to_y = x + to.dx, y + to.dy
    return [Action("drag", x, y, to_x, to_y, button=button, keys=split_keys(keys))]


def scroll(screen: Screen, dy: int = 0, dx: int = 0, at: Target | None = None, keys: str = "") -> list[Action]:
    """Turn the wheel by so many clicks, down and to the right."""
    x, y = (at or Target()).point(screen)
    return [Action("scroll", x, y, dx=dx, dy=dy, keys=split_keys(keys))]


def type_(screen: Screen, text: str, focus: Target | None = None) -> list[Action]:
    """Type a text, once the element ``focus`` has the keyboard focus; a line break is Return.

    A program may move its focus later than it takes keys (LibreOffice does): the text would go to the wrong place.
    """
    _await_focus(screen, focus)
    return [Action("type", text=text)]


def press(screen: Screen, keys: str, times: int = 1, focus: Target | None = None) -> list[Action]:
    """Press a key or a combination such as ``ctrl+l``, once the element ``focus`` has the keyboard focus."""
    _await_focus(screen, focus)
    return [Action("press", keys=split_keys(keys))] * times


def _await_focus(screen: Screen, focus: Target | None) -> None:
    if focus is not None:
        screen.find(
            role=focus.role, name=focus.name, text=focus.text, window=focus.window, nth=focus.nth, state="focused",
            timeout=focus.timeout,
        )  # fmt: skip


def wait(screen: Screen, seconds: float = 1.0) -> list[Action]:
    """Let time pass."""
    return [Action("wait", seconds=seconds)]


def done(screen: Screen) -> list[Action]:
    """Say that the task is done."""
    return [Action("done")]


def fail(screen: Screen) -> list[Action]:
    """Say that the task cannot be done."""
    return [Action("fail")]


def answer(screen: Screen, text: str) -> list[Action]:
    """Give an answer, which ends the episode."""
    return [Action("answer", text=text)]


STEPS: Mapping[str, Callable[..., list[Action]]] = {
    "click": click, "double_click": partial(click, clicks=2), "right_click": partial(click, button="right"),
    "move": move, "drag": drag, "scroll": scroll, "type": type_, "press": press, "wait": wait,
    "done": done, "fail": fail, "answer": answer,
}  # fmt: skip
"""Functions of the screen and the task file's arguments that return the actions of one step."""


@dataclass(frozen=True)
class Step:
    """A step with its arguments bound.

    Attributes:
        name: one of ``STEPS``, or a macro's.
        function: takes the screen.
        arguments: by name.
    """

    name: str
    function: Callable[..., list[Action] | Bursts]
    arguments: Mapping[str, Any]

    @property
    def looks(self) -> bool:
        """Whether it must see the screen as the steps before it leave it."""
        if self.name not in STEPS:
            return True
        given = self.arguments
        if self.name.endswith("click"):
            return any(given.get(key) is not None for key in ("name", "role", "text", "window"))
        return any(isinstance(value, Target) and value.looks for value in given.values())


def play(steps: Sequence[Step], screen: Screen) -> Bursts:
    """The bursts of a script; the screen is looked at only when the bursts before have been carried out."""
    pending: list[Action] = []
    for step in steps:
        if step.looks and pending:
            yield from _apart(pending)
            pending = []
        made = step.function(screen, **step.arguments)
        if isinstance(made, list):
            pending += made
            continue
        for burst in made:
            yield from _apart(list(burst))
    yield from _apart(pending)


def _apart(burst: list[Action]) -> Bursts:
    """A burst without its waits and stops, which come in bursts of their own."""
    current: list[Action] = []
    for action in burst:
        if action.verb != "wait" and action.verb not in STOPS:
            current.append(action)
            continue
        if current:
            yield current
        yield [action]
        current = []
    if current:
        yield current
