"""A sheet of pictures, for people who look at an episode without a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

SIZE = 1280, 720
"""Of the sheet, in pixels."""
_LINES, _COLUMNS = 46, 200


def sheet_of(pictures: Sequence[NDArray[np.uint8]], text: str) -> NDArray[np.uint8]:
    """Pictures side by side, each with its number, as large as all of them fit; or a text, where there are none.

    Returns:
        uint8 (720, 1280, 3) RGB.
    """
    sheet = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(sheet)
    if not pictures:
        lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _COLUMNS) or [""]]
        draw.multiline_text((8, 8), "\n".join(lines[:_LINES]), fill="black")
        return np.asarray(sheet, np.uint8)
    columns = 1
    while columns * columns < len(pictures):
        columns += 1
    width, height = SIZE[0] // columns, SIZE[1] // columns
    for number, picture in enumerate(pictures):
        x, y = number % columns * width, number // columns * height
        small = Image.fromarray(picture)
        small.thumbnail((width - 6, height - 6))
        sheet.paste(small, (x + 3, y + 3))
        draw.rectangle((x + 3, y + 3, x + 27, y + 17), fill="black")
        draw.text((x + 7, y + 4), str(number), fill="white")
    return np.asarray(sheet, np.uint8)
