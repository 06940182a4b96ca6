"""Hooks that speak to the services beside the desktop: API calls, files that the desktop gets from them, SQL.

A service itself is started by nobody here: a task that uses its program has it up and ready before the first hook.
"""

from __future__ import annotations

import json as json_module
from string import Template
from typing import Any

from deskgym.envs.errors import ServiceError, SetupError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.waits import wait_until


def http(
    setup: Setup,
    service: str,
    path: str,
    method: str = "GET",
    body: str = "",
    json: Any = None,
    headers: dict[str, str] | None = None,
    expect: int | list[int] | None = None,
    that: Predicate | None = None,
    to: str | None = None,
    wait: bool = False,
    port: int | None = None,
    timeout: float = 30.0,
) -> None:
    """Call a service's API, from inside its companion.

    Args:
        setup: the task's setup.
        service: its name.
        path: with its query.
        method: of HTTP.
        body: a text to send.
        json: data to send instead, as JSON.
        headers: to send; ``$NAME`` in them stands for the service's secret of this name.
        expect: the status, or those that are legal; by default any from 200 to 399.
        that: what must hold for the answer's text.
        to: a file of the desktop that gets what was answered.
        wait: call again until it is answered as expected.
        port: the service's first one if left out.
        timeout: seconds.

    Raises:
        SetupError: it did not answer, or not as expected; says what it answered.
    """
    companion = setup.companion(service)
    target = None if to is None else legal_path(to)
    sent = {name: Template(value).safe_substitute(companion.secrets) for name, value in (headers or {}).items()}
    if json is not None:
        sent.setdefault("Content-Type", "application/json")
        body = json_module.dumps(json)
    legal = [expect] if isinstance(expect, int) else expect or range(200, 400)

    def call() -> str:
        answer = companion.http(method, path, body=body, headers=sent, port=port, timeout=timeout)
        if answer.status not in legal:
            wanted = " or ".join(map(str, legal)) if expect else "200 to 399"
            return f"answered with {answer.status}, not {wanted}: {shown(answer.text, 300)}"
        if that is not None and not that(answer.text):
            return f"answered {shown(answer.text, 300)}; awaited is {that}"
        if target is not None:
            setup.machine.put(target, answer.body, mode=0o644)
        return ""

    wait_until(setup, call, f"{method} {path} of the service {service!r}, not as awaited", timeout if wait else 0.0)


def sql(setup: Setup, service: str, statements: str, database: str | None = None, timeout: float = 30.0) -> None:
    """Carry out SQL statements in a service's database, all or none.

    Raises:
        SetupError: they failed; says why.
    """
    try:
        setup.companion(service).execute(statements, database=database, timeout=timeout)
    except ServiceError as error:
        raise SetupError(str(error)) from error


def wait_for_sql(
    setup: Setup,
    service: str,
    query: str,
    that: Predicate | None = None,
    database: str | None = None,
    timeout: float = 30.0,
) -> None:
    """A query gives at least one row, or rows (a list of mappings) for which a predicate holds.

    Raises:
        SetupError: not within ``timeout`` seconds; says what rows there were last.
    """

    def look() -> str:
        rows = setup.companion(service).sql(query, database=database, timeout=timeout)
        met = bool(rows) if that is None else that(rows)
        return "" if met else f"the rows are {shown(rows)}; awaited is {that or 'at least one'}"

    wait_until(setup, look, f"{shown(query)} of the service {service!r}, not as awaited", timeout)
