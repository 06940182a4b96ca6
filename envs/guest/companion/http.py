"""One HTTP request to a service, from inside its companion."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from typing import Any


def ask(
    method: str, port: int, path: str, headers: Mapping[str, str], body: bytes, timeout: float, limit: int
) -> dict[str, Any]:
    """The answer: ``status``, ``headers`` (names in lower case; the last of equal ones) and ``body``.

    Raises:
        OSError: nobody answers.
        OverflowError: the answer has more than ``limit`` bytes.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request(method, path, body=body or None, headers=dict(headers))
        answer = connection.getresponse()
        content = answer.read(limit + 1)
    except (OSError, http.client.HTTPException) as error:
        raise OSError(f"{method} {path} at port {port}: {type(error).__name__}: {error}") from error
    finally:
        connection.close()
    if len(content) > limit:
        raise OverflowError(f"the answer to {method} {path} has more than {limit} bytes")
    return {
        "status": answer.status,
        "headers": {name.lower(): value for name, value in answer.getheaders()},
        "body": content,
    }
