"""Reads one task file into an UpstreamTask: every key, type and function must be one that the benchmark has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from deskgym.task_suites.importers.json_files import Fields, JsonFile
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.check_schema import CHECKS, read_stop
from deskgym.task_suites.importers.scienceboard.programs import LAUNCHERS
from deskgym.task_suites.importers.scienceboard.setup_schema import read_setup
from deskgym.task_suites.importers.scienceboard.task import Body, Penalty, Split, UpstreamTask

VERSION = "0.1"
SPLITS: tuple[Split, ...] = get_args(Split)


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
    initialize = read_setup(fields, program, raw)
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


def _evaluate(fields: Fields, program: str) -> tuple[CheckItem, ...]:
    readers = CHECKS[program] | {"stop": read_stop}
    items: list[CheckItem] = []
    for item in fields.objects("evaluate"):
        name = item.known("type", readers, f"check of {program}")
        if name is not None:
            items.append(readers[name](item))
            item.finish()
    return tuple(items)
