"""The conventional in-machine server, written from descriptions of the published systems: HTTP, PNG, a recursive walk.

It runs inside the machine with the distribution's Python (for pyatspi) and needs Pillow on its path. It stands for
what OSWorld's server and its descendants do, none of whose code is here: every action is a new interpreter, the
screen is a PNG over HTTP, the accessibility tree is walked node by node with one D-Bus round trip per property.

Where they differ from each other it does what is faster: the screen is grabbed in the process and never touches the
disk (they start gnome-screenshot or scrot, and paste the pointer in), and of each element it reads name, role, states,
extents and text only (they also read attributes, two more kinds of coordinates, values, and each action's key).
"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from typing import Any

MAX_DEPTH = 50
STATES = ("showing", "visible", "enabled", "focused", "selected", "checked", "editable", "focusable", "active")


def screenshot() -> bytes:
    """The screen as PNG, at Pillow's default compression."""
    from PIL import ImageGrab

    buffer = BytesIO()
    ImageGrab.grab(xdisplay="").save(buffer, "PNG")
    return buffer.getvalue()


def accessibility_tree() -> bytes:
    """Every element of every program as XML."""
    import pyatspi

    root = ElementTree.Element("desktop-frame")
    states = [(name, getattr(pyatspi, "STATE_" + name.upper())) for name in STATES]

    def walk(node: Any, parent: ElementTree.Element, depth: int) -> None:
        element = ElementTree.SubElement(parent, node.getRoleName().replace(" ", "-") or "unknown")
        element.set("name", node.name)
        state_set = node.getState()
        for name, state in states:
            if state_set.contains(state):
                element.set(name, "true")
        try:
            extents = node.queryComponent().getExtents(pyatspi.XY_SCREEN)
            element.set("position", str((extents.x, extents.y)))
            element.set("size", str((extents.width, extents.height)))
        except NotImplementedError:
            pass
        try:
            text = node.queryText()
            element.text = text.getText(0, text.characterCount)
        except NotImplementedError:
            pass
        if depth < MAX_DEPTH:
            for child in node:
                if child is not None:
                    walk(child, element, depth + 1)

    for program in pyatspi.Registry.getDesktop(0):
        if program is not None:
            walk(program, root, 0)
    return ElementTree.tostring(root)


class Handler(BaseHTTPRequestHandler):
    """``POST /execute``, ``GET /ready``, ``GET /screenshot``, ``GET /accessibility``."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:  # noqa: N802
        """Screen or tree."""
        if self.path == "/screenshot":
            self.answer(screenshot())
        elif self.path == "/accessibility":
            self.answer(accessibility_tree())
        else:
            self.answer(b"ready")

    def do_POST(self) -> None:  # noqa: N802
        """Run a command to its end."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        done = subprocess.run(request["command"], capture_output=True, text=True, timeout=120)
        self.answer(
            json.dumps({"output": done.stdout, "error": done.stderr, "returncode": done.returncode}).encode()
        )

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
