"""The accessible elements of a screen as a table and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import GuestLost
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS, STATE_BITS
from deskgym.envs.guest.step import ElementsReading
from deskgym.envs.observation.texts import TEXT_LENGTHS, cut_lines, cut_text, one_line

_STATE_INDEX = {name: k for k, name in enumerate(STATE_BITS)}
_SHOWN_STATES = ("active", "checked", "editable", "expanded", "focused", "modal", "pressed", "selected")
_COLUMNS = len(ELEMENT_COLUMNS)
_MAX_CELL = 200  # characters of a name or text in one row of the a11y text


@dataclass(frozen=True)
class Element:
    """One accessible element as an oracle sees it.

    Attributes:
        x: left edge in screen pixels.
        y: top edge in screen pixels.
        width: in pixels.
        height: in pixels.
        role: AT-SPI's role name, such as ``"push button"``.
        name: its accessible name.
        text: its text content, or "".
        states: names of the states that are set, see ``deskgym.envs.guest.protocol.STATE_BITS``.
    """

    x: int
    y: int
    width: int
    height: int
    role: str
    name: str = ""
    text: str = ""
    states: frozenset[str] = frozenset()

    @property
    def center(self) -> tuple[int, int]:
        """The pixel in its middle, (x, y)."""
        return self.x + self.width // 2, self.y + self.height // 2


class Elements(Sequence[Element]):
    """The visible accessible elements of a screen, as the guest read them: a table and the texts beside it.

    Attributes:
        rows: int32 (N, 8), columns ``ELEMENT_COLUMNS``.
        cut: why elements may be missing (a program did not answer in time, too many), or None.
    """

    def __init__(self, rows: NDArray[np.int32], texts: Sequence[Sequence[str]], cut: str | None = None) -> None:
        self.rows = rows
        self.texts = texts
        self.cut = cut

    @classmethod
    def from_reading(cls, reading: ElementsReading) -> Elements:
        """Check and wrap what the guest has read.

        Raises:
            GuestLost: it is not what a guest of ours sends.
        """
        try:
            rows = np.frombuffer(reading.rows, "<i4").reshape(-1, _COLUMNS)
            texts = reading.texts
            if len(texts) != len(rows) or not all(
                len(row) == 4 and all(isinstance(t, str) for t in row) for row in texts
            ):
                raise ValueError(f"{len(rows)} rows with {len(texts)} texts")
            return cls(rows, texts, reading.cut)
        except (TypeError, ValueError) as error:
            raise GuestLost(f"the guest sent elements that make no sense: {error}", "guest_garbled") from error

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        x, y, width, height, _, states, _, _ = self.rows[index].tolist()
        role, name, text, _ = self.texts[index]
        return Element(x, y, width, height, role, name, text, state_names(states))

    def __iter__(self) -> Iterator[Element]:
        return (self[k] for k in range(len(self)))

    def table(self, count: int) -> NDArray[np.int32]:
        """The first ``count`` rows, zero-padded to int32 (count, 8)."""
        table = np.zeros((count, _COLUMNS), np.int32)
        rows = self.rows[:count]
        table[: len(rows)] = rows
        return table

    def text(self, limit: int = TEXT_LENGTHS["a11y"]) -> str:
        """One line per element, tab-separated, in the rows' order; cut at a row's end to fit ``limit`` characters."""
        lines = ["index\trole\tname\ttext\tposition\tsize\tstates"]
        for k, (row, texts) in enumerate(zip(self.rows.tolist(), self.texts, strict=True)):
            role, name, text, _ = texts
            cells = (str(k), role, cell_text(name), cell_text(text))
            places = f"({row[0]}, {row[1]})\t({row[2]}, {row[3]})"
            lines.append("\t".join((*cells, places, shown_states(row[5]))))
        return cut_lines(lines, limit)

    def terminal(self, limit: int = TEXT_LENGTHS["terminal"]) -> str:
        """What the terminal windows on the screen show: the text of the elements with AT-SPI's role ``terminal``."""
        shown = (text for role, _, text, _ in self.texts if role == "terminal")
        return cut_text("\n".join(shown), limit)


NO_ELEMENTS = Elements(np.zeros((0, _COLUMNS), np.int32), [])


def state_names(bits: int) -> frozenset[str]:
    """The names of a row's state bits."""
    return frozenset(name for name, k in _STATE_INDEX.items() if bits >> k & 1)


@lru_cache(maxsize=4096)
def cell_text(text: str) -> str:
    """A text that fits one cell of one line: at most 200 characters."""
    flat = one_line(text)
    return flat if len(flat) <= _MAX_CELL else flat[: _MAX_CELL - 1] + "…"


@lru_cache(maxsize=1024)
def shown_states(bits: int) -> str:
    """The states that tables of elements tell of, by name."""
    return ",".join(name for name in _SHOWN_STATES if bits >> _STATE_INDEX[name] & 1)
