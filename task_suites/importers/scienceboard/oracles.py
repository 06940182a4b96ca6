"""Oracles and wrong attempts for ScienceBoard's tasks of KAlgebra and TeXstudio, worked out from the task files.

A script is a list of moves. They follow from the file's ``ans``, a hint for people, and from its checks:

=========================  ===============================================
``p := expr``              evaluate it in the calculator
``Ctrl+L: ~/script.kal``   load the script
any other expression       plot it, in 2D or 3D as the check's points are
colour, resolution, style  choose it
variable not defined       remove it
fewer curves than given    remove them
``stop``                   ANS with the right words, or FAIL
=========================  ===============================================
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen, Script
from deskgym.envs.evaluation.checks.answer import parse_number
from deskgym.task_suites.importers.scienceboard import chimerax, grass, lean, texstudio
from deskgym.task_suites.importers.scienceboard.check_items import PlotCount, Plotted, VariableText
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask
from deskgym.task_suites.programs import load_program

Move = Callable[[Screen], Bursts]
KALGEBRA = load_program("kalgebra")
_COLORS: Mapping[str, str] = KALGEBRA.parts["colors"]

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\s*:=\s*(.+)", re.DOTALL)
_LOAD = "Ctrl+L:"
_NOTHING = ("", "N/A")


@dataclass(frozen=True)
class Scripts:
    """How a task is played.

    Attributes:
        oracle: solves it; None where the file does not say how.
        wrong_attempts: must not earn the reward, by name.
    """

    oracle: Script | None
    wrong_attempts: Mapping[str, Script]


def scripts(task: UpstreamTask) -> Scripts:
    """The scripts of a task of KAlgebra or TeXstudio."""
    if task.stop is not None and task.stop.primitive == "FAIL":
        return Scripts(_script([], Action("fail")), {"pretends": _script([], Action("done"))})
    if task.sort == "Raw":
        played = lean.plays(task, shutil.which)
        return Scripts(played.pop("oracle", None), played)
    end = Action("answer", text=task.stop.answer) if task.stop and task.stop.args else Action("done")
    if task.type == "TeXstudio":
        moves = texstudio.moves(task)
        wrong = {name: _script(attempt, end) for name, attempt in texstudio.wrong_moves(task).items()}
        return Scripts(None if moves is None else _script(moves, end), wrong | _other_ends(moves or [], end))
    if task.type == "GrassGIS":
        right, wrong_moves = grass.MOVES[task.id]
        return Scripts(_script(right, end), {"a mistake": _script(wrong_moves, end)} | _other_ends(right, end))
    if task.type == "Celestia" or (task.type == "ChimeraX" and not chimerax.asked_in_pymol(task)):
        return Scripts(None, _other_ends([], end))
    if task.type == "ChimeraX":
        return Scripts(_script([], end), _other_ends([], end))
    typed, chosen = _typed(task), _chosen(task)
    known = typed is not None and bool(typed or chosen or end.verb == "answer") and _colors_known(task)
    oracle = _script([*(typed or ()), *chosen], end) if known else None
    return Scripts(oracle, _wrong_attempts(task, end))


def _script(moves: Sequence[Move], end: Action) -> Script:
    return partial(_play, tuple(moves), end)


def _play(moves: Sequence[Move], end: Action, screen: Screen) -> Bursts:
    for move in moves:
        yield from move(screen)
    yield [end]


def _parts(task: UpstreamTask) -> list[str]:
    """What ``ans`` says, one thing to do for each ``;`` or line, without the answer itself."""
    ans = (task.ans or "").strip()
    if ans.upper() in _NOTHING:
        return []
    return [part for part in map(str.strip, re.split(r"[;\n]", ans)) if part and not part.startswith("ANS")]


def _typed(task: UpstreamTask, parts: Sequence[str] | None = None) -> list[Move] | None:
    """The moves for ``parts`` (those of ``ans`` if None); None where one of them cannot be understood."""
    dimensions = [item.dimensions for item in task.evaluate if isinstance(item, Plotted)]
    moves: list[Move] = []
    for part in _parts(task) if parts is None else parts:
        if part.startswith(_LOAD):
            path = part.removeprefix(_LOAD).strip().replace("~", "/home/user", 1)
            moves.append(partial(KALGEBRA.macros["kalgebra.load_script"], path=path))
        elif _ASSIGNMENT.fullmatch(part):
            moves.append(partial(KALGEBRA.macros["kalgebra.evaluate"], text=part))
        elif dimensions:
            plot = KALGEBRA.macros["kalgebra.add"] if dimensions.pop(0) == 2 else KALGEBRA.macros["kalgebra.surface"]
            moves.append(partial(plot, expression=part))
        else:
            return None
    return moves


def _chosen(task: UpstreamTask, *, wrong: bool = False) -> list[Move]:
    """The moves for what is not typed: looks and removals; ``wrong``: looks other than the wanted ones."""
    moves: list[Move] = []
    curves = [item for item in task.evaluate if isinstance(item, Plotted) and item.dimensions == 2]
    for item in task.evaluate:
        if isinstance(item, Plotted):
            color, resolution, style = _looks(item, wrong)
            if color is not None:  # the curves are listed in the order of their checks
                moves.append(partial(KALGEBRA.macros["kalgebra.color"], name=color, nth=curves.index(item)))
            if resolution is not None:
                moves.append(partial(KALGEBRA.macros["kalgebra.menu"], of="2D Graph", item=resolution))
            if style is not None:
                moves.append(partial(KALGEBRA.macros["kalgebra.menu"], of="3D Graph", item=style))
        elif isinstance(item, VariableText) and item.text is None and not wrong:
            moves.append(partial(KALGEBRA.macros["kalgebra.remove_variable"], name=item.name))
        elif isinstance(item, PlotCount) and not curves and not wrong:
            moves.extend([KALGEBRA.macros["kalgebra.remove"]] * (_given_curves(task) - item.count))
    return moves


def _looks(item: Plotted, wrong: bool) -> tuple[str | None, str | None, str | None]:
    """The names of colour, resolution and style in KAlgebra's lists, or of others; None where any will do."""
    colors = {value: name for name, value in _COLORS.items()}
    color = colors.get((item.color or "").lower())
    resolution = next(
        (name for name, number in KALGEBRA.parts["resolutions"].items() if number == item.resolution), None
    )
    style = next((name for name, number in KALGEBRA.parts["styles"].items() if number == item.style), None)
    if not wrong:
        return color, resolution, style
    return (
        color and _another(color, ("red", "blue")),
        resolution and _another(resolution, ("Fine", "Poor")),
        style and _another(style, ("Dots", "Lines")),
    )


def _colors_known(task: UpstreamTask) -> bool:
    colors = {item.color.lower() for item in task.evaluate if isinstance(item, Plotted) and item.color is not None}
    return colors <= set(_COLORS.values())


def _another(name: str, others: tuple[str, str]) -> str:
    return others[0] if name != others[0] else others[1]


def _given_curves(task: UpstreamTask) -> int:
    return sum(item.func == "func_2d" for item in task.initialize)


def _wrong_attempts(task: UpstreamTask, end: Action) -> dict[str, Script]:
    """Plausible ways to get a feasible task wrong."""
    parts = _parts(task)
    made = [k for k, part in enumerate(parts) if not part.startswith(_LOAD)]
    attempts: dict[str, list[Move] | None] = {}
    if made:
        attempts["slightly off"] = _typed(task, [*parts[: made[-1]], _off(parts[made[-1]])])
    if len(made) > 1:
        attempts["the last one left out"] = _typed(task, parts[: made[-1]])
    if len(made) < len(parts):
        attempts["without the script"] = _typed(task, [parts[k] for k in made])
    if other := _chosen(task, wrong=True):
        attempts["another choice"] = [*(_typed(task) or ()), *other]
    for item in task.evaluate:
        if isinstance(item, VariableText) and item.text is None:
            attempts["set to 0"] = [partial(KALGEBRA.macros["kalgebra.evaluate"], text=f"{item.name}:=0")]
        elif isinstance(item, PlotCount) and item.count < _given_curves(task):
            attempts["hidden, not removed"] = [KALGEBRA.macros["kalgebra.toggle"]]
    wrong = {name: _script(moves, end) for name, moves in attempts.items() if moves is not None}
    return wrong | _other_ends(_typed(task) or [], end)


def _other_ends(moves: Sequence[Move], end: Action) -> dict[str, Script]:
    """What is right but for the answer, and FAIL at once."""
    other = {"another answer": _script(moves, Action("answer", text=_other_answer(end.text)))}
    return (other if end.verb == "answer" else {}) | {"gives up": _script([], Action("fail"))}


def _off(part: str) -> str:
    """An expression whose values are all one more."""
    for sign in (":=", "->", "="):
        head, found, body = part.partition(sign)
        if found:
            return f"{head}{sign}({body.strip()})+1"
    return f"({part})+1"


def _other_answer(answer: str) -> str:
    number = parse_number(answer)
    return f"{answer}0" if number is None else f"{number + 1:g}"
