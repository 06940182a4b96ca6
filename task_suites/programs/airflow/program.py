"""Airflow in Chromium, with somebody logged in."""

from __future__ import annotations

import secrets
from urllib.parse import quote

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.airflow import company
from deskgym.task_suites.programs.airflow.service import KEYS, LOGS, PORT
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium


def open_(
    setup: Setup, page: str = "/home", user: str = "admin", shows: str = "check box", title: str = "*Airflow"
) -> None:
    """Open a page of Airflow.

    Args:
        setup: the machine with the service ``airflow`` beside it.
        page: its path.
        user: the name of the user who is logged in; "" for nobody.
        shows: role of an element that the page has once it is filled.
        title: of the page, or a glob.

    Raises:
        SetupError: it did not come up.
    """
    url = f"http://127.0.0.1:{PORT}{page}"
    if user:
        token = secrets.token_hex(16)  # for one login; what is left of it is rolled back
        setup.companions["airflow"].put(f"{KEYS}/token-{token}", user.encode(), owner="guest", mode=0o644)
        url = f"http://127.0.0.1:{PORT}/enter/{token}?to={quote(page)}"
    open_chromium(setup, url, title=title, role=shows)


def fail(setup: Setup, dag: str, run: str, task: str, error: str) -> None:
    """Let a task have failed twice in a run that is over, so that the tasks after it never ran.

    Args:
        setup: the machine with the service ``airflow`` beside it.
        dag: the pipeline's id.
        run: the run's id.
        task: the id of the task.
        error: the last line of both logs, such as ``ValueError: no orders``.

    Raises:
        SetupError: there is no such task in a run.
    """
    tasks = company.PIPELINES[dag].tasks
    if task not in tasks:
        raise SetupError(f"{dag} has no task {task!r}; it has {', '.join(tasks)}")
    later = "', '".join(("", *tasks[tasks.index(task) + 1 :]))
    of = f"dag_id = '{dag}' AND run_id = '{run}'"
    companion = setup.companion("airflow")
    companion.execute(
        f"UPDATE task_instance SET state = 'failed', try_number = 2 WHERE {of} AND task_id = '{task}';"
        "UPDATE task_instance SET state = 'upstream_failed', try_number = 0, start_date = NULL, end_date = NULL, "
        f"duration = NULL WHERE {of} AND task_id IN ('{later}'); UPDATE dag_run SET state = 'failed' WHERE {of}"
    )
    for attempt in (1, 2):
        path = f"{LOGS}/dag_id={dag}/run_id={run}/task_id={task}/attempt={attempt}.log"
        text = _FAILED.format(dag=dag, run=run, task=task, attempt=attempt, error=error)
        companion.put(path, text.encode(), mode=0o644)


_FAILED = """\
[2024-03-07T09:12:04.118+0000] {{taskinstance.py:2306}} INFO - Starting attempt {attempt} of 2
[2024-03-07T09:12:04.131+0000] {{taskinstance.py:2330}} INFO - Executing <Task(PythonOperator): {task}> on {run}
[2024-03-07T09:12:06.402+0000] {{taskinstance.py:2905}} ERROR - Task failed with exception
Traceback (most recent call last):
  File "/opt/deskgym/env/airflow/lib/python3.11/site-packages/airflow/operators/python.py", line 252, in execute
    return self.python_callable(*self.op_args, **self.op_kwargs)
  File "/opt/deskgym/airflow/dags/{dag}.py", line 11, in work
{error}
[2024-03-07T09:12:06.420+0000] {{taskinstance.py:1206}} INFO - Marking task as FAILED. dag_id={dag}, task_id={task}
"""
