"""Actions as the published benchmarks write them: OSWorld's ``computer_13``, which Spider2-V and ScienceBoard share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import ActionError, near

_POINT = {"x": "x", "y": "y"}
_CLICK = {**_POINT, "button": "button", "num_clicks": "clicks"}

_FORMS: dict[str, tuple[str, Mapping[str, str], Mapping[str, Any]]] = {
    "MOVE_TO": ("move", _POINT, {}),
    "CLICK": ("click", _CLICK, {}),
    "RIGHT_CLICK": ("click", _POINT, {"button": "right"}),
    "DOUBLE_CLICK": ("click", _POINT, {"clicks": 2}),
    "MOUSE_DOWN": ("mouse_down", {**_POINT, "button": "button"}, {}),
    "MOUSE_UP": ("mouse_up", {**_POINT, "button": "button"}, {}),
    "DRAG_TO": ("drag", {"x": "to_x", "y": "to_y", "button": "button"}, {}),
    "SCROLL": ("scroll", {**_POINT, "dx": "dx", "dy": "dy", "clicks": "dy"}, {}),
    "TYPING": ("type", {"text": "text"}, {}),
    "PRESS": ("press", {"key": "keys"}, {}),
    "KEY_DOWN": ("key_down", {"key": "keys"}, {}),
    "KEY_UP": ("key_up", {"key": "keys"}, {}),
    "HOTKEY": ("press", {"keys": "keys"}, {}),
    "WAIT": ("wait", {"seconds": "seconds"}, {"seconds": 5.0}),
    "DONE": ("done", {}, {}),
    "FAIL": ("fail", {}, {}),
}
"""Their name → our verb, their parameters → our arguments, and arguments that it stands for."""


def _down(clicks: Any) -> Any:
    """Theirs counts up."""
    return -clicks if isinstance(clicks, (int, float)) else clicks


_CONVERT: Mapping[str, Callable[[Any], Any]] = {
    "key": lambda key: [key] if isinstance(key, str) else key,
    "dy": _down,
    "clicks": _down,
}
WORDS = ("WAIT", "DONE", "FAIL")
"""What an agent of theirs may say in place of a dict."""


def from_computer_13(data: Mapping[str, Any]) -> Action:
    """An action such as ``{"action_type": "CLICK", "parameters": {"x": 1, "y": 2}}``, or the same without nesting.

    A wheel's ``clicks`` are Spider2-V's name for OSWorld's ``dy``.

    Raises:
        ActionError: an unknown action type or parameter, or one of the wrong type.

    Examples:
        >>> from_computer_13({"action_type": "HOTKEY", "keys": ["ctrl", "s"]}).to_dict()
        {'action': 'press', 'keys': ['ctrl', 's']}
    """
    kind = data.get("action_type")
    if not isinstance(kind, str) or kind not in _FORMS:
        raise ActionError(f"unknown action_type {kind!r}; legal are {', '.join(_FORMS)}{near(kind, _FORMS)}")
    verb, names, fixed = _FORMS[kind]
    given = data.get("parameters", {k: v for k, v in data.items() if k != "action_type"})
    if not isinstance(given, Mapping):
        raise ActionError(f"{kind}: parameters is a mapping, got {given!r}")
    if {"dy", "clicks"} <= set(given):
        raise ActionError(f"{kind} takes dy or clicks, which are the same; got both")
    unknown = set(given) - set(names)
    if unknown:
        takes = ", ".join(names) or "no parameters"
        raise ActionError(f"{kind} takes {takes}, but got {', '.join(map(repr, sorted(map(str, unknown))))}")
    values = {names[name]: _CONVERT.get(name, lambda value: value)(value) for name, value in given.items()}
    return Action.from_dict({"action": verb, **fixed, **values})
