"""Accessible elements as the published benchmarks write them for a model: tab-separated tables, and nested XML.

A name or text is always on one line, so that a line is a row: a tab becomes a space and a line break ``⏎`` (they
break the row there, but for Spider2-V's TEXT column, which is a Python literal).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.observation.elements import Elements, cell_text, shown_states
from deskgym.envs.observation.texts import one_line
from deskgym.wrappers.observation.element_rules import tag

Row = tuple[int, Sequence[int], Sequence[str]]
"""The number that is shown, the row of ``Elements.rows`` and that of ``Elements.texts``."""

ENDINGS = {"deskgym": "[{} more rows]", "spider2v": "[...]", "scienceboard": "[...]"}
"""What stands where a table was cut; ``{}`` is how many rows are missing."""

NAMESPACES = {
    "deskgym": "uri:deskat:{}.at-spi.gnome.org",
    "spider2v": "uri:deskat:{}.at-spi.gnome.org",
    "scienceboard": "https://accessibility.ubuntu.example.org/ns/{}",
}
"""Of ``st:`` (state) and ``cp:`` (component): Spider2-V server/main.py, and OSWorld's since 2024, on which ScienceBoard
is built."""

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ROOT = "desktop-frame"


def table(elements: Elements, numbers: Iterable[int], preset: str, *, marks: bool = False) -> list[str]:
    r"""A table's lines, the header first.

    ============  ==========================================================================================
    preset        columns
    ============  ==========================================================================================
    deskgym       index (the row of ``elements``) or mark, role, name, text, position, size, states
    spider2v      [INDEX,] TAG, NAME, POSITION (top-left x & y), SIZE (width & height), TEXT
    scienceboard  tag, name, text, class, description, position (top-left x&y), size (w&h); our rows have no
                  class and description, which stay empty. With marks: index, tag, name, text
    ============  ==========================================================================================

    Args:
        elements: the screen's elements.
        numbers: which of its rows, in this order.
        preset: whose columns.
        marks: the rows are marks and are numbered 1, 2, 3, ...
    """
    header, line = _TABLES[preset, marks]
    rows, texts = elements.rows.tolist(), elements.texts
    return [header, *(line((k if marks else n, rows[n], texts[n])) for k, n in enumerate(numbers, 1))]


def _quoted(text: str) -> str:
    """A text as ScienceBoard writes it: ``""`` for none, and in quotes only where it has quotes itself."""
    return '"{}"'.format(text.replace('"', '""')) if '"' in text else text or '""'


def _ours(row: Row) -> str:
    number, (x, y, w, h, _, states, *_), (role, name, text, *_) = row
    return f"{number}\t{role}\t{cell_text(name)}\t{cell_text(text)}\t({x}, {y})\t({w}, {h})\t{shown_states(states)}"


def _spider2v(row: Row) -> str:
    _, (x, y, w, h, *_), (role, name, text, *_) = row
    return f"{tag(role)}\t{one_line(name)}\t({x}, {y})\t({w}, {h})\t{text.strip()!r}"


def _scienceboard(row: Row) -> str:
    _, (x, y, w, h, *_), (role, name, text, *_) = row
    return f"{tag(role)}\t{one_line(name)}\t{_quoted(one_line(text))}\t\t\t({x}, {y})\t({w}, {h})"


def _scienceboard_marks(row: Row) -> str:
    number, _, (role, name, text, *_) = row
    return f"{number}\t{tag(role)}\t{one_line(name)}\t{_quoted(one_line(text))}"


_OUR_COLUMNS = "role\tname\ttext\tposition\tsize\tstates"
_SPIDER2V_COLUMNS = "TAG\tNAME\tPOSITION (top-left x & y)\tSIZE (width & height)\tTEXT"
_TABLES: dict[tuple[str, bool], tuple[str, Callable[[Row], str]]] = {
    ("deskgym", False): (f"index\t{_OUR_COLUMNS}", _ours),
    ("deskgym", True): (f"mark\t{_OUR_COLUMNS}", _ours),
    ("spider2v", False): (_SPIDER2V_COLUMNS, _spider2v),
    ("spider2v", True): (f"INDEX\t{_SPIDER2V_COLUMNS}", lambda row: f"{row[0]}\t{_spider2v(row)}"),
    ("scienceboard", False): (
        "tag\tname\ttext\tclass\tdescription\tposition (top-left x&y)\tsize (w&h)", _scienceboard,
    ),
    ("scienceboard", True): ("index\ttag\tname\ttext", _scienceboard_marks),
}  # fmt: skip


class Xml:
    """Some elements as XML, nested as they are on the screen: each below its nearest ancestor that is there too.

    As in Spider2-V's tree (server/main.py) the root is ``desktop-frame``, a tag is the role, ``name`` its name, a state
    that is set ``st:<state>="true"``, ``cp:screencoord`` and ``cp:size`` are ``(x, y)`` and ``(w, h)``, and the text is
    the element's text. Of its other attributes (``attr:``, ``doc:``, ``val:``, ``act:``, coordinates in the window) our
    rows hold nothing or only what these say already.

    Args:
        elements: the screen's elements.
        numbers: which of its rows, ascending.
        preset: whose namespaces.
    """

    def __init__(self, elements: Elements, numbers: Iterable[int], preset: str) -> None:
        space = NAMESPACES[preset]
        self._begin = f'<{_ROOT} xmlns:st="{space.format("state")}" xmlns:cp="{space.format("component")}">'
        self._opened: list[str] = []
        self._closed: list[str] = []  # what is closed after each row
        self._stacks: list[tuple[str, ...]] = []  # the tags that are open after each row's opening
        stack: list[tuple[int, str]] = []
        rows, texts = elements.rows.tolist(), elements.texts
        parents = [row[6] for row in rows]
        for number in numbers:
            ancestors = _ancestors(parents, number)
            closed = ""
            while stack and stack[-1][0] not in ancestors:
                closed += f"</{stack.pop()[1]}>"
            if self._opened:
                self._closed.append(closed)
            stack.append((number, tag(texts[number][0])))
            self._opened.append(_open(rows[number], texts[number]))
            self._stacks.append(tuple(name for _, name in stack))

    def __len__(self) -> int:
        return len(self._opened)

    def text(self, count: int, ending: str = "") -> str:
        """The first ``count`` elements as a whole document, a line each; ``ending`` becomes a comment at its end."""
        last = count - 1
        lines = [self._begin, *(self._opened[k] + self._closed[k] for k in range(last))]
        if count:
            lines.append(self._opened[last] + "".join(f"</{name}>" for name in reversed(self._stacks[last])))
        if ending:
            lines.append(f"<!-- {ending} -->")
        return "\n".join([*lines, f"</{_ROOT}>"])


def _ancestors(parents: Sequence[int], number: int) -> set[int]:
    found: set[int] = set()
    parent = parents[number]
    while 0 <= parent < len(parents) and parent not in found:
        found.add(parent)
        parent = parents[parent]
    return found


def _open(row: Sequence[int], texts: Sequence[str]) -> str:
    x, y, w, h, _, states, *_ = row
    role, name, text, *_ = texts
    return (
        f"<{tag(role)} name={_attribute(name)}{_states(states)}"
        f' cp:screencoord="({x}, {y})" cp:size="({w}, {h})">{_content(text)}'
    )


@lru_cache(maxsize=1024)
def _states(states: int) -> str:
    return "".join(f' st:{name}="true"' for k, name in enumerate(STATE_BITS) if states >> k & 1)


@lru_cache(maxsize=4096)
def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("", text))


@lru_cache(maxsize=4096)
def _content(text: str) -> str:
    return escape(_NOT_XML.sub("", text))
