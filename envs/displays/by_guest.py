"""Input, settling and readings by the guest beside the screen, in one round trip."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.guest.client import GRACE, GuestClient
from deskgym.envs.guest.step import CodeResult, ElementsReading, StepReport, StepRequest

_KINDS = ("display_lost", "start_failed", "executor")


def carry_out(client: GuestClient, request: StepRequest) -> StepReport:
    """See ``Display.carry_out``; deadlines are those of a machine that is ``client.slowness`` times slower.

    Raises:
        GuestLost: the guest, the X server or the code executor is gone.
        GuestCallError: an event or a request makes no sense.
    """
    timeout = GRACE + sum(float(event.get("s", 0)) for event in request.events if event.get("t") == "wait")
    settle, code, elements = request.settle, request.code, request.elements
    if settle is not None:
        settle = settle.times(client.slowness)
        settle = replace(settle, rest=settle.rest or client.rests)
        timeout += (settle.cap_ms + settle.page_cap_ms) / 1000
    if code is not None:
        timeout += code.timeout
    if elements is not None:
        deadline = elements.deadline or client.element_deadline
        elements = replace(elements, deadline=deadline * client.slowness)
        timeout += deadline * client.slowness
    message = StepRequest(request.events, settle, code, elements).message()
    try:
        answer = client.call("perform", timeout, **message)
    except GuestCallError as error:
        _raise(error)
    return StepReport(
        settled=client.typed(answer, "settled", bool),
        damage=_damage(client, answer),
        timing=_timing(client, answer),
        loading=client.typed(answer, "loading", bool),
        code=None if code is None else _code(client, client.typed(answer, "code", dict)),
        elements=None if elements is None else _elements(client, client.typed(answer, "elements", dict)),
    )


def _damage(client: GuestClient, answer: Mapping[str, Any]) -> tuple[int, int, int, int] | None:
    if answer.get("damage") is None:
        return None
    damage = client.typed(answer, "damage", list)
    if len(damage) != 4 or not all(isinstance(value, int) for value in damage):
        raise GuestLost("the guest reports damage that is no rectangle", "guest_garbled")
    return damage[0], damage[1], damage[2], damage[3]


def _timing(client: GuestClient, answer: Mapping[str, Any]) -> dict[str, float]:
    timing = client.typed(answer, "timing", dict)
    if not all(isinstance(value, int | float) for value in timing.values()):
        raise GuestLost("the guest reports times that are no numbers", "guest_garbled")
    return {str(name): float(value) for name, value in timing.items()}


def _code(client: GuestClient, answer: Mapping[str, Any]) -> CodeResult:
    return CodeResult(
        client.typed(answer, "stdout", str),
        client.typed(answer, "stderr", str),
        client.typed(answer, "status", int),
        client.typed(answer, "timed_out", bool),
        client.typed(answer, "truncated", bool),
    )


def _elements(client: GuestClient, answer: Mapping[str, Any]) -> ElementsReading:
    cut = answer.get("cut")
    return ElementsReading(
        client.typed(answer, "rows", bytes),
        client.typed(answer, "texts", list),
        client.typed(answer, "complete", bool),
        None if cut is None else str(cut),
    )


def release(client: GuestClient) -> None:
    """Let go of every key and button that is held, and switch Caps Lock off."""
    try:
        client.call("release")
    except GuestCallError as error:
        _raise(error)


def recover(client: GuestClient) -> None:
    """See ``Display.recover``. What cannot be put right is for the checks to find."""
    with suppress(GuestCallError):
        client.call("recover", 40.0 * client.slowness)


def _raise(error: GuestCallError) -> NoReturn:
    if error.kind in _KINDS:
        raise GuestLost(str(error), error.kind) from error
    raise error
