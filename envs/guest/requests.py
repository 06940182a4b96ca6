"""The HTTP requests of a desktop to its companions, by which a page that is loading is told from one that is there."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping


def is_document(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request is for a page or a frame of one, and not for what a page consists of.

    Args:
        headers: by name in lower case.
    """
    purpose = headers.get(b"sec-fetch-dest")
    if purpose is None:  # an old browser
        return b"text/html" in headers.get(b"accept", b"")
    return purpose in (b"document", b"iframe", b"frame")


class Requests:
    """The requests that have begun and are not answered in full.

    Web sockets, events from the server and what a service names as long polls are not among them.

    Attributes:
        last_change: when one has begun or ended, or a connection was made (``time.monotonic``).
        last_end: when one has ended.
    """

    def __init__(self) -> None:
        self.last_change = self.last_end = 0.0
        self._open: dict[int, tuple[float, bool]] = {}
        self._numbers = itertools.count()

    def begin(self, document: bool) -> int:
        """A request has begun; gives its number."""
        number = next(self._numbers)
        self.last_change = time.monotonic()
        self._open[number] = (self.last_change, document)
        return number

    def end(self, number: int) -> None:
        """It is answered in full, or counts no more. Idempotent."""
        if self._open.pop(number, None) is not None:
            self.last_change = self.last_end = time.monotonic()

    def connect(self) -> None:
        """The desktop has made a connection: a request will come."""
        self.last_change = time.monotonic()

    def in_flight(self, since: float, document: float, part: float) -> int:
        """How many count.

        Args:
            since: only documents count that began before.
            document: seconds after which a document does not count.
            part: seconds after which what a page consists of does not count.
        """
        now = time.monotonic()
        return sum(
            now - began < (document if is_page else part) and (is_page or began >= since)
            for began, is_page in self._open.values()
        )
