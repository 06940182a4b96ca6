"""What an action looks like on the screen: a caption, and marks where it points."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Point = tuple[int, int]

_CALL = re.compile(
    r"pyautogui\.(\w{1,20})\(\s*(?:x\s*=\s*)?(-?\d{1,6})(?:\.\d+)?\s*,\s*(?:y\s*=\s*)?(-?\d{1,6})(?!\d)"
)  # pyautogui.click(10, 20, ...): only numbers that stand in the text can be drawn
_KINDS = {
    "click": "click", "doubleClick": "click", "tripleClick": "click", "rightClick": "click", "middleClick": "click",
    "leftClick": "click", "mouseDown": "click", "mouseUp": "click", "moveTo": "move", "dragTo": "drag",
}  # fmt: skip
_FENCED = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_MAX_MARKS = 40
_FARTHEST = 1e6  # pixels: what is farther off, or no number, is not drawn
_MAX_CAPTION = 200


class Pointer:
    """Follows the pointer through an episode: actions may leave out where they happen."""

    def __init__(self) -> None:
        self.at: Point | None = None

    def marks(self, action: Any) -> list[dict[str, Any]]:
        """The action's marks: ``{"kind": "click" | "move" | "drag" | "scroll", "x", "y"}``, a drag with ``"to"``."""
        if isinstance(action, str):
            return self._code_marks(action)
        if not isinstance(action, Mapping):
            return []
        start = _point(action.get("x"), action.get("y")) or self.at
        verb = action.get("action")
        if verb == "drag":
            end = _point(action.get("to_x"), action.get("to_y"))
            self.at = end or start
            if end is None:
                return []
            x, y = start or end
            return [{"kind": "drag", "x": x, "y": y, "to": list(end)}]
        if verb not in ("click", "mouse_down", "mouse_up", "move", "scroll") or start is None:
            return []
        self.at = start
        kind = str(verb) if verb in ("move", "scroll") else "click"
        return [
            {
                "kind": kind,
                "x": start[0],
                "y": start[1],
                "dx": _finite(action.get("dx")),
                "dy": _finite(action.get("dy")),
            }
        ]

    def _code_marks(self, code: str) -> list[dict[str, Any]]:
        marks = []
        for name, x, y in _CALL.findall(code)[:_MAX_MARKS]:
            kind = _KINDS.get(name)
            if kind is None:
                continue
            point = (int(x), int(y))
            if kind == "drag":
                start = self.at or point
                marks.append({"kind": "drag", "x": start[0], "y": start[1], "to": list(point)})
            else:
                marks.append({"kind": kind, "x": point[0], "y": point[1]})
            self.at = point
        return marks


def caption(action: Any) -> str:
    """The action in a few words; of a model's answer its code, where it has some."""
    if isinstance(action, str):
        fenced = _FENCED.search(action)
        lines = [line for line in (fenced[1] if fenced else action).splitlines() if line.strip()]
        more = f"  (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
        return _cut(lines[0] if lines else "nothing") + more
    if not isinstance(action, Mapping):
        return _cut(str(action))
    verb = str(action.get("action"))
    start = _point(action.get("x"), action.get("y"))
    keys = action.get("keys")
    held = f"{'+'.join(map(str, keys))} + " if isinstance(keys, list) and keys else ""
    at = f" at {start[0]}, {start[1]}" if start else ""
    if verb in ("press", "key_down", "key_up"):
        return _cut(f"{verb.replace('_', ' ')} {held[:-3]}")
    if verb in ("type", "answer"):
        return _cut(f"{verb} “{action.get('text', '')}”")
    if verb == "drag":
        return _cut(f"{held}drag{at.replace(' at', ' from')} to {action.get('to_x')}, {action.get('to_y')}")
    if verb == "scroll":
        return _cut(f"{held}scroll {action.get('dx', 0)}, {action.get('dy', 0)}{at}")
    if verb in ("wait", "hold"):
        return _cut(f"{verb} {held[:-3]} {action.get('seconds', '')} s".replace("  ", " "))
    if verb == "click":
        times = {2: "double ", 3: "triple "}.get(int(_finite(action.get("clicks"))), "")
        button = action.get("button", "left")
        return _cut(f"{held}{times}{'' if button == 'left' else f'{button} '}click{at}")
    return _cut(f"{verb.replace('_', ' ')}{at}")


def clicked_on(marks: Sequence[Mapping[str, Any]], elements: Mapping[str, Any] | None) -> str:
    """What follows a caption: the name of the smallest element at the first mark, where it is known, else ""."""
    if not marks or elements is None:
        return ""
    at_x, at_y = marks[0]["x"], marks[0]["y"]
    found = [
        (width * height, texts[1])
        for (x, y, width, height, *_), texts in zip(elements["rows"], elements["texts"], strict=True)
        if texts[1].strip() and x <= at_x < x + width and y <= at_y < y + height
    ]
    return f", “{_cut(min(found)[1].strip())}”" if found else ""


def source_text(action: Any) -> str:
    """The action in full: a code action's text, else its JSON."""
    return action if isinstance(action, str) else json.dumps(action, ensure_ascii=False)


def _point(x: Any, y: Any) -> Point | None:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (x, y))
    return (round(x), round(y)) if numbers and abs(x) < _FARTHEST and abs(y) < _FARTHEST else None


def _finite(value: Any) -> float:
    """A number of the action; 0 for what is none that can be shown."""
    return value if isinstance(value, (int, float)) and abs(value) < _FARTHEST else 0


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_CAPTION else text[: _MAX_CAPTION - 1] + "…"
