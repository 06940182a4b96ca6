"""What has changed in Airflow since the setup: in its metadata database, which no agent can write to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks import sql
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.changed_rows import Change
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.provision.companions import Companion

BOOKKEEPING = [
    "job", "log", "session", "callback_request", "dag.last_parsed_time", "dag.next_dagrun*", "dag_schedule_dataset*",
    "ab_user.last_login", "ab_user.login_count", "ab_user.changed_on", "ab_user.changed_by_fk",
    "ab_user.fail_login_count",
]  # fmt: skip
"""What Airflow notes about itself and about who looked at what."""

WORK = ["dag_run", "dag_run_note", "task_instance", "task_fail", "task_map", "task_reschedule", "xcom", "rendered_*"]
"""What runs write while they go on; ``airflow.state`` compares runs and task instances by themselves."""

_RUNS = "SELECT dag_id, run_id, run_type FROM dag_run"
_TASKS = "SELECT dag_id, run_id, task_id, map_index, state, try_number FROM task_instance"
_HAPPENS = (None, "scheduled", "queued", "running", "success")

Row = dict[str, Any]


def _take(start: Start, **_: Any) -> Mapping[str, Any]:
    baseline: Any = sql.diff.baseline  # type: ignore[attr-defined]
    taken = baseline(start, changes=[], companion="airflow", ignore=[*BOOKKEEPING, *WORK])
    return {**taken, "airflow:work": _work(start.companions["airflow"])}


@with_baseline(_take)
def state(
    final: FinalState,
    changes: list[Change] | None = None,
    runs: list[Row] | None = None,
    cleared: list[Row] | None = None,
    marked: list[Row] | None = None,
) -> Outcome:
    """Just this has changed in Airflow since the setup, apart from what it notes by itself.

    Args:
        final: the final state.
        changes: rows of the metadata database, as in ``sql.diff``; runs and task instances are not among them.
        runs: started by hand: ``{dag: ID, conf: MAPPING}`` each.
        cleared: task instances that were cleared: they ran again, or wait to: ``{dag, run, task}`` each.
        marked: task instances whose state was set by hand: ``{dag, run, task, state}`` each.
    """
    right, why = sql.diff(final, changes or [], companion="airflow", ignore=[*BOOKKEEPING, *WORK])
    if not right:
        return right, why
    companion = final.companions["airflow"]
    try:
        now = _work(companion)
        started = _started(companion, now, final.baseline("airflow:work"))
    except ServiceError as error:
        raise CheckFailed(f"airflow: {error}") from None
    wanted = sorted(({"dag": run["dag"], "conf": run.get("conf", {})} for run in runs or []), key=str)
    if sorted(started, key=str) != wanted:
        return False, f"the runs started by hand are {shown(started, 400)}; right is {shown(wanted, 400)}"
    return _compare(final.baseline("airflow:work"), now, cleared or [], marked or [])


def account(final: FinalState, user: str, password: str, role: str) -> Outcome:
    """An account of Airflow has this role alone, and its password opens Airflow."""
    companion = final.companions["airflow"]
    query = (
        "SELECT ab_role.name FROM ab_user JOIN ab_user_role ON user_id = ab_user.id "
        f"JOIN ab_role ON role_id = ab_role.id WHERE username = '{user}'"
    )
    try:
        roles = [row["name"] for row in companion.sql(query)]
        status = companion.http("GET", "/api/v1/dags?limit=1", auth=(user, password)).status
    except ServiceError as error:
        raise CheckFailed(f"airflow: {error}") from None
    right = roles == [role] and status == 200
    return right, f"{user} has the roles {roles}, right is {role}; logging in was answered with {status}"


def _compare(base: Row, now: Row, cleared: list[Row], marked: list[Row]) -> Outcome:
    """Task instances of runs that were there at the start."""
    again = {_key(item) for item in cleared}
    set_to = {_key(item): item["state"] for item in marked}
    for key, (before, tries) in base["tasks"].items():
        found = now["tasks"].get(key)
        if key in again:
            # a task that has run again has one more try; one that is still to run has no state of an end
            right = found is not None and found[0] in _HAPPENS and (found[0] != "success" or found[1] > tries)
        elif key in set_to:
            right = found == [set_to[key], tries]
        else:
            right = found == [before, tries]
        if not right:
            return False, f"the task instance {key} was {before} after {tries} tries, and is {found}"
    gone = {key for key in base["runs"] if key not in now["runs"]}
    return not gone, f"the runs {shown(sorted(gone), 300)} are gone" if gone else "just the right changes"


def _key(item: Row) -> str:
    return f"{item['dag']} {item['run']} {item['task']}"


def _work(companion: Companion) -> Row:
    """Runs and task instances, JSON-able."""
    runs = {f"{row['dag_id']} {row['run_id']}": row["run_type"] for row in companion.sql(_RUNS)}
    tasks = {
        f"{row['dag_id']} {row['run_id']} {row['task_id']}": [row["state"], row["try_number"]]
        for row in companion.sql(_TASKS)
    }
    return {"runs": runs, "tasks": tasks}


def _started(companion: Companion, now: Row, base: Row) -> list[Row]:
    """The runs that are new, with what they were given: Airflow itself is asked, since it keeps that pickled.

    Once a run that was cleared has ended, the scheduler starts the next one by itself: nobody has asked for that one.
    """
    found = []
    for key in now["runs"].keys() - base["runs"].keys():
        if now["runs"][key] == "scheduled":
            continue
        dag, run = key.split(" ", 1)
        path = f"/api/v1/dags/{quote(dag)}/dagRuns/{quote(run)}"
        answer = companion.http("GET", path, auth=("admin", "admin"))
        if answer.status != 200:
            raise CheckFailed(f"GET {path} was answered with {answer.status}")
        found.append({"dag": dag, "conf": parse_json(answer.text, "the run").get("conf")})
    return found
