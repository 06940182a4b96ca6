"""What a person does in Geany with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.toolkits.scripts import click


def _text(screen: Screen) -> Element:
    """The file's text: the largest of the window's texts, which are also fields of the tool bar."""
    screen.find(role="text", window="*Geany")
    return max(screen.find_all(role="text", window="*Geany"), key=lambda element: element.width * element.height)


def _shows(screen: Screen, path: str) -> None:
    folder, name = posixpath.split(path.replace("~", "/home/user", 1))
    screen.find(role="frame", name=f"{name} - *Geany")


def load(screen: Screen, path: str) -> Bursts:
    """Open a file by the dialog of Ctrl+O, in which its path is typed."""
    yield [click(_text(screen)), Action("press", keys=("ctrl", "o"))]
    screen.find(role="file chooser", name="Open File")
    yield [Action("type", text=path)]
    screen.find(role="text", window="Open File", text=path)
    yield [Action("press", keys=("enter",))]
    _shows(screen, path)


def write(screen: Screen, text: str) -> Bursts:
    """Replace the whole text of the file in front, and save it."""
    yield [click(_text(screen)), Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    yield from save(screen)


def append(screen: Screen, text: str) -> Bursts:
    """Type a text at the end of the file in front, and save it."""
    yield [click(_text(screen)), Action("press", keys=("ctrl", "end")), Action("type", text=text)]
    yield from save(screen)


def create(screen: Screen, path: str, text: str) -> Bursts:
    """Write a new file, and save it at a path that is typed into the dialog."""
    yield [click(_text(screen)), Action("press", keys=("ctrl", "n"))]
    screen.find(role="frame", name="untitled - *Geany")
    yield [Action("type", text=text), Action("press", keys=("ctrl", "s"))]
    screen.find(role="file chooser", name="Save File")
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=path)]
    screen.find(role="text", window="Save File", text=path)
    yield [Action("press", keys=("enter",))]
    _shows(screen, path)


def replace(screen: Screen, old: str, new: str) -> Bursts:
    """Replace a text wherever it stands in the file in front, by the dialog of Ctrl+H, and save the file."""
    yield [click(_text(screen)), Action("press", keys=("ctrl", "h"))]
    dialog = screen.find(role="dialog", name="Replace")
    entries = [entry for entry in screen.find_all(role="text", window=dialog.name) if entry.width > 0]
    for entry, text in zip(sorted(entries, key=lambda element: element.y), (old, new), strict=True):
        yield [click(entry), Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    if not screen.find_all(role="push button", name="In Document", window="Replace"):
        folded = screen.find(role="toggle button", name="Replace All", window="Replace")
        yield [Action("click", folded.x + 10, folded.center[1])]  # its label; the rest of the line takes no click
    yield [click(screen.find(role="push button", name="In Document", window="Replace"))]
    yield from save(screen)


def save(screen: Screen) -> Bursts:
    """Save the file in front."""
    yield [Action("press", keys=("ctrl", "s"))]
    screen.find(role="frame", name="[!*]* - *Geany")  # a star stands before what is not saved


MACROS: Mapping[str, Callable[..., Bursts]] = {
    f"geany.{macro.__name__}": macro for macro in (load, write, append, create, replace, save)
}
"""By the names that task files use."""
