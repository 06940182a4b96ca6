"""Presses keys and types any Unicode text with XTEST."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from Xlib import X
from Xlib.ext import xtest

from deskgym.envs.guest.x11.connection import XConnection
from deskgym.envs.guest.x11.keymap import Keymap
from deskgym.envs.guest.x11.keys import character_keysym, keysym


class Keyboard:
    """The keyboard of one X connection.

    Args:
        connection: where the keys are pressed.
        barrier: waits until the programs have consumed the events sent so far.
    """

    def __init__(self, connection: XConnection, barrier: Callable[[], Awaitable[object]]) -> None:
        self._x, self._barrier = connection, barrier
        self._keymap = Keymap(connection.display)
        self._stale = False
        connection.on(X.MappingNotify, self._on_mapping)
        connection.on_connect(lambda: self._keymap.load(connection.display))

    def _on_mapping(self, notice: Any) -> None:
        self._stale = True

    async def _find(self, symbols: Iterable[int]) -> None:
        """Bind keysyms that no key has to spare keycodes, while there are spare ones; ``symbols`` are keysyms."""
        if self._stale:
            self._stale = False
            self._keymap.load()
        missing = self._keymap.missing(symbols)
        if not missing:
            return
        if self._keymap.full(len(missing)):
            await self._barrier()  # what was typed with the old assignments must have been read
        self._keymap.assign(missing)

    def press(self, code: int, down: bool) -> None:
        """Press or release a keycode."""
        xtest.fake_input(self._x.display, X.KeyPress if down else X.KeyRelease, code)

    async def key(self, name: str, down: bool) -> None:
        """Press or release a key by name; Shift is pressed for a moment where a character needs it.

        Raises:
            ValueError: no key has that name.
        """
        symbol = keysym(name)
        if not symbol:
            raise ValueError(f"unknown key {name!r}")
        self._x.pump()
        await self._find([symbol])
        code, shifted = self._keymap.lookup(symbol)
        shifted = shifted and down and len(name) == 1
        if shifted:
            self.press(self._keymap.shift, True)
        self.press(code, down)
        if shifted:
            self.press(self._keymap.shift, False)

    async def type(self, text: str) -> None:
        """Type text. What no key can stand for (NUL and other controls, lone surrogates) is left out."""
        self._x.pump()
        for symbols in self._pieces(text.replace("\r\n", "\n")):
            await self._find(symbols)
            for symbol in symbols:
                code, shifted = self._keymap.lookup(symbol)
                if shifted:
                    self.press(self._keymap.shift, True)
                self.press(code, True)
                self.press(code, False)
                if shifted:
                    self.press(self._keymap.shift, False)
            self._x.flush()

    def _pieces(self, text: str) -> Iterator[list[int]]:
        """The text's keysyms, in pieces that each need no more spare keycodes than there are."""
        symbols: list[int] = []
        foreign: set[int] = set()
        for character in text:
            if not typeable(character):
                continue
            symbol = character_keysym(character)
            if not self._keymap.native(symbol) and symbol not in foreign:
                if len(foreign) >= self._keymap.room:
                    yield symbols
                    symbols, foreign = [], set()
                foreign.add(symbol)
            symbols.append(symbol)
        if symbols:
            yield symbols


def typeable(character: str) -> bool:
    """Whether a key can stand for a character."""
    code = ord(character)
    return character in "\n\r\t\b\x1b" or (0x20 <= code and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF)
