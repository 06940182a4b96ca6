"""A check of what a service answers to its owner: asked from inside its companion, where the agent has no part."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFunction
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.evaluation.readers.tables import find_companion


def http(
    final: FinalState,
    companion: str,
    path: str,
    that: Predicate | None = None,
    at: str | list[str | int] | None = None,
    status: int = 200,
    method: str = "GET",
    body: str = "",
    headers: dict[str, str] | None = None,
    auth: list[str] | None = None,
    port: int | None = None,
) -> tuple[bool, str]:
    """A service answers a request in this way.

    Args:
        final: the final state.
        companion: the service's name.
        path: with its query.
        that: what the body's text must be; with ``at``, what the value at that path of its JSON must be.
        at: such as ``items.0.name``; ``[]`` is all of the JSON.
        status: the answer's status.
        method: of the request.
        body: of the request.
        headers: of the request; in a value, ``$NAME`` stands for the service's secret of that name.
        auth: name and password for HTTP's basic authentication; ``$NAME`` as in headers.
        port: the service's first one if left out.

    Example:
        ```yaml
        - http: {companion: shop, path: /api/orders/7, at: status, that: {equals: paid}}
        ```
    """

    def ask(_: Any) -> list[Any]:
        service = find_companion(final, companion)

        def secret(text: str) -> str:
            return Template(text).safe_substitute(service.secrets)

        answer = service.http(
            method, path, body=body, port=port,
            headers={name: secret(value) for name, value in (headers or {}).items()},
            auth=(secret(auth[0]), secret(auth[1])) if auth else None,
        )  # fmt: skip
        return [answer.status, answer.text]

    got, text = final.read_once(f"http:{companion}:{method}:{port}:{path}:{headers}:{auth}:{body}", ask)
    asked = f"{companion}: {method} {path}"
    if got != status:
        return False, f"{asked} has the status {got}, right is {status}: {shown(text)}"
    if that is None:
        return True, f"{asked} has the status {got}"
    value = text if at is None else lookup(parse_json(text, asked), at)
    return that(value), f"{asked}{f' at {at}' if at else ''} is {shown(value)}; right is {that}"


CHECKS: Mapping[str, CheckFunction] = {"http": http}
