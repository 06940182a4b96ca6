"""A check of a picture: a PNG or JPEG file that the agent left, or a region of the screen."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import HostFile
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Start, with_baseline
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.files import LIMIT, read_file
from deskgym.envs.machines.base import Machine

Pixels = NDArray[np.uint8]
"""RGB, (height, width, 3)."""

NEAR = 48
"""Distance in RGB up to which a pixel is of a colour: antialiased lines and JPEG change colours a little."""
_BINS = 8


def _key(path: str, region: list[int] | None) -> str:
    return f"image:{path}:{region}"


def _base(
    start: Start, path: str = "", region: list[int] | None = None, limit: int = LIMIT, **_: Any
) -> dict[str, Any]:
    """The picture at the start; None where there was none."""
    if not path:
        return {_key(path, region): _capture(start.machine, region)}
    try:
        return {_key(path, region): _decode(start.machine.get(path, limit=limit), path)}
    except (GuestCallError, CheckFailed):
        return {_key(path, region): None}


@with_baseline(_base)
def image(
    final: FinalState,
    path: str = "",
    region: list[int] | None = None,
    like: HostFile | None = None,
    similarity: float = 0.5,
    palette: float = 0.0,
    colors: dict[str, float] | None = None,
    size: Predicate | None = None,
    changed: float = 0.001,
    limit: int = LIMIT,
) -> tuple[bool, str]:
    """A picture is not empty, is not as at the start, and is as wanted.

    Args:
        final: the final state.
        path: a PNG or JPEG file; if left out, the screen.
        region: x, y, width and height of a part of the screen.
        like: a picture beside the task file that it resembles.
        similarity: how much its structure (SSIM) resembles that of ``like``, where 1 is the same, and 0 is no better
            than its background alone, or than the picture at the start.
        palette: how much its colours are those of ``like`` (the common share of their histograms), from 0 to 1.
        colors: shares of its pixels that have at least these colours, such as ``{'#ff0000': 0.01}``.
        size: a predicate of ``[width, height]``.
        changed: share of the pixels that must be other ones than at the start.
        limit: bytes of the file that are read at most.

    Example:
        ```yaml
        - image: {path: /home/user/plot.png, like: plot.png, similarity: 0.6, colors: {'#1f77b4': 0.005}}
        ```
    """
    key = _key(path, region)
    if path:
        data = _decode(read_file(final, path, limit), path)
    else:
        data = final.read_once(key, lambda machine: _capture(machine, region))
    what, got, before = path or "the screen", _pixels(data), final.baseline(key)
    wrong = []
    if (got == got[0, 0]).all():
        return False, f"{what} has one colour only"
    if before is not None and (share := difference(got, _pixels(before))) < changed:
        wrong.append(f"{share:.4f} of it has changed since the start, right is {changed} at least")
    if size is not None and not size(data["size"]):
        wrong.append(f"its size is {data['size']}, right is {size}")
    for color, least in (colors or {}).items():
        if (share := color_share(got, color)) < least:
            wrong.append(f"{share:.4f} of it is {color}, right is {least} at least")
    if like is not None:
        right = _pixels(_decode(like.read_bytes(), like.name))
        rivals = [np.full_like(right, right.reshape(-1, 3).mean(axis=0))] + (
            [] if before is None else [_pixels(before)]
        )
        floor = min(max(ssim(rival, right) for rival in rivals), 0.999)
        found = (ssim(got, right) - floor) / (1 - floor)
        if found < similarity:
            wrong.append(f"its structure is {found:.2f} like {like.name}, right is {similarity} at least")
        if (common := histogram_overlap(got, right)) < palette:
            wrong.append(f"its colours are {common:.2f} like {like.name}, right is {palette} at least")
    return not wrong, f"{what} of {data['size']} pixels: {'; '.join(wrong) or 'right'}"


def _decode(data: bytes, what: str) -> dict[str, Any]:
    answer = dict(limited.read("picture", data, what))
    return answer | {"rgb": base64.b64decode(answer["rgb"])}


def _capture(machine: Machine, region: list[int] | None) -> dict[str, Any]:
    screen = machine.display.capture()
    x, y, width, height = region or [0, 0, screen.shape[1], screen.shape[0]]
    part = screen[y : y + height, x : x + width]
    if not part.size:
        raise ValueError(f"region {region} is not on the screen of {screen.shape[1]} x {screen.shape[0]} pixels")
    height, width = part.shape[:2]
    return {"size": [width, height], "width": width, "height": height, "rgb": part.tobytes()}


def _pixels(data: Mapping[str, Any]) -> Pixels:
    return np.frombuffer(data["rgb"], np.uint8).reshape(data["height"], data["width"], 3)


def _fitted(got: Pixels, right: Pixels) -> Pixels:
    """The picture in the other one's size."""
    import cv2

    height, width = right.shape[:2]
    return (
        got if got.shape == right.shape else np.asarray(cv2.resize(got, (width, height), interpolation=cv2.INTER_AREA))
    )


def difference(got: Pixels, before: Pixels) -> float:
    """The share of the pixels that differ visibly; 1 where the size does."""
    if got.shape != before.shape:
        return 1.0
    return float((np.abs(got.astype(np.int16) - before).max(axis=2) > 8).mean())


def color_share(got: Pixels, color: str) -> float:
    """The share of the pixels that are near a colour such as ``#ff0000``."""
    wanted = np.frombuffer(bytes.fromhex(color.lstrip("#")), np.uint8).astype(np.int32)
    return float((((got.astype(np.int32) - wanted) ** 2).sum(axis=2) <= NEAR**2).mean())


def histogram_overlap(got: Pixels, right: Pixels) -> float:
    """The common share of two pictures' colours, of 8 × 8 × 8 kinds."""
    import cv2

    shares = []
    for one in (got, right):
        counts = np.asarray(cv2.calcHist([one], [0, 1, 2], None, [_BINS] * 3, [0, 256] * 3))
        shares.append(counts / counts.sum())
    return float(np.minimum(*shares).sum())


def ssim(got: Pixels, right: Pixels) -> float:
    """Mean structural similarity of two pictures in grey (Wang et al. 2004: Gaussian window, sigma 1.5)."""
    import cv2

    a, b = (cv2.cvtColor(one, cv2.COLOR_RGB2GRAY).astype(np.float64) for one in (_fitted(got, right), right))

    def mean(of: Any) -> Any:
        return cv2.GaussianBlur(of, (11, 11), 1.5)

    mean_a, mean_b = mean(a), mean(b)
    var_a, var_b, cov = mean(a * a) - mean_a**2, mean(b * b) - mean_b**2, mean(a * b) - mean_a * mean_b
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    top = (2 * mean_a * mean_b + c1) * (2 * cov + c2)
    return float((top / ((mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2))).mean())


CHECKS: Mapping[str, CheckFunction] = {"image": image}
