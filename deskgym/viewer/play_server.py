"""Serves one episode to this user's browser, where a person plays it: a picture, and what is done in it comes back."""

from __future__ import annotations

import json
import queue
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

HOST = "127.0.0.1"
MOST = 1 << 16
"""Bytes of an action."""

_PATIENCE = 20.0  # seconds after which an action that is still carried out is answered with what there is; asked again
_FILES = {"": "text/html", "play.css": "text/css", "play.js": "text/javascript"}


@dataclass
class PlayServer:
    """A page on the loopback with the desktop of one episode after the other.

    Args:
        port: 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """

    port: int = 0
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)

    def __post_init__(self) -> None:
        self._actions: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self._changed, self._version, self._seen = threading.Condition(), 0, 0
        self._picture, self._told = b"", dict[str, Any]()
        self._http = ThreadingHTTPServer((HOST, self.port), type("Handler", (_Handler,), {"play": self}))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, daemon=True, name="deskgym play").start()

    @property
    def address(self) -> str:
        """The page's; whoever does not know it gets nothing."""
        return f"http://{HOST}:{self._http.server_address[1]}/{self.token}/"

    def show(self, frame: NDArray[np.uint8] | None, **told: Any) -> None:
        """Show what there is now.

        Args:
            frame: of the screen, uint8 (height, width, 3) RGB; None keeps the last one.
            told: what the page says beside it: ``task``, ``instruction``, ``step``, ``of``, ``feedback``, ``over``,
                ``outcome``, ``message``.
        """
        picture = self._picture if frame is None else _png(frame)
        with self._changed:
            self._picture, self._told, self._version = picture, {**self._told, **told}, self._version + 1
            self._changed.notify_all()

    def next(self) -> Mapping[str, Any]:
        """What the person does next, as ``Action.from_dict`` takes it; waits for it, and can be interrupted."""
        while True:
            try:
                return self._actions.get(timeout=0.5)
            except queue.Empty:
                continue

    def wait_seen(self, timeout: float) -> bool:
        """Wait until the page has asked for what there is now; whether it has, within these seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._seen == self._version, timeout)

    def close(self) -> None:
        """Serve no more. Idempotent."""
        self._http.shutdown()
        self._http.server_close()

    def _state(self) -> dict[str, Any]:
        with self._changed:
            self._seen = self._version
            self._changed.notify_all()
            return {"version": self._version, **self._told}

    def _act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Hand an action on, and wait for what comes of it."""
        with self._changed:
            before = self._version
            if "step" in self._told and not self._told.get("over"):  # else nobody waits for it
                self._actions.put(action)
                self._changed.wait_for(lambda: self._version > before, _PATIENCE)
        return self._state()


class _Handler(BaseHTTPRequestHandler):
    play: PlayServer

    def do_GET(self) -> None:
        path = self._path()
        if path is None:
            return
        if path == "state":
            self._send(200, json.dumps(self.play._state()).encode(), "application/json")
        elif path == "picture":
            self._send(200, self.play._picture, "image/png")
        elif path in _FILES:
            self._send(200, Path(__file__).with_name(path or "play.html").read_bytes(), _FILES[path])
        else:
            self._send(404, b"not found")

    def do_POST(self) -> None:
        if self._path() != "act":
            return
        length = self.headers.get("Content-Length", "")
        if not (length.isdecimal() and int(length) <= MOST):
            self._send(413, f"an action has at most {MOST} bytes".encode())
            return
        try:
            action = json.loads(self.rfile.read(int(length)))
        except ValueError:
            action = None
        if not isinstance(action, dict):
            self._send(400, b"an action is a JSON object")
            return
        self._send(200, json.dumps(self.play._act(action)).encode(), "application/json")

    def _path(self) -> str | None:
        """The path behind the token; None where the request has been refused."""
        host = self.headers.get("Host", "")
        if urlsplit(f"//{host}").hostname not in (HOST, "localhost"):
            self._send(403, b"this page is for this machine's own browser")
        elif self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            self._send(403, b"another site's page asks")
        else:
            token, _, path = urlsplit(self.path).path.lstrip("/").partition("/")
            if secrets.compare_digest(token.encode(), self.play.token.encode()):
                return path
            self._send(404, b"not found")
        return None

    def _send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _png(frame: NDArray[np.uint8]) -> bytes:
    import cv2

    return cv2.imencode(".png", np.ascontiguousarray(frame[..., ::-1]), [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
