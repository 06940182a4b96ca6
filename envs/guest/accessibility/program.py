"""One program on the accessibility bus: its tree as last read, and what has happened to it since."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

from deskgym.envs.guest.accessibility.bus import Bus
from deskgym.envs.guest.accessibility.node import APPLICATION, Node, Rect
from deskgym.envs.guest.accessibility.recent import RecentDamage
from deskgym.envs.guest.accessibility.walk import CRASH_ON_GHOST_CELLS, Walk

MAX_NODES = 50_000

_IRRELEVANT = {"TextCaretMoved", "TextSelectionChanged", "AttributesChanged", "LinkSelected"}
"""Events that change nothing of what is read."""


@dataclass(frozen=True)
class Application:
    """A program on the accessibility bus.

    Attributes:
        name: what it calls itself.
        bus_name: its unique name on the bus.
        pid: its process, or 0 if that is not known.
        toolkit: "gtk", "Qt", "Chromium", ...
    """

    name: str
    bus_name: str
    pid: int = 0
    toolkit: str = ""

    @property
    def singly(self) -> bool:
        """It must be asked for one property at a time: Qt 5.15 crashes in GetAll."""
        return self.toolkit == "Qt"

    @property
    def follows(self) -> bool:
        """Its tree follows its pixels, see ``RecentDamage``."""
        return self.toolkit == "Chromium"

    @property
    def crashes_on_ghosts(self) -> bool:
        """See ``CRASH_ON_GHOST_CELLS``."""
        return self.name in CRASH_ON_GHOST_CELLS


@dataclass(eq=False)
class Program:
    """A program's tree. One ``start`` and one ``end`` make a reading; ``done`` is set when it is complete.

    Attributes:
        application: who it is.
        root: its tree; the root's children are its top-level windows.
        cut: what is missing of the last reading, or None.
        hung: it answered nothing at all to the last reading.
        empty: how many readings in a row told of nothing.
        introduction: finds out who it is, then starts the first reading; None once that is known.
        done: the reading under way is complete.
    """

    application: Application
    root: Node
    cut: str | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    introduction: asyncio.Task[None] | None = None
    hung: bool = False
    empty: int = 0
    _answers: int = 0
    _changed: bool = False
    _stale: bool = True
    _dirty: dict[bytes, int] = field(default_factory=dict)
    _paths: set[bytes] = field(default_factory=set)
    _walk: Walk | None = None
    _recent: RecentDamage = field(default_factory=RecentDamage)

    @classmethod
    def at(cls, application: Application, path: bytes) -> Program:
        """A program that has not been read."""
        root = Node(application.bus_name, path)
        root.role, root.name = APPLICATION, application.name
        return cls(application, root)

    def event(self, path: str, member: str, detail: str) -> None:
        """Note a signal that it has sent."""
        if member in _IRRELEVANT:
            return
        source = path.encode()
        self._recent.event(time.monotonic())
        self._dirty[source] = self._walk.window.answered if self._walk is not None else 0
        if source not in self._paths and (detail in ("showing", "visible") or member == "Create"):
            # Something not heard of before has appeared: its place in the tree is unknown.
            self._stale = True

    @property
    def behind(self) -> bool:
        """Whether its tree may tell by now what it did not tell when it was read."""
        return self.application.follows and self._recent.unread

    def note(self, damage: tuple[Rect, ...]) -> None:
        """Note what has changed, for the next reading."""
        now = time.monotonic()
        for rect in damage:
            self._recent.add(rect, now)

    def start(self, bus: Bus, screen: Rect, text_limit: int, damage: tuple[Rect, ...], everything: bool) -> None:
        """Begin a reading of what ``damage`` and events may have changed, or of everything."""
        self.done.clear()
        if self.application.follows:
            self.note((screen,) if everything else damage)
            damage = self._recent.take(time.monotonic())
        self._changed = self._changed or (self._walk is not None and self._walk.changed)
        self._answers = self._walk.window.answered if self._walk is not None else 0

        def begin() -> None:
            walk = Walk(bus, self.application.singly, screen, text_limit, MAX_NODES)
            walk.ghosts = self.application.crashes_on_ghosts
            self._begin(walk, damage, everything)

        if self._walk is not None and self._walk.window.open:
            # It still owes answers to the last reading: more questions would only pile up.
            self._stale = True
            self._walk.window.on_idle = begin
        else:
            begin()

    def _begin(self, walk: Walk, damage: tuple[Rect, ...], everything: bool) -> None:
        self._walk, self._answers = walk, 0
        full = everything or self._stale
        walk.everything, walk.damage = everything or not self.root.children, damage
        self._stale = False
        dirty, self._dirty = set(self._dirty), {}
        walk.dirty = dirty
        walk.window.on_idle = lambda: self._answered(walk, full)
        if not full and (dirty or damage):
            walk.revisit(self.root, damage, dirty)
        # Even with nothing to read: the answer comes after all events that the program has sent before it.
        walk.start(self.root, full)

    def _answered(self, walk: Walk, full: bool) -> None:
        walk.window.on_idle = self.done.set
        if (self._stale or walk.moved) and not full and not walk.failed:
            walk.everything = walk.everything or walk.moved
            walk.asked.clear()
            walk.window.on_idle = lambda: self._answered(walk, True)
            self._stale = False
            walk.seen.clear()
            walk.start(self.root, True)
            return
        # Events that came in while reading. A program's messages keep their order: what an event is about is read again
        # only if its state had been answered before.
        dirty = {path for path, answers in self._dirty.items() if walk.stamps.get(path, -1) <= answers}
        self._dirty = {}
        if dirty and not walk.failed:
            walk.asked.clear()
            walk.seen.clear()  # what has moved to another parent since is read there
            walk.full = walk.everything = False
            walk.revisit(self.root, (), dirty)
        if not walk.window.open:
            self.done.set()

    def end(self) -> bool:
        """Take over what was read, complete or not.

        Returns:
            Whether anything may have changed.
        """
        walk, changed = self._walk, self._changed
        self._changed = False
        self.cut = f"{self.name}: {walk.cut}" if walk is not None and walk.cut else None
        if not self.done.is_set():
            self.cut = f"{self.name} did not answer in time"
            self._stale = True
            self.stop()
        self.hung = not self.done.is_set() and (walk is None or walk.window.answered == self._answers)
        self.empty = 0 if self.root.children else self.empty + 1
        if walk is None:
            return changed
        if walk.changed:
            self._paths = {node.path for node in self.root.walk()}
        return walk.changed or changed

    @property
    def name(self) -> str:
        """What a message calls it: a program that is hung cannot say its own name."""
        if self.application.name:
            return self.application.name
        with contextlib.suppress(OSError):
            return Path(f"/proc/{self.application.pid}/comm").read_text().strip()
        return self.application.bus_name

    @property
    def gone(self) -> bool:
        """It answered with an error when asked who it is or for its windows."""
        return self.done.is_set() and (self._walk is None or self._walk.failed)

    def stop(self) -> None:
        """End the reading under way."""
        if self._walk is not None:
            self._walk.window.close()
            self._walk.window.on_idle = None

    def forget(self) -> None:
        """End everything that is under way for it."""
        self.stop()
        if self.introduction is not None:
            self.introduction.cancel()


async def all_done(programs: list[Program], until: float) -> None:
    """Wait until the readings of all are complete, or for ``until``."""
    waits = [asyncio.ensure_future(program.done.wait()) for program in programs if not program.done.is_set()]
    if waits:
        _, late = await asyncio.wait(waits, timeout=max(until - time.monotonic(), 0.001))
        for wait in late:
            wait.cancel()
