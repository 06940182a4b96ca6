"""KAlgebra's state as JSON-able data, read through accessibility and the screen from the unmodified program.

Readers press tabs to see what is behind them, so ``front`` must be read first; ``FinalState.read_once`` and the checks
see to that.
"""

from __future__ import annotations

import math
import re
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import Node
from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError
from deskgym.task_suites.programs.kalgebra.language.evaluator import evaluate
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.program import TABS, KAlgebra
from deskgym.task_suites.programs.toolkits import qt

RESOLUTIONS = {"Poor": 416, "Normal": 832, "Fine": 1664, "Very Fine": 3328}
"""The 2D menu's resolutions, with the numbers that KAlgebra's source gives them (ScienceBoard's ``res``)."""

STYLES = {"Solid": 0, "Dots": 1, "Lines": 2}
"""The 3D menu's styles, with Analitza's numbers (ScienceBoard's ``style``; its task B-06 shows that Lines is 2)."""

_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*:=")
_SWATCH_X = 30  # the colour swatch's middle, in pixels from the left edge of a function's name cell
_PROBES = ("(x,y)->x+y", "(x,y)->x-y")
_ASIDE = [{"t": "move", "x": 1, "y": 1}]  # where the pointer hides nothing
_BLANK = 0.3  # seconds, in a machine as fast as its host
_STILL = SettlePolicy(quiet_ms=60, cap_ms=1000)


def front(kalgebra: KAlgebra) -> dict[str, Any]:
    """What shows without touching anything: the tab, the mode and the checked menu items."""
    checked = {node.name for node in kalgebra.menu_bar.walk() if "checked" in node.states}
    short = {name: tab for tab, name in TABS.items()}
    return {
        "tab": short.get(kalgebra.tabs.name, kalgebra.tabs.name),
        "mode": "calculate" if "Calculate" in checked else "evaluate",
        "grid": "Grid" in checked,
        "aspect": "Keep Aspect Ratio" in checked,
        "resolution": next((number for name, number in RESOLUTIONS.items() if name in checked), None),
        "style": next((name for name in STYLES if name in checked), None),
    }


def calculator(kalgebra: KAlgebra) -> dict[str, Any]:
    """Variables and log: ``{"variables": {name: value text}, "log": [{"input", "result"}, ...]}``."""
    kalgebra.show_tab("calculator")
    kalgebra.machine.display.perform(_ASIDE, _STILL)  # the log comes after the variables
    log = kalgebra.program.wait("the calculator's log", _LogReader(kalgebra.machine), kalgebra.log, 3.0)[0]
    table = kalgebra.program.look(kalgebra.variables)
    variables = {name.name: value.name for name, value in qt.rows(table) if name.name}
    return {"variables": _with_complex(variables, log), "log": log}


class _LogReader:
    """Reads the log in its page: ``(entries,)``.

    Before anything is entered, a click into the log takes its empty document away until something is. While the log is
    written the document is away for a moment, too; so one that is missing counts as an empty log only where the view
    has stayed blank for a while.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine, self._blank_since = machine, math.inf

    def __call__(self, page: Node) -> tuple[list[dict[str, str]]]:
        try:
            return (_log(page),)
        except LookupError:
            now = time.monotonic()
            self._blank_since = min(self._blank_since, now) if self._blank(page.children[0]) else math.inf
            if now - self._blank_since < _BLANK * self._machine.slowness:
                raise
            return ([],)

    def _blank(self, view: Node) -> bool:
        x, y, width, height = view.extents
        pixels = self._machine.display.capture()[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)]
        return pixels.size > 0 and bool((pixels == pixels[0, 0]).all())


def _log(page: Node) -> list[dict[str, str]]:
    """The evaluations in order; errors have the result ``"error: ..."``.

    Raises:
        LookupError: it is being written.
    """
    entries = []
    for node in page.find("document web").walk():
        if node.role == "paragraph":
            links = [link.name for link in node.find_all("link")]
            if links:
                entries.append({"input": links[0], "result": links[1] if len(links) > 1 else ""})
        elif node.role == "list" and node.children:
            words = [leaf.name or leaf.text for leaf in node.walk() if not leaf.children]
            entries.append({"input": "", "result": "error: " + " ".join(word for word in words if word)})
    return entries


def _with_complex(variables: dict[str, str], log: list[dict[str, str]]) -> dict[str, str]:
    """The variables, with complex values from the log: the table shows the real part only."""
    values = dict(variables)
    for entry in log:
        assigned = _ASSIGNMENT.match(entry["input"])
        if assigned is None or assigned.group(1) not in variables:
            continue
        name, shown = assigned.group(1), variables[assigned.group(1)]
        try:
            result = evaluate(parse(entry["result"]))
            table = evaluate(parse(shown))
        except ExpressionError:
            continue
        if isinstance(result, complex) and isinstance(table, (int, float)) and abs(result.real - table) <= 1e-6:
            values[name] = entry["result"]
        else:
            values[name] = shown
    return values


def plots(kalgebra: KAlgebra) -> dict[str, Any]:
    """The 2D graph: ``{"functions": [{"name", "expression", "shown", "color"}, ...], "viewport": {...}}``."""
    kalgebra.show_tab("2d")
    kalgebra.show_function_tab("List")
    kalgebra.machine.display.perform(_ASIDE, _STILL)
    screen = kalgebra.machine.display.capture()
    look = kalgebra.program.look
    functions = [
        {
            "name": name.name,
            "expression": expression.name,
            "shown": "checked" in name.states,
            "color": _swatch(screen, name),
        }
        for name, expression in qt.rows(look(kalgebra.functions))
    ]
    numbers = zip(("top", "left", "width", "height"), kalgebra.viewport, strict=True)
    return {"functions": functions, "viewport": {name: float(look(spin).value or "nan") for name, spin in numbers}}


def _swatch(screen: NDArray[np.uint8], cell: Node) -> str | None:
    """The colour of a function's swatch as ``#rrggbb``; None where it is not on the screen."""
    x, y = cell.extents[0] + _SWATCH_X, cell.extents[1] + cell.extents[3] // 2
    if not (0 <= y < screen.shape[0] and 0 <= x < screen.shape[1]):
        return None
    color = screen[y, x].astype(float)
    if "selected" in cell.states:  # the selection's blue lies over it
        color = (color - 0.3 * np.array([48, 140, 198])) / 0.7
    red, green, blue = (int(round(float(part))) for part in np.clip(color, 0, 255))
    return f"#{red:02x}{green:02x}{blue:02x}"


def space(kalgebra: KAlgebra) -> dict[str, Any]:
    """The 3D graph: ``{"expression": text, "plotted": whether the picture is that of the text}``.

    The text alone does not prove that it was submitted. Return submits it again, and the picture, from the same point
    of view, stays the same exactly if it had been. That the picture is KAlgebra's own is shown by its following two
    other expressions.

    Raises:
        SetupError: the picture cannot be seen, or does not follow.
    """
    kalgebra.show_tab("3d")
    text = kalgebra.program.look(kalgebra.surface_input).text
    if not text.strip():
        return {"expression": "", "plotted": False}
    kalgebra.machine.display.perform(_ASIDE, _STILL)
    kalgebra.program.press(kalgebra.menu_bar.find("menu item", "Reset View"))
    before = kalgebra.picture()
    kalgebra.submit_surface()
    plotted = bool(np.array_equal(before, kalgebra.picture()))
    if plotted:
        kalgebra.submit_surface(_PROBES[0])
        first = kalgebra.picture()
        kalgebra.submit_surface(_PROBES[1])
        if np.array_equal(first, kalgebra.picture()):
            raise SetupError("KAlgebra's 3D view does not follow what is entered")
    return {"expression": text, "plotted": plotted}
