"""Programs made with Qt: tabs, text fields and the file dialog."""

from __future__ import annotations

from collections.abc import Iterable

from deskgym.envs.action.actions import Action
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node
from deskgym.task_suites.programs.toolkits.scripts import click

_RETURN = [{"t": "keydown", "k": "enter"}, {"t": "keyup", "k": "enter"}]


def find_tabs(root: Node, titles: Iterable[str]) -> Node:
    """The list of tabs that has these titles; its name is that of the tab in front.

    Raises:
        LookupError: there is none.
    """
    wanted = set(titles)
    for tabs in root.find_all("page tab list"):
        if {child.name for child in tabs.children} >= wanted:
            return tabs
    raise LookupError(f"there is no list of the tabs {sorted(wanted)}")


def show_tab(program: AccessibleProgram, tabs: Node, title: str) -> None:
    """Bring a tab to the front, and wait until it is there; does nothing where it is."""
    now = program.look(tabs)
    if now.name != title:
        program.press(now.find("page tab", title))
        program.wait(f"the tab {title!r}", lambda node: node.name == title, tabs)


def enter(program: AccessibleProgram, edit: Node, text: str | None = None) -> None:
    """Press Return in a text field, with another text in it if one is given."""
    if text is not None:
        program.set_text(edit, text)
    program.focus(edit)
    program.wait("the input's focus", lambda node: "focused" in node.states, edit)
    program.machine.display.perform(_RETURN, SettlePolicy())


def rows(table: Node, columns: int = 2) -> list[list[Node]]:
    """A table's cells by row; its header is left out."""
    cells = [node for node in table.children if node.role == "table cell"]
    return [cells[k : k + columns] for k in range(0, len(cells) - columns + 1, columns)]


def choose_tab(screen: Screen, title: str) -> Bursts:
    """Click a tab, unless it is in front; as a macro."""
    if not screen.find_all(role="page tab list", name=title):
        yield [click(screen.find(role="page tab", name=title))]


def choose_file(screen: Screen, path: str) -> Bursts:
    """Type a path into the file dialog, whose text field has the focus; as a macro."""
    screen.find(role="push button", name="Cancel")
    yield [Action("type", text=f"{path}\n")]
