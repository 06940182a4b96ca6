"""Hooks that speak to the services beside the desktop: API calls, SQL, files that the desktop gets from them.

A service itself is started by nobody here: a task that names its program has it up and ready before the first hook.
"""

from __future__ import annotations

import json as json_module
import time
from collections.abc import Callable
from typing import Any, TypeVar

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import ServiceError, SetupError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.provision.companions import HttpAnswer
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.waits import POLL

T = TypeVar("T")


def http(
    setup: Setup,
    service: str,
    path: str,
    method: str = "GET",
    body: str = "",
    json: Any = None,
    headers: dict[str, str] | None = None,
    user: str | None = None,
    password: str | None = None,
    expect: int | list[int] | None = None,
    that: Predicate | None = None,
    port: int | None = None,
    timeout: float = 30.0,
) -> None:
    """Call a service's API, from inside its companion.

    In the headers and the password ``$NAME`` stands for the service's secret of this name.

    Args:
        setup: the task's setup.
        service: its name.
        path: with its query.
        method: of HTTP.
        body: a text to send.
        json: data to send instead, as JSON.
        headers: to send.
        user: name for HTTP's basic authentication.
        password: of that user.
        expect: the status, or those that are legal; by default any from 200 to 399.
        that: what must hold for the answer's text.
        port: the service's first one if left out.
        timeout: seconds.

    Raises:
        SetupError: it did not answer, or not as expected; says what it answered.
    """
    answer = _ask(setup, service, path, method, body, json, headers, user, password, port, timeout)
    if why := _unexpected(answer, expect, that):
        raise SetupError(f"{method} {path} of the service {service!r}: {why}")


def wait_for_http(
    setup: Setup,
    service: str,
    path: str,
    expect: int | list[int] | None = None,
    that: Predicate | None = None,
    headers: dict[str, str] | None = None,
    user: str | None = None,
    password: str | None = None,
    port: int | None = None,
    timeout: float = 30.0,
) -> None:
    """``GET`` of a path of a service is answered as expected; it is repeated until it is.

    Raises:
        SetupError: not within ``timeout`` seconds; says what was answered last.
    """

    def look() -> str:
        answer = _ask(setup, service, path, "GET", "", None, headers, user, password, port, timeout)
        return _unexpected(answer, expect, that)

    _until(setup, look, f"GET {path} of the service {service!r}", timeout)


def sql(setup: Setup, service: str, statements: str, database: str | None = None, timeout: float = 30.0) -> None:
    """Carry out SQL statements in a service's database, all or none.

    Raises:
        SetupError: they failed; says why.
    """
    _checked(lambda: setup.companion(service).execute(statements, database=database, timeout=timeout))


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

    _until(setup, look, f"{shown(query)} of the service {service!r}", timeout)


def download(
    setup: Setup,
    service: str,
    path: str,
    to: str,
    headers: dict[str, str] | None = None,
    user: str | None = None,
    password: str | None = None,
    port: int | None = None,
    timeout: float = 30.0,
) -> None:
    """Put what a service answers to ``GET`` into a file of the desktop.

    Raises:
        SetupError: the status is not 200, or ``to`` is a place where hooks may not write.
    """
    target = legal_path(to)
    answer = _ask(setup, service, path, "GET", "", None, headers, user, password, port, timeout)
    if why := _unexpected(answer, 200, None):
        raise SetupError(f"GET {path} of the service {service!r}: {why}")
    setup.machine.put(target, answer.body, mode=0o644)


def _ask(
    setup: Setup,
    service: str,
    path: str,
    method: str,
    body: str,
    json: Any,
    headers: dict[str, str] | None,
    user: str | None,
    password: str | None,
    port: int | None,
    timeout: float,
) -> HttpAnswer:
    companion = setup.companion(service)

    def filled(text: str) -> str:
        for name, value in companion.secrets.items():
            text = text.replace(f"${name}", value)
        return text

    sent = {name: filled(value) for name, value in (headers or {}).items()}
    if json is not None:
        sent.setdefault("Content-Type", "application/json")
        body = json_module.dumps(json)
    auth = (user, filled(password or "")) if user is not None else None
    return _checked(
        lambda: companion.http(method, path, body=body, headers=sent, auth=auth, port=port, timeout=timeout)
    )


def _checked(work: Callable[[], T]) -> T:
    try:
        return work()
    except ServiceError as error:
        raise SetupError(str(error)) from error


def _unexpected(answer: HttpAnswer, expect: int | list[int] | None, that: Predicate | None) -> str:
    """What about an answer is not as expected, or ""."""
    legal = [expect] if isinstance(expect, int) else expect
    if answer.status not in legal if legal else not 200 <= answer.status < 400:
        wanted = " or ".join(map(str, legal)) if legal else "200 to 399"
        return f"answered with {answer.status}, not {wanted}: {shown(answer.text, 300)}"
    if that is not None and not that(answer.text):
        return f"answered {shown(answer.text, 300)}; awaited is {that}"
    return ""


def _until(setup: Setup, look: Callable[[], str], what: str, timeout: float) -> None:
    deadline = Deadline(timeout, setup.machine.slowness)
    while True:
        try:
            seen = look()
        except (ServiceError, SetupError) as error:
            seen = str(error)
        if not seen:
            return
        if deadline.over:
            raise SetupError(f"{what} was not as awaited within {timeout:g} s: {seen}")
        time.sleep(POLL)
