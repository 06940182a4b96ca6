"""Spider2-V's tasks of Dagster: which run here, and why the others do not."""

from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.spider2v.tasks import has_oracle, reasons

ABSTRACT_OF_OTHERS = {
    "dagster/02b1238f": "needs the Iris data set from the internet",
    "dagster/5fee7fff": "needs the web service Hacker News",
    "dagster/716f8398": "needs its data sets of films from the internet",
    "dagster/9f8eab3f": "needs the web service Hacker News",
    "dagster/215615ac": "needs Airflow and dagster-airflow beside Dagster, and MySQL",
}


def test_all_given_tasks_run_but_for_those_that_need_more_than_dagster(upstream):
    tasks = [task for task in spider2v.load(upstream).tasks if task.app == "dagster"]
    against = {task.id[:16]: reasons(task) for task in tasks if reasons(task)}
    assert len(tasks) == 30 and len(against) == 12
    for start, why in ABSTRACT_OF_OTHERS.items():
        assert against[start] == [why]
    assert "needs Airbyte's Docker images, and MySQL" in against["dagster/e67d315c"]
    assert sum(has_oracle(task, "corrected") for task in tasks) == 18
