"""Reads the items of ``evaluate``, one small reader for each kind of check."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeGuard, cast

from deskgym.task_suites.importers.json_files import Fields, Json
from deskgym.task_suites.importers.lambdas import Lambda
from deskgym.task_suites.importers.scienceboard import check_items as check

CheckReader = Callable[[Fields], check.CheckItem]

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_POINT = re.compile(rf"\(\s*{_NUMBER}(?:\s*,\s*{_NUMBER})+\s*\)", re.IGNORECASE | re.ASCII)


def read_stop(fields: Fields) -> check.Stop:
    """``stop``: the primitive that must end the episode, with the words of the answer for ``ANS``."""
    primitive = cast(check.Primitive, fields.text("value", among=("ANS", "FAIL", "DONE")))
    if primitive != "ANS":
        if "args" in fields and primitive:
            fields.fault("args", f"has no meaning with {primitive}, only with ANS")
        return check.Stop(primitive=primitive)
    args = fields.texts("args")
    for index, word in enumerate(args):
        if " " in word:
            message = f"has a space, so no answer can match it: give {word.split()!r} as separate words"
            fields.file.fault(f"{fields.at('args')}[{index}]", message)
    return check.Stop(primitive=primitive, args=args)


def _equation(fields: Fields) -> check.CheckItem:
    if fields.data.get("key") == "#SIZE":
        fields.text("key")
        return check.PlotCount(count=fields.integer("value", low=0))
    points = _points(fields)
    value = fields.object("value")
    color = value.text("color", matching="#[0-9a-fA-F]{6}") if "color" in value else None
    resolution = value.number("res", low=0) if "res" in value else None
    style = value.integer("style", low=0) if "style" in value else None
    expected: dict[tuple[float, ...], bool] = {}
    for name in [name for name in value.data if name not in ("color", "res", "style")]:
        if not _POINT.fullmatch(name):
            value.fault(name, "must be a point such as '(1, 2.5)', 'color', 'res' or 'style'")
            continue
        point = tuple(float(part) for part in name.strip("() ").split(","))
        if points and point not in points:
            value.fault(name, f"is not among the points of {fields.at('key')}")
        expected[point] = value.boolean(name)
    for index, point in enumerate(points):
        if point not in expected and "value" in fields.data:
            at = f"{fields.at('key')}[{index}]"
            fields.file.fault(at, f"the point {_text(point)} has no expectation in {fields.at('value')}")
    known = tuple((point, expected.get(point, False)) for point in points)
    return check.Plotted(points=known, color=color, resolution=resolution, style=style)


def _points(fields: Fields) -> tuple[tuple[float, ...], ...]:
    """The points of ``key``, without those that are wrong."""
    value = fields.value("key")
    if "key" not in fields.data:
        return ()
    if not isinstance(value, list) or not value:
        fields.fault("key", "must be '#SIZE' or a list of points such as [1, 2.5]")
        return ()
    points: list[tuple[float, ...]] = []
    for index, item in enumerate(value):
        numbers = item if isinstance(item, list) else []
        point = tuple(float(n) for n in numbers if _finite(n))
        at = f"{fields.at('key')}[{index}]"
        if len(point) != len(numbers) or len(point) not in (2, 3):
            fields.file.fault(at, "must be a point of 2 or 3 numbers")
        elif points and len(point) != len(points[0]):
            fields.file.fault(at, f"has {len(point)} coordinates, but the first point has {len(points[0])}")
        else:
            points.append(point)
    return tuple(points)


def _finite(value: Json) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _text(point: tuple[float, ...]) -> str:
    return f"({', '.join(f'{x:g}' for x in point)})"


def _variable(fields: Fields) -> check.VariableText:
    value = fields.text("value")
    return check.VariableText(name=fields.text("key"), text=None if value == "#UNDEF" else value)


def _pred(fields: Fields) -> Lambda | None:
    return fields.function("pred", 2) if "pred" in fields else None


def _celestia(fields: Fields) -> check.DumpValue:
    value = fields.scalar("value", strings=False)
    return check.DumpValue(key=fields.function("key", 1), value=value, pred=_pred(fields))


def _grass(fields: Fields) -> check.DumpValue:
    value = fields.scalar("value", lists=True)
    return check.DumpValue(key=fields.function("key", 1), value=value, pred=_pred(fields))


def _database(fields: Fields) -> check.CommandOutput:
    options = fields.object("kwargs")
    for name in options.data:
        options.scalar(name)
    return check.CommandOutput(
        command=fields.text("cmd"),
        options=dict(options.data),
        key=fields.function("key", 1),
        value=fields.scalar("value", lists=True),
        pred=_pred(fields),
    )


def _states(fields: Fields) -> check.SessionState:
    find = fields.function("find", 2) if "find" in fields else None
    key: str | Lambda = fields.text("key")
    if isinstance(key, str) and (find or key.startswith("lambda")) and key:
        key = fields.function("key", 1)
    if ("value" in fields) == ("pattern" in fields):
        fields.fault("", "must have either 'value' or 'pattern'")
    return check.SessionState(
        key=key,
        find=find,
        value=fields.scalar("value", null=True) if "value" in fields else None,
        pattern=fields.pattern("pattern") if "pattern" in fields else None,
    )


def _contains(fields: Fields) -> check.FileContains:
    text: str | Lambda = fields.text("value")
    if isinstance(text, str) and text.startswith("lambda"):
        text = fields.function("value", 0)
    return check.FileContains(path=fields.path_text("key"), text=text)


def _replaced(fields: Fields) -> check.Replaced:
    path = fields.path_text("path")
    return check.Replaced(path=path, source=fields.text("source"), target=fields.text("target", empty=True))


#: The checks of each program; ``stop`` belongs to all.
CHECKS: dict[str, dict[str, CheckReader]] = {
    "KAlgebra": {
        "eqn": _equation,
        "val": lambda f: check.VariableNumber(name=f.text("key"), value=f.number("value")),
        "var": _variable,
    },
    "Celestia": {"info": _celestia},
    "GrassGIS": {"info": _grass, "db": _database},
    "ChimeraX": {
        "states": _states,
        "info": lambda f: check.LogLines(key=f.text("key"), lines=f.texts("value")),
        "file": _contains,
    },
    "Lean": {"placeholder": lambda f: check.Proof()},
    "TeXstudio": {
        "compile": lambda f: check.Compiles(path=f.path_text("path"), file=f.text("file")),
        "file": _replaced,
        "include": lambda f: check.Includes(path=f.path_text("path"), pattern=f.pattern("pattern")),
    },
}
