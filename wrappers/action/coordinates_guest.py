"""Coordinates of a frame, in pixels: the arithmetic for both sides, and what a program gets sent along to use it.

The text of this file goes into the guest with each code action of a wrapper that changes coordinates: there it fits
pyautogui for that one program (each runs in a fork of its own). So it imports nothing of deskgym.

An axis is (origin, length, extent, kind): ``length`` pixels from ``origin`` on are ``extent`` units of the frame.

=============  =================  ==========================================  ========================================
kind           legal              pixel - origin                              back
=============  =================  ==========================================  ========================================
``pixels``     0 to extent - 1    floor((value + 1/2) * length / extent)      floor((pixel + 1/2) * extent / length)
``thousand``   0 to extent        floor(value * length / extent), and the     the nearest whole number to
                                  last pixel for the extent itself            (pixel + 1/2) * extent / length
``unit``       0 to extent        the same                                    (pixel + 1/2) * extent / length
=============  =================  ==========================================  ========================================

So a pixel of a small picture is the middle of what it shows, and a normalised number is cut as UI-TARS and Gemini do
(``int(x / 1000 * width)``). pixel → frame → pixel is exact wherever ``length <= extent``, and always for ``unit``.
"""

from __future__ import annotations

import functools
import linecache
import math
import threading
from collections.abc import Callable
from typing import Any

Axis = tuple[int, int, float, str]

NAME = "<action>"
POINT = {
    name: 0
    for name in (
        "click", "leftClick", "rightClick", "middleClick", "doubleClick", "tripleClick", "mouseDown", "mouseUp",
        "moveTo", "dragTo", "pixel", "pixelMatchesColor",
    )
} | {"scroll": 1, "hscroll": 1, "vscroll": 1}  # fmt: skip
"""pyautogui's functions that take a point, and which argument its x is."""
OFFSET = ("move", "moveRel", "drag", "dragRel")


def inward(value: float, axis: Axis) -> int:
    """The pixel of a number of the frame.

    Raises:
        ValueError: it is outside.
    """
    origin, length, extent, kind = axis
    half = 0.5 if kind == "pixels" else 0.0
    if not (-half <= value < extent - half if half else 0 <= value <= extent):
        last = extent - 1 if half else extent
        raise ValueError(f"{value!r} is outside the frame of the coordinates; legal are 0 to {last:g}")
    return origin + min(int((value + half) * length // extent), length - 1)


def outward(pixel: int, axis: Axis) -> float:
    """The number of the frame that stands for a pixel: a whole one, but for ``unit``."""
    origin, length, extent, kind = axis
    twice = 2 * (pixel - origin) + 1
    if kind == "unit":
        return twice * extent / (2 * length)
    if kind == "pixels":
        return int(twice * extent // (2 * length))
    return int(-((length - twice * extent) // (2 * length)))


def distance(value: float, axis: Axis) -> int:
    """A distance in pixels; a half is rounded to the even number."""
    return round(value * axis[1] / axis[2])


def run(source: str, axes: tuple[Axis, Axis], variables: dict[str, Any]) -> None:
    """Fit pyautogui, and run a program as if it were the text itself: its tracebacks have its own lines only."""
    fit(axes)
    linecache.cache[NAME] = (len(source), None, source.splitlines(keepends=True), NAME)
    try:
        exec(compile(source, NAME, "exec", dont_inherit=True), variables)
    except SystemExit:
        raise
    except BaseException as error:
        _show(error)
        raise SystemExit(1) from None


def fit(axes: tuple[Axis, Axis]) -> None:
    """Let pyautogui's functions take and give coordinates of the frame, on top of what they took so far."""
    import pyautogui

    within = threading.local()  # the functions call one another: only the outermost call has the program's numbers

    def replace(name: str, fitted: Callable[..., Any]) -> None:
        original = getattr(pyautogui, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if getattr(within, "call", False):
                return original(*args, **kwargs)
            within.call = True
            try:
                return fitted(original, list(args), kwargs)
            finally:
                within.call = False

        setattr(pyautogui, name, call)

    def point(name: str, first: int) -> Callable[..., Any]:
        def fitted(original: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
            _change(args, kwargs, first, ("x", "y"), axes, functools.partial(_named, name))
            return original(*args, **kwargs)

        return fitted

    def offset(original: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        _change(args, kwargs, 0, ("xOffset", "yOffset"), axes, distance)
        return original(*args, **kwargs)

    def position(original: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        found = original(*args, **kwargs)
        if any(value is not None for value in (*args, *kwargs.values())):
            return found
        return pyautogui.Point(*(outward(value, axis) for value, axis in zip(found, axes, strict=True)))

    def on_screen(original: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        try:
            _change(args, kwargs, 0, ("x", "y"), axes, inward)
        except ValueError:
            return False
        return original(*args, **kwargs)

    for name, first in POINT.items():
        replace(name, point(name, first))
    for name in OFFSET:
        replace(name, offset)
    replace("position", position)
    replace("onScreen", on_screen)
    replace("size", lambda original, args, kwargs: pyautogui.Size(axes[0][2], axes[1][2]))


def _named(name: str, value: float, axis: Axis) -> int:
    try:
        return inward(value, axis)
    except ValueError as error:
        raise ValueError(f"pyautogui.{name}: {error}") from None


def _change(
    args: list[Any],
    kwargs: dict[str, Any],
    first: int,
    names: tuple[str, str],
    axes: tuple[Axis, Axis],
    convert: Callable[[float, Axis], int],
) -> None:
    """Convert a call's point in place: two numbers, one pair, or a box (x, y, width, height) for its middle."""
    for k in (0, 1):
        place: Any = args if len(args) > first + k else kwargs
        key: Any = first + k if place is args else names[k]
        value: Any = place[key] if place is args else kwargs.get(key)
        if k == 0 and isinstance(value, (tuple, list)) and len(value) in (2, 4):
            x, y, width, height = (*value, 0, 0)[:4]
            middle = (x + width / 2, y + height / 2) if len(value) == 4 else (x, y)
            place[key] = tuple(convert(number, axis) for number, axis in zip(middle, axes, strict=True))
        elif not isinstance(value, str) and hasattr(value, "__float__") and math.isfinite(value):
            place[key] = convert(float(value) if value % 1 else int(value), axes[k])


def _show(error: BaseException) -> None:
    """The traceback from the program's own first frame on."""
    import traceback

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    try:
        traceback.print_exception(type(error), error, trace, limit=50)
    except RecursionError:
        import sys

        print(type(error).__name__, file=sys.stderr)
