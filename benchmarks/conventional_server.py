"""The conventional in-machine server, written from descriptions of the published systems: HTTP, PNG, a recursive walk.

It runs inside the machine with the distribution's Python (for pyatspi) and needs Pillow on its path. It stands for
what OSWorld's server and its descendants do, none of whose code is here: every action is a new interpreter, the
screen is a PNG over HTTP, the accessibility tree is walked node by node with one D-Bus round trip per property.

Where it differs from them it is faster: the screen is grabbed in the process and never touches the disk (they start
gnome-screenshot or scrot, and paste the pointer in). The walk reads what theirs reads of each element; the *lean* one,
which no published system has, reads only what ours gives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from typing import Any

MAX_DEPTH = 50
LEAN_STATES = ("showing", "visible", "enabled", "focused", "selected", "checked", "editable", "focusable", "active")


def screenshot() -> bytes:
    """The screen as PNG, at Pillow's default compression."""
    from PIL import ImageGrab

    buffer = BytesIO()
    ImageGrab.grab(xdisplay="").save(buffer, "PNG")
    return buffer.getvalue()


def accessibility_tree(lean: bool) -> bytes:
    """Every element of every program as XML."""
    import pyatspi

    root = ElementTree.Element("desktop-frame")
    for program in pyatspi.Registry.getDesktop(0):
        if program is not None:
            _walk(program, root, 0, _describe_lean if lean else _describe)
    return ElementTree.tostring(root)


def _walk(node: Any, parent: ElementTree.Element, depth: int, describe: Callable[..., None]) -> None:
    element = ElementTree.SubElement(parent, node.getRoleName().replace(" ", "-") or "unknown")
    element.set("name", node.name)
    describe(node, element)
    if depth < MAX_DEPTH:
        for child in node:
            if child is not None:
                _walk(child, element, depth + 1, describe)


def _describe_lean(node: Any, element: ElementTree.Element) -> None:
    """States, extents and text."""
    import pyatspi

    states = node.getState()
    for name in LEAN_STATES:
        if states.contains(getattr(pyatspi, "STATE_" + name.upper())):
            element.set(name, "true")
    with suppress(NotImplementedError):
        extents = node.queryComponent().getExtents(pyatspi.XY_SCREEN)
        element.set("position", str((extents.x, extents.y)))
        element.set("size", str((extents.width, extents.height)))
    _read_text(node, element)


def _describe(node: Any, element: ElementTree.Element) -> None:
    """States, attributes, place in three systems of coordinates, text, value and actions."""
    import pyatspi

    for state in node.getState().getStates():
        element.set(pyatspi.stateToString(state).replace(" ", "-"), "true")
    for attribute in node.getAttributes():
        name, _, value = attribute.partition(":")
        element.set(f"attribute-{name}", value)
    with suppress(NotImplementedError):
        component = node.queryComponent()
        element.set("screen", str(component.getPosition(pyatspi.XY_SCREEN)))
        element.set("window", str(component.getPosition(pyatspi.XY_WINDOW)))
        element.set("parent", str(component.getPosition(pyatspi.XY_PARENT)))
        element.set("size", str(component.getSize()))
    _read_text(node, element)
    with suppress(NotImplementedError):
        value = node.queryValue()
        numbers = (value.currentValue, value.minimumValue, value.maximumValue, value.minimumIncrement)
        for name, number in zip(("value", "min", "max", "step"), numbers, strict=True):
            element.set(name, str(number))
    with suppress(NotImplementedError):
        action = node.queryAction()
        for k in range(action.nActions):
            name = action.getName(k).replace(" ", "-")
            element.set(f"action-{name}", action.getDescription(k))
            element.set(f"key-{name}", action.getKeyBinding(k))


def _read_text(node: Any, element: ElementTree.Element) -> None:
    with suppress(NotImplementedError):
        text = node.queryText()
        element.text = text.getText(0, text.characterCount)


class Handler(BaseHTTPRequestHandler):
    """``POST /execute``, ``GET /ready``, ``GET /screenshot``, ``GET /accessibility``."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        """Screen or tree."""
        if self.path == "/screenshot":
            self.answer(screenshot())
        elif self.path.startswith("/accessibility"):
            self.answer(accessibility_tree(lean=self.path.endswith("?lean")))
        else:
            self.answer(b"ready")

    def do_POST(self) -> None:  # noqa: N802
        """Run a command to its end."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = subprocess.run(request["command"], capture_output=True, text=True, timeout=120)
        self.answer(json.dumps({"output": done.stdout, "error": done.stderr, "returncode": done.returncode}).encode())

    def answer(self, body: bytes) -> None:
        """One HTTP answer."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    # one request at a time: libatspi is not thread-safe, and the client sends no two at once
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
