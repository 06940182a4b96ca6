"""The structured computer action as a space that can be sampled, and its members as Actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from deskgym.envs.action.actions import BUTTONS, MAX_SCROLL, MAX_TEXT, VERBS, Action
from deskgym.envs.action.computer_13 import WORDS, from_computer_13
from deskgym.envs.errors import ActionError
from deskgym.envs.text_space import UnicodeText

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
            benchmarks (``from_computer_13``, and its words ``WAIT``, ``DONE`` and ``FAIL``), or an Action.
        size: width and height of the screen in pixels.

    Raises:
        ActionError: it is none of these, or not legal on this screen.
    """
    if isinstance(action, Action):
        return Action.from_dict(action.to_dict()).check(size)
    if isinstance(action, str) and action in WORDS:
        return from_computer_13({"action_type": action})
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
