"""How good the pinned executor is: right procedures of our workflows, and ones with a wrong step, on held-out cases.

``python -m deskgym.benchmarks.procedures --cases 5`` prints for each workflow of the suite ``bpm`` that has a procedure
in how many cases each comes out right. A wrong step is left out, changed for its neighbour, or about something else.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch

from deskgym.cli.output import print_table
from deskgym.task_suites.bpm.follow import moves_of
from deskgym.task_suites.bpm.procedure_text import steps_of
from deskgym.task_suites.procedures.company import Company, live_suite

_PARAMETER = re.compile(r"\{[^{}]+\}")
_PREPARES = ("press", "open")
"""Verbs of steps that only bring something into sight: without them a case may come out right all the same."""


def damaged(procedure: str, seed: int) -> Mapping[str, str]:
    """The procedure with a wrong step, by what is wrong; only of steps that do something."""
    steps, draw = steps_of(procedure), random.Random(seed)
    doing = [k for k, step in enumerate(steps) if any(move.verb not in _PREPARES for move in moves_of(f"1. {step}"))]
    found: dict[str, str] = {}
    if len(doing) > 1:
        left_out = draw.choice(doing)
        found["left out"] = _numbered([step for k, step in enumerate(steps) if k != left_out])
        first = draw.choice([k for k in doing if k + 1 in doing])
        swapped = list(steps)
        swapped[first : first + 2] = reversed(swapped[first : first + 2])
        found["changed for its neighbour"] = _numbered(swapped)
    if used := [k for k in doing if _PARAMETER.search(steps[k])]:
        other = draw.choice(used)
        found["about something else"] = _numbered(
            [_PARAMETER.sub("Nowhere", step) if k == other else step for k, step in enumerate(steps)]
        )
    return found


def _numbered(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.procedures", description=__doc__)
    parser.add_argument("--cases", type=int, default=5, metavar="N", help="cases of each procedure (default: 5)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="draws the cases and what is wrong")
    parser.add_argument("--task", default="*", metavar="GLOB", help="which workflows, such as 'shop/*' (default: all)")
    given = parser.parse_args(arguments)
    company, rows = Company(cases=given.cases), list[tuple[str, str, str]]()
    total: dict[str, list[bool]] = {"right": [], "one wrong step": []}
    for name, template in live_suite().templates.items():
        if not template.file.verbose or not fnmatch(name, given.task):
            continue
        gold = company.gold(name)
        for what, procedure in {"right": gold, **damaged(gold, given.seed)}.items():
            came_out = company.success(name, procedure, given.seed)
            total["right" if what == "right" else "one wrong step"] += came_out
            rows.append((name, what, f"{sum(came_out)}/{len(came_out)}"))
            print(f"{name}: {what}: {rows[-1][-1]}", flush=True)  # the whole takes minutes
    rows += [("all", what, f"{sum(came_out)}/{len(came_out)}") for what, came_out in total.items()]
    print_table("cases that came out right", ("workflow", "procedure", "right"), rows)


if __name__ == "__main__":
    main()
