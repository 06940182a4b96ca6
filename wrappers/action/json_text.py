"""JsonText: a text space whose samples are JSON, for actions that an API writes as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from deskgym.envs.text_space import UnicodeText

Draw = Callable[[np.random.Generator], Any]


class JsonText(UnicodeText):
    """Any text of at most ``max_length`` characters; samples are JSON texts of what ``draw`` gives.

    Args:
        max_length: in characters.
        draw: makes one JSON-able value from the space's generator. It is a function of a module, or a
            ``functools.partial`` of one, so that the space can be pickled.
        seed: of the samples.

    Examples:
        >>> space = JsonText(100, lambda rng: {"wait": int(rng.integers(5))}, seed=1)
        >>> json.loads(space.sample()), "any text" in space
        ({'wait': 2}, True)
    """

    def __init__(self, max_length: int, draw: Draw, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, seed=seed)
        self.draw = draw

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A JSON text; masks have no meaning."""
        if mask is not None or probability is not None:
            raise ValueError("JsonText cannot sample with a mask: it has no list of characters to mask")
        return json.dumps(self.draw(self.np_random), ensure_ascii=False)

    def __repr__(self) -> str:
        return f"JsonText({self.max_length})"
