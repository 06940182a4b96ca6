"""What a person does in TeXstudio with mouse and keyboard, as macros for oracles and wrong attempts.

Accessibility shows no text of the editor: its place is below the tabs of the documents, and it has the focus at first.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.deadline import Deadline
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.qt import choose_file

_SLOW = 60.0  # seconds


def write(screen: Screen, text: str) -> Bursts:
    """Replace the whole text of the document in front, and save it."""
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    yield from save(screen)


def insert(screen: Screen, at: int, text: str) -> Bursts:
    """Type a text at the start of a line, and save the document."""
    yield from _go(at)
    yield [Action("type", text=text)]
    yield from save(screen)


def put(screen: Screen, at: int, text: str) -> Bursts:
    """Type a text in place of a line, and save the document."""
    yield from type_(screen, at, text)
    yield from save(screen)


def type_(screen: Screen, at: int, text: str) -> Bursts:
    """Type a text in place of a line, and leave it unsaved."""
    yield from _go(at)
    yield [Action("press", keys=("shift", "end")), Action("type", text=text)]


def load(screen: Screen, path: str) -> Bursts:
    """Open another file, which is in front then."""
    yield [Action("press", keys=("ctrl", "o"))]
    yield from choose_file(screen, path)
    screen.find(role="page tab", name=posixpath.basename(path), state="focused")


def compile_(screen: Screen, fails: bool = False) -> Bursts:
    """Compile the document with F6, and wait until that has ended well, or else until the log names an error."""
    yield [Action("press", keys=("f6",))]
    if fails:
        screen.find(role="table cell", name="error", timeout=_SLOW)
    else:
        screen.find(role="text", text="*Process exited normally*", timeout=_SLOW)


def save(screen: Screen) -> Bursts:
    """Save the document in front, again until it stays saved: a shortcut overtakes what is still being typed."""
    deadline, still = Deadline(_SLOW), False
    while not still:
        if deadline.over:
            raise SetupError(f"TeXstudio did not save within {_SLOW:g} s")
        yield [Action("press", keys=("ctrl", "s")), Action("wait", seconds=0.4)]
        if still := not _changed(screen):
            yield [Action("wait", seconds=0.4)]
            still = not _changed(screen)


def _changed(screen: Screen) -> bool:
    """Whether the document has changes that are not saved."""
    return "enabled" in screen.find(role="push button", name="Save").states


def _go(at: int) -> Bursts:
    yield [Action("press", keys=("ctrl", "home")), *[Action("press", keys=("down",))] * (at - 1)]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "texstudio.write": write,
    "texstudio.insert": insert,
    "texstudio.put": put,
    "texstudio.type": type_,
    "texstudio.load": load,
    "texstudio.compile": compile_,
    "texstudio.save": save,
}
"""By the names that task files use."""
