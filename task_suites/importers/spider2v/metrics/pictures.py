"""Metrics of pictures. A process of its own reads them, on white where they are transparent."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers import limited
from deskgym.task_suites.importers.spider2v.metrics.judging import Judging, Value, content, metric, of_gold

Pixels = NDArray[np.uint8]

SAME_PIXEL = 24  # of 255 in each channel: smoothing and compression differ so much
MOST_OTHER = 0.01  # the share of pixels that may differ by more
PAPER_WHITE = 240  # a pixel with a darker channel is drawn on
MOST_REDRAWN = 0.25  # the share of what is drawn that another version's fonts may change


@dataclass(frozen=True)
class Picture:
    """A picture that was read.

    Attributes:
        size: its width and height.
        pixels: uint8 (H, W, 3), BGR; of a smaller one where it has more than a million.
    """

    size: tuple[int, int]
    pixels: Pixels

    @property
    def gray(self) -> Pixels:
        """uint8 (H, W)."""
        return np.asarray(cv2.cvtColor(self.pixels, cv2.COLOR_BGR2GRAY), np.uint8)


def read_picture(value: Value) -> Picture:
    """A PNG or JPEG picture. Raises CheckFailed."""
    name = value.name if isinstance(value, Path) else "the picture"
    answer = limited.read("picture", content(value), name)
    rgb = np.frombuffer(base64.b64decode(answer["rgb"]), np.uint8).reshape(answer["height"], answer["width"], 3)
    return Picture((answer["size"][0], answer["size"][1]), np.ascontiguousarray(rgb[..., ::-1]))


def similarity(a: Pixels, b: Pixels) -> float:
    """The mean structural similarity (SSIM) of two grey pictures of one size, with windows of 7 x 7 pixels.

    Wang et al., "Image quality assessment", IEEE TIP 13(4), 2004, with scikit-image's defaults.

    Raises:
        CheckFailed: they are smaller than a window.
    """
    if min(a.shape) < 7:
        raise CheckFailed(f"the picture is {a.shape[1]} x {a.shape[0]}: too small to compare")
    x, y = a.astype(np.float64), b.astype(np.float64)

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(cv2.blur(values, (7, 7))[3:-3, 3:-3], np.float64)

    mx, my, unbiased = mean(x), mean(y), 49 / 48
    vx, vy, vxy = (
        unbiased * (mean(p * q) - mp * mq) for p, q, mp, mq in ((x, x, mx, mx), (y, y, my, my), (x, y, mx, my))
    )
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    ratio = ((2 * mx * my + c1) * (2 * vxy + c2)) / ((mx**2 + my**2 + c1) * (vx + vy + c2))
    return float(ratio.mean())


def correlation(a: Pixels, b: Pixels) -> float:
    """How alike the histograms of the green channels are, 1 at most; the larger picture gets the other's width."""
    histograms = []
    for pixels in (a, b):
        counts = cv2.calcHist([pixels], [1], None, [256], [0, 256])
        histograms.append(cv2.normalize(counts, counts, 0, 1, cv2.NORM_MINMAX, -1))
    return float(cv2.compareHist(histograms[0], histograms[1], cv2.HISTCMP_CORREL))


def _as_wide(a: Picture, b: Picture) -> tuple[Pixels, Pixels]:
    """Both as upstream makes them: the larger one, by width and then by height, gets the other's width."""
    if a.size > b.size:
        return _resized(
            a.pixels, b.pixels.shape[1], a.pixels.shape[0] * b.pixels.shape[1] // a.pixels.shape[1]
        ), b.pixels
    return a.pixels, _resized(b.pixels, a.pixels.shape[1], b.pixels.shape[0] * a.pixels.shape[1] // b.pixels.shape[1])


def _resized(pixels: Pixels, width: int, height: int, how: int = cv2.INTER_LINEAR) -> Pixels:
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(cv2.resize(pixels, (max(width, 1), max(height, 1)), interpolation=how), np.uint8)


def look_alike(a: Value, b: Value) -> bool:
    """Whether two pictures have one size and nearly all pixels in common. Raises CheckFailed."""
    return _differing(read_picture(a), read_picture(b)) <= MOST_OTHER


def _differing(a: Picture, b: Picture) -> float:
    """The share of pixels that differ, 1 for different sizes."""
    if a.size != b.size:
        return 1.0
    return float((cv2.absdiff(a.pixels, b.pixels).max(axis=2) > SAME_PIXEL).mean())


def _pair(result: Value, expected: Value) -> tuple[Picture, Picture]:
    with of_gold(expected):
        right = read_picture(expected)
    return read_picture(result), right


@metric
def compare_images(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """A structural similarity above 0.98, at the smaller size; corrected: sizes differ by a tenth at most."""
    found, right = _pair(result, expected)
    if judging.corrected and not _near(found.size, right.size):
        return 0.0, f"it is {found.size}, right is {right.size}"
    width, height = min(found.size, right.size)
    like = similarity(*(_resized(one.gray, width, height, cv2.INTER_LANCZOS4) for one in (found, right)))
    return float(like > 0.98), f"their similarity is {like:.3f}; right is above 0.98"


@metric
def compare_metabase_images(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Histograms that correlate above 0.91; corrected: and most of what is drawn is in the same places."""
    found, right = _pair(result, expected)
    like = correlation(*_as_wide(found, right))
    if like <= 0.91 or not judging.corrected:
        return float(like > 0.91), f"their histograms correlate by {like:.3f}; right is above 0.91"
    height, width = right.pixels.shape[:2]
    pixels = _resized(found.pixels, width, height, cv2.INTER_AREA)
    drawn = (pixels.min(axis=2) < PAPER_WHITE) | (right.pixels.min(axis=2) < PAPER_WHITE)
    other = (cv2.absdiff(pixels, right.pixels).max(axis=2) > SAME_PIXEL) & drawn
    share = float(other.sum() / max(1, drawn.sum()))
    return float(share <= MOST_REDRAWN), f"{share:.0%} of what is drawn differs; right is {MOST_REDRAWN:.0%} at most"


@metric
def compare_jupyterlab_images(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Equal histograms; corrected: nearly all pixels are equal."""
    found, right = _pair(result, expected)
    if judging.corrected:
        share = _differing(found, right)
        return float(share <= MOST_OTHER), f"{share:.1%} of the pixels differ"
    like = correlation(*_as_wide(found, right))
    return float(like == 1.0), f"their histograms correlate by {like:.6f}; right is 1"


@metric
def compare_image_list(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Equal pictures. Upstream looks at the part that both have; corrected: of one size, nearly all pixels."""
    results, golds = (value if isinstance(value, list) else [value] for value in (result, expected))
    if judging.corrected and len(results) != len(golds):
        return 0.0, f"there are {len(results)} pictures, right are {len(golds)}"
    for number, (one, gold) in enumerate(zip(results, golds, strict=False), 1):
        if one is None:
            return 0.0, f"picture {number} is missing"
        found, right = _pair(one, gold)
        if judging.corrected:
            same = _differing(found, right) <= MOST_OTHER
        else:
            height, width = np.minimum(found.pixels.shape[:2], right.pixels.shape[:2])
            same = not np.any(found.pixels[:height, :width] != right.pixels[:height, :width])
        if not same:
            return 0.0, f"picture {number} differs"
    return 1.0, f"all {len(golds)} pictures are equal"


def _near(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return all(abs(p - q) <= 0.1 * q for p, q in zip(a, b, strict=True))
