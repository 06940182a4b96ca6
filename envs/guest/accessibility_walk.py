"""Reading one program's tree, with many calls under way at once.

The walk goes down from the root: what is SHOWING is asked for its properties and children, what is not is left alone
with all below it. All answers arrive in plain callbacks; the walk is over when no call is left (``Window.on_idle``).
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

from deskgym.envs.guest.accessibility_bus import Answer, Bus, Window, string_at, template
from deskgym.envs.guest.accessibility_node import (
    DEFUNCT,
    FOCUSABLE,
    FOCUSED,
    INTERFACES,
    MANAGES,
    ROOT_PANE,
    TABLE_CELL,
    TEXT,
    VALUE,
    Node,
    Rect,
    cell_name,
    cell_position,
    intersects,
    is_leaf,
)

MANY = 1000
"""A container of more children than this is asked for what is visible of it (if it manages its descendants)."""
MOST_CHILDREN = 50_000
MOST_CELLS = 20_000

_UINT = Struct("<I")
_INT = Struct("<i")
_TWO_INTS = Struct("<ii")
_POINT = Struct("<iiI")
_RECT = Struct("<4i")
_DOUBLE = Struct("<d")
_STATES = Struct("<3I")
_SCREEN = _UINT.pack(0)
_NAMES = "org.a11y.atspi."


def _strings(*values: str) -> bytes:
    body = b""
    for value in values:
        body += b"\0" * (-len(body) % 4) + _UINT.pack(len(value)) + value.encode() + b"\0"
    return body


_NAME = _strings(_NAMES + "Accessible", "Name")
_DESCRIPTION = _strings(_NAMES + "Accessible", "Description")
_COUNT = _strings(_NAMES + "Accessible", "ChildCount")
_LENGTH = _strings(_NAMES + "Text", "CharacterCount")
_CURRENT = _strings(_NAMES + "Value", "CurrentValue")
_ALL = _strings(_NAMES + "Accessible")
_WHOLE = _TWO_INTS.pack(0, -1)
_ALIGN = {"s": 4, "o": 4, "i": 4, "u": 4, "b": 4, "d": 8, "x": 8, "t": 8, "y": 1, "n": 2, "q": 2, "(": 8}


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


def read_refs(data: bytes, at: int) -> list[tuple[str, bytes]]:
    """A marshalled ``a(so)``: bus names and object paths."""
    refs = []
    unpack = _UINT.unpack_from
    position = at + 8
    end = position + unpack(data, at)[0]
    while position < end:
        position += -(position - at) % 8
        size = unpack(data, position)[0]
        peer = data[position + 4 : position + 4 + size].decode()
        position += size + 5
        position += -(position - at) % 4
        size = unpack(data, position)[0]
        refs.append((peer, data[position + 4 : position + 4 + size]))
        position += size + 5
    return refs


def read_ref(data: bytes, at: int) -> tuple[str, bytes] | None:
    """A marshalled ``(so)``; None when it is AT-SPI's null object."""
    size = _UINT.unpack_from(data, at)[0]
    peer = data[at + 4 : at + 4 + size].decode()
    position = size + 5
    position = at + position + -position % 4
    size = _UINT.unpack_from(data, position)[0]
    path = data[position + 4 : position + 4 + size]
    return None if not peer or path.endswith(b"/null") else (peer, path)


def read_strings(data: bytes, at: int) -> list[str]:
    """A marshalled ``as``."""
    strings = []
    position = at + 4
    end = position + _UINT.unpack_from(data, at)[0]
    while position < end:
        position += -(position - at) % 4
        size = _UINT.unpack_from(data, position)[0]
        strings.append(data[position + 4 : position + 4 + size].decode())
        position += size + 5
    return strings


def read_variant(data: bytes, at: int, base: int) -> tuple[str | int | float | None, int]:
    """A marshalled variant of type s, i, u or d, and where it ends; alignment counts from ``base``.

    Raises:
        ValueError: it is of another type.
    """
    size = data[at]
    signature = data[at + 1 : at + 1 + size].decode()
    at += size + 2
    at += -(at - base) % _ALIGN.get(signature[:1], 4)
    if signature == "s":
        return string_at(data, at), at + 5 + int(_UINT.unpack_from(data, at)[0])
    if signature == "i":
        return _INT.unpack_from(data, at)[0], at + 4
    if signature == "u":
        return _UINT.unpack_from(data, at)[0], at + 4
    if signature == "d":
        return _DOUBLE.unpack_from(data, at)[0], at + 8
    if signature == "(so)":
        at += int(_UINT.unpack_from(data, at)[0]) + 5
        at += -(at - base) % 4
        return None, at + int(_UINT.unpack_from(data, at)[0]) + 5
    if signature == "a{ss}":
        return None, at + 4 + (-(at + 4 - base) % 8) + int(_UINT.unpack_from(data, at)[0])
    raise ValueError(f"a variant of type {signature!r}")


def read_properties(data: bytes, at: int) -> dict[str, str | int | float | None]:
    """A marshalled ``a{sv}`` with values of the types that ``read_variant`` knows."""
    found: dict[str, str | int | float | None] = {}
    position = at + 8
    end = position + int(_UINT.unpack_from(data, at)[0])
    while position < end:
        position += -(position - at) % 8
        key = string_at(data, position)
        position += 5 + int(_UINT.unpack_from(data, position)[0])
        found[key], position = read_variant(data, position, at)
    return found


class _Corners:
    """The two cells in the corners of what is visible of a large table, while they are asked for."""

    __slots__ = ("indexes", "left", "names", "table")

    def __init__(self, table: Node) -> None:
        self.table = table
        self.names = ["", ""]
        self.indexes = [-1, -1]
        self.left = 2


class Walk:
    """One reading of one program's tree; nodes are changed in place.

    Args:
        bus: the connection.
        singly: ask for one property at a time (Qt).
        screen: what elements must intersect.
        text_limit: most characters of an element's text.
        max_nodes: stop going down after so many.
        hidden: read hidden parts too.
    """

    def __init__(
        self, bus: Bus, singly: bool, screen: Rect, text_limit: int, max_nodes: int, hidden: bool = False,
        texts: bool = True,
    ) -> None:  # fmt: skip
        self.window = Window(bus)
        self.screen, self.text_limit, self.max_nodes, self.hidden, self.texts = (
            screen, text_limit, max_nodes, hidden, texts,
        )  # fmt: skip
        self.singly = singly
        self.cut: str | None = None
        self.changed = False
        self.moved = False  # a window has: nothing in it is where it was
        self.failed = False  # the root did not answer: the program is gone
        self.full = True  # all that is found is read again, known or not
        self.seen: set[tuple[str, bytes]] = set()
        self.asked: set[Node] = set()
        self.damage: Rect | None = None
        self.everything = True  # cells of a large table too are read again wherever they are
        self.stamps: dict[bytes, int] = {}  # object path -> how many answers had come when its state came
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

    def revisit(self, root: Node, damage: Rect | None, dirty: set[bytes]) -> None:
        """Read again what ``damage`` or an event (``dirty``: object paths) may have changed.

        What changed visibly was damaged, unless it takes no room; what appears lies in its parent or is announced; what
        is hidden can only appear with a change at its parent or an event of its own.
        """
        for node in list(root.walk()):
            if node is root:
                continue
            hit = node.path in dirty or (
                damage is not None
                and not is_leaf(node)
                and (intersects(node.rect, damage) or not node.raw[2] or not node.raw[3])
            )
            if hit:
                self.visit(node)
                if node.span is None:
                    for child in node.children:
                        if is_leaf(child):
                            self.visit(child)
            elif (
                node.states & (FOCUSABLE | FOCUSED)
                and node.role != TABLE_CELL
                and node not in self.asked
                and not is_leaf(node)
            ):
                # Qt moves the focus back from a closed menu without an event or a visible change.
                self._send(self.calls(node.peer).state, node.path, b"", self._on_focus, node)

    def visit(self, node: Node) -> None:
        """Read one node (once per walk)."""
        if node in self.asked:
            return
        self.asked.add(node)
        self.changed = True
        if node.parent is not None and node.parent.span is not None and node.parent.children:
            self._visit_cell(node)
            return
        calls = self.calls(node.peer)
        if node.known and not is_leaf(node):
            # Known and shown before: most likely still so. Asking all at once saves a round trip per level.
            self._send(calls.state, node.path, b"", self._on_state_again, node)
            self._details(node, calls)
        else:
            self._send(calls.state, node.path, b"", self._on_state, node)

    def _on_state(self, node: Node, data: bytes, at: int, end: int) -> None:
        self._on_state_again(node, data, at, end)
        if at >= 0 and (self.hidden or not is_leaf(node)):
            self._details(node, self.calls(node.peer))

    def _on_state_again(self, node: Node, data: bytes, at: int, end: int) -> None:
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
        self._on_state_again(node, data, at, end)
        self.changed = self.changed or node.states != before

    def _details(self, node: Node, calls: Calls) -> None:
        send, path = self._send, node.path
        if not node.known:
            send(calls.role, path, b"", self._on_role, node)
            send(calls.interfaces, path, b"", self._on_interfaces, node)
        send(calls.extents, path, _SCREEN, self._on_extents, node)
        if calls.singly:
            send(calls.get, path, _NAME, self._on_name, node)
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
        if not self.texts:
            return
        if node.interfaces & TEXT:
            self._send(calls.get, node.path, _LENGTH, self._on_length, node)
        if node.interfaces & VALUE:
            self._send(calls.get, node.path, _CURRENT, self._on_value, node)

    def _on_role(self, node: Node, data: bytes, at: int, end: int) -> None:
        node.role = _UINT.unpack_from(data, at)[0] if at >= 0 else 0

    def _on_interfaces(self, node: Node, data: bytes, at: int, end: int) -> None:
        if at < 0:
            return
        node.interfaces = sum(INTERFACES.get(name, 0) for name in set(read_strings(data, at)))
        node.known = True
        self._contents(node, self.calls(node.peer))

    def _on_extents(self, node: Node, data: bytes, at: int, end: int) -> None:
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
            self._table(node)
        elif count > MOST_CHILDREN:
            self.cut = f"{node.role_name} {node.name!r} has {count} children"
        else:
            self._send(self.calls(node.peer).children, node.path, b"", self._on_children, node)

    def _off_screen(self, node: Node) -> bool:
        return node.raw[2] > 0 and node.raw[3] > 0 and not intersects(node.raw, self.screen)

    def _on_children(self, node: Node, data: bytes, at: int, end: int) -> None:
        if at < 0 or (not self.hidden and node.parent is not None and (is_leaf(node) or self._off_screen(node))):
            node.children = []
            return
        self._adopt(node, read_refs(data, at))

    def _adopt(self, node: Node, refs: Iterable[tuple[str, bytes]]) -> None:
        known = {(child.peer, child.path): child for child in node.children}
        children = []
        for ref in refs:
            child = known.pop(ref, None)
            if child is None or self.full:
                # The same object twice would be read twice, and a loop for ever.
                if ref in self.seen or ref[1].endswith(b"/null"):
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

    # A large table: the cells in the corners of what is visible say which rows and columns to ask for.

    def _table(self, node: Node) -> None:
        x, y, width, height = node.raw
        left, top = max(x, self.screen[0]), max(y, self.screen[1])
        right = min(x + width, self.screen[0] + self.screen[2]) - 1
        bottom = min(y + height, self.screen[1] + self.screen[3]) - 1
        if right <= left or bottom <= top:
            node.children = []
            return
        corners = _Corners(node)
        calls = self.calls(node.peer)
        for corner, (px, py) in enumerate(((left, top), (right, bottom))):
            self._send(calls.at_point, node.path, _POINT.pack(px, py, 0), self._on_corner, (corners, corner))

    def _on_corner(self, token: tuple[_Corners, int], data: bytes, at: int, end: int) -> None:
        corners, corner = token
        ref = read_ref(data, at) if at >= 0 else None
        if ref is None:
            self._one_corner(corners)
            return
        calls = self.calls(ref[0])
        self._send(calls.index, ref[1], b"", self._on_corner_index, token)
        self._send(calls.get, ref[1], _NAME, self._on_corner_name, token)

    def _on_corner_index(self, token: tuple[_Corners, int], data: bytes, at: int, end: int) -> None:
        token[0].indexes[token[1]] = _INT.unpack_from(data, at)[0] if at >= 0 else -1

    def _on_corner_name(self, token: tuple[_Corners, int], data: bytes, at: int, end: int) -> None:
        token[0].names[token[1]] = str(read_variant(data, at, at)[0]) if at >= 0 else ""
        self._one_corner(token[0])

    def _one_corner(self, corners: _Corners) -> None:
        corners.left -= 1
        if corners.left:
            return
        table = corners.table
        # A spreadsheet's index in parent overflows beyond row 131,072; its name does not.
        first, last = (cell_position(name) for name in corners.names)
        if first is None or last is None or first[0] > last[0] or first[1] > last[1]:
            self._list(corners)
            return
        span = (*first, *last)
        if span == table.span and table.children:
            for child in table.children if self.full else ():
                if self.everything or (self.damage is not None and intersects(child.rect, self.damage)):
                    self.visit(child)
            return
        rows, columns = last[0] - first[0] + 1, last[1] - first[1] + 1
        if rows * columns > MOST_CELLS:
            self.cut = f"{table.name!r} shows {rows * columns} cells"
            return
        self.changed = True
        table.span = span
        table.children = [Node(table.peer, b"", table) for _ in range(rows * columns)]
        for number, cell in enumerate(table.children):
            row, column = first[0] + number // columns, first[1] + number % columns
            cell.name = cell_name(row, column)
            cell.role, cell.interfaces, cell.known = TABLE_CELL, TEXT, True
            self.asked.add(cell)
            self._find_cell(cell, row, column)

    def _list(self, corners: _Corners) -> None:
        # No spreadsheet: children between the corners by index, as far as they are known.
        first, last = corners.indexes
        if first < 0:
            first = 0
        if last < first:
            last = first + MANY
        last = min(last, corners.table.count - 1, first + MOST_CELLS)
        table = corners.table
        wanted = range(first, last + 1)
        found: list[tuple[str, bytes] | None] = [None] * len(wanted)
        prepared = template(table.peer, _NAMES + "Accessible", "GetChildAtIndex", "i")

        def on_child(number: int, data: bytes, at: int, end: int) -> None:
            found[number] = read_ref(data, at) if at >= 0 else None
            if number == len(found) - 1:
                self._adopt(table, [ref for ref in found if ref is not None])

        for number, index in enumerate(wanted):
            self._send(prepared, table.path, _INT.pack(index), on_child, number)

    def _find_cell(self, cell: Node, row: int, column: int) -> None:
        table = cell.parent
        if table is not None:
            body = _TWO_INTS.pack(row, column)
            self._send(self.calls(table.peer).at_row, table.path, body, self._on_cell, cell)

    def _on_cell(self, cell: Node, data: bytes, at: int, end: int) -> None:
        ref = read_ref(data, at) if at >= 0 else None
        if ref is None:
            cell.states = 0
            return
        cell.path = ref[1]
        self._ask_cell(cell, self._on_state_again)

    def _visit_cell(self, cell: Node) -> None:
        if cell.path:
            self._ask_cell(cell, self._on_known_cell)
        else:
            self._on_known_cell(cell, b"", -1, -1)

    def _ask_cell(self, cell: Node, on_state: Answer) -> None:
        calls = self.calls(cell.peer)
        self._send(calls.state, cell.path, b"", on_state, cell)
        self._send(calls.extents, cell.path, _SCREEN, self._on_extents, cell)
        if self.texts:
            self._send(calls.text, cell.path, _WHOLE, self._on_text, cell)

    def _on_known_cell(self, cell: Node, data: bytes, at: int, end: int) -> None:
        self._on_state_again(cell, data, at, end)
        position = cell_position(cell.name)
        if (at < 0 or cell.states & DEFUNCT) and position is not None:
            # Cells are made when asked for, and this one has been thrown away since.
            self._find_cell(cell, *position)

    # Contents

    def _on_length(self, node: Node, data: bytes, at: int, end: int) -> None:
        length = int(read_variant(data, at, at)[0] or 0) if at >= 0 else 0
        calls = self.calls(node.peer)
        node.text_from = 0
        if length <= 0:
            node.text = ""
        elif length <= self.text_limit:
            self._send(calls.text, node.path, _TWO_INTS.pack(0, length), self._on_text, node)
        else:
            x, y = max(node.raw[0], self.screen[0]) + 2, max(node.raw[1], self.screen[1]) + 2
            self._send(calls.offset, node.path, _POINT.pack(x, y, 0), self._on_offset, (node, length))

    def _on_offset(self, token: tuple[Node, int], data: bytes, at: int, end: int) -> None:
        node, length = token
        start = _INT.unpack_from(data, at)[0] if at >= 0 else 0
        node.text_from = start if 0 <= start < length else 0
        body = _TWO_INTS.pack(node.text_from, min(length, node.text_from + self.text_limit))
        self._send(self.calls(node.peer).text, node.path, body, self._on_text, node)

    def _on_text(self, node: Node, data: bytes, at: int, end: int) -> None:
        node.text = string_at(data, at)[: self.text_limit] if at >= 0 else ""

    def _on_value(self, node: Node, data: bytes, at: int, end: int) -> None:
        value = read_variant(data, at, at)[0] if at >= 0 else None
        node.value = "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
