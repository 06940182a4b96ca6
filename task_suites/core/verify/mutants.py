"""Mutants: oracles with one change each. A check that lets one earn the reward looks at too little."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from deskgym.envs.episode import Bursts, Screen, Script
from deskgym.envs.errors import SetupError, TaskError
from deskgym.task_suites.core.task import Task
from deskgym.task_suites.core.template import Sections, Template

OTHERS = 20
"""How many other seeds are looked at for one where a parameter differs."""


def mutants_of(template: Template, task: Task) -> dict[str, Script]:
    """The mutants of an instance's oracle, by name.

    ``drop 3`` leaves out the third step (never the DONE at the end, which every agent says), and ``other a`` gives the
    parameter ``a`` the value of another seed wherever the oracle names it. One that does not find what it wants to
    click stops there.
    """
    steps = template.file.oracle
    last = len(steps) - (next(iter(steps[-1])) == "done")
    found = {
        f"drop {k + 1}": _script(template, task.params, [*steps[:k], *steps[k + 1 :]]) for k in range(last) if last > 1
    }
    for name in sorted(_named(steps) & set(task.params)):
        other = _other(template, task, name)
        if other is not None:
            found[f"other {name}"] = _script(template, {**task.params, name: other}, steps)
    return found


def _script(template: Template, params: Mapping[str, Any], steps: list[Any]) -> Script:
    return partial(_until_lost, Sections(template, params).script("oracle", steps))


def _until_lost(script: Script, screen: Screen) -> Bursts:
    """What a script does until something that it looks for is not there."""
    try:
        yield from script(screen)
    except (SetupError, LookupError, ValueError):  # the last two: a table that it reads has no such row
        return


def _other(template: Template, task: Task, name: str) -> Any:
    """Another seed's value of a parameter, or None where all are the same."""
    for seed in range(OTHERS):
        try:
            value = template.draw((task.seed or 0) + 1 + seed)[name]
        except TaskError:
            continue
        if value != task.params[name]:
            return value
    return None


def _named(data: Any) -> set[str]:
    """The parameters that texts in data name."""
    if isinstance(data, str):
        return {name.partition("[")[0] for _, name, _, _ in string.Formatter().parse(data) if name}
    parts: Iterator[Any] = iter(data.values() if isinstance(data, Mapping) else data if isinstance(data, list) else ())
    return {name for part in parts for name in _named(part)}
