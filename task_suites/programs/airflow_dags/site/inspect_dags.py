"""Prints what the DAG files of a folder define, as JSON: pipelines, their tasks and their order, and import errors."""

import json
import os
import sys

from airflow.models import DagBag

answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the files print is no answer; read_dags.py has seen that they do nothing else
bag = DagBag(sys.argv[1], include_examples=False, safe_mode=False, read_dags_from_db=False)
print(json.dumps({
    "errors": {os.path.basename(path): text.strip().splitlines()[-1] for path, text in bag.import_errors.items()},
    "dags": {
        dag_id: {
            "file": os.path.basename(dag.fileloc),
            "schedule": None if dag.schedule_interval is None else str(dag.schedule_interval),
            "start": dag.start_date.strftime("%Y-%m-%d") if dag.start_date else None,
            "catchup": dag.catchup,
            "max_active_runs": dag.max_active_runs,
            "params": dag.params.dump(),
            "tags": sorted(dag.tags),
            "tasks": {
                task.task_id: {
                    "after": sorted(task.upstream_task_ids), "owner": task.owner, "retries": task.retries,
                    "delay": task.retry_delay.total_seconds(), "type": task.task_type, "pool": task.pool,
                }
                for task in dag.tasks
            },
        }
        for dag_id, dag in bag.dags.items()
    },
}, default=str), file=answer, flush=True)  # fmt: skip
