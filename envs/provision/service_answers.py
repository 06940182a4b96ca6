"""What a service in a companion answers: to HTTP, and to a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class HttpAnswer:
    """What a service answered.

    Attributes:
        status: such as 200.
        headers: names in lower case.
        body: bytes.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body in UTF-8."""
        return self.body.decode(errors="replace")
