"""How many tokens a request has for a model: by its tokenizer, or by a safe estimate."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from typing import Any

from PIL import Image

from deskgym.agents.llm.images import image_of
from deskgym.agents.llm.settings import IMAGE_FORMATS, NEEDS, ModelSettings
from deskgym.envs.extras import needs_extra
from deskgym.wrappers.observation.text_budget import estimated_tokens

PER_MESSAGE = 8
"""Tokens that the frame of a message takes: more than any chat template that we know."""

_HEAD = 8192  # characters of base64 that hold an image's size
_SAFE = 1.25  # the estimate was 0.93 to 1.09 of the true number on our texts; other vocabularies are smaller
_LONG, _SHORT, _TILE, _PER_TILE, _BASE = 2048, 768, 512, 170, 85  # OpenAI's arithmetic of images
_PER_TOKEN, _LONGEST = 750, 1568  # Anthropic's: pixels, after the longer side was brought to that


class TokenCounter:
    """Counts the tokens of texts, images and requests.

    Args:
        settings: of the model.

    Raises:
        ValueError: its tokenizer cannot be loaded.
    """

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        self.text: Callable[[str], int] = _estimate
        if settings.tokenizer is not None:
            self.text = _counted_by(settings.tokenizer)

    def image(self, height: int, width: int) -> int:
        """Tokens of an image of so many pixels, as the vendor counts them; of another model, what OpenAI's take."""
        if self.settings.api == "anthropic":
            scale = min(1.0, _LONGEST / max(height, width))
            return ceil(height * scale * width * scale / _PER_TOKEN)
        if self.settings.image_detail == "low":
            return _BASE
        scale = min(1.0, _LONG / max(height, width))
        scale *= min(1.0, _SHORT / (min(height, width) * scale))
        tiles = ceil(height * scale / _TILE) * ceil(width * scale / _TILE)
        return _BASE + _PER_TILE * tiles

    def request(self, request: Any) -> int:
        """Tokens of a request: of each text in it, however deep, and of each image."""
        if isinstance(request, str):
            return self.text(request)
        if isinstance(request, Mapping):
            if (image := image_of(request)) is not None:
                return self._image_in(image.data)
            own = PER_MESSAGE if "role" in request else 0
            return own + sum(map(self.request, request.values()))
        if isinstance(request, list | tuple):
            return sum(map(self.request, request))
        return 0

    def _image_in(self, encoded: str) -> int:
        """Tokens of an image, whose size stands at its beginning."""
        try:
            begin = base64.b64decode(encoded[:_HEAD], validate=True)
            with Image.open(io.BytesIO(begin), formats=IMAGE_FORMATS) as image:
                return self.image(image.height, image.width)
        except (ValueError, OSError, Image.DecompressionBombError):
            return self.text(encoded)


def _estimate(text: str) -> int:
    return ceil(estimated_tokens(text) * _SAFE)


def _counted_by(where: str) -> Callable[[str], int]:
    with needs_extra("llm", NEEDS):
        from tokenizers import Tokenizer
    path = Path(where).expanduser()
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"tokenizer={where!r}: there is no file {file}; legal is a tokenizer.json, or its folder")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises the bare class
        raise ValueError(f"tokenizer={where!r} cannot be read: {error}") from None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
