"""Reads along on one connection to tell where its HTTP requests begin and where their answers end."""

from __future__ import annotations

import time
from collections.abc import Callable

import h11

from deskgym.envs.guest.requests import is_document

_HEADERS = 1 << 16  # bytes that the headers of a message may have
_BURST, _SHARE = 1.0, 0.1  # seconds of processor time that reading along may take at once; its share in the long run


class Allowance:
    """The processor time that all watches of a guest may use together.

    The guest does nothing else meanwhile, and a body in chunks of one byte costs a thousand times what one piece does:
    an agent that floods its service must not make the machine look broken.
    """

    def __init__(self) -> None:
        self._left, self._seen = _BURST, time.monotonic()

    @property
    def over(self) -> bool:
        """Whether there is nothing left of it now."""
        now = time.monotonic()
        self._left = min(_BURST, self._left + _SHARE * (now - self._seen))
        self._seen = now
        return self._left <= 0

    def spend(self, seconds: float) -> None:
        """So much of it was used."""
        self._left -= seconds


class HttpWatch:
    """Two parsers of h11, one in the role of the server, one in that of the client; each hears what the other saw.

    What is not HTTP/1 is none of its business from there on: PostgreSQL's protocol, TLS, web sockets after the upgrade.

    Args:
        begin: called when a request begins, with whether it is for a document; gives its number.
        end: called with the number when it is answered in full, or counts no more.
        counts: whether a request for this path counts at all.
        allowance: once it is used up, this connection is read along no more.
    """

    def __init__(
        self, begin: Callable[[bool], int], end: Callable[[int], None], counts: Callable[[str], bool],
        allowance: Allowance | None = None,
    ) -> None:  # fmt: skip
        self._begin, self._end, self._counts = begin, end, counts
        self._allowance = allowance or Allowance()
        self._client = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEADERS)
        self._server = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEADERS)
        self._number: int | None = None
        self._blind = False

    def sent(self, data: bytes) -> None:
        """The client has sent this."""
        self._hear(self._client, data)

    def received(self, data: bytes) -> None:
        """The server has sent this; empty when it has closed the connection."""
        self._hear(self._server, data)

    def close(self) -> None:
        """The connection is gone."""
        self._blind = True
        self._done()

    def _hear(self, parser: h11.Connection, data: bytes) -> None:
        if self._blind:
            return
        if self._allowance.over:
            return self.close()
        begun = time.thread_time()
        try:
            parser.receive_data(data)
            self._advance(parser)
        except (h11.ProtocolError, RuntimeError):  # RuntimeError: data after the end of the stream
            self.close()
        finally:
            self._allowance.spend(time.thread_time() - begun)

    def _advance(self, parser: h11.Connection) -> None:
        while not self._blind:
            event = parser.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                return
            if isinstance(event, h11.Request):
                self._on_request(event)
            elif isinstance(event, h11.InformationalResponse | h11.Response):
                self._on_answer(event)
            other = self._server if parser is self._client else self._client
            if not self._blind:
                other.send_with_data_passthrough(_of_today(event))
            if isinstance(event, h11.EndOfMessage) and parser is self._server:
                self._done()
                if self._client.our_state is h11.DONE and self._client.their_state is h11.DONE:
                    self._client.start_next_cycle()
                    self._server.start_next_cycle()
                    self._advance(self._client)  # the next request may be there already
                    return

    def _on_request(self, request: h11.Request) -> None:
        headers = dict(request.headers)
        news = b"upgrade" in headers or b"text/event-stream" in headers.get(b"accept", b"")
        if not news and self._counts(request.target.decode("latin-1")):
            self._number = self._begin(is_document(headers))

    def _on_answer(self, answer: h11.InformationalResponse | h11.Response) -> None:
        if answer.status_code == 101:
            self.close()
        elif dict(answer.headers).get(b"content-type", b"").startswith(b"text/event-stream"):
            self._done()

    def _done(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._end(number)


def _of_today(event: h11.Event | type[h11.PAUSED] | type[h11.NEED_DATA]) -> h11.Event:
    """The event as one of HTTP/1.1: h11 reads 1.0 too, but refuses to send it."""
    if isinstance(event, h11.Request):
        return h11.Request(method=event.method, target=event.target, headers=event.headers.raw_items())
    if isinstance(event, h11.Response):
        return h11.Response(status_code=event.status_code, headers=event.headers.raw_items(), reason=event.reason)
    return event  # type: ignore[return-value]
