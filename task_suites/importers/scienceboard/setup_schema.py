"""Reads the items of ``initialize``: the functions that each program has, and the fields that each takes."""

from __future__ import annotations

from functools import partial
from typing import Any

from deskgym.task_suites.importers.json_files import Fields, Readers
from deskgym.task_suites.importers.scienceboard.programs import PROGRAMS, find_program
from deskgym.task_suites.importers.scienceboard.task import InitItem


def read_setup(fields: Fields, program: str, raw: bool) -> tuple[InitItem, ...]:
    """The items of ``initialize``; Raw tasks have their program's functions only."""
    functions = SETUP[program] if raw else GENERIC | SETUP[program]
    items: list[InitItem] = []
    listed = fields.objects("initialize")
    for item in listed:
        wait = item.number("wait", low=0) if "wait" in item else 0.0
        name = item.known("func", functions, f"function of {program} ({'Raw' if raw else 'VM'})")
        if name is not None:
            items.append(InitItem(name, _read(item, name, functions[name]), wait))
            item.finish()
    called = [item.data.get("func") for item in listed]
    if listed and not raw and "launch" not in called:
        fields.fault("initialize", "must start a program with 'launch'")
    if listed and program == "Lean" and called.count("query") != 1:
        fields.fault("initialize", f"must have exactly one 'query', has {called.count('query')}")
    return tuple(items)


def _read(item: Fields, name: str, readers: Readers) -> dict[str, Any]:
    values = item.read(readers)
    if name == "launch" and values["command"]:
        found = find_program(values["command"])
        if found is None:
            item.fault("command", f"starts none of the programs {', '.join(PROGRAMS)}")
        values["program"], values["arguments"] = found or ("", ())
    return values


def _command(fields: Fields, key: str) -> str | tuple[str, ...]:
    return fields.texts(key) if isinstance(fields.data.get(key), list) else fields.text(key)


def _theorem(fields: Fields, key: str) -> str:
    expr = fields.text(key)
    if expr and not expr.rstrip().endswith("by sorry"):
        fields.fault(key, "must end in 'by sorry'")
    return expr


def _layer(fields: Fields, key: str) -> str:
    query = fields.object(key)
    name = query.text("name") if key in fields.data else ""
    query.finish()
    return name


_text, _path, _texts = Fields.text, Fields.path_text, Fields.texts
_any_text = partial(Fields.text, empty=True)

#: Functions that every desktop task has.
GENERIC: dict[str, Readers] = {
    "launch": {"command": _command, "shell?": Fields.boolean},
    "execute": {"command": _command, "shell?": Fields.boolean},
    "opt": {"depth": partial(Fields.integer, low=1)},
    "touch": {"path": _path, "text": _any_text},
    "append": {"path": _path, "content": _any_text},
    "download": {"url": partial(Fields.text, matching=r"https?://\S+"), "path": _path},
}

_CHIMERAX: dict[str, Readers] = {
    "clear_log": {},
    "open": {"name": _text},
    "turn": {"axis": partial(Fields.text, among=("x", "y", "z")), "angle": Fields.number},
}

#: Functions of each program.
SETUP: dict[str, dict[str, Readers]] = {
    "KAlgebra": {
        "tab": {"index": partial(Fields.integer, among=(0, 1, 2, 3))},  # console, 2D graph, 3D graph, dictionary
        "func_2d": {"expr": _text},
        "func_3d": {"expr": _text},
    },
    "Celestia": {},
    "GrassGIS": {
        "map": {"grassdb": _path, "location": _text, "mapset": _text},
        "layer": {"query": _layer},
        "scale": {"scale": partial(Fields.number, low=0)},
    },
    "ChimeraX": _CHIMERAX | {"alphafold_match": {"name": _text}, "color": {"style": _text}, "destroy": {}},
    "Lean": {"import": {"libs": _texts}, "open": {"libs": _texts}, "def": {"expr": _text}, "query": {"expr": _theorem}},
    "TeXstudio": {f"chimerax_{name}": readers for name, readers in _CHIMERAX.items()},
}
