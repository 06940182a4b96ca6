"""Checks of KAlgebra's final state. Each returns (passed, message)."""

from __future__ import annotations

import math
import random
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.kalgebra import state
from deskgym.task_suites.programs.kalgebra.gold import reference_curve, reference_surface
from deskgym.task_suites.programs.kalgebra.language.ast import Call, Expression, ExpressionError, Function, Number
from deskgym.task_suites.programs.kalgebra.language.evaluator import CONSTANTS, evaluate
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.language.plots import Plot, displayed_curves, matches, surface
from deskgym.task_suites.programs.kalgebra.language.readings import readings
from deskgym.task_suites.programs.kalgebra.program import KAlgebra

Points = Mapping[tuple[float, ...], bool]
T = TypeVar("T")
_NUMBER = re.compile(r"[\s\d.,+e-]*")
PLACES = 12
"""At how many arguments a function is compared."""
_NOT_RUNNING = "KAlgebra is not running any more"


def _read(final: FinalState, name: str, read: Callable[[KAlgebra], T]) -> T:
    final.read_once("kalgebra.front", partial(_of, final, state.front))
    result = final.read_once(f"kalgebra.{name}", partial(_of, final, read))
    if result is None:
        raise CheckFailed(_NOT_RUNNING)  # the agent ended it
    return result


def _of(final: FinalState, read: Callable[[KAlgebra], T], machine: Machine) -> T | None:
    """What ``read`` gives of the running KAlgebra, which is found once: that takes its whole tree. None if it ended."""
    if "kalgebra" not in final.scratch:
        final.scratch["kalgebra"] = KAlgebra.find(machine)
    kalgebra: KAlgebra | None = final.scratch["kalgebra"]
    return None if kalgebra is None else read(kalgebra)


def _secret(final: FinalState) -> int:
    """Draws where functions are compared; nobody knows it before the episode ends, and recordings keep it."""
    return final.read_once("kalgebra.places", lambda machine: secrets.randbits(64))


def _variables(final: FinalState) -> dict[str, Expression]:
    """The program's variables as parsed expressions; what cannot be parsed is left out."""
    parsed = {}
    for name, text in _read(final, "calculator", state.calculator)["variables"].items():
        try:
            parsed[name] = readings(text)[0]
        except (ExpressionError, IndexError):
            continue
    return parsed


def curve_(
    final: FinalState,
    like: str,
    color: str | None = None,
    resolution: int | None = None,
    shown: bool = True,
) -> Outcome:
    """One plotted 2D item is the same as a reference, in whatever way it is written.

    Args:
        final: the final state.
        like: the reference as KAlgebra's text, such as ``"x->x^2"``, ``"x^2+y^2=4"`` or ``"q->2*q"``.
        color: its colour as ``#rrggbb``.
        resolution: the graph's resolution, one of ``state.RESOLUTIONS``' numbers.
        shown: whether its box is checked, so that it is drawn.
    """
    reference = reference_curve(like, _secret(final))
    return _plotted(final, lambda curves: any(map(reference.fits, curves)), like, color, resolution, shown)


def plotted(final: FinalState, points: Points, color: str | None = None, resolution: float | None = None) -> Outcome:
    """One plotted 2D item has the points that are True and none that are False: ScienceBoard's ``eqn``."""
    what = f"a curve with {len(points)} given points"
    return _plotted(final, lambda curves: matches(curves, points), what, color, resolution, None)


def _plotted(
    final: FinalState,
    fits: Callable[[Sequence[Plot]], bool],
    what: str,
    color: str | None,
    resolution: float | None,
    shown: bool | None,
) -> Outcome:
    functions = _read(final, "plots", state.plots)["functions"]
    variables = _variables(final)
    if resolution is not None:
        now = _read(final, "front", state.front)["resolution"]
        if now != resolution:
            return False, f"the resolution is {now}, not {resolution}"
    near = []
    for function in functions:
        try:
            if not fits(displayed_curves(function["expression"], variables)):
                continue
        except ExpressionError as error:  # too much work included: whatever was plotted, it is not what was wanted
            near.append(f"{function['expression']} cannot be read: {error}")
            continue
        if color is not None and not _same_color(function["color"], color):
            near.append(f"{function['expression']} is {function['color']}, not {color}")
        elif shown is not None and function["shown"] != shown:
            near.append(f"{function['expression']} is {'shown' if function['shown'] else 'hidden'}")
        else:
            return True, f"{function['expression']} is {what}"
    listed = ", ".join(str(function["expression"]) for function in functions) or "nothing"
    return False, "; ".join(near) or f"none is {what}; plotted: {listed}"


def _same_color(got: str | None, wanted: str) -> bool:
    """Equal up to 3 of 255 a channel: a selected row's swatch is tinted and must be computed back."""
    if got is None:
        return False
    pairs = zip(bytes.fromhex(got[1:]), bytes.fromhex(wanted.lstrip("#")), strict=True)
    return all(abs(a - b) <= 3 for a, b in pairs)


def surface_(final: FinalState, like: str, style: str | None = None) -> Outcome:
    """The 3D graph shows the same surface as a reference, in whatever way it is written.

    Args:
        final: the final state.
        like: the reference as KAlgebra's text, such as ``"(x,y)->x*y"``.
        style: ``"Dots"``, ``"Lines"`` or ``"Solid"``.
    """
    return _spanned(final, reference_surface(like, _secret(final)).fits, like, style)


def spanned(final: FinalState, points: Points, style: str | None = None) -> Outcome:
    """The 3D graph's surface has the points that are True and none that are False: ScienceBoard's ``eqn``."""
    return _spanned(final, lambda shown: matches([shown], points), f"a surface with {len(points)} given points", style)


def _spanned(final: FinalState, fits: Callable[[Plot], bool], what: str, style: str | None) -> Outcome:
    shown = _read(final, "space", state.space)
    now = _read(final, "front", state.front)["style"]
    variables = _variables(final)
    text = shown["expression"]
    if not text.strip():
        return False, "the 3D graph's input is empty"
    if not shown["plotted"]:
        return False, f"{text!r} stands in the input but is not what is plotted"
    try:
        same = fits(surface(text, variables))  # the user's own text, not a printout: it has one meaning
    except ExpressionError as error:
        return False, f"{text} cannot be read: {error}"
    if not same:
        return False, f"{text} is not {what}"
    if style is not None and now != style:
        return False, f"the style is {now}, not {style}"
    return True, f"{text} is {what}"


def count(final: FinalState, functions: int | None = None, variables: int | None = None) -> Outcome:
    """So many functions are in the 2D graph's list, and so many variables of the user's in the calculator's."""
    if functions is None and variables is None:
        raise ValueError("nothing is counted; give functions, variables or both")
    wrong = []
    if functions is not None:
        got = len(_read(final, "plots", state.plots)["functions"])
        wrong += [f"{got} functions are listed, {functions} wanted"] if got != functions else []
    if variables is not None:
        names = [
            name
            for name in _read(final, "calculator", state.calculator)["variables"]
            if name not in (*CONSTANTS, "ans")
        ]
        wrong += [f"there are the variables {names}, {variables} wanted"] if len(names) != variables else []
    return not wrong, "; ".join(wrong) or "as many as wanted"


def value(final: FinalState, name: str, equals: float, within: float = 1e-6) -> Outcome:
    """A variable holds a real number, up to an absolute tolerance (ScienceBoard's ``val``: 1e-6)."""
    text = _variable(final, name)
    if text is None:
        return False, f"there is no variable {name!r}"
    try:
        number = evaluate(readings(text)[0], _variables(final))
    except (ExpressionError, IndexError) as error:
        return False, f"{name} = {text} is no number: {error}"
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return False, f"{name} = {text} is no real number"
    return abs(number - equals) <= within, f"{name} = {text}; {equals!r} ± {within:g} wanted"


def variable(final: FinalState, name: str, equals: str | None = None, defined: bool = True) -> Outcome:
    """A variable is there with exactly this text (spaces aside), or is not there (``defined: false``)."""
    text = _variable(final, name)
    if text is None:
        return not defined, f"there is no variable {name!r}"
    if not defined:
        return False, f"{name} = {text} is still there"
    same = equals is None or _bare(text) == _bare(equals)
    return same, f"{name} = {text}" + ("" if equals is None else f"; {equals} wanted")


def _variable(final: FinalState, name: str) -> str | None:
    variables: Mapping[str, str] = _read(final, "calculator", state.calculator)["variables"]
    return variables.get(name)


def _bare(text: str) -> str:
    return "".join(text.split())


def function_variable(
    final: FinalState,
    name: str,
    at: list[list[float]] | None = None,
    equals: list[float] | None = None,
    within: float = 1e-6,
    like: str | None = None,
) -> Outcome:
    """A variable holds a function with the values of another, or with given ones.

    Args:
        final: the final state.
        name: of the variable.
        at: arguments.
        equals: ``equals[k]`` is the value at the arguments ``at[k]``.
        within: absolute tolerance of values, relative where they are above 1.
        like: the function that it must be, such as ``"x->x^2"``; compared where the agent cannot know.
    """
    text = _variable(final, name)
    if text is None:
        return False, f"there is no variable {name!r}"
    variables = _variables(final)
    compared = list(zip(at or [], equals or [], strict=True))
    compared += [] if like is None else _values_of(like, _secret(final))
    if not compared:
        raise ValueError("nothing is compared; give like, or at and equals")
    for arguments, want in compared:
        call = f"{name}({', '.join(format(argument, '.17g') for argument in arguments)})"
        try:
            got = evaluate(parse(call), variables)
        except ExpressionError as error:
            return False, f"{name} = {text}: {call} fails: {error}"
        if not isinstance(got, (int, float)) or not abs(got - want) <= within * max(1.0, abs(want)):
            return False, f"{name} = {text}: {call} is {got}, {want} wanted"
    return True, f"{name} = {text} has all {len(compared)} values"


def _values_of(text: str, seed: int) -> list[tuple[list[float], float]]:
    """Arguments that the seed draws from -8 to 8, where the function has a value, and these values."""
    function, rng = parse(text), random.Random(seed)
    if not isinstance(function, Function):
        raise ValueError(f"like: {text!r} is no function; legal is a lambda such as 'x->x^2'")
    found: list[tuple[list[float], float]] = []
    for _ in range(10 * PLACES):
        arguments = [rng.uniform(-8, 8) for _ in function.parameters]
        with suppress(ExpressionError):
            value = evaluate(Call(function, tuple(map(Number, arguments))))
            if isinstance(value, float) and math.isfinite(value):
                found.append((arguments, value))
        if len(found) == PLACES:
            return found
    raise ValueError(f"like: {text!r} has hardly a value from -8 to 8, so nothing else can be told from it")


def front(
    final: FinalState,
    tab: str | None = None,
    mode: str | None = None,
    resolution: int | None = None,
    style: str | None = None,
    grid: bool | None = None,
    aspect: bool | None = None,
) -> Outcome:
    """The tab in front and the settings in the menus are these."""
    now = _read(final, "front", state.front)
    wanted = {
        "tab": tab, "mode": mode, "resolution": resolution, "style": style, "grid": grid, "aspect": aspect,
    }  # fmt: skip
    wrong = [f"{key} is {now[key]!r}, not {want!r}" for key, want in wanted.items() if want not in (None, now[key])]
    return not wrong, "; ".join(wrong) or "all as wanted"


def viewport(final: FinalState, top: float, left: float, width: float, height: float, within: float = 0.011) -> Outcome:
    """The 2D graph shows this part of the plane (the form rounds to two decimals)."""
    now = _read(final, "plots", state.plots)["viewport"]
    wanted = {"top": top, "left": left, "width": width, "height": height}
    wrong = [f"{key} is {now.get(key)}" for key, want in wanted.items() if abs(now.get(key, 1e9) - want) > within]
    return not wrong, "; ".join(wrong) + f"; wanted {wanted}" if wrong else f"{now}"


def logged(final: FinalState, result: float, within: float = 1e-6, last: bool = False) -> Outcome:
    """The calculator's log has a result equal to a number (the last one, if ``last``)."""
    log = _read(final, "calculator", state.calculator)["log"]
    for entry in log[-1:] if last else reversed(log):
        try:
            number = evaluate(parse(entry["result"]))
        except ExpressionError:
            continue
        if _NUMBER.fullmatch(entry["input"]):
            continue  # entered, not worked out
        if isinstance(number, (int, float)) and abs(number - result) <= within:
            return True, f"{entry['input']} = {entry['result']}"
    results = ", ".join(entry["result"] for entry in log[-5:]) or "nothing"
    return False, f"{result!r} ± {within:g} is not in the log; last results: {results}"


CHECKS: Mapping[str, Callable[..., Outcome]] = {
    "kalgebra.curve": curve_,
    "kalgebra.surface": surface_,
    "kalgebra.count": count,
    "kalgebra.value": value,
    "kalgebra.variable": variable,
    "kalgebra.function": function_variable,
    "kalgebra.front": front,
    "kalgebra.viewport": viewport,
    "kalgebra.logged": logged,
}
"""By the names that task files use."""

__all__ = ["CHECKS", "plotted", "spanned"]
