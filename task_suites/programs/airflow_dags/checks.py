"""What DAG files define and do: they are run in the second, clean machine, never believed from where the agent was."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome
from deskgym.envs.evaluation.readers.clean_run import open_clean, surviving
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.airflow import company
from deskgym.task_suites.programs.airflow.service import ENVIRONMENT
from deskgym.task_suites.programs.airflow_dags.service import DESKTOP_DAGS, JUDGE
from deskgym.task_suites.programs.dbt.building import start_warehouse
from deskgym.task_suites.programs.postgresql.server import SOCKET
from deskgym.task_suites.programs.warehouse.service import DATABASE, ROLE

HOME = "/tmp/airflow"
_GIVEN = "/tmp/given-dags"
LIMIT = 8 << 20  # bytes of the folder of DAG files
TIMEOUT = 120.0
PYTHON = f"{ENVIRONMENT.inside}/bin/python"
_SETTINGS = {
    "AIRFLOW_HOME": HOME, "AIRFLOW__CORE__LOAD_EXAMPLES": "False", "PYTHONWARNINGS": "ignore",
    "AIRFLOW__CORE__DAGS_FOLDER": DESKTOP_DAGS, "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    "AIRFLOW_CONN_WAREHOUSE": json.dumps(
        {"conn_type": "postgres", "host": SOCKET, "login": ROLE, "schema": DATABASE}
    ),
}  # fmt: skip

_ASKING = {"PGHOST": SOCKET, "PGUSER": ROLE, "PGDATABASE": DATABASE}

Tree = dict[str, Any]


def dags(final: FinalState, changed: list[Tree] | None = None, tasks: list[Tree] | None = None) -> Outcome:
    """The DAG files define just the company's pipelines, apart from what is named, and do nothing else.

    What a file defines is found by importing it, and code in it could give any answer in its place: so the files are
    read first, without running them, and may have nothing but imports, tasks and the functions that were there.

    Args:
        final: the final state.
        changed: ``dag``, and its attributes that are others: ``schedule`` (text), ``tags`` (by the alphabet).
        tasks: ``dag``, ``task``, and its attributes that are others: ``after`` (ids, by the alphabet), ``retries``,
            ``delay`` (seconds).
    """
    right = {dag: _definition(dag) for dag in company.PIPELINES}
    for item in changed or []:
        right[item["dag"]] |= {key: value for key, value in item.items() if key != "dag"}
    for item in tasks or []:
        task = right[item["dag"]]["tasks"][item["task"]]
        task |= {key: value for key, value in item.items() if key not in ("dag", "task")}
    found = final.read_once("airflow:dags", lambda machine: _inspect(final, machine))
    if found["more"]:
        return False, "; ".join(f"{name}: {why}" for name, why in found["more"].items())
    lines = [f"{name} cannot be imported: {why}" for name, why in found["errors"].items()]
    lines += [f"the DAG {dag} is missing" for dag in sorted(right.keys() - found["dags"].keys())]
    lines += [f"the DAG {dag} is new" for dag in sorted(found["dags"].keys() - right.keys())]
    for dag in right.keys() & found["dags"].keys():
        wanted, made = right[dag], found["dags"][dag]
        if made != wanted:
            what = shown(_differing(made, wanted), 300)
            lines.append(f"{dag} has {what}; right is {shown(_differing(wanted, made), 300)}")
    return not lines, "; ".join(lines) or "the DAG files define what they should"


def runs(
    final: FinalState, dag: str, prints: str, that: str, given: list[Tree] | None = None,
    tables: dict[str, list[list[Any]]] | None = None, date: str = "2024-05-01", again: int = 0,
) -> Outcome:  # fmt: skip
    """A DAG runs in a clean machine over other data than the agent has seen, and leaves the right result.

    Args:
        final: the final state.
        dag: its id.
        prints: a Bash script that prints the result afterwards; its ``psql`` asks the warehouse.
        that: what it must print, without the white space around it.
        given: ``path`` and ``text`` of the files that are put there first.
        tables: rows by name, with a header: what the warehouse has in the schema ``public``.
        date: the run's logical date.
        again: how often it runs once more before the result is looked at.
    """

    def play(machine: Machine) -> Tree:
        clean = _clean(final, machine)
        for item in given or []:
            clean.put(item["path"], item["text"].encode())
        start_warehouse(clean, tables or {})
        for _ in range(1 + again):
            done = _run(clean, [PYTHON, f"{JUDGE}/run_dag.py", DESKTOP_DAGS, dag, date])
            if done.returncode != 0:
                break
        shows = clean.run(["bash", "-c", prints], timeout=30.0, env=_ASKING)
        return {"code": done.returncode, "said": done.stderr.decode(errors="replace")[-600:],
                "result": shows.stdout.decode(errors="replace").strip()}  # fmt: skip

    found = final.read_once(f"airflow:run:{dag}:{prints}:{given}:{tables}:{date}:{again}", play)
    if found["code"] != 0:
        return False, f"the DAG {dag} did not run through: {found['said']}"
    return found["result"] == that, f"it left {shown(found['result'], 300)}; right is {shown(that, 300)}"


_DEFAULTS = {"retries": 1, "delay": 300.0, "type": "PythonOperator", "pool": "default_pool"}


def _definition(dag: str) -> Tree:
    """What ``inspect_dags.py`` prints of a company's pipeline."""
    known = company.PIPELINES[dag]
    tasks = {
        task: {"after": [known.tasks[k - 1]] if k else [], "owner": known.owner, **_DEFAULTS}
        for k, task in enumerate(known.tasks)
    }
    return {
        "file": f"{dag}.py", "schedule": known.schedule, "start": "2024-03-01", "catchup": False, "max_active_runs": 1,
        "params": dict(known.conf), "tags": sorted(known.tags), "tasks": tasks,
    }  # fmt: skip


def _differing(one: Tree, other: Tree) -> Tree:
    return {key: value for key, value in one.items() if other.get(key) != value}


def _inspect(final: FinalState, machine: Machine) -> Tree:
    """What ``inspect_dags.py`` prints, and as ``more`` what the files have beside pipelines: then they are not run."""
    clean = _clean(final, machine)
    given = {f"{dag}.py": company.source(dag) for dag in company.PIPELINES}
    # Airflow opens a zip file of any name, and follows links
    python = ["-type", "f", "-name", "*.py"]
    clean.run(["find", DESKTOP_DAGS, "!", "-type", "d", "!", "(", *python, ")", "-delete"], timeout=30.0)
    listed = clean.run(["find", DESKTOP_DAGS, "-type", "f", "-printf", "%P\\0"], timeout=30.0).stdout.decode()
    names = sorted(listed.split("\0")[:-1])
    if new := [name for name in names if name not in given]:
        return {"more": dict.fromkeys(new, "it was not there before")}
    pairs = []
    for name in names:
        clean.put(f"{_GIVEN}/{name}", given[name].encode())
        pairs += [f"{DESKTOP_DAGS}/{name}", f"{_GIVEN}/{name}"]
    if more := _printed(_run(clean, [PYTHON, "-I", f"{JUDGE}/read_dags.py", *pairs])):
        return {"more": more}
    return {"more": {}, **_printed(_run(clean, [PYTHON, f"{JUDGE}/inspect_dags.py", DESKTOP_DAGS]))}


def _printed(done: Any) -> Tree:
    """The JSON that a script of the judge's printed."""
    if done.returncode != 0:
        raise CheckFailed(f"the DAG files cannot be read: {done.stderr.decode(errors='replace')[-600:]}")
    found = parse_json(done.stdout.decode(errors="replace"), "what the DAG files define")
    if not isinstance(found, dict):
        raise CheckFailed("the DAG files keep from being read what they define")
    return found


def _clean(final: FinalState, machine: Machine) -> Machine:
    """The clean machine with the agent's DAG files, without their bytecode, and an empty Airflow."""
    clean = open_clean(final, "run the DAG files")
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "dags")
        try:
            machine.get_folder(DESKTOP_DAGS, files, limit=LIMIT)
        except GuestCallError as error:
            raise CheckFailed(f"{DESKTOP_DAGS}: {error}") from None
        for compiled in [*files.rglob("__pycache__")]:
            shutil.rmtree(compiled)
        clean.put(DESKTOP_DAGS, files)
    clean.run(["cp", "-r", JUDGE, HOME], timeout=30.0)
    return clean


def _run(clean: Machine, argv: list[str]) -> Any:
    with surviving(clean, "run the DAG files"):
        return clean.run(argv, env=_SETTINGS, timeout=TIMEOUT)


CHECKS: Mapping[str, Any] = {"airflow_dags.dags": dags, "airflow_dags.runs": runs}
