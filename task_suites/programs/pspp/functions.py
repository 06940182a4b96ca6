"""What tasks ask of data: a survey and an experiment, which differ by the seed, as syntax that makes them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deskgym.task_suites.programs.toolkits.texts import edit, everywhere

_TOWNS = ("Aalen", "Brest", "Cadiz", "Delft", "Evora", "Faro")
_NO_ANSWER = 9
_CODES = ("id", "sex", "region", "subject", "group", "site", "better")


def survey(seed: int) -> dict[str, Any]:
    """A survey: as ``data``, the syntax that makes it, without labels of values; and its number of cases, ``n``.

    Its variables are ``id``, ``sex`` (1, 2), ``region`` (1 to 4), ``age``, ``educ`` (years at school), ``hours``
    (worked a week), ``income`` (a month), ``q1`` to ``q5`` (1 to 5, or 9 for no answer; ``q4`` is the other way
    round) and ``wgt``, a weight.
    """
    draw = random.Random(f"survey {seed}")
    rows: list[list[Any]] = []
    for number in range(1, draw.randint(45, 70) + 1):
        sex, region, mood = draw.randint(1, 2), draw.randint(1, 4), draw.gauss(0, 1)
        age, educ = draw.randint(18, 79), draw.randint(8, 18)
        hours = round(min(max(draw.gauss(38 - 4 * sex, 6), 8), 60), 1)
        income = round(min(max(draw.gauss(600 + 90 * educ + 9 * age - 120 * sex, 350), 450), 4800))
        items = [_item(draw, mood if at != 3 else -mood) for at in range(5)]
        rows.append([number, sex, region, age, educ, hours, income, *items, round(draw.uniform(0.4, 2.2), 2)])
    draw.shuffle(rows)
    names = "id sex region age educ hours income q1 q2 q3 q4 q5 wgt".split()
    formats = "F4.0 F1.0 F1.0 F3.0 F2.0 F5.1 F6.0 F1.0 F1.0 F1.0 F1.0 F1.0 F5.2".split()
    return {"data": _syntax(names, formats, rows), "n": len(rows)}


def _item(draw: random.Random, mood: float) -> int:
    if draw.random() < 0.05:
        return _NO_ANSWER
    return min(max(round(3 + mood + draw.gauss(0, 0.8)), 1), 5)


def experiment(seed: int) -> dict[str, Any]:
    """An experiment: as ``data``, the syntax that makes it; and its number of cases, ``n``.

    Its variables are ``subject``, ``group`` (1 control, 2 drug, 3 both, with labels), ``site`` (a town), ``dose``,
    ``pre`` and ``post`` (what was measured before and after) and ``better`` (0, 1).
    """
    draw = random.Random(f"experiment {seed}")
    effect = [0.0, draw.uniform(1.5, 4.0), draw.uniform(3.0, 6.0)]
    slope = draw.uniform(0.3, 0.6)
    towns = draw.sample(_TOWNS, 3)
    rows: list[list[Any]] = []
    sizes = [draw.randint(12, 15), draw.randint(17, 21), draw.randint(22, 27)]
    for group, size in enumerate(sizes, 1):
        for _ in range(size):
            dose = draw.randint(1, 9)
            pre = round(draw.gauss(50, 8), 1)
            post = round(25 + slope * pre + effect[group - 1] + 0.4 * dose + draw.gauss(0, 2.5 + group), 1)
            better = int(draw.random() < 0.25 + 0.15 * group)
            rows.append([0, group, draw.choice(towns), dose, pre, post, better])
    draw.shuffle(rows)
    for number, row in enumerate(rows, 101):
        row[0] = number
    names = "subject group site dose pre post better".split()
    formats = "F4.0 F1.0 A8 F2.0 F6.1 F6.1 F1.0".split()
    labels = (
        "VARIABLE LABELS group 'Treatment' pre 'Before' post 'After'.\n"
        "VALUE LABELS group 1 'control' 2 'drug' 3 'both' /better 0 'no' 1 'yes'.\n"
    )
    return {"data": _syntax(names, formats, rows) + labels, "n": len(rows), "towns": towns}


def sites(seed: int) -> dict[str, Any]:
    """A table of the towns of the experiment with the same seed: as ``data``, the syntax that makes it.

    Its variables are ``site`` and ``beds``, sorted by ``site``.
    """
    draw = random.Random(f"sites {seed}")
    rows = [[town, draw.randint(20, 400)] for town in sorted(experiment(seed)["towns"])]
    return {"data": _syntax(["site", "beds"], ["A8", "F4.0"], rows)}


def readings(seed: int) -> dict[str, Any]:
    """Readings of stations: as ``text``, a file with semicolons between fields, and ``n``, its number of rows."""
    draw = random.Random(f"readings {seed}")
    rows = [
        [number, draw.choice(_TOWNS), round(draw.gauss(12, 6), 1), draw.randint(20, 100)]
        for number in range(1, draw.randint(25, 40) + 1)
    ]
    lines = ["station;town;temp;humid", *(";".join(map(str, row)) for row in rows)]
    return {"text": "\n".join(lines) + "\n", "n": len(rows)}


def _syntax(names: Sequence[str], formats: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    columns = " ".join(f"{name} ({format})" for name, format in zip(names, formats, strict=True))
    levels = "".join(f"VARIABLE LEVEL {name} ({'NOMINAL' if name in _CODES else 'SCALE'}).\n" for name in names)
    lines = "\n".join(" ".join(map(str, row)) for row in rows)
    return f"DATA LIST LIST NOTABLE /{columns}.\nBEGIN DATA\n{lines}\nEND DATA.\n{levels}"


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"pspp.{function.__name__}": function for function in (edit, everywhere, experiment, readings, sites, survey)
}
"""By the names that task files use."""
