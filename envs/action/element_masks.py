"""What the elements on the screen allow now: which can be reached, clicked, edited, and whether text can be typed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import Elements

Mask = NDArray[np.bool_]
Point = tuple[int, int]

_BIT = {name: 1 << k for k, name in enumerate(STATE_BITS)}
_POPUPS = ("popup menu", "tool tip")
CLICKABLE_ROLES = frozenset(
    {
        "push button", "toggle button", "check box", "radio button", "page tab", "menu", "menu item",
        "check menu item", "radio menu item", "combo box", "list item", "table cell", "tree item", "link", "text",
        "entry", "password text", "spin button", "slider", "icon", "table column header", "column header",
        "row header", "table row header", "tear off menu item", "color chooser", "canvas", "drawing area", "terminal",
    }
)  # fmt: skip
"""AT-SPI roles that a person would click; others are clicked through the grid."""


class ElementMasks:
    """What the screen's elements allow now. A verb's ``targets`` reads it.

    Attributes:
        elements: the rows that the agent sees, at most ``max_elements``.
        size: width and height of the screen in pixels.
    """

    def __init__(self, elements: Elements, size: Point) -> None:
        self.elements, self.size = elements, size
        self.rows: NDArray[np.int32] = elements.rows
        self.roles: list[str] = [row[0] for row in elements.texts]

    def has(self, *states: str) -> Mask:
        """Which rows have all of these states (of ``STATE_BITS``): bool (N,)."""
        bits = sum(_BIT[state] for state in states)
        return np.asarray((self.rows[:, 5] & bits) == bits, bool)

    def role(self, roles: frozenset[str] | Sequence[str]) -> Mask:
        """Which rows have one of these roles: bool (N,)."""
        return np.fromiter((role in roles for role in self.roles), bool, len(self.roles))

    @cached_property
    def centers(self) -> NDArray[np.int32]:
        """The pixels in the middle of the rows: int32 (N, 2)."""
        return self.rows[:, :2] + self.rows[:, 2:4] // 2

    @cached_property
    def reachable(self) -> Mask:
        """Rows that are enabled, on the screen, and not kept from input by a popup or a modal window: bool (N,)."""
        centers = self.centers
        on_screen = ((centers >= 0) & (centers < self.size)).all(axis=1)
        sized = (self.rows[:, 2:4] > 0).all(axis=1)
        enabled = self.has("sensitive") | self.has("enabled")
        return on_screen & sized & enabled & self._placed & self._admitted

    @cached_property
    def clickable(self) -> Mask:
        """Reachable rows of ``CLICKABLE_ROLES``, and editable ones: bool (N,)."""
        return self.reachable & (self.role(CLICKABLE_ROLES) | self.has("editable"))

    @cached_property
    def editable(self) -> Mask:
        """Reachable rows whose text can be changed: bool (N,)."""
        return self.reachable & self.has("editable") & ~self.has("read_only")

    @cached_property
    def typing(self) -> bool:
        """Whether something that takes text has the focus, and no menu or dialog keeps the keyboard from it."""
        takes_text = self.has("editable") | self.role(("terminal",))
        return bool((self.has("focused") & takes_text & self._admitted).any())

    @cached_property
    def _parents(self) -> NDArray[np.int32]:
        """The rows that the rows are in, which come before them, or -1: int32 (N,)."""
        parents = self.rows[:, 6]
        return np.where(parents < np.arange(len(parents)), parents, -1).astype(np.int32)

    @cached_property
    def _placed(self) -> Mask:
        """List items that lie in the list that holds them.

        Qt says of a closed combo box's items that they show, at made-up places or where they were when it was open;
        they are then in the combo box itself, and in a list while it is open.
        """
        placed = np.ones(len(self.rows), bool)
        items = np.flatnonzero(self.role(("list item",)) & (self._parents >= 0))
        parents = self.rows[self._parents[items]]
        offset = self.centers[items] - parents[:, :2]
        in_list = np.array([self.roles[k] != "combo box" for k in self._parents[items]], bool)
        placed[items] = in_list & ((offset >= 0) & (offset < parents[:, 2:4])).all(axis=1)
        return placed

    @cached_property
    def _programs(self) -> list[str]:
        """The programs whose windows the rows are in, by bus name: the first part of a window's reference, or ""."""
        names: list[str] = []
        for parent, row in zip(self._parents.tolist(), self.elements.texts, strict=True):
            names.append(names[parent] if parent >= 0 else row[3].partition("/")[0])
        return names

    @cached_property
    def _modal(self) -> dict[str, int]:
        """The row of the modal window that takes a program's input, for each program that has one.

        Of several it is the active one, else the last, and of one within another the inner one. The rows come in the
        order in which a program lists its windows, which is not that in which they lie on the screen.
        """
        found: dict[str, int] = {}
        modal = np.flatnonzero(self.has("modal")).tolist()
        if not modal:
            return found
        active = self.has("active")
        for k, parent in enumerate(self._parents.tolist()):
            active[k] |= parent >= 0 and active[parent]
        for k in modal:
            program = self._programs[k]
            if program not in found or active[k] or not active[found[program]]:
                found[program] = k
        return found

    @cached_property
    def _admitted(self) -> Mask:
        """Rows that nothing open keeps from input.

        A menu or a drop-down list keeps it from all but what is in it, a modal window and the menu bar; a modal window
        keeps it from all else of its program, the menu bar included.
        """
        parents, modal = self._parents, self._modal
        popup = self.role(_POPUPS[:1])
        lists = np.flatnonzero(self.role(("list",)) & (parents >= 0))
        popup[lists] |= np.array([self.roles[parents[k]] == "combo box" for k in lists], bool)
        if not modal and not popup.any():
            return np.ones(len(self.rows), bool)
        free = np.array([program not in modal for program in self._programs], bool)
        admitted = popup if popup.any() else free.copy()
        admitted[list(modal.values())] = True
        bars = set(np.flatnonzero(free & self.role(("menu bar",))).tolist())
        for k, parent in enumerate(parents.tolist()):  # parents come before their children
            if parent >= 0 and (admitted[parent] or parent in bars):
                admitted[k] = True
        return admitted
