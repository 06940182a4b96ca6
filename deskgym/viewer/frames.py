"""Frames as a page holds them: lossless, and of most frames only what changed since the one before."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]
Box = tuple[int, int, int, int]
"""x, y, width, height in pixels."""

_REACH = 24  # pixels; changes nearer than this to each other share a patch
_MAX_PATCHES = 40
_KEY_SHARE = 0.6  # a frame of which more than this has changed is kept whole
_BASE_SHARE = 0.3  # a key frame of which more than this is other than a base is one itself
_KEY_EVERY = 40  # frames; bounds how many a page draws to jump to one
_MOST_BASES = 8  # screens that a frame is compared with
_LOSSLESS = [cv2.IMWRITE_WEBP_QUALITY, 101]


def changed_boxes(before: Frame, after: Frame) -> list[Box]:
    """The boxes in which two frames of one size differ; they may overlap.

    Args:
        before: uint8 (H, W, 3).
        after: the same shape.
    """
    mask = np.any(before != after, axis=2).astype(np.uint8)
    if not mask.any():
        return []
    grown = cv2.dilate(mask, np.ones((_REACH + 1, _REACH + 1), np.uint8))
    count, labels, stats, _ = cv2.connectedComponentsWithStats(grown)
    if count - 1 > _MAX_PATCHES:
        return [_tight(mask, (0, 0, mask.shape[1], mask.shape[0]))]
    boxes = []
    for label in range(1, count):
        x, y, width, height = (int(number) for number in stats[label, :4])
        inside = mask[y : y + height, x : x + width] & (labels[y : y + height, x : x + width] == label)
        left, top, w, h = _tight(inside.astype(np.uint8), (0, 0, width, height))
        boxes.append((x + left, y + top, w, h))
    return boxes


def _tight(mask: Frame, box: Box) -> Box:
    x, y, width, height = cv2.boundingRect(mask[box[1] : box[1] + box[3], box[0] : box[0] + box[2]])
    return box[0] + x, box[1] + y, width, height


def bounding_box(boxes: Iterable[Box]) -> Box | None:
    """The smallest box around all, or None without any."""
    corners = [(x, y, x + width, y + height) for x, y, width, height in boxes]
    if not corners:
        return None
    x, y = min(c[0] for c in corners), min(c[1] for c in corners)
    return x, y, max(c[2] for c in corners) - x, max(c[3] for c in corners) - y


class Bases:
    """Whole screens of a page, which key frames of all its episodes are drawn over: most episodes begin alike.

    Attributes:
        new: data URIs of those that were added since it was emptied.
    """

    def __init__(self) -> None:
        self.new: list[str] = []
        self._count = 0
        self._latest: dict[int, Frame] = {}

    def under(self, frame: Frame) -> tuple[int, list[Box]]:
        """The number of a screen, and the boxes in which a frame differs from it; a frame like none is added."""
        height, width = frame.shape[:2]
        for number, base in self._latest.items():
            if base.shape != frame.shape:
                continue
            boxes = changed_boxes(base, frame)
            if sum(w * h for _, _, w, h in boxes) <= _BASE_SHARE * width * height:
                return number, boxes
        number, self._count = self._count, self._count + 1
        self._latest[number] = frame
        if len(self._latest) > _MOST_BASES:
            del self._latest[next(iter(self._latest))]
        self.new.append(data_uri(frame))
        return number, []


def pack_frames(frames: Iterable[Frame | None], bases: Bases) -> Iterator[dict[str, Any]]:
    """Each frame as ``{"base": number or None, "patches": [[x, y, w, h, data URI]], "changed": box}``.

    A frame with a base is drawn over that, others over the frame before. A missing frame has no patches, and
    ``"missing": True``.

    Args:
        frames: uint8 (H, W, 3) each; None where one is missing.
        bases: the page's screens.
    """
    last: Frame | None = None
    since_key = 0
    for frame in frames:
        if frame is None:
            last = None
            yield {"base": None, "patches": [], "changed": None, "missing": True}
            continue
        height, width = frame.shape[:2]
        comparable = last is not None and last.shape == frame.shape
        boxes = changed_boxes(last, frame) if comparable and last is not None else []
        share = sum(w * h for _, _, w, h in boxes) / (width * height)
        key = not comparable or share > _KEY_SHARE or since_key >= _KEY_EVERY
        since_key = 0 if key else since_key + 1
        base, kept = bases.under(frame) if key else (None, boxes)
        yield {
            "base": base,
            "patches": [[x, y, w, h, data_uri(frame[y : y + h, x : x + w])] for x, y, w, h in kept],
            "changed": bounding_box(boxes),
        }
        last = frame


def data_uri(pixels: Frame) -> str:
    """An image as lossless WebP."""
    _, packed = cv2.imencode(".webp", cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2BGR), _LOSSLESS)
    return "data:image/webp;base64," + base64.b64encode(packed.tobytes()).decode()
