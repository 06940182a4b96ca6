"""What has changed in Dagster since the setup: in its storage, which no agent can write to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.programs.dagster import company

_RUNS = "SELECT run_id, pipeline_name, status, run_body FROM runs"
_SWITCHES = "SELECT job_body, status FROM jobs"
_REST = (
    "SELECT (SELECT count(*) FROM bulk_actions) AS backfills, (SELECT count(*) FROM dynamic_partitions) AS partitions, "
    "(SELECT count(*) FROM asset_keys WHERE last_materialization IS NOT NULL) AS materialized"
)
_ON = ("RUNNING", "AUTOMATICALLY_RUNNING", "DECLARED_IN_CODE")

Row = dict[str, Any]


def _take(start: Start, **_: Any) -> Mapping[str, Any]:
    return {"dagster": _look(start.companions["dagster"])}


@with_baseline(_take)
def state(
    final: FinalState,
    runs: list[Row] | None = None,
    started: list[str] | None = None,
    stopped: list[str] | None = None,
    canceled: list[Row] | None = None,
    new: int = 0,
) -> Outcome:
    """Just this has happened in Dagster since the setup.

    Args:
        final: the final state.
        runs: that were launched, in any order: ``job``; ``config`` (``{}``); ``assets``, by the alphabet (``[]``);
            ``tags`` that are not Dagster's own (``{}``); ``again``: how the run has ended that this one executes again
            (``""``); ``resumed``: whether from where it failed (``false``); ``status`` (``SUCCESS``).
        started: schedules and sensors that run now, and did not.
        stopped: those that ran, and do not now.
        canceled: configurations of the runs that were under way, and were canceled.
        new: how many assets have been materialized that never were before.
    """
    base = final.baseline("dagster")
    try:
        now = _look(final.companions["dagster"])
    except ServiceError as error:
        raise CheckFailed(f"dagster: {error}") from None
    lines = [*_compare_runs(base, now, runs or []), *_compare_old(base["runs"], now["runs"], canceled or [])]
    wanted = (set(base["on"]) | set(started or [])) - set(stopped or [])
    if wanted != set(now["on"]):
        lines.append(f"{shown(now['on'], 300)} run; right is {shown(sorted(wanted), 300)}")
    rest = {**base["rest"], "materialized": base["rest"]["materialized"] + new}
    if rest != now["rest"]:
        lines.append(f"there are {now['rest']}; right is {rest}")
    return not lines, "; ".join(lines) or "just the right things have happened"


_DEFAULTS = {"config": {}, "assets": [], "tags": {}, "again": "", "resumed": False, "status": "SUCCESS"}


def _compare_runs(base: Row, now: Row, wanted: list[Row]) -> list[str]:
    made = [_described(base, now["runs"][key]) for key in now["runs"].keys() - base["runs"].keys()]
    right = [{**_DEFAULTS, **run} for run in wanted]
    if sorted(made, key=_ordered) == sorted(right, key=_ordered):
        return []
    return [f"the new runs are {shown(made, 600)}; right is {shown(right, 600)}"]


def _ordered(run: Row) -> str:
    """A run's text, whatever the order of its keys."""
    return json.dumps(run, sort_keys=True)


def _described(base: Row, run: Row) -> Row:
    """A new run, by how the run before has ended that it executes again, since ids are drawn by Dagster."""
    parent = base["runs"].get(run["parent"])
    again = f"{parent['job']} {parent['status']}" if parent else run["parent"] or ""
    again = parent["status"] if parent and parent["job"] == run["job"] else again
    return {**{key: run[key] for key in ("job", "config", "assets", "tags", "resumed", "status")}, "again": again}


def _compare_old(base: Mapping[str, Row], now: Mapping[str, Row], canceled: list[Row]) -> list[str]:
    lines = []
    for key, run in base.items():
        wanted = "CANCELED" if run["status"] == "STARTED" and run["config"] in canceled else run["status"]
        found = now[key]["status"] if key in now else "gone"
        if found != wanted:
            lines.append(f"the run of {run['job']} with {shown(run['config'], 200)} is {found}, right is {wanted}")
    return lines


def _look(companion: Companion) -> Row:
    """Runs, what is switched on, and how much there is of the rest; JSON-able."""
    on = set(company.STARTED)
    for row in companion.sql(_SWITCHES):
        name = str(_json(row["job_body"], "a schedule's row")["origin"]["job_name"])
        (on.add if row["status"] in _ON else on.discard)(name)
    runs = {str(row["run_id"]): _run(row) for row in companion.sql(_RUNS)}
    return {"runs": runs, "on": sorted(on), "rest": companion.sql(_REST)[0]}


def _run(row: Row) -> Row:
    body = _json(row["run_body"], "a run's row")
    tags = body.get("tags") or {}
    selected = (body.get("asset_selection") or {}).get("__frozenset__", ())
    return {
        "job": row["pipeline_name"],
        "status": row["status"],
        "config": body.get("run_config") or {},
        "assets": sorted("/".join(key["path"]) for key in selected),
        "tags": {key: value for key, value in tags.items() if not key.startswith((".dagster/", "dagster/"))},
        "parent": body.get("parent_run_id") or "",
        "resumed": tags.get("dagster/is_resume_retry") == "true",
    }


def _json(text: str, what: str) -> Row:
    found = parse_json(text, what)
    if not isinstance(found, dict):
        raise CheckFailed(f"{what} has no mapping")
    return found


CHECKS: Mapping[str, Any] = {"dagster.state": state}
"""By the names that task files use."""
