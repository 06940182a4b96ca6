"""ScienceBoard's tasks about TeXstudio: their setup, their checks, and how they are played."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, FinalState, Screen
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.task import Hook
from deskgym.task_suites.hooks import files
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask
from deskgym.task_suites.programs import load_program

TEXSTUDIO = load_program("texstudio")
KALGEBRA = load_program("kalgebra")
_SETUP = ("launch", "opt", "touch")
_PROGRAMS = {"texstudio": TEXSTUDIO, "kalgebra": KALGEBRA}
_BESIDE = " -> "


def reasons(task: UpstreamTask) -> list[str]:
    """What of a task deskgym does not do."""
    strange = sorted({item.func for item in task.initialize if item.func not in _SETUP})
    found = [f"deskgym does not do {name!r} in TeXstudio's setup" for name in strange]
    if not found and _document(task) not in _texts(task):
        found.append(f"its setup does not write {_document(task)}")
    return found


def needs(task: UpstreamTask) -> Needs:
    """What its programs need."""
    return Needs.merged(*(_PROGRAMS[name].all_needs for name in _launched(task)))


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: all files, and then the programs in upstream's order."""
    texts, document = _texts(task), _document(task)
    made = [
        Hook("touch", partial(files.write, path=path, text=text)) for path, text in texts.items() if path != document
    ]
    for name in _launched(task):
        program = _PROGRAMS[name]
        given = {"path": document, "text": texts[document]} if name == "texstudio" else {}
        made.append(Hook("launch", partial(program.hooks[f"{name}.open"], **given)))
    return made


def test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    """What decides about one of its own kinds of items; None for another one."""
    if item.type == "compile":
        path = f"{item['path']}/{item['file']}.tex"
        beside = [name for name in map(_beside(path), _texts(task)) if name]
        return partial(TEXSTUDIO.checks["texstudio.pdf"], path=path, files=beside)
    if item.type == "file":
        text = _texts(task).get(item["path"], "").replace(item["source"], item["target"])
        return partial(_equals, path=item["path"], text=text)
    if item.type == "include":
        return partial(_includes, path=item["path"], pattern=item["pattern"])
    return None


def moves(task: UpstreamTask) -> list[Callable[[Screen], Bursts]] | None:
    """What solves it, but for how it ends; None where the file does not say how."""
    return _typed(task, _right(task))


def wrong_moves(task: UpstreamTask) -> dict[str, list[Callable[[Screen], Bursts]]]:
    """Plausible ways to get it wrong."""
    typed = _typed(task, [(old, f"{new}{new[-1:]}") for old, new in _right(task) or []])
    return {"slightly off": typed} if typed else {}


def _right(task: UpstreamTask) -> list[tuple[str, str]] | None:
    """What is replaced by what; None where the file does not say it."""
    named = [(item["source"], item["target"]) for item in task.evaluate if item.type == "file"]
    ans = (task.ans or "").partition(_BESIDE)
    if not named and ans[1]:
        named = [(ans[0].strip(), ans[2].strip())]
    return named if named or task.stop else None


def _typed(task: UpstreamTask, pairs: Sequence[tuple[str, str]] | None) -> list[Callable[[Screen], Bursts]] | None:
    if pairs is None:
        return None
    text = new = _texts(task)[_document(task)]
    for old, other in pairs:
        new = new.replace(old, other)
    if new == text:
        return []
    front = [_next_window] if len(_launched(task)) > 1 else []
    return [*front, partial(TEXSTUDIO.macros["texstudio.write"], text=new)]


def _next_window(screen: Screen) -> Bursts:
    yield [Action("press", keys=("alt", "tab"))]
    screen.find(role="frame", name="*TeXstudio", state="active")


def _texts(task: UpstreamTask) -> dict[str, str]:
    return {item["path"]: item["text"] for item in task.initialize if item.func == "touch"}


def _launched(task: UpstreamTask) -> list[str]:
    return [item["program"] for item in task.initialize if item.func == "launch"]


def _document(task: UpstreamTask) -> str:
    """The document that TeXstudio opens."""
    for item in task.initialize:
        if item.func == "launch" and item["program"] == "texstudio" and item["arguments"]:
            return str(item["arguments"][-1])
    return ""


def _beside(document: str) -> Callable[[str], str]:
    """The name of a path that is beside a document; "" for others."""
    folder, own = posixpath.split(document)
    return lambda path: "" if posixpath.split(path) == (folder, own) else path.removeprefix(f"{folder}/")


def _equals(final: FinalState, path: str, text: str) -> Outcome:
    found = read_text(final, path)
    return found == text, f"{path} is {shown(found, 400)}; right is {shown(text, 400)}"


def _includes(final: FinalState, path: str, pattern: Any) -> Outcome:
    found = read_text(final, path)
    return bool(pattern.search(found)), f"{path} is {shown(found, 400)}; right is what {pattern.pattern!r} matches"
