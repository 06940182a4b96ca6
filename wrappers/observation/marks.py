"""Numbered boxes on a screenshot, from labels that are rendered once.

Two looks: the benchmarks' (to the pixel what Spider2-V's ``draw_bounding_boxes`` draws with Pillow, ScienceBoard's
too), and a readable one, whose labels keep out of each other's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Frame = NDArray[np.uint8]
Box = Sequence[int]
"""x, y, width, height in pixels."""

RED = (255, 0, 0)
COLOURS = (
    (200, 30, 30), (20, 90, 190), (20, 125, 40), (150, 40, 160), (180, 80, 0), (0, 115, 125), (90, 60, 200),
    (120, 75, 45),
)  # fmt: skip
"""Of one mark after the other in the readable look; white is legible on each."""

_PROBES = 8  # pixels a side that are looked at before a large box is searched for a second colour
_FONT_SIZE = 11
_SCRATCH = (96, 48)
_ORIGIN = (8, 40)


class Label(NamedTuple):
    """A rendered number: its pixels, and its top left corner relative to the point where it belongs."""

    pixels: Frame
    dx: int
    dy: int


def draw_benchmark_marks(canvas: Frame, boxes: Iterable[Box], limit: int) -> list[int]:
    """Draw boxes in place as the benchmarks do: 1 pixel red, a white number on black at the bottom left, from 1.

    As published, a box with one colour only gets no mark and no number, what was drawn before counts as part of the
    picture, a box reaches to x + width and y + height inclusive, and labels may hide each other. The font is Pillow's
    own at 10 pixels, which they fall back to where there is no ``arial.ttf``.

    Args:
        canvas: uint8 (H, W, 3) RGB, C-contiguous, changed.
        boxes: in this order.
        limit: stop after so many marks.

    Returns:
        Which of the boxes were drawn; entry k has the number k + 1.
    """
    drawn: list[int] = []
    for k, (x, y, w, h) in enumerate(boxes):
        if len(drawn) >= limit:
            break
        if _one_colour(canvas, x, y, w, h):
            continue
        drawn.append(k)
        cv2.rectangle(canvas, (x, y), (x + w, y + h), RED, 1)
        label = _benchmark_label(len(drawn))
        _blit(canvas, label.pixels, x + label.dx, y + h + label.dy)
    return drawn


def _one_colour(canvas: Frame, x: int, y: int, w: int, h: int) -> bool:
    """Whether a box shows one colour; as in Pillow's ``crop``, what lies off the picture is black."""
    height, width = canvas.shape[:2]
    crop = canvas[max(y, 0) : max(y + h, 0), max(x, 0) : max(x + w, 0)]
    if not crop.size:
        return True
    colour = crop[0, 0]
    if (x < 0 or y < 0 or x + w > width or y + h > height) and colour.any():
        return False
    rows, columns = crop.shape[:2]
    if rows * columns > 4 * _PROBES**2:
        probes = crop[:: -(-rows // _PROBES), :: -(-columns // _PROBES)]
        if (probes != colour).any():
            return False
    bound = tuple(int(level) for level in colour)
    return bool(cv2.countNonZero(cv2.inRange(crop, bound, bound)) == rows * columns)


def draw_readable_marks(canvas: Frame, boxes: Sequence[Box]) -> None:
    """Draw boxes in place with numbers from 1 that can be read: alternating colours, labels beside each other.

    A label goes to the first place in or at its box that is blank on the picture; else to the first that covers no
    other label; where there is none, it covers one.

    Args:
        canvas: uint8 (H, W, 3) RGB, C-contiguous, changed.
        boxes: in this order, all of them.
    """
    for number, (x, y, w, h) in enumerate(boxes, 1):
        cv2.rectangle(canvas, (x, y), (x + w - 1, y + h - 1), COLOURS[number % len(COLOURS)], 1)
    taken = np.zeros(canvas.shape[:2], np.uint8)
    for number, box in enumerate(boxes, 1):
        label = _readable_label(number)
        height, width = label.shape[:2]
        left, top = _place(canvas, taken, box, width, height)
        _blit(canvas, label, left, top)
        taken[max(top, 0) : top + height, max(left, 0) : left + width] = 1


def _place(canvas: Frame, taken: Frame, box: Box, width: int, height: int) -> tuple[int, int]:
    """Left and top of a label of this size."""
    right, bottom = canvas.shape[1] - width, canvas.shape[0] - height
    first: tuple[int, int] | None = None
    free: tuple[int, int] | None = None
    for left, top in _places(box, width, height):
        left, top = min(max(left, 0), right), min(max(top, 0), bottom)
        if left < 0 or top < 0:
            return left, top  # the picture is smaller than a label
        first = first or (left, top)
        under = canvas[top : top + height, left : left + width].tobytes()
        if under == under[:3] * (width * height):
            return left, top
        if free is None and b"\1" not in taken[top : top + height, left : left + width].tobytes():
            free = left, top
    assert first is not None  # there are always places
    return free or first


def _places(box: Box, width: int, height: int) -> list[tuple[int, int]]:
    """Where a label may go, the best first: in the corners where there is room, most often blank on the right."""
    x, y, w, h = box
    middle = y + (h - height) // 2
    left, right, top, bottom = x + 1, x + w - 1 - width, y + 1, y + h - 1 - height
    inside = [(right, top), (right, bottom), (left, top), (left, bottom)]
    outside = [
        (x + w, middle), (x - width, middle), (x, y - height), (x, y + h), (x + w - width, y - height),
        (x + w - width, y + h), (x + w, y - height), (x + w, y + h), (x - width, y - height), (x - width, y + h),
    ]  # fmt: skip
    further = [(x, y - 2 * height), (x, y + h + height), (x + w + width, middle), (x - 2 * width, middle)]
    roomy = w >= 2 * width + 2 and h >= height + 2
    return [*inside, *outside, *further] if roomy else [*outside, *inside, *further]


def _blit(canvas: Frame, pixels: Frame, left: int, top: int) -> None:
    """Copy pixels into the picture, as far as they lie on it."""
    height, width = pixels.shape[:2]
    from_x, from_y = max(-left, 0), max(-top, 0)
    target = canvas[top + from_y : max(top + height, 0), left + from_x : max(left + width, 0)]
    target[:] = pixels[from_y : from_y + target.shape[0], from_x : from_x + target.shape[1]]


@lru_cache(maxsize=2048)
def _benchmark_label(number: int) -> Label:
    """A number as the benchmarks draw it, anchored at its left bottom."""
    none = (255, 0, 255)
    image = Image.new("RGB", _SCRATCH, none)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default()
    draw.rectangle(draw.textbbox(_ORIGIN, str(number), font=font, anchor="lb"), fill="black")
    draw.text(_ORIGIN, str(number), font=font, anchor="lb", fill="white")
    pixels = np.asarray(image)
    ys, xs = np.nonzero((pixels != none).any(axis=2))
    top, left = int(ys.min()), int(xs.min())
    found = np.ascontiguousarray(pixels[top : ys.max() + 1, left : xs.max() + 1])
    return Label(found, left - _ORIGIN[0], top - _ORIGIN[1])


@lru_cache(maxsize=2048)
def _readable_label(number: int) -> Frame:
    """A white number on its mark's colour, with a pixel of room around it: uint8 (h, w, 3)."""
    image = Image.new("RGB", _SCRATCH, COLOURS[number % len(COLOURS)])
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=_FONT_SIZE)
    left, _, right, _ = draw.textbbox(_ORIGIN, str(number), font=font, anchor="ls")
    _, top, _, bottom = draw.textbbox(_ORIGIN, "0123456789", font=font, anchor="ls")
    draw.text(_ORIGIN, str(number), font=font, anchor="ls", fill="white")
    pixels = np.asarray(image)
    return np.ascontiguousarray(pixels[int(top) - 1 : int(bottom) + 2, int(left) - 1 : int(right) + 2])
