"""Reads one task file into an UpstreamTask: every key, type and function must be one that the benchmark has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from deskgym.task_suites.importers.json_files import Fields, JsonFile, hint, one_of
from deskgym.task_suites.importers.scienceboard import setup_items as setup
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.check_schema import CHECKS, read_stop
from deskgym.task_suites.importers.scienceboard.programs import LAUNCHERS, PROGRAMS, find_program
from deskgym.task_suites.importers.scienceboard.task import Body, Penalty, Split, UpstreamTask

VERSION = "0.1"
SPLITS: tuple[Split, ...] = get_args(Split)
SetupReader = Callable[[Fields, float], setup.InitItem]


def read_task(file: JsonFile, path: Path, split: Split, program: str) -> UpstreamTask | None:
    """The task in a file, or None when ``file.problems`` has mistakes.

    Args:
        file: the opened file; its problems grow.
        path: where it is; its name is the task's name.
        split: the folder of the split that it is in.
        program: the folder of the program that it is in.
    """
    fields = file.root()
    if fields is None:
        return None
    raw = split == "Raw"
    kind = fields.text("type", among=tuple(LAUNCHERS))
    if kind and kind != program:
        fields.fault("type", f"is {kind!r}, but the file is in the folder of {program}")
    initialize = _setup(fields, program, raw)
    task = UpstreamTask(
        id="/".join(([] if split == "VM" else [split]) + [program, path.stem]),
        split=split,
        file=path,
        type=program,
        sort=fields.text("sort", among=("Raw" if raw else "VM",)),
        steps=fields.integer("steps", low=1),
        instruction=fields.text("instruction"),
        version=fields.text("version", among=(VERSION,)),
        snapshot=fields.text("snapshot") if "snapshot" in fields else None,
        ans=fields.text("ans", empty=True) if "ans" in fields else None,
        query=_query(fields) if program == "Celestia" and "query" in fields else (),
        penalty=_penalty(fields) if raw else None,
        initialize=initialize,
        evaluate=_evaluate(fields, program),
    )
    fields.finish()
    return None if file.problems else task


def _query(fields: Fields) -> tuple[Body, ...]:
    bodies = []
    for item in fields.objects("query"):
        bodies.append(Body(item.text("name"), item.integer("type", among=(1, 2, 3))))
        item.finish()
    return tuple(bodies)


def _penalty(fields: Fields) -> Penalty:
    value = fields.text("penalty")
    match = re.fullmatch(r"([1-9]\d{0,3}):([1-9]\d{0,3})", value, re.ASCII)
    if match is None:
        if value:
            fields.fault("penalty", f"must look like '1:5' (invalid steps, steps taken off), is {value!r:.80}")
        return Penalty(1, 1)
    return Penalty(int(match[1]), int(match[2]))


def _setup(fields: Fields, program: str, raw: bool) -> tuple[setup.InitItem, ...]:
    readers = SETUP[program] if raw else GENERIC | SETUP[program]
    items: list[setup.InitItem] = []
    listed = fields.objects("initialize")
    for item in listed:
        name = item.text("func")
        wait = item.number("wait", low=0) if "wait" in item else 0.0
        if name not in readers:
            if name:
                sort = "Raw" if raw else "VM"
                known = one_of(tuple(sorted(readers)))
                item.fault(
                    "func", f"{name!r} is no function of {program} ({sort}), which has {known}{hint(name, readers)}"
                )
            continue
        items.append(readers[name](item, wait))
        item.finish()
    if not raw and listed and not any(item.data.get("func") == "launch" for item in listed):
        fields.fault("initialize", "must start a program with 'launch'")
    theorems = sum(item.data.get("func") == "query" for item in listed)
    if program == "Lean" and listed and theorems != 1:
        fields.fault("initialize", f"must have exactly one 'query', has {theorems}")
    return tuple(items)


def _evaluate(fields: Fields, program: str) -> tuple[CheckItem, ...]:
    readers = CHECKS[program] | {"stop": read_stop}
    items: list[CheckItem] = []
    for item in fields.objects("evaluate"):
        name = item.text("type")
        if name not in readers:
            if name:
                known = one_of(tuple(sorted(readers)))
                item.fault("type", f"{name!r} is no check of {program}, which has {known}{hint(name, readers)}")
            continue
        items.append(readers[name](item))
        item.finish()
    return tuple(items)


def _command(fields: Fields) -> str | tuple[str, ...]:
    if isinstance(fields.data.get("command"), list):
        return fields.texts("command")
    return fields.text("command")


def _shell(fields: Fields) -> bool:
    return fields.boolean("shell") if "shell" in fields else False


def _launch(fields: Fields, wait: float) -> setup.Launch:
    command = _command(fields)
    found = find_program(command) if command else None
    if command and found is None:
        fields.fault("command", f"starts none of the programs {', '.join(PROGRAMS)}")
    program, arguments = found or ("", ())
    return setup.Launch(command=command, shell=_shell(fields), program=program, arguments=arguments, wait=wait)


def _theorem(fields: Fields, wait: float) -> setup.Theorem:
    expr = fields.text("expr")
    if expr and not expr.rstrip().endswith("by sorry"):
        fields.fault("expr", "must end in 'by sorry'")
    return setup.Theorem(expr=expr, wait=wait)


def _map(fields: Fields, wait: float) -> setup.OpenMapset:
    path = fields.path_text("grassdb")
    return setup.OpenMapset(grassdb=path, location=fields.text("location"), mapset=fields.text("mapset"), wait=wait)


def _layer(fields: Fields, wait: float) -> setup.AddLayer:
    query = fields.object("query")
    name = query.text("name") if "query" in fields.data else ""
    query.finish()
    return setup.AddLayer(name=name, wait=wait)


#: Functions that every desktop task has.
GENERIC: dict[str, SetupReader] = {
    "launch": _launch,
    "execute": lambda f, wait: setup.Execute(command=_command(f), shell=_shell(f), wait=wait),
    "opt": lambda f, wait: setup.AccessibilityDepth(depth=f.integer("depth", low=1), wait=wait),
    "touch": lambda f, wait: setup.WriteFile(path=f.path_text("path"), text=f.text("text", empty=True), wait=wait),
    "append": lambda f, wait: setup.AppendFile(
        path=f.path_text("path"), content=f.text("content", empty=True), wait=wait
    ),
    "download": lambda f, wait: setup.Download(
        url=f.text("url", matching=r"https?://\S+"), path=f.path_text("path"), wait=wait
    ),
}

_CHIMERAX: dict[str, SetupReader] = {
    "clear_log": lambda f, wait: setup.ClearLog(wait=wait),
    "open": lambda f, wait: setup.OpenModel(name=f.text("name"), wait=wait),
    "turn": lambda f, wait: setup.Turn(axis=f.text("axis", among=("x", "y", "z")), angle=f.number("angle"), wait=wait),
}

#: Functions of each program.
SETUP: dict[str, dict[str, SetupReader]] = {
    "KAlgebra": {
        "tab": lambda f, wait: setup.SelectTab(index=f.integer("index", among=(0, 1, 2, 3)), wait=wait),
        "func_2d": lambda f, wait: setup.Plot2D(expr=f.text("expr"), wait=wait),
        "func_3d": lambda f, wait: setup.Plot3D(expr=f.text("expr"), wait=wait),
    },
    "Celestia": {},
    "GrassGIS": {
        "map": _map,
        "layer": _layer,
        "scale": lambda f, wait: setup.SetScale(scale=f.number("scale", low=0), wait=wait),
    },
    "ChimeraX": _CHIMERAX
    | {
        "alphafold_match": lambda f, wait: setup.MatchAlphaFold(name=f.text("name"), wait=wait),
        "color": lambda f, wait: setup.ColorModel(style=f.text("style"), wait=wait),
        "destroy": lambda f, wait: setup.DisableCommandLine(wait=wait),
    },
    "Lean": {
        "import": lambda f, wait: setup.ImportLibraries(libs=f.texts("libs"), wait=wait),
        "open": lambda f, wait: setup.OpenNamespaces(libs=f.texts("libs"), wait=wait),
        "def": lambda f, wait: setup.Define(expr=f.text("expr"), wait=wait),
        "query": _theorem,
    },
    "TeXstudio": {f"chimerax_{name}": reader for name, reader in _CHIMERAX.items()},
}
