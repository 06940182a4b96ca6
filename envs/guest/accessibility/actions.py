"""Acting on single elements, for setup hooks and state checks. Not for agents: theirs is the mouse and keyboard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from dbus_fast import Variant

from deskgym.envs.guest.accessibility.bus import Bus, CallFailed

T = TypeVar("T")

_PREFIX = "org.a11y.atspi."
_PROPERTIES = "org.freedesktop.DBus.Properties"
_AT_ONCE = 128


def split_ref(ref: str) -> tuple[str, str]:
    """Bus name and object path of a node's ``ref``.

    Raises:
        ValueError: it is not one.
    """
    peer, slash, path = ref.partition("/")
    if not peer.startswith(":") or not slash:
        raise ValueError(f"{ref!r} is no element's ref (such as ':1.4/org/a11y/atspi/accessible/12')")
    return peer, slash + path


class Hands:
    """Calls that change an element. Every method takes the element's ``ref`` and a deadline in seconds.

    Raises (all methods):
        CallFailed: the program refused, does not know the element, or did not answer in time.
        AccessibilityLost: the bus is gone.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def _call(
        self, ref: str, interface: str, member: str, signature: str = "", *body: Any, deadline: float = 2.0
    ) -> list[Any]:
        peer, path = split_ref(ref)
        where = interface if "." in interface else _PREFIX + interface
        return await within(self._bus.call(peer, path, where, member, signature, *body), deadline, f"{member} on {ref}")

    async def action(self, ref: str, action: str | int = 0, *, deadline: float = 2.0) -> None:
        """Do one of the element's actions, by name (upper or lower case) or number."""
        number = action
        if isinstance(number, str):
            names = await self.actions(ref, deadline=deadline)
            lower = [name.lower() for name in names]
            if number.lower() not in lower:
                raise CallFailed(f"{ref} has no action {action!r}; it has {names}")
            number = lower.index(number.lower())
        done = await self._call(ref, "Action", "DoAction", "i", number, deadline=deadline)
        if not done[0]:
            raise CallFailed(f"{ref} did not do its action {action!r}")

    async def actions(self, ref: str, *, deadline: float = 2.0) -> list[str]:
        """The names of the element's actions, in order."""
        listed = await self._call(ref, "Action", "GetActions", deadline=deadline)
        return [str(action[0]) for action in listed[0]]

    async def set_text(self, ref: str, text: str, *, deadline: float = 2.0) -> None:
        """Replace the whole text of an editable element."""
        try:
            done = await self._call(ref, "EditableText", "SetTextContents", "s", text, deadline=deadline)
        except CallFailed:
            peer, path = split_ref(ref)
            count = await self._call(
                ref, _PROPERTIES, "Get", "ss", _PREFIX + "Text", "CharacterCount", deadline=deadline
            )
            await self._call(ref, "EditableText", "DeleteText", "ii", 0, count[0], deadline=deadline)
            done = await self._call(ref, "EditableText", "InsertText", "isi", 0, text, len(text), deadline=deadline)
        if done and done[0] is False:
            raise CallFailed(f"{ref} did not take the text")

    async def set_value(self, ref: str, value: float, *, deadline: float = 2.0) -> None:
        """Set the number of a slider, spin button or scroll bar."""
        await self._call(
            ref, _PROPERTIES, "Set", "ssv", _PREFIX + "Value", "CurrentValue", Variant("d", value), deadline=deadline
        )

    async def select(self, ref: str, child: int, *, deadline: float = 2.0) -> None:
        """Select a child of a list, tab list, menu or combo box by its number."""
        done = await self._call(ref, "Selection", "SelectChild", "i", child, deadline=deadline)
        if not done[0]:
            raise CallFailed(f"{ref} did not select its child {child}")

    async def grab_focus(self, ref: str, *, deadline: float = 2.0) -> None:
        """Give the keyboard focus to an element."""
        done = await self._call(ref, "Component", "GrabFocus", deadline=deadline)
        if not done[0]:
            raise CallFailed(f"{ref} did not take the focus")

    async def document(self, ref: str, *, deadline: float = 2.0) -> dict[str, str]:
        """The attributes of a document, such as a web page's ``URI``."""
        found = await self._call(ref, "Document", "GetAttributes", deadline=deadline)
        return {str(name): str(value) for name, value in found[0].items()}

    async def table(
        self, ref: str, rows: Sequence[int], columns: Sequence[int], *, deadline: float = 5.0
    ) -> list[list[str]]:
        """The texts of a table's cells (a cell without text gives its name), visible or not.

        Args:
            ref: the table.
            rows: row numbers from 0, e.g. ``range(10)``.
            columns: column numbers from 0.
            deadline: seconds for all of it.
        """
        peer, path = split_ref(ref)
        gate = asyncio.Semaphore(_AT_ONCE)

        async def cell(row: int, column: int) -> str:
            async with gate:
                found = await self._bus.call(peer, path, _PREFIX + "Table", "GetAccessibleAt", "ii", row, column)
                owner, place = found[0]
                if place.endswith("/null"):
                    return ""
                try:
                    text = await self._bus.call(owner, place, _PREFIX + "Text", "GetText", "ii", 0, -1)
                except CallFailed:
                    text = await self._bus.call(
                        owner, place, _PROPERTIES, "Get", "ss", _PREFIX + "Accessible", "Name"
                    )  # fmt: skip
                return str(text[0])

        async def every() -> list[list[str]]:
            flat = await asyncio.gather(*(cell(row, column) for row in rows for column in columns))
            width = len(columns)
            return [list(flat[start : start + width]) for start in range(0, len(flat), width)] if width else []

        return await within(every(), deadline, f"the cells of {ref}")


async def within(awaitable: Awaitable[T], deadline: float, what: str) -> T:
    """The result, or CallFailed naming ``what`` when it is not there after ``deadline`` seconds."""
    try:
        return await asyncio.wait_for(awaitable, deadline)
    except TimeoutError:
        raise CallFailed(f"{what}: no answer within {deadline} s") from None
