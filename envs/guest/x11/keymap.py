"""The X keymap, and spare keycodes for the characters that it lacks.

An assignment lives in the X server's keymap, where every client sees it, and stays: a program that reads the keymap
late still finds the right character. Only when all spare keycodes are taken is the one unused for longest given away.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from Xlib import XK

MAX_SPARE = 120
EVICTED = 16
"""How many assignments are given up at once when there is no spare keycode: each time has to be waited for."""


class Keymap:
    """The keymap of a python-xlib display."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._level: dict[int, tuple[int, bool]] = {}  # keysym → keycode, with shift
        self._assigned: OrderedDict[int, int] = OrderedDict()  # keysym → spare keycode, least recent first
        self._free: list[int] = []
        self.load()

    def load(self, display: Any = None) -> None:
        """Read the server's keymap; assignments that are in it are taken over, whoever made them."""
        self._display = display or self._display
        info = self._display.display.info
        first, count = info.min_keycode, info.max_keycode - info.min_keycode + 1
        table = self._display.get_keyboard_mapping(first, count)
        modifiers = {code for codes in self._display.get_modifier_mapping() for code in codes}
        self._level.clear()
        self._free.clear()
        order = list(self._assigned)
        found: dict[int, int] = {}
        for code, symbols in enumerate(table, first):
            if code in modifiers or len(symbols) < 2:
                pass
            elif not any(symbols):
                if len(self._free) + len(found) < MAX_SPARE:
                    self._free.append(code)
                continue
            elif symbols[0] == symbols[1]:  # no native key has that
                found[symbols[0]] = code
                continue
            for index in (0, 1):
                if index < len(symbols) and symbols[index]:
                    self._level.setdefault(symbols[index], (code, index == 1))
        self._assigned.clear()
        for symbol in [s for s in found if s not in order] + [s for s in order if s in found]:
            self._assigned[symbol] = found[symbol]
        self.shift = self._level[XK.XK_Shift_L][0]

    def native(self, symbol: int) -> bool:
        """Whether the keymap itself has this keysym."""
        return symbol in self._level

    def lookup(self, symbol: int) -> tuple[int, bool]:
        """The keycode of a keysym, and whether Shift is needed. KeyError when it was not assigned."""
        return self._level.get(symbol) or (self._assigned[symbol], False)

    @property
    def room(self) -> int:
        """How many characters outside the keymap can be had at once."""
        return len(self._free) + len(self._assigned)

    def missing(self, symbols: Iterable[int]) -> list[int]:
        """Those that still need a keycode; the others are noted as used just now."""
        wanted = [s for s in dict.fromkeys(symbols) if s not in self._level]
        for symbol in wanted:
            if symbol in self._assigned:
                self._assigned.move_to_end(symbol)
        return [s for s in wanted if s not in self._assigned]

    def full(self, count: int) -> bool:
        """Whether ``count`` more assignments take keycodes away from other characters."""
        return count > len(self._free)

    def assign(self, symbols: list[int]) -> None:
        """Give each of these keysyms a keycode, at most ``room`` of them."""
        wanted = max(len(symbols), EVICTED)
        wanted = max(len(symbols), EVICTED) if self.full(len(symbols)) else 0
        while wanted > len(self._free) and self._assigned:
            self._free.append(self._assigned.popitem(last=False)[1])
        self._free.sort()
        codes, self._free = self._free[: len(symbols)], self._free[len(symbols) :]
        pairs = list(zip(codes, symbols, strict=False))
        self._assigned.update((symbol, code) for code, symbol in pairs)
        run: list[tuple[int, int]] = []
        for pair in [*pairs, (0, 0)]:  # neighbours in one request: each one makes every program read the keymap
            if run and pair[0] != run[-1][0] + 1:
                self._display.change_keyboard_mapping(run[0][0], [(s, s) for _, s in run])
                run = []
            run.append(pair)
        self._display.sync()
