"""Spaces: Unicode text that Gymnasium's utilities can handle, the structured action, the elements table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces.utils import flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.vector.utils.shared_memory import read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray

from deskgym.envs.action.actions import BUTTONS, MAX_SCROLL, MAX_TEXT, VERBS, Action
from deskgym.envs.action.forms import from_computer_13
from deskgym.envs.errors import ActionError, near
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS

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


SPACE_KEYS = (
    "enter", "tab", "esc", "backspace", "delete", "space", "up", "down", "left", "right", "home", "end", "pageup",
    "pagedown", "insert", *(f"f{k}" for k in range(1, 13)), *"abcdefghijklmnopqrstuvwxyz0123456789",
    *"`-=[]\\;',./",
)  # fmt: skip
"""The keys of the structured action's ``key`` part; with ``modifiers`` they cover a keyboard."""

MODIFIERS = ("ctrl", "shift", "alt", "super")
_VERB_NAMES = tuple(VERBS)
_BUTTON_NAMES = tuple(BUTTONS)
_MAX_SAMPLED_SECONDS = 1.0


class ComputerActionSpace(spaces.Dict):
    """The structured action: a verb and the arguments that it may read, all always there, so that it can be sampled.

    ====================  ==========================  =============================================================
    part                  space                       read by
    ====================  ==========================  =============================================================
    ``action``            Discrete                    which of ``deskgym.envs.action.actions.VERBS``
    ``point``             MultiDiscrete int32 (2,)    x, y in pixels
    ``to``                MultiDiscrete int32 (2,)    where a drag ends
    ``button``            Discrete                    left, middle, right, back, forward
    ``clicks``            Discrete, from 1 to 3       click
    ``modifiers``         MultiBinary(4)              ctrl, shift, alt, super: held, or part of the combination
    ``key``               Discrete                    which of ``SPACE_KEYS``, for press, key_down, key_up, hold
    ``scroll``            MultiDiscrete int32 (2,)    wheel clicks to the right and down, from -100 to 100
    ``text``              UnicodeText                 type, answer
    ``seconds``           Box float32 ()              wait, hold
    ====================  ==========================  =============================================================

    ``env.step`` takes a member of this space, the JSON form of ``Action.from_dict``
    (``{"action": "click", "x": 10, "y": 20}``), or an ``Action``.
    """

    def __init__(self, size: tuple[int, int], seed: int | np.random.Generator | None = None) -> None:
        wheel = 2 * MAX_SCROLL + 1
        super().__init__(
            {
                "action": spaces.Discrete(len(_VERB_NAMES)),
                "point": spaces.MultiDiscrete(list(size), dtype=np.int32),
                "to": spaces.MultiDiscrete(list(size), dtype=np.int32),
                "button": spaces.Discrete(len(_BUTTON_NAMES)),
                "clicks": spaces.Discrete(3, start=1),
                "modifiers": spaces.MultiBinary(len(MODIFIERS)),
                "key": spaces.Discrete(len(SPACE_KEYS)),
                "scroll": spaces.MultiDiscrete([wheel, wheel], dtype=np.int32, start=[-MAX_SCROLL, -MAX_SCROLL]),
                "text": UnicodeText(MAX_TEXT),
                "seconds": spaces.Box(0.0, _MAX_SAMPLED_SECONDS, (), np.float32),
            },
            seed=seed,
        )


def parse_computer_action(action: Any, size: tuple[int, int]) -> Action:
    """What ``env.step`` takes for ``action="computer"``, as an Action that can be carried out.

    Args:
        action: a member of ``ComputerActionSpace``, the JSON form of ``Action.from_dict``, that of the published
            benchmarks (``from_computer_13``), or an Action.
        size: width and height of the screen in pixels.

    Raises:
        ActionError: it is none of these, or not legal on this screen.
    """
    if isinstance(action, Action):
        return Action.from_dict(action.to_dict()).check(size)
    if not isinstance(action, Mapping):
        raise ActionError(
            "a computer action is a dict such as {'action': 'click', 'x': 10, 'y': 20}, an Action, or a sample of "
            f"env.action_space; got {type(action).__name__}"
        )
    if "action_type" in action:
        return from_computer_13(action).check(size)
    if isinstance(action.get("action"), str):
        return Action.from_dict(action).check(size)
    return action_from_sample(action).check(size)


def action_from_sample(sample: Mapping[str, Any]) -> Action:
    """A member of ``ComputerActionSpace`` as an Action.

    Raises:
        ActionError: a part is missing, unknown, or out of range.
    """
    try:
        verb = _VERB_NAMES[_index(sample["action"])]
        held = tuple(name for name, on in zip(MODIFIERS, sample["modifiers"], strict=True) if on)
        key = SPACE_KEYS[_index(sample["key"])]
        values: dict[str, Any] = {
            "x": int(sample["point"][0]),
            "y": int(sample["point"][1]),
            "to_x": int(sample["to"][0]),
            "to_y": int(sample["to"][1]),
            "button": _BUTTON_NAMES[_index(sample["button"])],
            "clicks": int(sample["clicks"]),
            "keys": (*held, key) if verb in ("press", "key_down", "key_up", "hold") else held,
            "text": sample["text"],
            "dx": int(sample["scroll"][0]),
            "dy": int(sample["scroll"][1]),
            "seconds": float(sample["seconds"]),
        }
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ActionError(
            f"not a member of the computer action space ({type(error).__name__}: {error}); got {sample!r}; legal are "
            "env.action_space.sample()'s form and {'action': 'click', 'x': 10, 'y': 20}"
        ) from error
    return Action.from_dict({"action": verb} | {name: values[name] for name in VERBS[verb]})


def _index(value: Any) -> int:
    number = int(value)
    if number < 0:
        raise IndexError(f"index {number} is negative")
    return number


TEXT_LENGTHS = {"a11y": 65536, "instruction": 16384, "feedback": 16384, "terminal": 16384, "vocabulary": 8192}
"""The longest text of each text observation, in characters; longer ones are cut and end in a line that says so."""

OBSERVATIONS = ("screenshot", "elements", *TEXT_LENGTHS)
"""What ``observation=`` may name."""


def observation_space(parts: Sequence[str], size: tuple[int, int] | None, max_elements: int) -> spaces.Dict:
    """The Dict space of the chosen observation parts.

    Raises:
        ValueError: an unknown, repeated or missing part, or one that needs a screen where there is none.
    """
    if isinstance(parts, str) or not parts:
        raise ValueError(f"observation={parts!r}; legal is a list of one or more of {', '.join(OBSERVATIONS)}")
    result: dict[str, spaces.Space[Any]] = {}
    for part in parts:
        if part not in OBSERVATIONS:
            legal = ", ".join(OBSERVATIONS)
            raise ValueError(f"unknown observation {part!r}; legal are {legal}{near(part, OBSERVATIONS)}")
        if part in result:
            raise ValueError(f"observation {part!r} is named twice")
        if size is None and part in ("screenshot", "elements", "a11y", "terminal"):
            raise ValueError(f"observation {part!r} needs a screen, and this suite has none")
        if part == "screenshot":
            assert size is not None
            result[part] = spaces.Box(0, 255, (size[1], size[0], 3), np.uint8)
        elif part == "elements":
            limits = np.iinfo(np.int32)
            result[part] = spaces.Box(limits.min, limits.max, (max_elements, len(ELEMENT_COLUMNS)), np.int32)
        else:
            result[part] = UnicodeText(TEXT_LENGTHS[part])
    return spaces.Dict(result)


def empty_observation(space: spaces.Space[Any]) -> dict[str, Any]:
    """What is seen of a machine that is lost: zeros, and empty texts."""
    assert isinstance(space, spaces.Dict)
    return {name: np.zeros(part.shape, part.dtype) if part.shape else "" for name, part in space.spaces.items()}


def legal_screen_size(size: Sequence[int]) -> tuple[int, int]:
    """Width and height in pixels.

    Raises:
        ValueError: it is something else, or too small or too large.
    """
    try:
        width, height = (int(number) for number in size)
    except (TypeError, ValueError) as error:
        raise ValueError(f"screen_size={size!r}; legal is (width, height) in pixels") from error
    if not (64 <= width <= 7680 and 64 <= height <= 4320):
        raise ValueError(f"screen_size={size!r}; legal are 64 to 7680 by 64 to 4320 pixels")
    return width, height
