"""What tasks ask of the company's jobs and assets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.dagster import company


def job(name: str, number: int = 0) -> dict[str, Any]:
    """A job: its ops, the first one, one by number (round), the one that has failed, and what its runs were given."""
    found = company.JOBS[name]
    region, batch = found.region, company.BATCH
    return {
        "job": name, "ops": list(found.ops), "first": found.ops[0], "op": found.ops[number % len(found.ops)],
        "failed": found.ops[found.fails], "region": region, "batch": batch, "failed_batch": batch + 100,
        "others": [each for each in company.REGIONS if each != region],
        "failed_config": config(name, region, batch + 100),
    }  # fmt: skip


def config(name: str, region: str, batch: int) -> dict[str, Any]:
    """A run's configuration."""
    return {"ops": {company.JOBS[name].ops[0]: {"config": {"region": region, "batch": batch}}}}


def figures(name: str, number: int) -> dict[str, Any]:
    """What an op, by number, of the run that has succeeded says in its log: ``rows`` and ``rejected``."""
    found = company.JOBS[name]
    op = found.ops[number % len(found.ops)]
    rows, rejected = company.figures(name, op, found.region, company.BATCH)
    return {"op": op, "rows": rows, "rejected": rejected, "line": f"{op}: {rows} rows written, {rejected} rejected"}


def report(name: str, swapped: bool = False) -> list[list[Any]]:
    """What each op of the run that has succeeded says: its name, rows, and rejected rows; or these two swapped."""
    found = company.JOBS[name]
    both = [(op, company.figures(name, op, found.region, company.BATCH)) for op in found.ops]
    return [[op, *(reversed(pair) if swapped else pair)] for op, pair in both]


def csv(rows: list[list[Any]]) -> str:
    """Such a report as a CSV file."""
    return "".join(f"{','.join(map(str, row))}\n" for row in [["op", "rows", "rejected"], *rows])


def group(name: str) -> list[str]:
    """The assets of a group, by the alphabet."""
    return sorted(asset for asset, (of, _) in company.ASSETS.items() if of == name)


def schedule(name: str) -> dict[str, Any]:
    """A schedule: its job and its cron expression."""
    of, cron = company.SCHEDULES[name]
    return {"name": name, "job": of, "cron": cron}


def sensor(name: str, batch: int) -> dict[str, Any]:
    """A sensor: its job, and what it asks for with a cursor."""
    of = company.SENSORS[name]
    return {"job": of, "config": {"ops": {company.JOBS[of].ops[0]: {"config": {"batch": batch}}}}}


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"dagster.{function.__name__}": function
    for function in (job, config, figures, report, csv, group, schedule, sensor)
}
"""By the names that task files use."""
