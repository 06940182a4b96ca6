"""KAlgebra as Debian ships it: how it is started, and brought into a task's initial state.

What is done here is done through accessibility and the keyboard, as any user could, on the unmodified program; each
step waits for what it brings about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from deskgym.envs.accessible import AccessibleProgram, Node
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.task import Setup

APP = "kalgebra"
TABS = {"calculator": "Calculator", "2d": "2D Graph", "3d": "3D Graph", "dictionary": "Dictionary"}
"""The program's tabs, by the short names that task files use."""

Tab = Literal["calculator", "2d", "3d", "dictionary"]

ENVIRONMENT = {
    "QTWEBENGINE_DISABLE_SANDBOX": "1",  # Chromium's own sandbox needs privileges that the machine does not give
    "QTWEBENGINE_CHROMIUM_FLAGS": "--force-renderer-accessibility --no-zygote --disable-gpu",
    "QT_HASH_SEED": "0",  # the order of the variables' rows would differ from start to start
}
"""What KAlgebra needs beside the desktop's own environment: without the first flag the log has no accessible text."""

_RETURN = [{"t": "keydown", "k": "enter"}, {"t": "keyup", "k": "enter"}]


def program(machine: Machine) -> AccessibleProgram:
    """The running KAlgebra of a machine."""
    return AccessibleProgram(machine, APP)


def open_(
    setup: Setup,
    tab: Tab = "calculator",
    variables: Mapping[str, str] | None = None,
    functions: Sequence[str] = (),
    surface: str | None = None,
) -> None:
    """Start KAlgebra and bring it into a state.

    Args:
        setup: the machine.
        tab: which tab is in front at the end.
        variables: by name, entered in the calculator.
        functions: plotted in the 2D graph, in order.
        surface: plotted in the 3D graph.

    Raises:
        SetupError: it did not come up, or did not take what it was given.
    """
    machine = setup.machine
    machine.guest.call("launch", 40.0, argv=["kalgebra"], env=ENVIRONMENT, wait={"app": APP}, timeout=30.0)
    running = program(machine)
    running.wait("its window", lambda root: _ready(root), 20.0)
    for name, expression in (variables or {}).items():
        set_variable(running, name, expression)
    for expression in functions:
        add_function(running, expression)
    if surface is not None:
        plot_surface(running, surface)
    show_tab(running, tab)
    machine.display.perform([], SettlePolicy(quiet_ms=60, cap_ms=1500))


def _ready(root: Node) -> bool:
    root.find("page tab", "Calculator")
    calculator_input(root)
    variables_table(root)
    return True


# Where things are in the tree


def current_tab(root: Node) -> str:
    """The name of the tab in front."""
    return tab_list(root).name


def tab_list(root: Node) -> Node:
    """The list of KAlgebra's four tabs."""
    for tabs in root.find_all("page tab list"):
        if {child.name for child in tabs.children} >= set(TABS.values()):
            return tabs
    raise LookupError("KAlgebra has no list of tabs")


def calculator_input(root: Node) -> Node:
    """Where expressions are typed in the calculator: the text beside the log."""
    return _pane(root, 0).find("text")


def surface_input(root: Node) -> Node:
    """Where the surface's expression is typed."""
    return _pane(root, 2).find("text")


def surface_view(root: Node) -> Node:
    """The 3D picture, below its input."""
    pane = _pane(root, 2)
    return next(node for node in pane.children if node.role == "filler")


def _pane(root: Node, number: int) -> Node:
    """What is behind the number-th tab: the tabs' pages lie beside their list."""
    for node in root.walk():
        if any(child.role == "page tab list" and child.name in TABS.values() for child in node.children):
            pages = next(child for child in node.children if child.role != "page tab list")
            while len(pages.children) == 1:
                pages = pages.children[0]
            return pages.children[number]
    raise LookupError("KAlgebra has no tab pages")


def dock(root: Node, name: str) -> Node:
    """A dock: ``"Functions"``, ``"Variables"`` or ``"Operations"``."""
    return root.find("frame", name)


def variables_table(root: Node) -> Node:
    """The table of the variables: rows of name and value."""
    return dock(root, "Variables").find("tree")


def functions_tabs(root: Node) -> Node:
    """The tabs List, Add (Editing), Variables, Viewport below the functions."""
    for tabs in dock(root, "Functions").find_all("page tab list"):
        if {child.name for child in tabs.children} >= {"List", "Viewport"}:
            return tabs
    raise LookupError("KAlgebra's functions have no tabs")


def functions_table(root: Node) -> Node:
    """The table of the plotted functions: rows of name and expression."""
    return dock(root, "Functions").find("tree")


def rows(table: Node, columns: int = 2) -> list[list[Node]]:
    """A table's cells by row; its header is left out."""
    cells = [node for node in table.children if node.role in ("table cell", "tree item", "list item")]
    return [cells[k : k + columns] for k in range(0, len(cells) - columns + 1, columns)]


# What can be done without looking at the screen


def show_tab(running: AccessibleProgram, tab: Tab) -> Node:
    """Bring a tab to the front; gives the tree then."""
    name = TABS[tab]

    def in_front(root: Node) -> Node | None:
        return root if current_tab(root) == name else None

    root = running.wait("its window", lambda root: root if tab_list(root) else None)
    if current_tab(root) != name:
        running.press(tab_list(root).find("page tab", name))
        root = running.wait(f"the tab {name!r}", in_front)
    return root


def set_variable(running: AccessibleProgram, name: str, expression: str) -> None:
    """Evaluate ``name := expression`` in the calculator."""
    root = show_tab(running, "calculator")
    _enter(running, calculator_input(root), f"{name}:={expression}")
    running.wait(
        f"the variable {name!r}",
        lambda root: any(row[0].name == name for row in rows(variables_table(root))),
    )


def add_function(running: AccessibleProgram, expression: str) -> None:
    """Plot a function in the 2D graph through the Add form."""
    root = show_tab(running, "2d")
    before = len(rows(functions_table(root)))
    running.press(functions_tabs(root).children[0])
    running.press(functions_tabs(root).children[1])
    edit = _function_editor(running.wait("the Add form", lambda root: root if _function_editor(root) else None))
    running.set_text(edit["expression"], expression)

    def ok(root: Node) -> Node | None:
        button = _function_editor(root)["ok"]
        return button if "enabled" in button.states else None

    running.press(running.wait(f"acceptance of the function {expression!r}", ok))
    running.wait(
        f"the function {expression!r} in the list", lambda root: len(rows(functions_table(root))) == before + 1
    )


def _function_editor(root: Node) -> dict[str, Node]:
    """The Add form's parts: its texts are the hidden name, then the expression."""
    functions = dock(root, "Functions")
    for form in functions.walk():
        buttons = [child for child in form.children if child.role == "push button" and child.name == "OK"]
        if buttons:
            texts = [child for child in form.children if child.role == "text"]
            return {"expression": texts[1], "ok": buttons[0]}
    raise LookupError("KAlgebra shows no form for a function")


def plot_surface(running: AccessibleProgram, expression: str) -> None:
    """Plot a surface in the 3D graph."""
    root = show_tab(running, "3d")
    _enter(running, surface_input(root), expression)
    running.machine.display.perform([], SettlePolicy(quiet_ms=150, cap_ms=2000))


def _enter(running: AccessibleProgram, edit: Node, text: str) -> None:
    """Put a text into an input and press Return in it."""
    running.set_text(edit, text)
    running.focus(edit)
    running.wait(
        "the input's focus",
        lambda root: any(node.ref == edit.ref and "focused" in node.states for node in root.walk()),
    )
    running.machine.display.perform(_RETURN, SettlePolicy())
