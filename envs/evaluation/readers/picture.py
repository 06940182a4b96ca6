"""Reads a PNG or JPEG picture: a program of its own, see ``limited``. Standard input is the file, standard output JSON.

The answer is ``{"size": [width, height], "width": ..., "height": ..., "rgb": base64}``, with the pixels of the picture,
or of a smaller one where it has more than ``MOST``; or ``{"unreadable": why}``.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import warnings
from typing import Any

from PIL import Image

MAX_PIXELS = 40_000_000
MOST = 1_000_000


def picture(data: bytes) -> dict[str, Any]:
    """The picture, on white where it is transparent."""
    with Image.open(io.BytesIO(data), formats=["PNG", "JPEG"]) as image:
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise ValueError(f"{width} x {height} pixels; at most {MAX_PIXELS:,} are read")
        if "A" in image.getbands() or "transparency" in image.info:
            pixels = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA")).convert("RGB")
        else:
            pixels = image.convert("RGB")
    if width * height > MOST:
        share = (MOST / (width * height)) ** 0.5
        pixels = pixels.resize((max(1, int(width * share)), max(1, int(height * share))), Image.Resampling.BOX)
    rgb = base64.b64encode(pixels.tobytes()).decode()
    return {"size": [width, height], "width": pixels.width, "height": pixels.height, "rgb": rgb}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    content = sys.stdin.buffer.read()
    try:
        answer = picture(content)
    except Exception as error:
        answer = {"unreadable": f"{type(error).__name__}: {error}"[:1000]}
    json.dump(answer, sys.stdout)
