"""Serves the live page to this user's browser, and carries RFB between it and the machines."""

from __future__ import annotations

import asyncio
import json
import logging
import mimetypes
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.live.registry import LiveMachine, running
from deskgym.envs.machines.live.stream import connect
from deskgym.viewer.live_filter import NotViewOnly, ViewOnlyFilter

HOST = "127.0.0.1"
TILES = 9
"""How many machines a page shows at once; each picture costs the machine's host processor time."""
PIECE = 1 << 16

NOVNC = ("/usr/share/novnc", "/usr/share/noVNC", "/usr/share/webapps/novnc")
"""Where distributions put noVNC; ``$DESKGYM_NOVNC`` names another copy."""

_PAGES = {"": "live.html", "live.css": "live.css", "live.js": "live.js"}
_REFUSED, _GONE, _BAD = 1008, 1001, 1011  # codes of a closed WebSocket (RFC 6455, 7.4.1)


@dataclass
class LiveServer:
    """What one ``deskgym view --live`` serves.

    Args:
        control: the browser may send keys and clicks; else they are dropped here, and the machine's own server is told
            to ignore them.
        owner: pid of the process whose machines are shown, with those of its workers; None for all of this user's.
        novnc: folder of noVNC.
        token: first part of every path; whoever does not know it gets nothing.

    Attributes:
        problems: why the last look at a machine failed, by its name.
    """

    control: bool = False
    owner: int | None = None
    novnc: Path = field(default_factory=lambda: find_novnc())
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    problems: dict[str, str] = field(default_factory=dict)

    @asynccontextmanager
    async def listen(self, port: int = 0) -> AsyncIterator[str]:
        """Serve on the loopback until the context ends; gives the page's address.

        Args:
            port: 0 takes a free one.

        Raises:
            OSError: the port is taken.
        """
        log = logging.getLogger("deskgym.live")
        log.setLevel(logging.CRITICAL)  # a browser that goes away is no error
        server: Server = await serve(
            self._show, HOST, port, process_request=self._answer, compression=None, max_size=PIECE, logger=log
        )
        async with server:
            yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}/{self.token}/"

    def machines(self) -> list[LiveMachine]:
        """Those that are shown, the oldest first."""
        return [machine for machine in running() if self.owner is None or machine.is_of(self.owner)]

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The answer to a request; None lets a WebSocket begin."""
        host = request.headers.get("Host", "")
        if urlsplit(f"//{host}").hostname not in (HOST, "localhost"):
            return _response(403, "this page is for this machine's own browser")
        token, _, path = unquote(urlsplit(request.path).path).lstrip("/").partition("/")
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return _response(404, "not found")
        if path.startswith("machines/"):
            if request.headers.get("Origin", f"http://{host}") != f"http://{host}":
                return _response(403, "another site's page asks")
            return None
        if path == "machines.json":
            return _response(200, json.dumps(self._state()), "application/json")
        return self._file(path, host)

    def _file(self, path: str, host: str) -> Response:
        parts = PurePosixPath(path).parts
        if path in _PAGES:
            file = Path(__file__).with_name(_PAGES[path])
        elif parts[0] == "novnc" and parts[1:2] in (("core",), ("vendor",)) and ".." not in parts:
            file = self.novnc.joinpath(*parts[1:])
        else:
            return _response(404, "not found")
        try:
            body = file.read_bytes()
        except OSError:
            return _response(404, "not found")
        return _response(200, body, mimetypes.guess_type(file.name)[0] or "application/octet-stream", host)

    def _state(self) -> dict[str, object]:
        machines = self.machines()
        self.problems = {m.name: self.problems[m.name] for m in machines if m.name in self.problems}
        shown = [
            {
                "name": m.name,
                "kind": m.kind,
                "owner": m.owner,
                "size": m.size,
                "since": m.since,
                "task": m.task,
                "problem": self.problems.get(m.name, ""),
            }
            for m in machines
        ]
        return {"control": self.control, "tiles": TILES, "machines": shown}

    async def _show(self, browser: ServerConnection) -> None:
        """Carry one machine's screen to the browser until either goes."""
        assert browser.request is not None
        name = unquote(urlsplit(browser.request.path).path).rpartition("/")[2]
        machine = next((m for m in self.machines() if m.name == name), None)
        if machine is None:
            await browser.close(_GONE, "it has ended")
            return
        with ExitStack() as stack:
            try:
                stream = await asyncio.to_thread(stack.enter_context, connect(machine, self.control))
            except MachineError as error:
                self.problems[name] = str(error)
                await browser.close(_BAD, str(error)[:120])
                return
            self.problems.pop(name, None)
            reader, writer = await asyncio.open_connection(sock=stream)
            directions = [
                asyncio.create_task(_to_browser(reader, browser)),
                asyncio.create_task(self._to_machine(browser, writer)),
            ]
            try:
                await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
                for done in directions:
                    if done.done() and isinstance(refusal := done.exception(), NotViewOnly):
                        self.problems[name] = f"{refusal}; --control passes everything on"
                        await browser.close(_REFUSED, str(refusal)[:120])
            finally:
                for direction in directions:
                    direction.cancel()
                await asyncio.gather(*directions, return_exceptions=True)
                writer.close()

    async def _to_machine(self, browser: ServerConnection, writer: asyncio.StreamWriter) -> None:
        kept = None if self.control else ViewOnlyFilter()
        async for message in browser:
            if isinstance(message, bytes):
                writer.write(message if kept is None else kept.feed(message))
                await writer.drain()


async def _to_browser(reader: asyncio.StreamReader, browser: ServerConnection) -> None:
    try:
        while data := await reader.read(PIECE):
            await browser.send(data)
    except (ConnectionClosed, OSError):
        pass


def find_novnc() -> Path:
    """The folder of noVNC.

    Raises:
        MachineError: it is not installed; the message has the command.
    """
    own = os.environ.get("DESKGYM_NOVNC")
    for folder in map(Path, [own] if own else NOVNC):
        if (folder / "core" / "rfb.js").is_file():
            return folder
    if own:
        raise MachineError(f"DESKGYM_NOVNC={own} has no core/rfb.js: it must be a copy of noVNC", kind="not_installed")
    raise MachineError(
        "noVNC is not installed: `sudo apt-get install --no-install-recommends novnc x11vnc`, or put a copy anywhere "
        "and name its folder in DESKGYM_NOVNC",
        kind="not_installed",
    )


def _response(status: int, body: bytes | str, kind: str = "text/plain", host: str = "") -> Response:
    body = body.encode() if isinstance(body, str) else body
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Connection": "close",
            "Content-Security-Policy": f"default-src 'self'; img-src 'self' data: blob:; connect-src 'self' ws://{host}",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
    )
    reasons = {200: "OK", 403: "Forbidden", 404: "Not Found"}
    return Response(status, reasons[status], headers, body)
