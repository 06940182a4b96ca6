"""The actions of a demonstration in words: as WONDERBREAD tells its models of them, and as the steps of a procedure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from deskgym.task_suites.bpm.demonstration import Demonstration

_GLYPHS = re.compile("[\ue000-\uf8ff\ufffc]")  # icons of a font, and things within a text
_KINDS = (
    ("text field", ("input", "textarea", "entry", "text", "password text", "spin button")),
    ("button", ("button", "push button", "toggle button")),
    ("link", ("a", "link")),
    ("dropdown", ("select", "combo box")),
)
_KEYS = {"space": " ", "enter": "\n", "tab": "\t"}


def action_in_words(action: Mapping[str, Any]) -> str:
    """An action as a sentence, such as ``Click on the link labeled 'Orders'``.

    Args:
        action: an event's data.
    """
    element = element_of(action)
    kind, where = _kind(element), f" in the {_kind(element)} labeled {_label(element)}" if element else ""
    match action.get("type"):
        case "mouseup" | "mousedown" | "click":
            what = "Right-click" if action.get("is_right_click") else "Click"
            return f"{what} on the {kind} labeled {_label(element)}" if element else f"{what} at {_place(action)}"
        case "keystroke":
            text = typed(action)
            enter = " and press 'Enter'" if text.endswith("\n") else ""
            return f"Type the string {text.removesuffix(chr(10))!r}{where}{enter}"
        case "keypress":
            keys = [key.removeprefix("Key.").strip("'").capitalize() for key in _keys(str(action.get("key", "")))]
            count = action.get("count", 1)
            times = f" {count} times" if isinstance(count, int) and count > 1 else ""
            return f"Press the key {'+'.join(keys)!r}{where}{times}"
        case "scroll":
            return _scroll(action)
    return f"{str(action.get('type', 'unknown')).capitalize()} at {_place(action)}"


def typed(action: Mapping[str, Any]) -> str:
    """The text that a keystroke's ``key`` comes to, such as ``"'h' 'i' Key.space"``; a backspace takes one back."""
    text = ""
    for key in _keys(str(action.get("key", ""))):
        if key.startswith("Key."):
            name = key.removeprefix("Key.")
            text = text[:-1] if name == "backspace" else text + _KEYS.get(name, "")
        else:
            text += key
    return text


def pressed(text: str) -> str:
    """A text as a keystroke's ``key``.

    Examples:
        >>> pressed("a b")
        "'a' Key.space 'b'"
    """
    names = {character: f"Key.{name}" for name, character in _KEYS.items()}
    return " ".join(names.get(character, repr(character)) for character in text)


def _keys(text: str) -> Iterable[str]:
    """The keys of pynput's notation; a quoted one may be a quote or a blank."""
    place = 0
    while place < len(text):
        if text[place] in "'\"" and text.find(text[place], place + 2) == place + 2:
            yield text[place + 1]
            place += 3
        elif text[place] in "'\"" and text[place + 1 : place + 2] == "\\":  # '\\' or '\n'
            end = text.find(text[place], place + 3)
            end = len(text) if end < 0 else end
            yield text[place + 1 : end].encode("latin-1", "replace").decode("unicode_escape", "replace")
            place = end + 1
        elif text[place].isspace():
            place += 1
        else:
            end = text.find(" ", place)
            end = len(text) if end < 0 else end
            yield text[place:end]
            place = end


def element_of(action: Mapping[str, Any]) -> Mapping[str, Any]:
    """The element that an action was done to; {} where none is known."""
    attributes = action.get("element_attributes") or {}
    element = attributes.get("element") if isinstance(attributes, Mapping) else None
    return element if isinstance(element, Mapping) else {}


def _kind(element: Mapping[str, Any]) -> str:
    for kind, names in _KINDS:
        if str(element.get("role") or "").lower() in names or str(element.get("tag") or "").lower() in names:
            return kind
    return "text"


def _label(element: Mapping[str, Any]) -> str:
    found = (element.get(key) for key in ("label", "text", "placeholder", "role"))
    return repr(next(filter(None, (_GLYPHS.sub("", str(value or "")).strip() for value in found)), ""))


def _place(action: Mapping[str, Any]) -> str:
    return f"({action.get('x')}, {action.get('y')})"


def _scroll(action: Mapping[str, Any]) -> str:
    """Wheel clicks, as pynput counts them: ``dy`` above 0 is up, ``dx`` above 0 to the right."""
    said = []
    for key, positive, negative in (("dy", "up", "down"), ("dx", "right", "left")):
        if amount := action.get(key) or 0:
            said.append(f"Scroll {positive if amount > 0 else negative} by {abs(amount)}")
    return ". ".join(said) or "Scroll"


def procedure_of(demonstration: Demonstration) -> str:
    """A draft of the procedure: the intent, then one step per action."""
    steps = (f"{number}. {action_in_words(action)}." for number, action in enumerate(demonstration.actions, 1))
    return "\n".join([demonstration.intent, "", *steps]) + "\n"
