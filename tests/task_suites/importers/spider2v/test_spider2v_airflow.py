"""Spider2-V's tasks of Airflow: which run here, its commands, and one in a real sandbox."""

import os
import subprocess
import sys

import pytest

from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.spider2v.apps.airflow.service import COMMANDS
from deskgym.task_suites.importers.spider2v.tasks import has_oracle, reasons

TASK = "airflow/699e0c0a"
LACKING = {
    "33468fd4": "needs Docker and astro from the internet",
    "73ef8c87": "needs the web service wttr.in",
    "93b05252": "Airflow's web server would run the agent's plugin",
    "a02a58d9": "its DAG runs dbt and PostgreSQL inside of Airflow's container",
    "b146bec7": "tests DAGs with pytest",
}


def test_seven_of_twelve_environments_run_and_the_others_say_what_they_lack(upstream):
    collection = spider2v.load(upstream)
    tasks = [task for task in collection.tasks if task.app == "airflow"]
    assert len(tasks) == 24
    assert sum(not reasons(task) and has_oracle(task, "corrected") for task in tasks) == 14
    for start, why in LACKING.items():
        task = collection[f"airflow/{start}"]
        for each in (task, collection[task.counterpart]):
            assert why in "; ".join(reasons(each)), each.id


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["astro", "deploy"], "astro deploy: not supported here; legal are dev"),
        (["astro", "dev", "start"], "this is not an Astro project directory"),
        (["docker", "run", "hello-world"], "docker run hello-world: not supported here; legal are ps and exec"),
        (["docker", "exec", "-it", "web", "airflow", "dags", "list"], "No such container: web"),
    ],
)
def test_the_commands_say_what_they_do_not_know(words, said, tmp_path):
    command = tmp_path / words[0]
    command.symlink_to(COMMANDS)
    argv = [sys.executable, "-I", os.fspath(command), *words[1:]]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "") and said in done.stderr, done


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_project_is_made_and_started(solved):
    verdict = solved(TASK)
    assert verdict["score"] == 1, verdict
