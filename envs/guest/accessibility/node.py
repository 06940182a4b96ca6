"""What is known of one accessible element, and how a tree of them becomes the rows of an observation."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from deskgym.envs.guest.protocol import STATE_BITS

Rect = tuple[int, int, int, int]
"""x, y, width, height in screen pixels."""

ROLES = (
    "invalid", "accelerator label", "alert", "animation", "arrow", "calendar", "canvas", "check box",
    "check menu item", "color chooser", "column header", "combo box", "date editor", "desktop icon", "desktop frame",
    "dial", "dialog", "directory pane", "drawing area", "file chooser", "filler", "focus traversable", "font chooser",
    "frame", "glass pane", "html container", "icon", "image", "internal frame", "label", "layered pane", "list",
    "list item", "menu", "menu bar", "menu item", "option pane", "page tab", "page tab list", "panel",
    "password text", "popup menu", "progress bar", "push button", "radio button", "radio menu item", "root pane",
    "row header", "scroll bar", "scroll pane", "separator", "slider", "spin button", "split pane", "status bar",
    "table", "table cell", "table column header", "table row header", "tearoff menu item", "terminal", "text",
    "toggle button", "tool bar", "tool tip", "tree", "tree table", "unknown", "viewport", "window", "extended",
    "header", "footer", "paragraph", "ruler", "application", "autocomplete", "editbar", "embedded", "entry", "chart",
    "caption", "document frame", "heading", "page", "section", "redundant object", "form", "link",
    "input method window", "table row", "tree item", "document spreadsheet", "document presentation",
    "document text", "document web", "document email", "comment", "list box", "grouping", "image map",
    "notification", "info bar", "level bar", "title bar", "block quote", "audio", "video", "definition", "article",
    "landmark", "log", "marquee", "math", "rating", "timer", "static", "math fraction", "math root", "subscript",
    "superscript", "description list", "description term", "description value", "footnote", "content deletion",
    "content insertion", "mark", "suggestion", "push button menu",
)  # fmt: skip
"""AT-SPI's role names by number (at-spi2-core 2.46, ``atspi_role_get_name``)."""

STATES = (
    "invalid", "active", "armed", "busy", "checked", "collapsed", "defunct", "editable", "enabled", "expandable",
    "expanded", "focusable", "focused", "has_tooltip", "horizontal", "iconified", "modal", "multi_line",
    "multiselectable", "opaque", "pressed", "resizable", "selectable", "selected", "sensitive", "showing",
    "single_line", "stale", "transient", "vertical", "visible", "manages_descendants", "indeterminate", "required",
    "truncated", "animated", "invalid_entry", "supports_autocompletion", "selectable_text", "is_default", "visited",
    "checkable", "has_popup", "read_only",
)  # fmt: skip
"""AT-SPI's state names by bit (``AtspiStateType``)."""

DEFUNCT, FOCUSABLE, FOCUSED, ICONIFIED, SHOWING, VISIBLE, MANAGES = (
    1 << STATES.index(name)
    for name in ("defunct", "focusable", "focused", "iconified", "showing", "visible", "manages_descendants")
)
APPLICATION, DOCUMENT_WEB, MENU_BAR, ROOT_PANE, TABLE_CELL, TERMINAL = (
    ROLES.index(name) for name in ("application", "document web", "menu bar", "root pane", "table cell", "terminal")
)
TERMINAL_TEXT = 16384
"""Most characters of a terminal's text: all that one of the largest screens shows, whose last line says the most."""

CELL_PARENTS = frozenset(ROLES.index(name) for name in ("table", "tree", "tree table"))

TEXT, VALUE, TABLE, COMPONENT, ACTION = 1, 2, 4, 8, 16
INTERFACES = {
    "org.a11y.atspi.Text": TEXT,
    "org.a11y.atspi.Value": VALUE,
    "org.a11y.atspi.Table": TABLE,
    "org.a11y.atspi.Component": COMPONENT,
    "org.a11y.atspi.Action": ACTION,
}


class Node:
    """One accessible element as last read.

    ``peer`` is its program's bus name and ``path`` its object there; together they are ``ref``, which hooks may pass
    back to the reader. ``raw`` is where its program says it is, ``rect`` where it is (see ``Shift``). ``children``
    holds the hidden ones too, down to the first hidden one.
    """

    __slots__ = (
        "children", "count", "description", "interfaces", "known", "name", "parent", "path", "peer", "raw", "rect",
        "role", "span", "states", "text", "text_from", "value",
    )  # fmt: skip

    def __init__(self, peer: str, path: bytes, parent: Node | None = None) -> None:
        self.peer = peer
        self.path = path
        self.parent = parent
        self.role = 0
        self.states = 0
        self.interfaces = 0
        self.raw: Rect = (0, 0, 0, 0)
        self.rect: Rect = (0, 0, 0, 0)
        self.name = ""
        self.description = ""
        self.text = ""
        self.text_from = 0
        self.value = ""
        self.count = -1  # children, if its program has said so
        self.children: list[Node] = []
        self.span: Rect | None = None  # of a large table: first row, first column, last row, last column read
        self.known = False  # role and interfaces have been read: they do not change

    @property
    def ref(self) -> str:
        """``bus name + object path``, as hooks pass it back."""
        return self.peer + self.path.decode()

    @property
    def role_name(self) -> str:
        """AT-SPI's name of the role."""
        return ROLES[self.role] if self.role < len(ROLES) else "unknown"

    def walk(self) -> Iterator[Node]:
        """This node and all below it in document order."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def state_names(self) -> list[str]:
        """The names of its states."""
        return [name for bit, name in enumerate(STATES) if self.states >> bit & 1]

    def as_dict(self) -> dict[str, Any]:
        """What a message to the host carries of it."""
        return {
            "ref": self.ref, "role": self.role_name, "name": self.name[:LONGEST_READ],
            "description": self.description[:LONGEST_READ],
            "text": self.text, "value": self.value, "states": self.state_names(), "extents": list(self.rect),
        }  # fmt: skip


def intersects(a: Rect, b: Rect) -> bool:
    """Whether two rectangles share a pixel."""
    return (
        a[0] < b[0] + b[2]
        and b[0] < a[0] + a[2]
        and a[1] < b[1] + b[3]
        and b[1] < a[1] + a[3]
        and a[2] > 0
        and a[3] > 0
        and b[2] > 0
        and b[3] > 0
    )


_BITS = tuple((1 << STATES.index(name), 1 << bit) for bit, name in enumerate(STATE_BITS))


@lru_cache(maxsize=1024)
def state_bits(states: int) -> int:
    """AT-SPI's 64-bit state set as ``protocol.STATE_BITS``."""
    return sum(bit for state, bit in _BITS if states & state)


LONGEST, LONGEST_READ = 4000, 20_000
"""Characters of an element's name, and of a name in a whole tree. A program can give names as long as it likes."""
MOST = 1 << 21
"""Characters of all texts of a screen, so that they fit into one message in any script."""


@dataclass
class Elements:
    """The visible elements of a screen, in document order.

    Attributes:
        rows: int32, one row of ``protocol.ELEMENT_COLUMNS`` per element, row after row.
        roles: AT-SPI's role name per row.
        names: accessible name per row, at most ``LONGEST`` characters, like the description.
        texts: what its Text interface holds, at most the reader's ``text_limit`` characters, of a terminal's
            ``TERMINAL_TEXT``; of a longer text the part that begins at its first visible line.
        descriptions: accessible description per row.
        values: its Value interface's number as text, or "".
        refs: ``bus name + object path`` per row, to act on it.
        complete: everything that is visible is here.
        cut: why it is not complete, naming the program; None when it is.
    """

    rows: array[int] = field(default_factory=lambda: array("i"))
    roles: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    complete: bool = True
    cut: str | None = None
    characters: int = 0

    def __len__(self) -> int:
        return len(self.roles)

    def message(self) -> dict[str, Any]:
        """As the guest protocol carries it: ``rows`` are little-endian int32 bytes."""
        return {
            "rows": self.rows.tobytes(), "roles": self.roles, "names": self.names, "texts": self.texts,
            "descriptions": self.descriptions, "values": self.values, "refs": self.refs,
            "complete": self.complete, "cut": self.cut,
        }  # fmt: skip


SHOWN = SHOWING | VISIBLE


def is_leaf(node: Node) -> bool:
    """Whether what is below this node is hidden with it.

    LibreOffice's formula bar calls itself DEFUNCT and nothing else while it is on screen: only its children know.
    """
    if node.states & DEFUNCT:
        return False
    return not node.states & SHOWING or bool(node.states & ICONIFIED)


def place(window: Node, correct: bool) -> list[Node]:
    """The nodes of one top-level window in document order, each with its ``rect`` set.

    Args:
        window: the top-level window.
        correct: report what LibreOffice draws where it is, and leave out what it does not draw (see ``Shift``).
    """
    nodes = []
    stack = [(window, NO_SHIFT)]
    while stack:
        node, shift = stack.pop()
        if correct and node is not window:
            shift = shift.into(node)
            if shift.hides(node):
                continue
        x, y, width, height = node.raw
        node.rect = (x + shift.x, y + shift.y, width, height)
        nodes.append(node)
        stack.extend((child, shift) for child in reversed(node.children))
    return nodes


def add_rows(elements: Elements, window: Node, screen: Rect, limit: int, correct: bool = True) -> bool:
    """Append the visible elements of one top-level window.

    Args:
        elements: where they are appended.
        window: the top-level window.
        screen: what they must intersect.
        limit: how many rows ``elements`` may have; their texts together may have ``MOST`` characters.
        correct: as in ``place``.

    Returns:
        Whether all of them found room.
    """
    numbers: dict[Node, int] = {}
    rows = elements.rows
    for node in place(window, correct):
        parent = -1 if node is window or node.parent is None else numbers.get(node.parent, -1)
        numbers[node] = parent
        if node.states & SHOWN != SHOWN or not intersects(node.rect, screen):
            continue
        number = len(elements)
        texts = (node.name[:LONGEST], node.text, node.description[:LONGEST], node.value)
        elements.characters += sum(map(len, texts))
        if number >= limit or elements.characters > MOST:
            return False
        numbers[node] = number
        rows.extend((*node.rect, node.role, state_bits(node.states), parent, numbers[window]))
        elements.roles.append(node.role_name)
        columns = (elements.names, elements.texts, elements.descriptions, elements.values)
        for column, text in zip(columns, texts, strict=True):
            column.append(text)
        elements.refs.append(node.ref)
    return True


@dataclass(frozen=True)
class Shift:
    """How far LibreOffice's own coordinates are off.

    LibreOffice 7.4 with GTK 3 counts the coordinates of what it draws itself as if the window's GTK menu bar took no
    room: its root pane claims the size of the GTK panel that holds it and another place, and all below is off by that
    much, but for the GTK widgets it embeds (they claim the size of the frame around them, at the right place). It also
    lists its own menu bar, of height 0, below the real one of GTK.
    """

    x: int = 0
    y: int = 0
    below: bool = False

    def into(self, node: Node) -> Shift:
        """The shift of ``node``, given its parent's."""
        parent = node.parent
        if parent is None or node.raw[2:] != parent.raw[2:] or not node.raw[2]:
            return self
        dx, dy = parent.raw[0] - node.raw[0], parent.raw[1] - node.raw[1]
        if not self.below and node.role == ROOT_PANE and (dx or dy):
            return Shift(dx, dy, True)
        if self.below and (self.x or self.y) and (dx, dy) == (-self.x, -self.y):
            return Shift(0, 0, True)
        return self

    def hides(self, node: Node) -> bool:
        """Whether ``node`` is the menu bar that LibreOffice does not draw."""
        parent = node.parent
        return node.role == MENU_BAR and node.raw[3] == 0 and parent is not None and parent.role == ROOT_PANE


NO_SHIFT = Shift()

_CELL = re.compile(r"([A-Z]{1,3})([1-9][0-9]*)\Z")


def cell_position(name: str) -> tuple[int, int] | None:
    """Row and column of a spreadsheet cell by its name: ``"B9"`` is (8, 1)."""
    match = _CELL.match(name)
    if match is None:
        return None
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - 64
    return int(match[2]) - 1, column - 1


def cell_name(row: int, column: int) -> str:
    """The name of a spreadsheet cell: (8, 1) is ``"B9"``."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"
