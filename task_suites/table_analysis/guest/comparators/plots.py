"""Plots are compared by their pictures and by the data that are drawn in them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.figures import drawn_difference
from deskgym.task_suites.table_analysis.guest.comparators.rules import GoldError, Rules
from deskgym.task_suites.table_analysis.guest.results.figure_data import HEIGHT, WIDTH

THRESHOLD = 0.6
"""A picture is right above this similarity (Tapilot-Crossing, comparison of plots)."""
_LARGEST = 4_000_000


def plot_difference(gold: Any, got: Any, rules: Rules, mode: str) -> str:
    """What differs between two plots, or ``""``.

    ``paper``: the pictures alone, by structural similarity. ``corrected``: where the gold draws data, these decide
    alone: another style, size of text or order of series lowers the similarity of pictures of the same data below
    the threshold, and a blank canvas of the same axes can be above it. A gold that draws no data (only text, say) is
    compared by its picture with one that draws none either; a blank canvas may pass then: do not ask for such plots.

    Args:
        gold: ``{"png": bytes, "drawn": list}``.
        got: the same, or anything.
        rules: ``rtol`` is of the axis' range.
        mode: ``"paper"`` or ``"corrected"``.

    Raises:
        GoldError: the gold is no plot.
    """
    if not isinstance(gold, Mapping) or not isinstance(gold.get("png"), bytes):
        raise GoldError(f"the reference's plot is a {type(gold).__name__}; legal is a picture with its drawn data")
    if not isinstance(got, Mapping) or not isinstance(got.get("png"), bytes):
        return f"a {type(got).__name__} where a plot was expected"
    if mode == "corrected" and (gold.get("drawn") or got.get("drawn")):
        return drawn_difference(gold.get("drawn") or [], got.get("drawn"), rules)
    reached = similarity(gold["png"], got["png"])
    return "" if reached > THRESHOLD else f"similarity of pictures {reached:.2f}; right is above {THRESHOLD}"


def similarity(gold: bytes, got: bytes) -> float:
    """The structural similarity (SSIM) of two PNGs, both as ``WIDTH`` x ``HEIGHT`` grey pixels.

    Raises:
        GoldError: ``gold`` cannot be read.
        ValueError: ``got`` is no PNG of at most 4 million pixels.
    """
    from skimage import metrics

    try:
        expected = grey(gold)
    except ValueError as error:
        raise GoldError(f"the reference's picture: {error}") from error
    measure: Any = metrics.structural_similarity
    return float(measure(expected, grey(got), data_range=255))


def grey(png: bytes) -> Any:
    """The picture as a uint8 array of shape (``HEIGHT``, ``WIDTH``), resized by Lanczos where it is of another size.

    Raises:
        ValueError: it is no PNG of at most 4 million pixels.
    """
    import numpy as np
    from PIL import Image

    try:
        picture: Any = Image.open(io.BytesIO(png), formats=["PNG"])
        if picture.width * picture.height > _LARGEST:
            raise ValueError(f"{picture.width} x {picture.height} pixels")
        if picture.size != (WIDTH, HEIGHT):
            picture = picture.convert("RGB").resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        return np.asarray(picture.convert("L"))
    except Exception as error:
        raise ValueError(f"not a PNG of at most {_LARGEST} pixels: {error}") from None
