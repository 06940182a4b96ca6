"""The accessibility reader: what is on the screen, as the programs themselves describe it (AT-SPI over D-Bus).

It is fast for three reasons: hundreds of calls are under way at once (``bus``), what is hidden is not
descended into (``walk``), and what neither an event nor damage of the screen has touched since the last
read is not read again (``program``). It is tested against pyatspi; docs/accessibility.md says where and
why the two differ.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Iterable, Sequence
from typing import Literal

from deskgym.envs.guest.accessibility.actions import Hands, split_ref, within
from deskgym.envs.guest.accessibility.bus import BUS, AccessibilityLost, Bus, CallFailed
from deskgym.envs.guest.accessibility.events import EVENTS, INTERFACES
from deskgym.envs.guest.accessibility.following import Following
from deskgym.envs.guest.accessibility.node import MOST, ROLES, Elements, Node, Rect, add_rows, place
from deskgym.envs.guest.accessibility.program import Application, Program, all_done
from deskgym.envs.guest.accessibility.search import (
    App,
    Tree,
    WaitFailed,
    is_program,
    matches,
    not_seen,
    state_mask,
)
from deskgym.envs.guest.accessibility.walk import Walk

__all__ = [
    "AccessibilityLost", "AccessibilityReader", "Application", "CallFailed", "Elements", "Node", "Tree", "WaitFailed",
]  # fmt: skip

_REGISTRY = "org.a11y.atspi.Registry"
_ROOT = "/org/a11y/atspi/accessible/root"
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_PATIENCE = 0.02  # seconds for a program that was hung at the last read
_FOLLOWING = 2.0  # seconds that a reading between steps may take
_EMPTY = 3  # readings in a row that told of nothing, after which a program is asked but not waited for
_SILENT = 0.3  # seconds after which a wait looks for itself though no event has come


class AccessibilityReader(Hands):
    """Reads the accessible elements of a desktop, and acts on single ones (see ``Hands``).

    Args:
        address: of the accessibility bus (``org.a11y.Bus.GetAddress``, or the root window's property AT_SPI_BUS), or a
            connection to it that is not yet made.
        screen: width and height in pixels.
        text_limit: most characters of one element's text.
        correct: report what LibreOffice draws where it is rather than where it says (``node.Shift``).

    Every method that asks the bus raises AccessibilityLost once that is gone.
    """

    def __init__(
        self, address: str | Bus, screen: tuple[int, int], *, text_limit: int = 2000, correct: bool = True
    ) -> None:
        bus = Bus(address) if isinstance(address, str) else address
        super().__init__(bus)
        bus.on_signal = self._on_signal
        self.screen: Rect = (0, 0, *screen)
        self.text_limit = text_limit
        self.correct = correct
        self._programs: dict[str, Program] = {}
        self._result: Elements | None = None
        self._result_of: tuple[str | None, int] = (None, 0)
        self._event = asyncio.Event()
        self._reading = asyncio.Lock()
        self._following = Following(self._follow, lambda: any(each.behind for each in self._programs.values()))

    @property
    def calls(self) -> int:
        """How many D-Bus calls have been made so far."""
        return self._bus.calls

    @property
    def bus(self) -> Bus:
        """The accessibility bus."""
        return self._bus

    async def connect(self) -> None:
        """Connect to the bus and ask for the events that say what has changed.

        Raises:
            AccessibilityLost: there is no bus, or it refuses us.
        """
        await self._bus.connect()
        for interface in INTERFACES:
            await self._bus.call(*BUS, "AddMatch", "s", f"type='signal',interface='org.a11y.atspi.Event.{interface}'")
        for event in EVENTS:
            await self._bus.call(_REGISTRY, "/org/a11y/atspi/registry", _REGISTRY, "RegisterEvent", "s", event)

    async def close(self) -> None:
        """Disconnect. Closing twice is fine."""
        self._following.stop()
        for program in self._programs.values():
            program.forget()
        await self._bus.close()
        self._programs.clear()
        self._result = None

    async def __aenter__(self) -> AccessibilityReader:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _on_signal(self, sender: str, path: str, interface: str, member: str, detail: str) -> None:
        self._event.set()
        program = self._programs.get(sender)
        if program is not None:
            program.event(path, member, detail)

    async def read(
        self,
        *,
        deadline: float = 0.5,
        damage: Sequence[Rect] | Literal["all"] = "all",
        max_elements: int = 4096,
        early: bool = False,
    ) -> Elements:
        """The elements that are SHOWING and VISIBLE and have a part on the screen.

        Args:
            deadline: seconds after which what is there is returned, with ``cut`` saying what is missing.
            damage: what of the screen has changed since the last read, each part as (x, y, width, height); none for
                nothing; "all" reads everything again.
            max_elements: most rows.
            early: the next reading follows at once: what would have to be read again then is left to it.

        Returns:
            The elements: the very object of the last read when nothing has changed, so leave it as it is.
        """
        self._following.stop()
        async with self._reading:
            found = await self._read(time.monotonic() + deadline, damage, max_elements, early)
        if not early:
            self._following.begin()
        return found

    async def _follow(self) -> None:
        """Read what trees tell only now."""
        with contextlib.suppress(AccessibilityLost):
            async with self._reading:
                await self._read(time.monotonic() + _FOLLOWING, (), self._result_of[1])

    async def _read(
        self, until: float, damage: Sequence[Rect] | Literal["all"], limit: int, early: bool = False
    ) -> Elements:
        areas = () if isinstance(damage, str) else tuple(damage)
        patience = min(until, time.monotonic() + _PATIENCE)
        listing = asyncio.ensure_future(self._list())
        # Known programs are asked while the registry lists them: when nothing has changed that is all.
        later = [each for each in self._programs.values() if early and each.application.follows and damage != "all"]
        for program in self._programs.values():
            if program in later:
                program.note(areas)
            elif program.introduction is None:
                program.start(self._bus, self.screen, self.text_limit, areas, damage == "all")
        try:
            await asyncio.wait([listing], timeout=max(until - time.monotonic(), 0))
        except asyncio.CancelledError:
            listing.cancel()
            raise
        changed, cuts = False, []
        if listing.cancel():
            cuts.append("the registry did not answer in time")
        elif isinstance(listing.exception(), CallFailed):
            cuts.append(f"the registry failed: {listing.exception()}")
        else:
            changed = self._update(listing.result())
        known = [program for program in self._programs.values() if program not in later]
        await all_done([p for p in known if not p.hung and p.empty < _EMPTY], until)
        await all_done([p for p in known if p.hung and p.empty < _EMPTY], patience)
        if self._bus.lost:
            raise self._bus.error()
        for name, program in list(self._programs.items()):
            if program in later:
                continue
            changed = program.end() or changed
            if program.gone:
                del self._programs[name]
                changed = True
            elif program.cut:
                cuts.append(program.cut)
        cut = "; ".join(cuts) or None
        if changed or self._result is None or (cut, limit) != self._result_of:
            self._result = self._rows(cut, limit)
            self._result_of = (cut, limit)
        return self._result

    async def _list(self) -> dict[str, str]:
        """Bus names and root paths of all programs, in the registry's order."""
        answer = await self._bus.call(_REGISTRY, _ROOT, _ACCESSIBLE, "GetChildren")
        return {name: path for name, path in answer[0] if name and not path.endswith("/null")}

    def _update(self, listed: dict[str, str]) -> bool:
        """Drop programs that have gone and begin to read new ones; whether any have gone."""
        gone = [name for name in self._programs if name not in listed]
        for name in gone:
            self._programs.pop(name).forget()
        for name, path in listed.items():
            if name not in self._programs:
                program = self._programs[name] = Program.at(Application("", name), path.encode())
                program.introduction = asyncio.ensure_future(self._introduce(program))
        self._programs = {name: self._programs[name] for name in listed}
        return bool(gone)

    async def _introduce(self, program: Program) -> None:
        name, path = program.application.bus_name, program.root.path.decode()
        try:
            pid = await self._bus.process_of(name)
            program.application = Application("", name, pid)
            program.application = await self._who(name, path, pid)
        except (CallFailed, AccessibilityLost):
            program.done.set()
            return
        program.root.name = program.application.name
        program.introduction = None
        program.start(self._bus, self.screen, self.text_limit, (), True)

    async def _who(self, name: str, path: str, pid: int) -> Application:
        called, toolkit = await asyncio.gather(
            self._bus.call(name, path, _PROPERTIES, "Get", "ss", _ACCESSIBLE, "Name"),
            self._bus.call(name, path, _PROPERTIES, "Get", "ss", "org.a11y.atspi.Application", "ToolkitName"),
        )
        return Application(str(called[0]), name, pid, str(toolkit[0]))

    async def _meet(self, until: float) -> list[tuple[Application, str]]:
        """All programs that say by then who they are, with the paths of their roots."""

        async def ask(name: str, path: str) -> tuple[Application, str]:
            return await self._who(name, path, await self._bus.process_of(name)), path

        listed = await within(self._list(), max(until - time.monotonic(), 0), "the list of programs")
        tasks = [asyncio.ensure_future(ask(name, path)) for name, path in listed.items()]
        if not tasks:
            return []
        done, _ = await asyncio.wait(tasks, timeout=max(until - time.monotonic(), 0))
        for task in tasks:
            task.cancel()
        if self._bus.lost:
            raise self._bus.error()
        return [task.result() for task in tasks if task in done and task.exception() is None]

    def _rows(self, cut: str | None, limit: int) -> Elements:
        elements = Elements(complete=cut is None, cut=cut)
        for program in self._programs.values():
            for window in program.root.children:
                if not add_rows(elements, window, self.screen, limit, self.correct):
                    elements.complete = False
                    much = f"{limit} elements" if elements.characters <= MOST else f"{MOST} characters of text"
                    elements.cut = "; ".join(filter(None, (cut, f"more than {much}")))
                    return elements
        return elements

    async def applications(self, *, deadline: float = 1.0) -> list[Application]:
        """The programs on the bus that say who they are within ``deadline`` seconds."""
        return [application for application, _ in await self._meet(time.monotonic() + deadline)]

    async def tree(
        self, app: App | None = None, *, deadline: float = 5.0, max_nodes: int = 20_000, outline: bool = False,
        closed: Iterable[str] = (),
    ) -> Tree:  # fmt: skip
        """The whole tree of a program, with what is hidden: closed menus, unselected tabs, rows scrolled away.

        Of a table of more than 1,000 cells that manages its descendants only the visible ones; ``table`` reads
        others.

        Args:
            app: its name, its process id or several; None for all programs. One with windows comes first.
            deadline: seconds after which what is there is returned.
            max_nodes: most nodes of one program.
            outline: read only roles, names, states and children, in half of the time.
            closed: roles of elements that are not descended into, such as ``("list",)``.

        Raises:
            ValueError: there is no such role.
        """
        closed = frozenset(closed)
        if strange := closed.difference(ROLES):
            raise ValueError(f"AT-SPI has no role {sorted(strange)}")
        unopened = frozenset(map(ROLES.index, closed))
        until = time.monotonic() + deadline
        readings = []
        for application, path in await self._meet(min(until, time.monotonic() + max(deadline / 4, 0.1))):
            if app is None or is_program(application, app):
                program = Program.at(application, path.encode())
                walk = Walk(
                    self._bus, application.singly, self.screen, self.text_limit, max_nodes, True, outline, unopened
                )
                walk.ghosts = application.crashes_on_ghosts
                walk.window.on_idle = program.done.set
                walk.start(program.root, True)
                readings.append((program, walk))
        await all_done([program for program, _ in readings], until)
        if self._bus.lost:
            raise self._bus.error()
        readings.sort(key=lambda reading: not reading[0].root.children)
        tree, cuts = Tree(), [] if readings else [f"there is no program {app!r}"]
        for program, walk in readings:
            if not program.done.is_set():
                walk.cut = "did not answer in time"
                walk.window.on_idle = None
            walk.window.close()
            if walk.cut:
                cuts.append(f"{program.application.name}: {walk.cut}")
            tree.nodes.append(program.root)
            for window in program.root.children:
                tree.nodes.extend(place(window, self.correct))
        tree.cut = "; ".join(cuts) or None
        tree.complete = tree.cut is None
        return tree

    async def subtree(self, ref: str, *, deadline: float = 2.0, max_nodes: int = 5000) -> Tree:
        """One element of a program that has been read before, with all below it, hidden parts included.

        Raises:
            CallFailed: there is no such element any more, or it did not answer in time.
        """
        peer, path = split_ref(ref)
        known = self._programs.get(peer)
        if known is None:
            raise CallFailed(f"nothing is known of the program of {ref}")
        walk = Walk(self._bus, known.application.singly, self.screen, self.text_limit, max_nodes, True)
        walk.ghosts = known.application.crashes_on_ghosts
        node, done = Node(peer, path.encode()), asyncio.Event()
        walk.window.on_idle = done.set
        walk.visit(node)
        try:
            await within(done.wait(), deadline, f"the element {ref}")
        finally:
            walk.window.on_idle = None
            walk.window.close()
        if not node.known:
            raise CallFailed(f"there is no element {ref} any more")
        for each in node.walk():
            each.rect = each.raw
        return Tree(list(node.walk()), walk.cut is None, walk.cut)

    async def wait_for(
        self,
        app: App | None = None,
        *,
        role: str | None = None,
        name: str | re.Pattern[str] | None = None,
        states: Iterable[str] = ("showing",),
        deadline: float = 10.0,
    ) -> Node:
        """Wait until an element like this is on the screen; looks again at every event.

        Args:
            app: its program's name, process id, or several.
            role: AT-SPI's role name.
            name: its exact name, or a pattern that is found in it.
            states: states that it must have, such as ``("showing", "focused")``.
            deadline: seconds to wait.

        Raises:
            WaitFailed: it never came; the message says what was seen instead.
            ValueError: there is no state of that name.
        """
        wanted = state_mask(states)
        until = time.monotonic() + deadline
        silent = False
        while True:
            self._event.clear()
            left = until - time.monotonic()
            await self.read(deadline=max(min(left, deadline / 10), 0.05), damage="all" if silent else ())
            programs = [p for p in self._programs.values() if app is None or is_program(p.application, app)]
            for program in programs:
                for window in program.root.children:
                    for node in window.walk():
                        if matches(node, role, name, wanted):
                            return node
            left = until - time.monotonic()
            if left <= 0:
                raise WaitFailed(not_seen(app, role, name, states, deadline, programs, self._programs.values()))
            try:
                await asyncio.wait_for(self._event.wait(), min(left, _SILENT))
                silent = False
            except TimeoutError:
                silent = True
