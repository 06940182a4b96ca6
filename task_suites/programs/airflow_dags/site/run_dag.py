"""Runs a DAG once, all its tasks in this process, and ends with 0 where the run succeeds."""

import sys
from datetime import UTC, datetime

import airflow.providers.fab.auth_manager.models  # noqa: F401 - the table of users, to which that of runs refers
from airflow.models import DagBag

folder, dag_id, date = sys.argv[1:]
bag = DagBag(folder, include_examples=False, safe_mode=False, read_dags_from_db=False)
if dag_id not in bag.dags:
    sys.exit(f"there is no DAG {dag_id}; errors: {bag.import_errors}")
run = bag.dags[dag_id].test(execution_date=datetime.fromisoformat(date).replace(tzinfo=UTC))
sys.exit(0 if run is not None and run.state == "success" else f"the run ended as {run and run.state}")
