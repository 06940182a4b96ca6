"""Input, settling and readings by the guest beside the screen, in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NoReturn

from deskgym.envs.displays.base import Event, SettlePolicy, StepReport
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.guest.client import GRACE, GuestClient

_KINDS = ("display_lost", "start_failed", "executor")


def perform(
    client: GuestClient, events: Sequence[Event], settle: SettlePolicy | None, requests: dict[str, Any]
) -> StepReport:
    """Carry out events, settle and answer; see ``Display.perform``.

    ``code`` is ``{text, timeout, output_limit}`` and answers ``{stdout, stderr, status, timed_out, truncated}``;
    ``elements`` is ``{limit, deadline, fresh}`` and answers ``{rows, texts, complete, cut}``.

    Raises:
        GuestLost: the guest is gone.
        MachineError: the X server or the code executor is gone.
        GuestCallError: an event or a request makes no sense.
    """
    timeout = GRACE + sum(float(event.get("s", 0)) for event in events if event.get("t") == "wait")
    if settle is not None:
        settle = settle.times(client.slowness)
        timeout += (settle.cap_ms + settle.page_cap_ms) / 1000
        requests["settle"] = asdict(settle)
    if requests.get("code") is not None:
        timeout += float(requests["code"].get("timeout", 30.0))
    for name, default in (("elements", client.element_deadline), ("tree", 5.0)):
        if requests.get(name) is not None:
            deadline = float(requests[name].get("deadline", default)) * client.slowness
            timeout += deadline
            requests[name] = {**requests[name], "deadline": deadline}
    try:
        answer = client.call("perform", timeout, events=list(events), **requests)
    except GuestCallError as error:
        _raise(error)
    damage = answer.get("damage")
    if damage is not None:
        damage = client.typed(answer, "damage", list)
        if len(damage) != 4 or not all(isinstance(value, int) for value in damage):
            raise MachineError("the guest reports damage that is no rectangle", "guest_garbled")
    timing = client.typed(answer, "timing", dict)
    if not all(isinstance(value, int | float) for value in timing.values()):
        raise MachineError("the guest reports times that are no numbers", "guest_garbled")
    return StepReport(
        settled=client.typed(answer, "settled", bool),
        damage=None if damage is None else (damage[0], damage[1], damage[2], damage[3]),
        timing={str(name): float(value) for name, value in timing.items()},
        loading=client.typed(answer, "loading", bool),
        extra={name: client.typed(answer, name, dict) for name in ("code", "elements", "tree") if name in answer},
    )


def release(client: GuestClient) -> None:
    """Let go of every key and button that is held, and switch Caps Lock off."""
    try:
        client.call("release")
    except GuestCallError as error:
        _raise(error)


def _raise(error: GuestCallError) -> NoReturn:
    if error.kind in _KINDS:
        raise MachineError(str(error), error.kind) from error
    raise error
