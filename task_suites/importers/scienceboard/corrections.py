"""ScienceBoard's reference solutions that are known to be wrong or weak, and right ones for those that can be derived.

A reference curve is a list of points on it and off it. The points here follow from closed formulas; none is typed in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from deskgym.task_suites.importers.scienceboard.check_items import CheckItem, Plotted
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask

Mode = Literal["paper", "corrected"]
Point = tuple[float, ...]


@dataclass(frozen=True)
class Correction:
    """The right reference of a task whose own reference is wrong.

    Attributes:
        expression: what the instruction asks for.
        wrong: 0 at the points of upstream's curve. The correction applies only where that is so: a copy in which
            upstream has mended the reference keeps it.
        on: points on the right curve.
        off: points off it, those of upstream's curve among them.
    """

    expression: str
    wrong: Callable[[Point], float]
    on: Callable[[], Iterable[Point]]
    off: Callable[[], Iterable[Point]]

    def fits(self, item: CheckItem) -> bool:
        """Whether this is the wrong reference that it is meant for."""
        if not isinstance(item, Plotted):
            return False
        on = [point for point, expected in item.points if expected]
        return bool(on) and all(abs(self.wrong(point)) < 1e-6 * (1 + math.hypot(*point)) for point in on)

    def apply(self, item: Plotted) -> Plotted:
        """The item with the right points."""
        points = [(point, True) for point in self.on()] + [(point, False) for point in self.off()]
        return replace(item, points=tuple(points))


@dataclass(frozen=True)
class KnownBad:
    """A task whose reference, or whose check, is known not to say what its instruction says.

    Attributes:
        reason: what is wrong, in a sentence's middle.
        corrections: the right reference, by what the wrong one is; empty when there is none.
    """

    reason: str
    corrections: tuple[Correction, ...] = ()


def _graph(function: Callable[[float], float], *xs: float) -> list[Point]:
    return [(x, function(x)) for x in xs]


def _asked_log(x: float) -> float:
    return math.log(x + 1) + x * x - x


def _upstream_log(x: float) -> float:
    return math.log(x * x + 1) + x * x - x


def _asked_slope(x: float) -> float:
    return 1 / (x + 1) + 2 * x - 1


def _upstream_slope(x: float) -> float:
    return 2 * x / (x * x + 1) + 2 * x - 1


_LOG_XS = (-0.5, 1.5, 2.25, 4.0, 7.0, 10.0)


def _oval(x: float) -> Point:
    """The point above ``x`` whose distances from (1, 0) and (-1, 0) have the product 16; abs(x) <= sqrt(17)."""
    return x, math.sqrt(math.sqrt(256 + 4 * x * x) - x * x - 1)


def _lemniscate(x: float) -> Point:
    """The point above ``x`` with the product 16 from (4, 0) and (-4, 0), which is upstream's curve."""
    return x, math.sqrt(math.sqrt(256 + 64 * x * x) - x * x - 16)


def _both_halves(curve: Callable[[float], Point], *xs: float) -> list[Point]:
    """The points at ``xs``, above and below the x axis in turn."""
    return [(x, (-1) ** index * curve(x)[1]) for index, x in enumerate(xs)]


def _sphere(square: float) -> list[Point]:
    """Six points at the distance ``sqrt(square)`` from the origin."""
    radius = math.sqrt(square)
    angles = [(turn, math.pi * (0.2 + 0.12 * turn)) for turn in range(6)]
    return [
        (
            radius * math.sin(tilt) * math.cos(turn),
            radius * math.sin(tilt) * math.sin(turn),
            radius * math.cos(tilt),
        )
        for turn, tilt in angles
    ]


# C-07: which curve the instruction asks for, the function or its derivative, shows in upstream's points. The published
# ones are the derivative's: they have (0, -1), where the function has (0, 0).
_SLOPE = Correction(
    expression="x->1/(x+1)+2*x-1",
    wrong=lambda p: p[1] - _upstream_slope(p[0]) if len(p) == 2 else 1,
    on=lambda: _graph(_asked_slope, *_LOG_XS),
    off=lambda: [*_graph(_upstream_slope, *_LOG_XS[:4]), *_graph(_asked_log, 1.5, 4.0)],
)
_LOG = Correction(
    expression="x->ln(x+1)+x^2-x",
    wrong=lambda p: p[1] - _upstream_log(p[0]) if len(p) == 2 else 1,
    on=lambda: _graph(_asked_log, *_LOG_XS),
    off=lambda: [*_graph(_upstream_log, *_LOG_XS[:4]), *_graph(_asked_slope, 4.0, 7.0)],
)
_OVAL = Correction(
    expression="((x-1)^2+y^2)*((x+1)^2+y^2)=256",
    wrong=lambda p: (p[0] ** 2 + p[1] ** 2) ** 2 - 32 * (p[0] ** 2 - p[1] ** 2) if len(p) == 2 else 1,
    on=lambda: _both_halves(_oval, -4.0, -2.5, 0.0, 1.0, 3.0, 4.0),
    off=lambda: [*_both_halves(_lemniscate, -4.0, -2.5, 2.0, 3.0), (0.0, 4.0), (16.0, 0.0)],
)
_BALL = Correction(
    expression="x^2+y^2+z^2=2",
    wrong=lambda p: sum(x * x for x in p) - 8 if len(p) == 3 else 1,
    on=lambda: _sphere(2),
    off=lambda: [*_sphere(8)[:3], *_sphere(1)[3:]],
)

#: By task id. Dual and Raw tasks are looked up under their VM name.
KNOWN_BAD = {
    "KAlgebra/C-07": KnownBad(
        "upstream's points belong to ln(x^2+1)+x^2-x, but the instruction gives ln(x+1)+x^2-x", (_SLOPE, _LOG)
    ),
    "KAlgebra/C-12": KnownBad(
        "upstream's points belong to foci (4, 0) and (-4, 0), but the instruction gives (1, 0) and (-1, 0)", (_OVAL,)
    ),
    "KAlgebra/C-14": KnownBad(
        "upstream's points belong to a sphere of radius 2*sqrt(2), but the instruction gives that as the diameter",
        (_BALL,),
    ),
    "TeXstudio/C-06": KnownBad("upstream only checks that the document compiles, so deleting the formula passes too"),
}

# Theorems that nobody has proved; their tasks count in upstream's denominators all the same.
_OPEN_PROBLEM = re.compile(r"(?:theorem|def|lemma)\s+OP_\d+\b")


def apply_mode(task: UpstreamTask, mode: Mode) -> UpstreamTask:
    """The task with its notes, and in ``corrected`` mode with the right reference where one is known."""
    bad = KNOWN_BAD.get(task.id.removeprefix(f"{task.split}/"))
    if bad is None:
        return _note_open_problem(task)
    if not bad.corrections:
        return replace(task, notes=(*task.notes, f"weak check: {bad.reason}"))
    for index, item in enumerate(task.evaluate):
        for correction in bad.corrections:
            if isinstance(item, Plotted) and correction.fits(item):
                if mode == "paper":
                    return replace(task, notes=(*task.notes, f"reference known to be wrong: {bad.reason}"))
                right = (*task.evaluate[:index], correction.apply(item), *task.evaluate[index + 1 :])
                note = f"reference corrected: {bad.reason}; it is now {correction.expression}"
                return replace(task, evaluate=right, ans=correction.expression, notes=(*task.notes, note))
    return replace(
        task,
        notes=(
            *task.notes,
            f"this copy's reference is not the one known to be wrong ({bad.reason}); it is used as it is",
        ),
    )


def _note_open_problem(task: UpstreamTask) -> UpstreamTask:
    if task.type == "Lean" and _OPEN_PROBLEM.match(task.instruction):
        return replace(task, notes=(*task.notes, "an open problem: nobody is known to have proved or refuted it"))
    return task
