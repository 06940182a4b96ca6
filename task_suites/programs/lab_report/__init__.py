"""Lab reports: what one program finds, written into a document of another; both are on one desktop."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, FinalState, Screen
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.kstars import checks as kstars
from deskgym.task_suites.programs.kstars.macros import read_altitude
from deskgym.task_suites.programs.pymol import checks as pymol
from deskgym.task_suites.programs.pymol.macros import said
from deskgym.task_suites.programs.pymol.program import Molecule
from deskgym.task_suites.programs.texstudio import macros as texstudio
from deskgym.task_suites.programs.texstudio.checks import without_comments


def from_pymol(
    final: FinalState, path: str, before: str, after: str, ask: list[Any], molecules: list[Molecule], digits: int = 0
) -> Outcome:
    """A document says, once, between two texts what PyMOL says.

    Args:
        final: the final state.
        path: the document.
        before: the text before it.
        after: the text after it.
        ask: as ``pymol.answer``.
        molecules: as ``pymol.answer``.
        digits: as ``pymol.answer``.
    """
    return pymol.says(final, _written(final, path, before, after), ask, molecules, "", digits, "")


def altitude(
    final: FinalState, path: str, before: str, after: str, object: str, place: list[str], time: str, within: float = 0.5
) -> Outcome:
    """A document says, once, between two texts an object's altitude, as KStars says it.

    Args:
        final: the final state.
        path: the document.
        before: the text before it.
        after: the text after it.
        object: as ``kstars.answer``.
        place: as ``kstars.answer``.
        time: as ``kstars.answer``.
        within: how much it may differ, in degrees.
    """
    got = _written(final, path, before, after)
    return kstars.says(final, got, object, "Altitude_Degrees", place, time, "number", within)


def _written(final: FinalState, path: str, before: str, after: str) -> str:
    text = without_comments(read_text(final, legal_path(path), limit=1 << 20))
    found = re.findall(rf"{re.escape(before)}(.{{1,80}}?){re.escape(after)}", text)
    if len(found) != 1:
        raise CheckFailed(f"{path} has {len(found)} times something between {before!r} and {after!r}; right is once")
    return str(found[0]).strip(" $~")


def front(screen: Screen, window: str) -> Bursts:
    """Bring a window to the front: of two, the other one."""
    yield [Action("press", keys=("alt", "tab"))]
    screen.find(role="frame", name=window, state="active")


def write_pymol(screen: Screen, of: list[Any], at: int, text: str, digits: int = 0) -> Bursts:
    """Ask PyMOL, which is behind, and type a text with its answer for ``VALUE`` at the start of the document's line."""
    yield from front(screen, "PyMOL")
    value = yield from said(screen, of, digits)
    yield from front(screen, "*TeXstudio")
    yield from texstudio.insert(screen, at, text.replace("VALUE", value))


def write_altitude(screen: Screen, object: str, at: int, text: str) -> Bursts:
    """Read an object's altitude in KStars, which is behind, and type a text with it for ``VALUE``."""
    yield from front(screen, "KStars")
    value = yield from read_altitude(screen, object)
    yield from front(screen, "*TeXstudio")
    yield from texstudio.insert(screen, at, text.replace("VALUE", value))


CHECKS: Mapping[str, CheckFunction] = {"lab_report.pymol": from_pymol, "lab_report.altitude": altitude}
"""By the names that task files use."""
MACROS: Mapping[str, Callable[..., Bursts]] = {
    "lab_report.front": front,
    "lab_report.write_pymol": write_pymol,
    "lab_report.write_altitude": write_altitude,
}
"""By the names that task files use."""

PROGRAM = Program(
    name="lab_report",
    title="Lab report",
    checks=CHECKS,
    macros=MACROS,
    parts={"prompt_macros": ("lab_report.write_pymol",)},
)
