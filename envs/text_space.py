"""UnicodeText: a space of any Unicode text that Gymnasium's utilities can handle."""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.vector.utils.shared_memory import read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray

_SAMPLES = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789 .,:;+-*/^=()[]{}_'\"\n\täéßøñç€→≤日本語Ωπж😀"
_SAMPLE_LENGTH = 16
_LAST_CODE_POINT = 0x10FFFF


class UnicodeText(spaces.Text):
    """Any Unicode text of at most ``max_length`` characters, the empty one included.

    Gymnasium's ``Text`` lists its legal characters, which cannot be done for Unicode; here a character is its code
    point plus one wherever Gymnasium turns text into int32 arrays (0 is padding). Samples are short and mixed.

    Examples:
        >>> space = UnicodeText(100)
        >>> "naïve ☃" in space, "x" * 101 in space
        (True, False)
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=_SAMPLES, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A text of up to 16 characters; masks have no meaning without a list of legal characters."""
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText cannot sample with a mask: it has no list of characters to mask")
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        return "".join(self.np_random.choice(list(_SAMPLES), size=length))

    def contains(self, x: Any) -> bool:
        """Whether x is a text and not too long."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    def encode(self, x: str) -> NDArray[np.int32]:
        """The text as int32 (max_length,): code points plus one, zero-padded."""
        array = np.zeros(self.max_length, np.int32)
        points = np.frombuffer(x.encode("utf-32-le", "surrogatepass"), np.int32)[: self.max_length]
        array[: len(points)] = points + 1
        return array

    def decode(self, array: NDArray[np.int32]) -> str:
        """The inverse of ``encode``; out-of-range numbers end the text as padding does."""
        numbers = np.asarray(array)
        padding = numbers <= 0
        end = int(padding.argmax()) if padding.any() else len(numbers)
        numbers = numbers[:end].astype(np.int64)  # most of it is padding
        bad = np.flatnonzero(numbers > _LAST_CODE_POINT + 1)
        points = (numbers[: bad[0]] if len(bad) else numbers) - 1
        return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> NDArray[np.int32]:  # type: ignore[misc]
    return space.encode(x)


@unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: NDArray[np.int32]) -> str:  # type: ignore[misc]
    return space.decode(x)


@flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> spaces.Box:
    return spaces.Box(0, _LAST_CODE_POINT + 1, (space.max_length,), np.int32)


@is_space_dtype_shape_equiv.register(UnicodeText)
def _equivalent(space_1: UnicodeText, space_2: Any) -> bool:
    return bool(space_1 == space_2)


class _SharedTexts(Sequence[str]):
    """The texts in a shared memory as they are now; a copy of it is a tuple.

    Gymnasium's AsyncVectorEnv reads the shared memory once, when it is made, and takes what it gets for a view from
    then on. For arrays that holds; a tuple of texts would stay what it was.
    """

    def __init__(self, space: UnicodeText, rows: NDArray[np.int32]) -> None:
        self._space, self._rows = space, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self)[index]
        return self._space.decode(self._rows[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: SynchronizedArray[Any], n: int = 1) -> Sequence[str]:
    return _SharedTexts(space, _rows(space, shared_memory))


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: SynchronizedArray[Any]) -> None:
    _rows(space, shared_memory)[index] = space.encode(value)


def _rows(space: UnicodeText, shared_memory: SynchronizedArray[Any]) -> NDArray[np.int32]:
    return np.frombuffer(memoryview(shared_memory.get_obj()), np.int32).reshape(-1, space.max_length)
