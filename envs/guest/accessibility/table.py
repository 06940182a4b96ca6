"""Reading what is visible of a table that is too large to list: a spreadsheet has 2**34 children.

The cells in the two corners of what is visible say which rows and columns to ask for. The program makes cells when they
are asked for, and throws them away when it likes.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from deskgym.envs.guest.accessibility.bus import Answer
from deskgym.envs.guest.accessibility.marshal import read_ref, read_variant, strings, template
from deskgym.envs.guest.accessibility.node import DEFUNCT, TABLE_CELL, TEXT, Node, cell_name, cell_position

if TYPE_CHECKING:
    from deskgym.envs.guest.accessibility.walk import Walk

MANY = 1000
"""A container of more children than this that manages its descendants is asked only for what is visible of it."""
MOST_CELLS = 20_000

_UINT = Struct("<I")
_INT = Struct("<i")
_TWO_INTS = Struct("<ii")
_POINT = Struct("<iiI")
_SCREEN = _UINT.pack(0)
_WHOLE = _TWO_INTS.pack(0, -1)
_NAME = strings("org.a11y.atspi.Accessible", "Name")


class _Corners:
    """The two cells in the corners of what is visible of a large table, while they are asked for."""

    __slots__ = ("indexes", "left", "names", "table")

    def __init__(self, table: Node) -> None:
        self.table = table
        self.names = ["", ""]
        self.indexes = [-1, -1]
        self.left = 2


class Cells:
    """The part of a walk that reads large tables."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    def read(self, node: Node) -> None:
        """Find out which rows and columns are visible, and read those that are new or touched."""
        x, y, width, height = node.raw
        left, top = max(x, self._walk.screen[0]), max(y, self._walk.screen[1])
        right = min(x + width, self._walk.screen[0] + self._walk.screen[2]) - 1
        bottom = min(y + height, self._walk.screen[1] + self._walk.screen[3]) - 1
        if right <= left or bottom <= top:
            node.children = []
            return
        corners = _Corners(node)
        calls = self._walk.calls(node.peer)
        for corner, (px, py) in enumerate(((left, top), (right, bottom))):
            self._walk.window.send(
                calls.at_point, node.path, _POINT.pack(px, py, 0), self._on_corner, (corners, corner)
            )

    def _on_corner(self, token: tuple[_Corners, int], data: bytes, at: int, end: int) -> None:
        corners, corner = token
        ref = read_ref(data, at) if at >= 0 else None
        if ref is None:
            self._one_corner(corners)
            return
        calls = self._walk.calls(ref[0])
        self._walk.window.send(calls.index, ref[1], b"", self._on_corner_index, token)
        self._walk.window.send(calls.get, ref[1], _NAME, self._on_corner_name, token)

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
            for child in table.children:
                if self._walk.touched(child):
                    self._walk.visit(child)
            return
        rows, columns = last[0] - first[0] + 1, last[1] - first[1] + 1
        if rows * columns > MOST_CELLS:
            self._walk.cut = f"{table.name!r} shows {rows * columns} cells"
            return
        self._walk.changed = True
        table.span = span
        table.children = [Node(table.peer, b"", table) for _ in range(rows * columns)]
        for number, cell in enumerate(table.children):
            row, column = first[0] + number // columns, first[1] + number % columns
            cell.name = cell_name(row, column)
            cell.role, cell.interfaces, cell.known = TABLE_CELL, TEXT, True
            self._walk.asked.add(cell)
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
        prepared = template(table.peer, "org.a11y.atspi.Accessible", "GetChildAtIndex", "i")

        def on_child(number: int, data: bytes, at: int, end: int) -> None:
            found[number] = read_ref(data, at) if at >= 0 else None
            if number == len(found) - 1:
                self._walk.adopt(table, [ref for ref in found if ref is not None])

        for number, index in enumerate(wanted):
            self._walk.window.send(prepared, table.path, _INT.pack(index), on_child, number)

    def _find_cell(self, cell: Node, row: int, column: int) -> None:
        table = cell.parent
        if table is not None:
            body = _TWO_INTS.pack(row, column)
            self._walk.window.send(self._walk.calls(table.peer).at_row, table.path, body, self._on_cell, cell)

    def _on_cell(self, cell: Node, data: bytes, at: int, end: int) -> None:
        ref = read_ref(data, at) if at >= 0 else None
        if ref is None:
            cell.states = 0
            return
        cell.path = ref[1]
        self._ask_cell(cell, self._walk.on_state)

    def visit(self, cell: Node) -> None:
        """Read one known cell again."""
        if cell.path:
            self._ask_cell(cell, self._on_known_cell)
        else:
            self._on_known_cell(cell, b"", -1, -1)

    def _ask_cell(self, cell: Node, on_state: Answer) -> None:
        calls = self._walk.calls(cell.peer)
        self._walk.window.send(calls.state, cell.path, b"", on_state, cell)
        self._walk.window.send(calls.extents, cell.path, _SCREEN, self._walk.on_extents, cell)
        if not self._walk.outline:
            self._walk.window.send(calls.text, cell.path, _WHOLE, self._walk.on_text, cell)

    def _on_known_cell(self, cell: Node, data: bytes, at: int, end: int) -> None:
        self._walk.on_state(cell, data, at, end)
        position = cell_position(cell.name)
        if (at < 0 or cell.states & DEFUNCT) and position is not None:
            # Cells are made when asked for, and this one has been thrown away since.
            self._find_cell(cell, *position)
