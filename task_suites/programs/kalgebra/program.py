"""KAlgebra as Debian ships it: how it is started, and brought into a task's initial state.

What is done here is done through accessibility and the keyboard, as any user could, on the unmodified program; each
step waits for what it brings about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.core.warm_caches import give_caches, keep_caches
from deskgym.task_suites.programs.toolkits import qt

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

_OUTLINE: dict[str, Any] = {"outline": True, "closed": ["list"]}  # its parts are in no list, and the dictionary is long
_PAINTED = SettlePolicy(quiet_ms=250, cap_ms=2500)  # software OpenGL takes 120-600 ms for a surface
_TOOLTIP = 80
_SMALLEST = 50


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
    argv = ["kalgebra", *_geometry(machine.display.size)]
    warm = give_caches(machine, APP)
    machine.guest.call("launch", 40.0, argv=argv, env=ENVIRONMENT, wait={"app": APP}, timeout=30.0)
    program = AccessibleProgram(machine, APP)
    kalgebra = program.wait("its window", lambda root: KAlgebra(program, root), timeout=20.0, **_OUTLINE)
    for name, expression in (variables or {}).items():
        kalgebra.set_variable(name, expression)
    for expression in functions:
        kalgebra.add_function(expression)
    if surface is not None:
        kalgebra.plot_surface(surface)
    kalgebra.show_tab(tab)
    machine.display.perform([], SettlePolicy(quiet_ms=60, cap_ms=1500))
    if not warm:
        keep_caches(machine, APP)


def _geometry(screen: tuple[int, int]) -> list[str]:
    """Options that give KAlgebra's window a size: none where its own, 900 x 500, fits; else as large as the screen."""
    width, height = screen
    if width >= 940 and height >= 560:
        return []
    return ["-qwindowgeometry", f"{min(900, width - 10)}x{min(500, height - 30)}+5+25"]


class KAlgebra:
    """A running KAlgebra: where its parts are in the tree, and what can be done without looking at the screen.

    All parts are there from the start, hidden or not, and stay the same objects; they are found once.

    Args:
        program: the program, as accessibility shows it.
        root: its whole accessibility tree.

    Raises:
        LookupError: a part is not in the tree, as while KAlgebra starts.
    """

    def __init__(self, program: AccessibleProgram, root: Node) -> None:
        self.program = program
        self.machine = program.machine
        self.menu_bar = root.find("menu bar")
        self.tabs = qt.find_tabs(root, TABS.values())
        pages = _pages(root)
        self.log = pages[0]
        self.calculator_input = pages[0].find("text")
        self.surface_input = pages[2].find("text")
        views = [node for node in pages[2].children if node.role == "filler"]
        if not views:
            raise LookupError("KAlgebra has no 3D view")
        self.surface_view = views[0]
        functions = root.find("frame", "Functions")
        self.variables = root.find("frame", "Variables").find("tree")
        self.functions = functions.find("tree")
        self.function_tabs = qt.find_tabs(functions, ["List", "Viewport"])
        self.viewport = functions.find_all("spin button")
        form = functions.parent_of(functions.find("push button", "OK"))
        self.function_input = form.find("text", nth=1)  # the first one is the hidden name
        self.function_ok = form.find("push button", "OK")

    @classmethod
    def find(cls, machine: Machine) -> KAlgebra | None:
        """The KAlgebra that the setup started, when all others have been ended; None if it has ended itself.

        Raises:
            SetupError: it runs, but its window is not as it should be.
        """
        program = AccessibleProgram(machine, APP)
        program.end_others()
        root = program.tree(**_OUTLINE)
        if root is None:
            return None
        try:
            return cls(program, root)
        except LookupError:
            return program.wait("its window", lambda root: cls(program, root), timeout=3.0, **_OUTLINE)

    def show_tab(self, tab: Tab) -> None:
        """Bring a tab to the front."""
        qt.show_tab(self.program, self.tabs, TABS[tab])

    def set_variable(self, name: str, expression: str) -> None:
        """Evaluate ``name := expression`` in the calculator."""
        self.show_tab("calculator")
        qt.enter(self.program, self.calculator_input, f"{name}:={expression}")
        self.program.wait(f"the variable {name!r}", lambda table: table.find_all(name=name), self.variables)

    def add_function(self, expression: str) -> None:
        """Plot a function in the 2D graph through the Add form."""
        self.show_tab("2d")
        before = len(qt.rows(self.program.look(self.functions)))
        for tab in ("List", "Add"):  # from List to Add: else the form would not make up a name
            self.show_function_tab(tab)
        self.program.set_text(self.function_input, expression)
        self.program.wait(
            f"acceptance of the function {expression!r}", lambda ok: "enabled" in ok.states, self.function_ok
        )
        self.program.press(self.function_ok)
        self.program.wait(
            f"the function {expression!r} in the list", lambda table: len(qt.rows(table)) > before, self.functions
        )

    def show_function_tab(self, name: str) -> None:
        """Bring one of the tabs below the functions to the front: List, Add, Variables, Viewport."""
        qt.show_tab(self.program, self.function_tabs, name)

    def picture(self) -> NDArray[np.uint8]:
        """The 3D picture, without its lowest pixels, where a tooltip may lie.

        Raises:
            SetupError: it is not on the screen.
        """
        display = self.machine.display
        display.perform([], _PAINTED)
        x, y, width, height = self.program.look(self.surface_view).extents
        view = display.capture()[max(y, 0) : max(y + height - _TOOLTIP, 0), max(x, 0) : max(x + width, 0)]
        if min(view.shape[:2]) < _SMALLEST:
            raise SetupError(f"KAlgebra's 3D view of {width}x{height} pixels at ({x}, {y}) is not on the screen")
        return view.copy()

    def plot_surface(self, expression: str) -> None:
        """Plot a surface in the 3D graph."""
        self.show_tab("3d")
        qt.enter(self.program, self.surface_input, expression)
        self.machine.display.perform([], _PAINTED)

    def submit_surface(self, expression: str | None = None) -> None:
        """Press Return in the 3D graph's input, with another expression in it if one is given."""
        qt.enter(self.program, self.surface_input, expression)


def _pages(root: Node) -> list[Node]:
    """What is behind the four tabs: their pages lie beside their list."""
    for node in root.walk():
        if any(child.role == "page tab list" and child.name in TABS.values() for child in node.children):
            pages = node.children[0]
            while len(pages.children) == 1:
                pages = pages.children[0]
            if len(pages.children) >= len(TABS):
                return pages.children
    raise LookupError("KAlgebra has no tab pages")
