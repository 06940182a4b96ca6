"""What tasks ask of the company's pipelines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.airflow import company


def pipeline(dag: str, day: int = 0, task: int = 0) -> dict[str, Any]:
    """A pipeline: its id, owner, tags, tasks, whether it is paused, and one of its runs (by day) and tasks (by number).

    ``run`` is the run's id and ``task`` the task's; numbers go round.
    """
    found = company.PIPELINES[dag]
    date = company.logical_dates(found)[day % company.DAYS]
    return {
        "dag": dag, "owner": found.owner, "tags": list(found.tags), "tasks": list(found.tasks), "paused": found.paused,
        "schedule": found.schedule, "about": found.about, "conf": dict(found.conf), "run": company.run_id(date),
        "date": f"{date:%Y-%m-%d, %H:%M:%S}", "day": f"{date:%Y-%m-%d}",
        "task": found.tasks[task % len(found.tasks)], "later": list(found.tasks[task % len(found.tasks) + 1 :]),
    }  # fmt: skip


def pipelines(tag: str = "", owner: str = "", more: str = "") -> list[str]:
    """The ids of the pipelines with a tag, of an owner, and of one more; in the order of their names."""
    found = {
        dag for dag, known in company.PIPELINES.items() if (not tag or tag in known.tags) and owner in ("", known.owner)
    }
    return sorted(found | ({more} if more else set()))


def instances(dag: str, run: str, tasks: list[str], state: str = "") -> list[dict[str, str]]:
    """Task instances of a run, as ``airflow.state`` takes them; with a state where one is given."""
    return [{"dag": dag, "run": run, "task": task, **({"state": state} if state else {})} for task in tasks]


def switched(dags: list[str], paused: bool) -> list[dict[str, Any]]:
    """The changes that ``airflow.state`` takes for pipelines that all are paused in the end, or none."""
    changing = to_switch(dags, paused)
    return [{"update": "dag", "where": {"dag_id": dag}, "row": {"is_paused": paused}} for dag in changing]


def to_switch(dags: list[str], paused: bool) -> list[str]:
    """Those of these pipelines whose switches must be clicked, so that all are paused, or none."""
    return [dag for dag in dags if company.PIPELINES[dag].paused != paused]


def from_(dag: str, task: str) -> list[str]:
    """A task and those after it."""
    tasks = company.PIPELINES[dag].tasks
    return list(tasks[tasks.index(task) :])


def with_(conf: dict[str, str], key: str, value: str) -> dict[str, str]:
    """A configuration with one other value."""
    return {**conf, key: value}


def slowest(seconds: list[int], tasks: list[str]) -> dict[str, Any]:
    """Durations for the tasks of a run: the task that takes longest, the next one, and the SQL that says how long."""
    pairs = sorted(zip(seconds, tasks, strict=False), reverse=True)
    cases = " ".join(f"WHEN '{task}' THEN {taken}" for taken, task in pairs)
    return {"task": pairs[0][1], "second": pairs[1][1], "seconds": pairs[0][0], "sql": f"CASE task_id {cases} END"}


def listed(names: list[str]) -> str:
    """Names in the order of the alphabet, as a sentence has them."""
    *first, last = sorted(names)
    return f"{', '.join(first)} and {last}" if first else last


def both(one: list[Any], other: list[Any]) -> list[Any]:
    """Two lists as one."""
    return [*one, *other]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "airflow.pipeline": pipeline, "airflow.pipelines": pipelines, "airflow.instances": instances,
    "airflow.from": from_, "airflow.with": with_, "airflow.listed": listed, "airflow.switched": switched,
    "airflow.to_switch": to_switch, "airflow.slowest": slowest, "airflow.both": both,
}  # fmt: skip
"""By the names that task files use."""
