"""Observations: the accessible elements as a table and as text, and the parts of the observation dict."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.episode import Element
from deskgym.envs.errors import GuestLost
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS, STATE_BITS
from deskgym.envs.observation.spaces import TEXT_LENGTHS

_STATE_INDEX = {name: k for k, name in enumerate(STATE_BITS)}
_SHOWN_STATES = ("active", "checked", "editable", "expanded", "focused", "modal", "pressed", "selected")
_COLUMNS = len(ELEMENT_COLUMNS)
_MAX_CELL = 200  # characters of a name or text in one row of the a11y text
_BREAKS = str.maketrans(
    {"\t": " ", "\n": "⏎", "\r": "⏎", "\v": "⏎", "\f": "⏎", "\x85": "⏎", "\u2028": "⏎", "\u2029": "⏎"}
)


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
    def from_guest(cls, answer: Mapping[str, Any]) -> Elements:
        """Check and wrap the guest's answer.

        Raises:
            GuestLost: it is not what a guest of ours sends.
        """
        try:
            rows = np.frombuffer(answer["rows"], "<i4").reshape(-1, _COLUMNS)
            texts = answer["texts"]
            if len(texts) != len(rows) or not all(
                len(row) == 4 and all(isinstance(t, str) for t in row) for row in texts
            ):
                raise ValueError(f"{len(rows)} rows with {len(texts)} texts")
            return cls(rows, texts, answer.get("cut"))
        except (KeyError, TypeError, ValueError) as error:
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


def one_line(text: str) -> str:
    """The text with its tabs as spaces and its line breaks as ``⏎``."""
    return text if text.isprintable() else text.translate(_BREAKS)


@lru_cache(maxsize=4096)
def cell_text(text: str) -> str:
    """A text that fits one cell of one line: at most 200 characters."""
    flat = one_line(text)
    return flat if len(flat) <= _MAX_CELL else flat[: _MAX_CELL - 1] + "…"


@lru_cache(maxsize=1024)
def shown_states(bits: int) -> str:
    """The states that tables of elements tell of, by name."""
    return ",".join(name for name in _SHOWN_STATES if bits >> _STATE_INDEX[name] & 1)


def cut_lines(lines: Sequence[str], limit: int) -> str:
    """The lines as one text of at most ``limit`` characters, whole lines only, the last one saying what is missing."""
    lengths = [len(line) + 1 for line in lines]
    if sum(lengths) - 1 <= limit:
        return "\n".join(lines)
    count = bisect_right(list(accumulate(lengths)), limit)
    while True:
        kept = "\n".join([*lines[:count], f"[{len(lines) - count} more rows]"])
        if len(kept) <= limit or count == 0:
            return kept[:limit]
        count -= 1


def cut_text(text: str, limit: int) -> str:
    """The text, or its beginning and end with a line between them that says how much was left out."""
    if len(text) <= limit:
        return text
    note = f"\n[... {len(text) - limit} of {len(text)} characters left out ...]\n"
    keep = max(0, limit - len(note))
    head = keep // 2
    return (text[:head] + note + text[len(text) - (keep - head) :])[:limit]


def code_feedback(result: Mapping[str, Any] | None) -> str:
    """What a code action printed or raised, as its author should read it."""
    if result is None:
        return ""
    text = str(result.get("stdout", "")) + str(result.get("stderr", ""))
    if result.get("timed_out"):
        text += "\n[killed: the code ran past its time limit]"
    elif result.get("status"):
        text += f"\n[exit status {result['status']}]" if "Traceback" not in text else ""
    if result.get("truncated"):
        text += "\n[output cut]"
    return text.strip("\n")
