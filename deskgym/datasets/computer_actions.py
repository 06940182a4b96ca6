"""An ``Action`` as a member of the structured action space, which a dataset holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from deskgym.datasets.spaces import cast
from deskgym.envs.action.actions import BUTTONS, VERBS, Action
from deskgym.envs.action.spaces import (
    MODIFIERS,
    SPACE_KEYS,
    ComputerActionSpace,
    action_from_sample,
    parse_computer_action,
)
from deskgym.envs.errors import ActionError
from deskgym.envs.guest.x11.keys import keysym
from deskgym.envs.observation.texts import cut_text

_VERBS, _BUTTONS = list(VERBS), list(BUTTONS)
_KEYS = {keysym(name): name for name in SPACE_KEYS}
_MODIFIERS = {keysym(name): name for name in MODIFIERS}


class ActionStore:
    """Turns the actions of an episode, in any form that ``env.step`` takes, into members of its action space.

    It remembers where the pointer is, for actions that leave it there.

    Args:
        space: the env's action space.
        screen_size: width and height in pixels; the frame of an ``Action``.
    """

    def __init__(self, space: spaces.Space[Any], screen_size: tuple[int, int]) -> None:
        self.space, self.screen_size = space, screen_size
        self._pointer: tuple[int, int] | None = None

    def begin(self) -> None:
        """An episode begins, with the pointer wherever it is."""
        self._pointer = None

    def store(self, action: Any) -> Any:
        """The action as a member of the space.

        Raises:
            ActionError: the action is not legal, or the space has none that does the same.
        """
        if not isinstance(self.space, ComputerActionSpace):
            return self._member(action)
        parsed = self._parsed(self.space, action)
        is_sample = (
            isinstance(action, Mapping) and "action_type" not in action and not isinstance(action["action"], str)
        )
        kept = self._member(action if is_sample else to_sample(parsed, self._pointer))
        x, y = (parsed.to_x, parsed.to_y) if parsed.verb == "drag" else (parsed.x, parsed.y)
        if x is not None and y is not None:
            self._pointer = x, y
        return kept

    def _parsed(self, space: ComputerActionSpace, action: Any) -> Action:
        width, height = space["point"].nvec.tolist()  # type: ignore[attr-defined]
        if isinstance(action, Action) and (width, height) != self.screen_size:
            raise ActionError(
                f"an Action is in pixels of the screen ({self.screen_size}), env.action_space in those of a frame of "
                f"{(width, height)}; give the action in that frame, as a dict"
            )
        parsed = parse_computer_action(action, (width, height))
        longest = float(space["seconds"].high)  # type: ignore[attr-defined]
        if "seconds" in VERBS[parsed.verb] and parsed.seconds > longest:
            raise ActionError(
                f"env.action_space has waits and holds of at most {longest:g} s; got {parsed.to_dict()}; wait several "
                "times instead, and for a longer hold between key_down and key_up"
            )
        return parsed

    def _member(self, value: Any) -> Any:
        try:
            member = cast(self.space, value)
        except ValueError as error:
            raise ActionError(f"a dataset holds members of env.action_space; this is {error}") from error
        if not self.space.contains(member):
            raise ActionError(
                f"a dataset holds members of env.action_space; this is out of range: {cut_text(repr(value), 200)}"
            )
        return member


def to_sample(action: Action, pointer: tuple[int, int] | None = None) -> dict[str, Any]:
    """The member of ``ComputerActionSpace`` that does what ``action`` does; what the verb does not read is 0.

    Args:
        action: legal on the screen.
        pointer: where the pointer is, for an action that says no place.

    Raises:
        ActionError: the space has no such member.

    Examples:
        >>> to_sample(Action("click", x=3, y=4))["point"].tolist()
        [3, 4]
    """
    reads = VERBS[action.verb]
    if "x" in reads and action.x is None:
        if pointer is None:
            raise ActionError(
                f"{action.to_dict()} acts where the pointer is, which is not known before an action has said a place; "
                "give x and y"
            )
        action = replace(action, x=pointer[0], y=pointer[1])
    held, key = _combination(action)
    seconds = np.float32(action.seconds if "seconds" in reads else 0.0)
    sample = {
        "action": np.int64(_VERBS.index(action.verb)),
        "point": np.array([action.x or 0, action.y or 0], np.int32),
        "to": np.array([action.to_x or 0, action.to_y or 0], np.int32),
        "button": np.int64(_BUTTONS.index(action.button)),
        "clicks": np.int64(action.clicks),
        "modifiers": np.array([name in held for name in MODIFIERS], np.int8),
        "key": np.int64(SPACE_KEYS.index(key)),
        "scroll": np.array([action.dx, action.dy], np.int32),
        "text": action.text,
        "seconds": np.array(seconds, np.float32),
    }
    made = action_from_sample(sample)
    ordered = (*(name for name in MODIFIERS if name in held), *((key,) if action.verb in _WITH_KEY else ()))
    if made.to_dict() != replace(action, keys=ordered, seconds=float(seconds)).to_dict():
        raise ActionError(f"the structured action space has no action such as {action.to_dict()}")
    return sample


_WITH_KEY = ("press", "key_down", "key_up", "hold")


def _combination(action: Action) -> tuple[set[str], str]:
    """The modifiers and the key of a combination, by the space's names."""
    keys = list(action.keys if "keys" in VERBS[action.verb] else ())
    key = SPACE_KEYS[0]
    if action.verb in _WITH_KEY:
        if not keys or keysym(keys[-1]) not in _KEYS:
            raise ActionError(f"the structured action space has no key for {action.to_dict()}")
        key = _KEYS[keysym(keys.pop())]
    unknown = [name for name in keys if keysym(name) not in _MODIFIERS]
    if unknown or len(set(keys)) != len(keys):
        raise ActionError(f"the structured action space holds only {', '.join(MODIFIERS)}; got {action.to_dict()}")
    return {_MODIFIERS[keysym(name)] for name in keys}, key
