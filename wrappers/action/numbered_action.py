"""NumberedAction: a computer action as a list of whole numbers, for algorithms that take a MultiDiscrete."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.errors import ActionError

SECONDS = (0.1, 0.25, 0.5, 1.0)
"""What the ``seconds`` of a computer action can be."""


class NumberedAction:
    """A computer action as a MultiDiscrete: the numbers of its parts in their order.

    Args:
        inner: the action space inside.
        arguments: how many texts there are to choose from.

    Raises:
        ValueError: a part cannot be made of a fixed count of choices.
    """

    def __init__(self, inner: spaces.Dict, arguments: int) -> None:
        self.inner, self.arguments = inner, arguments
        self.sizes = {name: self._choices(name, space) for name, space in inner.spaces.items()}
        self.space = spaces.MultiDiscrete([n for sizes in self.sizes.values() for n in sizes])

    def read(self, action: Any, vocabulary: Vocabulary) -> dict[str, Any]:
        """A member of ``space`` as a member of the inner one.

        Raises:
            ActionError: it is no member.
        """
        try:
            numbers = np.asarray(action, np.int64)
        except (TypeError, ValueError) as error:
            raise ActionError(f"an action is {len(self.space.nvec)} whole numbers, got {action!r}") from error
        if numbers.shape != self.space.shape or not ((numbers >= 0) & (numbers < self.space.nvec)).all():
            raise ActionError(
                f"an action is {len(self.space.nvec)} whole numbers, each from 0 to below {self.space.nvec.tolist()}; "
                f"got {numbers.tolist()}"
            )
        result, start = {}, 0
        for name, sizes in self.sizes.items():
            mine = numbers[start : start + len(sizes)]
            result[name] = self._value(self.inner.spaces[name], mine, vocabulary)
            start += len(sizes)
        return result

    def masks(self, vocabulary: Vocabulary) -> NDArray[np.bool_]:
        """True for all choices but the texts that there are not: bool (sum of nvec,)."""
        parts = []
        for name, sizes in self.sizes.items():
            mask = np.ones(sum(sizes), bool)
            if isinstance(self.inner.spaces[name], spaces.Text):
                mask[:] = [self._text(k, vocabulary) != "" for k in range(self.arguments)]
                mask[0] |= not mask.any()  # a part may not be empty
            parts.append(mask)
        return np.concatenate(parts)

    def _choices(self, name: str, space: spaces.Space[Any]) -> list[int]:
        if isinstance(space, spaces.Discrete):
            return [int(space.n)]
        if isinstance(space, spaces.MultiDiscrete) and len(space.shape) == 1:
            return [int(n) for n in space.nvec]
        if isinstance(space, spaces.MultiBinary) and len(space.shape) == 1:
            return [2] * space.shape[0]
        if isinstance(space, spaces.Text):
            return [self.arguments]
        if isinstance(space, spaces.Box) and space.shape == () and name == "seconds":
            return [len(SECONDS)]
        raise ValueError(
            f"FlatForSB3 cannot number the action part {name!r}, a {space}; legal are Discrete, MultiDiscrete, "
            "MultiBinary, Text and 'seconds' (for points CoordinateFrame with 'thousand' or (W, H)); or take "
            "action='discrete'"
        )

    def _value(self, space: spaces.Space[Any], numbers: NDArray[np.int64], vocabulary: Vocabulary) -> Any:
        if isinstance(space, spaces.Discrete):
            return np.int64(numbers[0] + space.start)
        if isinstance(space, spaces.MultiDiscrete):
            return (numbers + space.start).astype(space.dtype)
        if isinstance(space, spaces.MultiBinary):
            return numbers.astype(space.dtype)
        if isinstance(space, spaces.Text):
            return self._text(int(numbers[0]), vocabulary)
        return np.array(SECONDS[int(numbers[0])], np.float32)

    def _text(self, number: int, vocabulary: Vocabulary) -> str:
        known = number < len(vocabulary.texts) and vocabulary.kinds[number] == "word"
        return vocabulary.texts[number] if known else ""
