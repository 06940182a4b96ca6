"""Reads the items of ``evaluate``, one small reader for each kind of check."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeGuard, cast

from deskgym.task_suites.importers.json_files import Fields, Json, Readers
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


def _database(fields: Fields) -> check.CheckItem:
    options = fields.object("kwargs")
    for name in options.data:
        options.scalar(name)
    return check.CheckItem(type="db", values={"kwargs": dict(options.data), **fields.read(_QUERY)})


def _states(fields: Fields) -> check.CheckItem:
    if ("value" in fields) == ("pattern" in fields):
        fields.fault("", "must have either 'value' or 'pattern'")
    key = fields.text("key")
    computed = key and ("find" in fields or key.startswith("lambda"))
    return check.CheckItem(
        type="states", values={"key": fields.function("key", 1) if computed else key, **fields.read(_STATE)}
    )


def _text_or_lambda(fields: Fields, key: str) -> str | Lambda:
    text = fields.text(key)
    return fields.function(key, 0) if text.startswith("lambda") else text


def _plain(kind: str, readers: Readers) -> CheckReader:
    return lambda fields: check.CheckItem(type=kind, values=fields.read(readers))


_word, _path = Fields.text, Fields.path_text
_key, _pred = partial(Fields.function, arity=1), partial(Fields.function, arity=2)
_DUMP: Readers = {"key": _key, "value": partial(Fields.scalar, many=True), "pred?": _pred}
_QUERY: Readers = {"cmd": _word, **_DUMP}
_STATE: Readers = {"find?": _pred, "value?": partial(Fields.scalar, null=True), "pattern?": Fields.pattern}

#: The checks of each program; ``stop`` belongs to all. A dump's value is compared by ``pred(key(dump), value)``.
CHECKS: dict[str, dict[str, CheckReader]] = {
    "KAlgebra": {
        "eqn": _equation,
        "val": lambda f: check.VariableNumber(name=f.text("key"), value=f.number("value")),
        "var": _variable,
    },
    "Celestia": {"info": _plain("info", {**_DUMP, "value": partial(Fields.scalar, strings=False)})},
    "GrassGIS": {"info": _plain("info", _DUMP), "db": _database},
    "ChimeraX": {
        "states": _states,
        "info": _plain("info", {"key": _word, "value": Fields.texts}),
        "file": _plain("file", {"key": _path, "value": _text_or_lambda}),
    },
    "Lean": {"placeholder": _plain("placeholder", {})},
    "TeXstudio": {
        "compile": _plain("compile", {"path": _path, "file": _word}),
        "file": _plain("file", {"path": _path, "source": _word, "target": partial(Fields.text, empty=True)}),
        "include": _plain("include", {"path": _path, "pattern": Fields.pattern}),
    },
}
