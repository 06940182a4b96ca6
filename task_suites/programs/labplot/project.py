"""Reads a project of LabPlot's (.lml) as data: its columns, and what its plots show."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.files import read_file

# an entry in the table itself would end the proofs of all tasks that read anything by it
limited.READERS["packed_xml"] = "deskgym.envs.evaluation.readers.packed_xml"
LIMIT = 4 << 20  # bytes of the file
SCALES = ("linear", "log10", "log2", "ln", "sqrt", "square", "inverse")
LINES = ("none", "solid", "dash", "dot", "dash-dot", "dash-dot-dot")
SYMBOLS = ("none", "circle", "square", "equilateral triangle")
_FORMATS = {"0": "d", "24": "i", "26": "q"}  # by a column's mode: AbstractColumn::ColumnMode of LabPlot 2.9
_SEEN = 0.1  # least opacity of what counts as shown
_LONGEST = 10_000  # characters of a label's text, with its format


def project(final: FinalState, path: str) -> Element:
    """The root of a project that the agent saved.

    Raises:
        CheckFailed: it is missing, too large, or none.
    """
    return final.read_once(f"labplot:{path}", lambda _: parse(read_file(final, path, limit=LIMIT), path))


def parse(data: bytes, path: str = "the project") -> Element:
    """The root of a project. Raises CheckFailed: it is too large, or none."""
    nodes: list[Element] = []
    for parent, tag, attributes, text, tail in limited.read("packed_xml", data, path)["elements"]:
        nodes.append(Element(tag, attributes) if parent < 0 else SubElement(nodes[parent], tag, attributes))
        nodes[-1].text, nodes[-1].tail = text, tail
    if nodes[0].tag != "project":
        raise CheckFailed(f"{path}: no project of LabPlot's: it begins with {nodes[0].tag!r}")
    return nodes[0]


def columns(root: Element) -> dict[str, list[float] | None]:
    """The columns of all spreadsheets, by their paths; None for one without numbers, or with masked ones.

    Raises:
        CheckFailed: two have one path, or a column is damaged.
    """
    found: dict[str, list[float] | None] = {}
    for sheet, node in _parts(root, "spreadsheet"):
        for column in node.findall("column"):
            path = f"{sheet}/{column.get('name')}"
            if path in found:
                raise CheckFailed(f"there are two columns {path!r}")
            found[path] = _values(column, path)
    return found


def plots(root: Element) -> list[dict[str, Any]]:
    """The plots that are shown, each as one dictionary.

    Returns:
        ``worksheet`` (its path); ``title``, ``x title``, ``y title`` (texts without their format; of the axes at the
        bottom and at the left); ``x scale``, ``y scale`` (of ``SCALES``), ``x range``, ``y range`` (start and end, None
        where LabPlot chooses them), all None where there are several; ``curves`` (``x`` and ``y``, paths of columns;
        ``line`` of ``LINES`` and ``symbol`` of ``SYMBOLS``); ``fits`` (``x``, ``y``, ``degree`` of the polynomial, None
        of another model, and the numbers ``xs`` and ``ys`` of the line drawn); ``histograms`` (``data``, a column's
        path).

    Raises:
        CheckFailed: the numbers of a fit, or a label, are damaged.
    """
    return [
        {"worksheet": path, **_plot(node)}
        for path, sheet in _parts(root, "worksheet")
        for node in sheet.findall("cartesianPlot")
        if _on(node.find("geometry"))
    ]


def _plot(node: Element) -> dict[str, Any]:
    found: dict[str, Any] = {"title": _label(node.find("textLabel"))}
    for axis, number, side in (("x", "0", "1"), ("y", "1", "2")):  # horizontal, bottom; vertical, left
        ranges = node.findall(f"{axis}Ranges/{axis}Range")
        one = ranges[0] if len(ranges) == 1 else None
        found[f"{axis} scale"] = None if one is None else _name(SCALES, one.get("scale"))
        found[f"{axis} range"] = None if one is None else _fixed(one)
        found[f"{axis} title"] = "\n".join(
            title
            for each in node.findall("axis")
            if _on(general := each.find("general")) and general is not None
            if general.get("orientation") == number and general.get("position") == side
            if (title := _label(each.find("textLabel")))
        )
    found["curves"] = [_curve(each) for each in node.findall("xyCurve") if _drawn(each)]
    found["fits"] = [_fit(each) for each in node.findall("xyFitCurve") if _drawn(each.find("xyAnalysisCurve/xyCurve"))]
    found["histograms"] = [
        {"data": general.get("dataColumn")}
        for each in node.findall("Histogram")
        if (general := each.find("general")) is not None and general.get("type") == "0" and _drawn(each)
    ]
    return found


def _fixed(node: Element) -> list[float] | None:
    return [_number(node.get(end)) for end in ("start", "end")] if node.get("autoScale") == "0" else None


def _curve(node: Element) -> dict[str, Any]:
    general, lines, symbols = node.find("general"), node.find("lines"), node.find("symbols")
    return {
        "x": None if general is None else general.get("xColumn"),
        "y": None if general is None else general.get("yColumn"),
        "line": _name(LINES, lines.get("style")) if lines is not None and _line(lines) else "none",
        "symbol": _name(SYMBOLS, symbols.get("symbolsStyle")) if symbols is not None and _symbol(symbols) else "none",
    }


def _fit(node: Element) -> dict[str, Any]:
    source, model = node.find("xyAnalysisCurve/dataSource"), node.find("fitData")
    polynomial = model is not None and (model.get("modelCategory"), model.get("modelType")) == ("0", "0")
    numbers = {each.get("name"): _values(each, "of a fit") for each in node.findall("fitResult/column")}
    return {
        "x": None if source is None else source.get("xDataColumn"),
        "y": None if source is None else source.get("yDataColumn"),
        "degree": model.get("degree") if model is not None and polynomial else None,
        "xs": numbers.get("x"),
        "ys": numbers.get("y"),
    }


def _on(node: Element | None) -> bool:
    return node is not None and node.get("visible") == "1"


def _drawn(node: Element | None) -> bool:
    """Whether a curve or a histogram is shown, by its line, its symbols or its filling."""
    if node is None or not _on(node.find("general")):
        return False
    filling = node.find("filling")
    return (
        any(_line(each) for name in ("lines", "line") for each in node.findall(name))
        or any(_symbol(each) for each in node.findall("symbols"))
        or (filling is not None and filling.get("enabled") == "1" and _number(filling.get("opacity")) >= _SEEN)
    )


def _line(node: Element) -> bool:
    return node.get("type") != "0" and node.get("style") != "0" and _number(node.get("opacity")) >= _SEEN


def _symbol(node: Element) -> bool:
    return (
        node.get("symbolsStyle") != "0"
        and _number(node.get("opacity")) >= _SEEN
        and _number(node.get("size")) > 0
        and (node.get("brush_style") != "0" or node.get("style") != "0")
    )


def _name(names: tuple[str, ...], number: str | None) -> str:
    return {str(k): name for k, name in enumerate(names)}.get(number or "", str(number))


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _label(node: Element | None) -> str:
    """The text of a label that is shown, without its format; empty where it is hidden. Raises CheckFailed."""
    if node is None or not _on(node.find("geometry")):
        return ""
    text, reader = node.findtext("text") or "", _Words()
    if len(text) > _LONGEST:  # some texts take the parser a time that grows with their square
        raise CheckFailed(f"a label's text has {len(text)} characters; at most {_LONGEST} are read")
    try:
        reader.feed(text)
        reader.close()
    except AssertionError as error:  # of html.parser
        raise CheckFailed(f"a label's text is no HTML: {error}") from None
    return " ".join("".join(reader.words).split())


class _Words(HTMLParser):
    """Collects the text of HTML as Qt writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("head", "style")
        if tag in ("p", "br"):
            self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("head", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def _parts(root: Element, tag: str) -> Iterator[tuple[str, Element]]:
    """All spreadsheets, or all worksheets, that LabPlot would read, with their paths as it writes them."""
    stack = [(root, str(root.get("name")))]
    while stack:
        node, path = stack.pop()
        for child in [*node.findall("child_aspect/*"), *(node if node.tag == "workbook" else ())]:
            place = f"{path}/{child.get('name')}"
            if child.tag == tag:
                yield place, child
            elif child.tag in ("folder", "workbook"):
                stack.append((child, place))


def _values(node: Element, path: str) -> list[float] | None:
    kind = _FORMATS.get(node.get("mode", ""))
    if kind is None or node.find("mask") is not None:
        return None
    text = "".join([node.text or "", *(child.tail or "" for child in node)])
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
        return [float(value) for (value,) in struct.iter_unpack(f"<{kind}", data)]
    except (ValueError, struct.error) as error:
        raise CheckFailed(f"the column {path!r} is damaged: {error}") from None
