"""Reading one program's tree, with many calls under way at once.

The walk goes down from the root: what is SHOWING is asked for its properties and children, what is not is left alone
with all below it. All answers arrive in plain callbacks; the walk is over when no call is left (``Window.on_idle``).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from deskgym.envs.guest.accessibility.bus import Bus, Window
from deskgym.envs.guest.accessibility.marshal import (
    read_properties,
    read_refs,
    read_strings,
    read_variant,
    string_at,
    strings,
    template,
)
from deskgym.envs.guest.accessibility.node import (
    CELL_PARENTS,
    DOCUMENT_WEB,
    FOCUSABLE,
    FOCUSED,
    INTERFACES,
    MANAGES,
    ROOT_PANE,
    TABLE_CELL,
    TERMINAL,
    TERMINAL_TEXT,
    TEXT,
    VALUE,
    Node,
    Rect,
    intersects,
    is_leaf,
)
from deskgym.envs.guest.accessibility.table import MANY, Cells

MOST_CHILDREN = 50_000

CRASH_ON_GHOST_CELLS = frozenset({"kalgebra"})
"""Programs with a table whose model loses rows without telling its view: the view still has a cell for such a row, and
to ask this ghost for its name ends the program (KAlgebra 22.12 after "Remove Variable"). It is not painted. Qt's view
asks the model for all cells of a row but the first, so that where a ghost is, the next child is missing."""

_UINT = Struct("<I")
_INT = Struct("<i")
_TWO_INTS = Struct("<ii")
_POINT = Struct("<iiI")
_RECT = Struct("<4i")
_STATES = Struct("<3I")
_SCREEN = _UINT.pack(0)
_NAMES = "org.a11y.atspi."


_NAME = strings(_NAMES + "Accessible", "Name")
_DESCRIPTION = strings(_NAMES + "Accessible", "Description")
_COUNT = strings(_NAMES + "Accessible", "ChildCount")
_LENGTH = strings(_NAMES + "Text", "CharacterCount")
_CURRENT = strings(_NAMES + "Value", "CurrentValue")
_ALL = strings(_NAMES + "Accessible")


def is_null(ref: tuple[str, bytes]) -> bool:
    """Whether this is AT-SPI's null object: there is no such child."""
    return ref[1].endswith(b"/null")


def _shown(node: Node) -> bool:
    """Whether it and all that it lies in are on the screen, as far as is known."""
    above: Node | None = node
    while above is not None and above.parent is not None:
        if is_leaf(above):
            return False
        above = above.parent
    return True


class Calls:
    """Prepared calls to one program. Qt 5.15 crashes when asked for all properties at once, so it is asked singly."""

    __slots__ = (
        "at_point", "at_row", "children", "destination", "extents", "get", "get_all", "index", "interfaces", "offset",
        "role", "singly", "state", "text",
    )  # fmt: skip

    def __init__(self, destination: str, singly: bool) -> None:
        def method(interface: str, member: str, signature: str = "") -> bytes:
            return template(destination, interface, member, signature)

        accessible, component = _NAMES + "Accessible", _NAMES + "Component"
        properties = "org.freedesktop.DBus.Properties"
        self.destination, self.singly = destination, singly
        self.state = method(accessible, "GetState")
        self.role = method(accessible, "GetRole")
        self.children = method(accessible, "GetChildren")
        self.interfaces = method(accessible, "GetInterfaces")
        self.index = method(accessible, "GetIndexInParent")
        self.extents = method(component, "GetExtents", "u")
        self.at_point = method(component, "GetAccessibleAtPoint", "iiu")
        self.text = method(_NAMES + "Text", "GetText", "ii")
        self.offset = method(_NAMES + "Text", "GetOffsetAtPoint", "iiu")
        self.at_row = method(_NAMES + "Table", "GetAccessibleAt", "ii")
        self.get = method(properties, "Get", "ss")
        self.get_all = method(properties, "GetAll", "s")


class Walk:
    """One reading of one program's tree; nodes are changed in place.

    Args:
        bus: the connection.
        singly: ask for one property at a time (Qt).
        screen: what elements must intersect.
        text_limit: most characters of an element's text.
        max_nodes: stop going down after so many.
        hidden: read hidden parts too.
        outline: read only roles, names, states and children.
        closed: roles that are not descended into.
    """

    def __init__(
        self, bus: Bus, singly: bool, screen: Rect, text_limit: int, max_nodes: int, hidden: bool = False,
        outline: bool = False, closed: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.window = Window(bus)
        self.screen, self.text_limit, self.max_nodes = screen, text_limit, max_nodes
        self.hidden, self.outline, self.closed = hidden, outline, closed
        self.singly = singly
        self.cut: str | None = None
        self.changed = False
        self.moved = False  # a window has: nothing in it is where it was
        self.failed = False  # the root did not answer: the program is gone
        self.full = True  # all that is found is read again, known or not
        self.seen: set[tuple[str, bytes]] = set()
        self.asked: set[Node] = set()
        self.damage: tuple[Rect, ...] = ()
        self.everything = True  # cells of a large table too are read again wherever they are
        self.stamps: dict[bytes, int] = {}  # object path -> how many answers had come when its state came
        self.dirty: set[bytes] = set()
        self.ghosts = False  # the program is one of those that CRASH_ON_GHOST_CELLS
        self.cells = Cells(self)
        self._calls: dict[str, Calls] = {}
        self._send = self.window.send

    def calls(self, peer: str) -> Calls:
        """The prepared calls to ``peer``."""
        calls = self._calls.get(peer)
        if calls is None:
            calls = self._calls[peer] = Calls(peer, self.singly)
        return calls

    def start(self, root: Node, full: bool) -> None:
        """Ask ``root`` for its windows: new ones are read, and known ones too if ``full``."""
        self.full = full
        self._send(self.calls(root.peer).children, root.path, b"", self._on_root, root)

    def _on_root(self, root: Node, data: bytes, at: int, end: int) -> None:
        if at < 0:
            self.failed = True
            return
        self._on_children(root, data, at, end)

    def revisit(self, root: Node, damage: tuple[Rect, ...], dirty: set[bytes]) -> None:
        """Read again what ``damage`` or an event (``dirty``: object paths) may have changed.

        What changed visibly was damaged, unless it takes no room; what appears lies in its parent or is announced; what
        is hidden can only appear with a change at its parent or an event of its own.
        """
        self.damage, self.dirty = damage, dirty
        for node in list(root.walk()):
            if node is root or (node.role == TABLE_CELL and node.parent in self.asked):
                continue  # the cells of a large table follow when its visible part is known
            if self.touched(node) and self.ghosts and node.parent is not None and node.parent.role in CELL_PARENTS:
                self.visit(node.parent)  # which rows are left is known to the table only
            elif self.touched(node):
                self.visit(node)
                if node.span is None:
                    for child in node.children:
                        if is_leaf(child):
                            self.visit(child)
            elif (
                node.states & (FOCUSED if node.role == TABLE_CELL else FOCUSABLE | FOCUSED)
                and node not in self.asked
                and not is_leaf(node)
            ):
                # Qt moves the focus back from a closed menu without an event or a visible change.
                self._send(self.calls(node.peer).state, node.path, b"", self._on_focus, node)

    def touched(self, node: Node) -> bool:
        """Whether damage or an event may have changed a known node."""
        if self.everything or node.path in self.dirty or node.role == DOCUMENT_WEB:
            return True  # Chromium sends no event for a page's new name, and its tab is damaged, not the page
        if not self.damage or is_leaf(node):
            return False
        return not node.raw[2] or not node.raw[3] or any(intersects(node.rect, each) for each in self.damage)

    def visit(self, node: Node) -> None:
        """Read one node (once per walk)."""
        if node in self.asked:
            return
        self.asked.add(node)
        self.changed = True
        if node.parent is not None and node.parent.span is not None and node.parent.children:
            self.cells.visit(node)
            return
        calls = self.calls(node.peer)
        if node.known and not is_leaf(node):
            # Known and shown before: most likely still so. Asking all at once saves a round trip per level.
            self._send(calls.state, node.path, b"", self.on_state, node)
            self._details(node, calls)
        else:
            self._send(calls.state, node.path, b"", self._on_state, node)

    def _on_state(self, node: Node, data: bytes, at: int, end: int) -> None:
        self.on_state(node, data, at, end)
        if at >= 0 and (self.hidden or not is_leaf(node)):
            self._details(node, self.calls(node.peer))

    def on_state(self, node: Node, data: bytes, at: int, end: int) -> None:
        """Take over an answer of GetState."""
        self.stamps[node.path] = self.window.answered
        if at < 0:
            node.states, node.children = 0, []
            return
        size, low, high = _STATES.unpack_from(data, at)
        node.states = low | high << 32 if size == 8 else 0
        if not self.hidden and is_leaf(node):
            node.children = []

    def _on_focus(self, node: Node, data: bytes, at: int, end: int) -> None:
        before = node.states
        self.on_state(node, data, at, end)
        self.changed = self.changed or node.states != before

    def _details(self, node: Node, calls: Calls) -> None:
        send, path = self._send, node.path
        if not node.known:
            send(calls.role, path, b"", self._on_role, node)
        if not self.outline:
            if not node.known:
                send(calls.interfaces, path, b"", self._on_interfaces, node)
            send(calls.extents, path, _SCREEN, self.on_extents, node)
        if self.ghosts and node.parent is not None and node.parent.role in CELL_PARENTS:
            if _shown(node):
                send(calls.get, path, _NAME, self._on_name, node)
            return
        if calls.singly or self.outline:
            send(calls.get, path, _NAME, self._on_name, node)
            if not self.outline:
                send(calls.get, path, _DESCRIPTION, self._on_description, node)
            if node.states & MANAGES:
                send(calls.get, path, _COUNT, self._on_count, node)
            else:
                send(calls.children, path, b"", self._on_children, node)
        else:
            send(calls.get_all, path, _ALL, self._on_all, node)
        if node.known:
            self._contents(node, calls)

    def _contents(self, node: Node, calls: Calls) -> None:
        if self.outline:
            return
        if node.interfaces & TEXT:
            self._send(calls.get, node.path, _LENGTH, self._on_length, node)
        if node.interfaces & VALUE:
            self._send(calls.get, node.path, _CURRENT, self._on_value, node)

    def _on_role(self, node: Node, data: bytes, at: int, end: int) -> None:
        node.role = _UINT.unpack_from(data, at)[0] if at >= 0 else 0
        node.known = node.known or self.outline

    def _on_interfaces(self, node: Node, data: bytes, at: int, end: int) -> None:
        if at < 0:
            return
        node.interfaces = sum(INTERFACES.get(name, 0) for name in set(read_strings(data, at)))
        node.known = True
        self._contents(node, self.calls(node.peer))

    def on_extents(self, node: Node, data: bytes, at: int, end: int) -> None:
        """Take over an answer of GetExtents."""
        rect = _RECT.unpack_from(data, at) if at >= 0 else (0, 0, 0, 0)
        if rect[:2] != node.raw[:2] and node.known and (node.role == ROOT_PANE or self._is_window(node)):
            self.moved = True
        node.raw = rect

    def _is_window(self, node: Node) -> bool:
        return node.parent is not None and node.parent.parent is None

    def _on_name(self, node: Node, data: bytes, at: int, end: int) -> None:
        node.name = str(read_variant(data, at, at)[0]) if at >= 0 else ""

    def _on_description(self, node: Node, data: bytes, at: int, end: int) -> None:
        node.description = str(read_variant(data, at, at)[0]) if at >= 0 else ""

    def _on_all(self, node: Node, data: bytes, at: int, end: int) -> None:
        if at < 0:
            # A program without GetAll: its properties singly.
            self._send(self.calls(node.peer).get, node.path, _NAME, self._on_name, node)
            self._send(self.calls(node.peer).get, node.path, _DESCRIPTION, self._on_description, node)
            self._send(self.calls(node.peer).get, node.path, _COUNT, self._on_count, node)
            return
        found = read_properties(data, at)
        node.name, node.description = str(found.get("Name", "")), str(found.get("Description", ""))
        self._expand(node, int(found.get("ChildCount") or 0))

    def _on_count(self, node: Node, data: bytes, at: int, end: int) -> None:
        self._expand(node, int(read_variant(data, at, at)[0] or 0) if at >= 0 else 0)

    def _expand(self, node: Node, count: int) -> None:
        node.count = count
        if not count:
            node.children = []
        elif count > MANY and node.states & MANAGES:
            self.cells.read(node)
        elif count > MOST_CHILDREN:
            self.cut = f"{node.role_name} {node.name!r} has {count} children"
        else:
            self._send(self.calls(node.peer).children, node.path, b"", self._on_children, node)

    def _off_screen(self, node: Node) -> bool:
        return node.raw[2] > 0 and node.raw[3] > 0 and not intersects(node.raw, self.screen)

    def _on_children(self, node: Node, data: bytes, at: int, end: int) -> None:
        if (
            at < 0
            or node.role in self.closed
            or (not self.hidden and node.parent is not None and (is_leaf(node) or self._off_screen(node)))
        ):
            node.children = []
            return
        refs = read_refs(data, at)
        if self.ghosts and node.role in CELL_PARENTS:
            refs = [ref for ref, after in zip(refs, (*refs[1:], ("", b"")), strict=True) if not is_null(after)]
        self.adopt(node, refs)

    def adopt(self, node: Node, refs: Iterable[tuple[str, bytes]]) -> None:
        """Make ``refs`` the children of ``node``, and read those that are new."""
        known = {(child.peer, child.path): child for child in node.children}
        children = []
        for ref in refs:
            child = known.pop(ref, None)
            if child is None or self.full:
                # The same object twice would be read twice, and a loop for ever.
                if ref in self.seen or is_null(ref):
                    continue
                if len(self.seen) >= self.max_nodes:
                    self.cut = f"more than {self.max_nodes} nodes"
                    break
                self.seen.add(ref)
                if child is None:
                    child = Node(ref[0], ref[1], node)
                self.visit(child)
            children.append(child)
        self.changed = self.changed or bool(known)
        node.children = children
        node.span = None

    # Contents

    def _on_length(self, node: Node, data: bytes, at: int, end: int) -> None:
        length = int(read_variant(data, at, at)[0] or 0) if at >= 0 else 0
        calls = self.calls(node.peer)
        node.text_from = 0
        if length <= 0:
            node.text = ""
        elif length <= self._limit(node):
            self._send(calls.text, node.path, _TWO_INTS.pack(0, length), self.on_text, node)
        else:
            x, y = max(node.raw[0], self.screen[0]) + 2, max(node.raw[1], self.screen[1]) + 2
            self._send(calls.offset, node.path, _POINT.pack(x, y, 0), self._on_offset, (node, length))

    def _on_offset(self, token: tuple[Node, int], data: bytes, at: int, end: int) -> None:
        node, length = token
        start = _INT.unpack_from(data, at)[0] if at >= 0 else 0
        node.text_from = start if 0 <= start < length else 0
        body = _TWO_INTS.pack(node.text_from, min(length, node.text_from + self._limit(node)))
        self._send(self.calls(node.peer).text, node.path, body, self.on_text, node)

    def on_text(self, node: Node, data: bytes, at: int, end: int) -> None:
        """Take over an answer of GetText."""
        node.text = string_at(data, at)[: self._limit(node)] if at >= 0 else ""

    def _limit(self, node: Node) -> int:
        return TERMINAL_TEXT if node.role == TERMINAL else self.text_limit

    def _on_value(self, node: Node, data: bytes, at: int, end: int) -> None:
        value = read_variant(data, at, at)[0] if at >= 0 else None
        node.value = "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
