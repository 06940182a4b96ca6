"""A web site whose pages take their time, for measuring when a step says that a page is there.

It runs in a companion of the browser's desktop, as a script of the standard library alone.
"""

from __future__ import annotations

import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlparse

PORT = 8000
LINK, FORM, BOX, BLANK = (100, 250), (460, 340), (720, 340), (900, 500)
"""Centers of what can be clicked on its pages, in pixels of the page: a link, a form's button, a check box, nothing."""

PAGE = """<!doctype html><title>page {n}</title>
<style>* {{ position: absolute; white-space: nowrap }} a {{ font: 30px sans-serif }}</style>
<link rel=stylesheet href="/part?n={n}"><body style="margin: 0; background: white">
<div id=mark style="left: 0; top: 0; width: 300px; height: 120px; background: rgb{color}"></div>
<h1 style="left: 20px; top: 140px">Page {n}</h1>
<a href="{to}" style="left: 20px; top: 230px">to the next page</a>
<form method=post action="{to}"><button style="left: 400px; top: 320px; width: 120px; height: 40px">Send</button></form>
<input type=checkbox style="left: 700px; top: 320px; width: 40px; height: 40px">
<script>{script}</script>"""

SCRIPTS = {
    "": "",
    "poll": "(async () => { for (;;) await fetch('/poll') })()",
    "events": "new EventSource('/events')",
    "spinner": "setInterval(() => document.querySelector('h1').style.opacity = Math.random(), 16)",
}
"""What a page goes on doing, by the name in its address: a long poll, events from the server, motion."""


def color_of(n: int) -> tuple[int, int, int]:
    """The colour of page ``n``, RGB; no two pages in a row have the same."""
    return (n * 67) % 200 + 30, (n * 131) % 200 + 30, (n * 29) % 200 + 30


def delay_of(n: int, longest: float) -> float:
    """Seconds that page ``n`` takes: the same for server and client."""
    return random.Random(n).uniform(0, longest)


def serve(longest: float) -> None:
    """Serve for ever; pages take up to ``longest`` seconds, every fifth after a redirect."""

    class Site(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            """A form was sent."""
            self.rfile.read(int(self.headers.get("content-length") or 0))
            self.do_GET()

        def do_GET(self) -> None:
            """Answer a request."""
            address = urlparse(self.path)
            asked = dict(parse_qsl(address.query))
            n, kind = int(asked.get("n", 0)), asked.get("kind", "")
            if address.path == "/poll":
                time.sleep(30)
                self._send("text/plain", b"")
            elif address.path == "/events":
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                time.sleep(30)
            elif address.path == "/part":
                time.sleep(delay_of(n, longest) / 10)
                self._send("text/css", b"h1 { color: navy }")
            elif address.path == "/page" and n % 5 == 0 and "direct" not in asked:
                time.sleep(delay_of(n, longest) / 3)
                self._send("text/plain", b"", 303, f"{self.path}&direct=1")
            elif address.path == "/page":
                time.sleep(delay_of(n, longest))
                to = f"/page?n={n + 1}&kind={kind}"
                self._send("text/html", PAGE.format(n=n, color=color_of(n), to=to, script=SCRIPTS[kind]).encode())
            else:
                self._send("text/plain", b"", 404)

        def _send(self, kind: str, body: bytes, status: int = 200, location: str = "") -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            if location:
                self.send_header("location", location)
            self.end_headers()
            self.wfile.write(body)

    ThreadingHTTPServer(("127.0.0.1", PORT), Site).serve_forever()


if __name__ == "__main__":
    serve(float(sys.argv[1]))
