"""One step in one round trip: input, code, settling and accessible elements, each with its time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deskgym.envs.guest.step import ELEMENT_DEADLINE, ElementsRequest, StepRequest

if TYPE_CHECKING:
    from deskgym.envs.guest.accessibility.search import App
    from deskgym.envs.guest.desktop import Desktop
    from deskgym.envs.guest.x11.boxes import Box


async def perform(desktop: Desktop, **message: Any) -> dict[str, Any]:
    """Carry out a ``StepRequest``, given as its message.

    Returns:
        ``settled``, ``loading``, ``damage`` as (x, y, width, height) of what changed since the last report, or None,
        ``timing`` in ms, and under their own names the answers to ``code`` and ``elements``.
    """
    request = StepRequest.from_message(message)
    events, code, settle, elements = request.events, request.code, request.settle, request.elements
    timing: dict[str, float] = {}
    answer: dict[str, Any] = {"timing": timing}
    screen = desktop.screen
    since = time.monotonic() if events or code is not None else None
    began = time.perf_counter()

    def mark(name: str) -> None:
        nonlocal began
        now = time.perf_counter()
        timing[name] = round((now - began) * 1000, 3)
        began = now

    await screen.events(events)
    mark("input")
    if code is not None:
        answer["code"] = await desktop.executor.run(code)
        screen.damage.input()
        mark("code")
    early: asyncio.Task[Any] | None = None

    def read_early() -> None:
        """Read the elements while the screen is watched: afterwards only what changed since is left to read."""
        nonlocal early
        if elements is not None:
            early = asyncio.get_running_loop().create_task(read(desktop, elements, early=True))

    answer["settled"], answer["loading"] = True, False
    if settle is not None:
        answer["settled"], answer["loading"] = await screen.settle(since, settle, read_early)
        mark("settle")
    if early is not None:
        await asyncio.wait([early])
        early.exception()  # what went wrong goes wrong below again
    desktop.see()
    answer["damage"] = _rectangle(desktop.take_report())
    if elements is not None:
        answer["elements"] = await read(desktop, elements)
        mark("elements")
    return answer


def _rectangle(box: Box | None) -> list[int] | None:
    return None if box is None else [box[0], box[1], box[2] - box[0], box[3] - box[1]]


async def read_elements(desktop: Desktop, **message: Any) -> dict[str, Any]:
    """The visible accessible elements: an ``ElementsReading`` for an ``ElementsRequest``, as messages."""
    return await read(desktop, ElementsRequest(**message))


async def read(desktop: Desktop, request: ElementsRequest, early: bool = False) -> dict[str, Any]:
    """The visible accessible elements: an ``ElementsReading`` as its message."""
    desktop.see()
    boxes = desktop.take_change()
    damage: Any = "all" if request.fresh else tuple((a, b, c - a, d - b) for a, b, c, d in boxes)
    deadline = request.deadline or ELEMENT_DEADLINE
    found = await desktop.reader.read(deadline=deadline, damage=damage, max_elements=request.limit, early=early)
    texts = [
        (role, name, text or value, ref)
        for role, name, text, value, ref in zip(
            found.roles, found.names, found.texts, found.values, found.refs, strict=True
        )
    ]
    return {"rows": found.rows.tobytes(), "texts": texts, "complete": found.complete, "cut": found.cut}


async def read_tree(desktop: Desktop, app: App | None = None, ref: str | None = None, **options: Any) -> dict[str, Any]:
    """The whole accessible tree of a program, or of all; with ``ref`` that of one element of it.

    See ``AccessibilityReader.tree`` and ``subtree``.
    """
    desktop.see()
    found = await (desktop.reader.subtree(ref, **options) if ref else desktop.reader.tree(app, **options))
    return found.message()


async def act(desktop: Desktop, ref: str, do: str, value: Any = None, deadline: float = 2.0) -> dict[str, Any]:
    """Do something to one accessible element, for hooks and evaluators.

    Args:
        desktop: where.
        ref: the element, as ``tree`` and ``elements`` name it.
        do: ``"action"`` (value: its name), ``"set_text"``, ``"set_value"``, ``"select"`` (a child's number) or
            ``"grab_focus"``.
        value: what that takes.
        deadline: seconds for the program to answer.
    """
    hands = desktop.reader
    if do == "grab_focus":
        await hands.grab_focus(ref, deadline=deadline)
    elif do in ("action", "set_text", "set_value", "select"):
        await getattr(hands, do)(ref, value, deadline=deadline)
    else:
        raise ValueError(f"{do!r} cannot be done to an element; action, set_text, set_value, select, grab_focus can")
    return {}


async def read_document(desktop: Desktop, ref: str, deadline: float = 2.0) -> dict[str, Any]:
    """The attributes of a document, such as a web page's ``URI``."""
    return {"attributes": await desktop.reader.document(ref, deadline=deadline)}


async def read_table(
    desktop: Desktop, ref: str, rows: Sequence[int], columns: Sequence[int], deadline: float = 5.0
) -> dict[str, Any]:
    """The texts of a table's cells, row by row, visible or not."""
    return {"cells": await desktop.reader.table(ref, rows, columns, deadline=deadline)}


async def wait_change(desktop: Desktop, timeout: float = 0.25) -> dict[str, Any]:
    """Wait until something on the screen changes that nobody was told of yet, at most ``timeout`` seconds."""
    screen = desktop.screen
    end = time.monotonic() + min(timeout, 60.0)
    return {"changed": await screen.connection.until(lambda: bool(screen.damage.changed), end)}
