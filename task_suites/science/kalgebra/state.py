"""KAlgebra's state as JSON-able data, read through accessibility and the screen from the unmodified program.

Each reader takes the machine and gives None when KAlgebra does not run any more. They press tabs to see what is behind
them, so ``front`` must be read first; ``FinalState.read_once`` and the checks see to that.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.accessible import Node
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.science.kalgebra.expressions import ExpressionError, evaluate, parse
from deskgym.task_suites.science.kalgebra.program import (
    TABS,
    current_tab,
    dock,
    functions_table,
    functions_tabs,
    program,
    rows,
    show_tab,
    surface_input,
    surface_view,
    variables_table,
)

RESOLUTIONS = {"Poor": 416, "Normal": 832, "Fine": 1664, "Very Fine": 3328}
"""The 2D menu's resolutions, with the numbers that KAlgebra's source gives them (ScienceBoard's ``res``)."""

STYLES = {"Solid": 0, "Dots": 1, "Lines": 2}
"""The 3D menu's styles, with Analitza's numbers (ScienceBoard's ``style``; its task B-06 shows that Lines is 2)."""

_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*:=")
_SWATCH_X = 30  # the colour swatch's middle, in pixels from the left edge of a function's name cell
_TOOLTIP = 80  # the lowest pixels of the 3D view, where a tooltip may lie
_PAINTED = SettlePolicy(quiet_ms=250, cap_ms=2500)  # software OpenGL takes 120-600 ms for a surface


def front(machine: Machine) -> dict[str, Any] | None:
    """What shows without touching anything: the tab, the mode and the checked menu items."""
    root = program(machine).tree()
    if root is None:
        return None
    checked = {node.name for node in root.walk() if "checked" in node.states and node.role.endswith("menu item")}
    short = {name: tab for tab, name in TABS.items()}
    return {
        "tab": short.get(current_tab(root), current_tab(root)),
        "mode": "calculate" if "Calculate" in checked else "evaluate",
        "grid": any(name in checked for name in ("Grid", "Draw Grid")),
        "aspect": "Keep Aspect Ratio" in checked,
        "resolution": next((number for name, number in RESOLUTIONS.items() if name in checked), None),
        "style": next((name for name in STYLES if name in checked), None),
    }


def calculator(machine: Machine) -> dict[str, Any] | None:
    """Variables and log: ``{"variables": {name: value text}, "log": [{"input", "result"}, ...]}``."""
    running = program(machine)
    if running.tree() is None:
        return None
    root = show_tab(running, "calculator")
    log = running.wait("the calculator's log", _log, 3.0)
    variables = {row[0].name or row[0].text: row[1].name or row[1].text for row in rows(variables_table(root))}
    variables.pop("", None)
    return {"variables": _with_complex(variables, log), "log": log}


def _log(root: Node) -> list[dict[str, str]] | None:
    """The evaluations in order; errors have the result ``"error: ..."``."""
    documents = root.find_all("document web")
    if not documents:
        return None
    entries = []
    for node in documents[0].walk():
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


def plots(machine: Machine) -> dict[str, Any] | None:
    """The 2D graph: ``{"functions": [{"name", "expression", "shown", "color"}, ...], "viewport": {...}}``."""
    running = program(machine)
    if running.tree() is None:
        return None
    root = show_tab(running, "2d")
    tabs = functions_tabs(root)
    if tabs.name != "List":
        running.press(tabs.children[0])
        root = running.wait("the list of functions", lambda root: root if functions_tabs(root).name == "List" else None)
    machine.display.perform([{"t": "move", "x": 1, "y": 1}], SettlePolicy(quiet_ms=60, cap_ms=1000))
    screen = machine.display.capture()
    functions = [
        {
            "name": name.name or name.text,
            "expression": expression.name or expression.text,
            "shown": "checked" in name.states,
            "color": _swatch(screen, name),
        }
        for name, expression in rows(functions_table(root))
    ]
    return {"functions": functions, "viewport": _viewport(root)}


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


def _viewport(root: Node) -> dict[str, float]:
    """The four numbers of the Viewport form."""
    spins = [node for node in dock(root, "Functions").find_all("spin button") if node.value]
    return {name: float(spin.value) for name, spin in zip(("top", "left", "width", "height"), spins[:4], strict=False)}


def space(machine: Machine) -> dict[str, Any] | None:
    """The 3D graph: ``{"expression": text, "plotted": whether the picture is that of the text}``.

    The text alone does not prove that it was submitted. Return submits it again, and the picture, from the same point
    of view, stays the same exactly if it had been.
    """
    running = program(machine)
    if running.tree() is None:
        return None
    root = show_tab(running, "3d")
    edit = surface_input(root)
    if not edit.text.strip():
        return {"expression": "", "plotted": False}
    machine.display.perform([{"t": "move", "x": 1, "y": 1}], SettlePolicy())
    running.press(root.find("menu item", "Reset View"))
    before = _picture(machine, root)
    running.focus(edit)
    machine.display.perform([{"t": "keydown", "k": "enter"}, {"t": "keyup", "k": "enter"}], SettlePolicy())
    after = _picture(machine, root)
    return {"expression": edit.text, "plotted": bool(np.array_equal(before, after))}


def _picture(machine: Machine, root: Node) -> NDArray[np.uint8]:
    machine.display.perform([], _PAINTED)
    x, y, width, height = surface_view(root).extents
    return machine.display.capture()[max(y, 0) : y + height - _TOOLTIP, max(x, 0) : x + width].copy()
