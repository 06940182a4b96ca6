"""What upstream's tasks want that no machine of ours has: accounts of cloud services, Docker images, files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.schema import ACCOUNT

#: Beginnings of the types of steps and getters that call a cloud service, and what they need.
SERVICES = {
    "bigquery_": "a Google Cloud account",
    "dbt_cloud_": "an account of dbt Cloud",
    "dbt_environment_info": "an account of dbt Cloud",
    "dbt_job_info": "an account of dbt Cloud",
    "dbt_project_info": "an account of dbt Cloud",
    "gcp_": "a Google Cloud account",
    "googledrive_": "a Google account",
    "googlesheet_": "a Google account",
    "hasura_": "an account of Hasura Cloud",
    "snowflake_": "a Snowflake account",
    "workarena_": "an instance of ServiceNow",
}

#: The folders of ``settings`` that describe an account.
SETTINGS = {
    "dbt_cloud": "an account of dbt Cloud",
    "google": "a Google Cloud account",
    "googledrive": "a Google account",
    "hasura_cloud": "an account of Hasura Cloud",
    "servicenow": "an instance of ServiceNow",
    "snowflake": "a Snowflake account",
}

#: What all tasks of an app need.
APPS = {
    "airbyte": "Airbyte's Docker images",
    "metabase": "metabase.jar 0.49.6, which no package registry has",
}

#: Of an app that has no module in ``apps`` yet: what its tasks' scripts call.
PROGRAMS = {
    "dagster": "Dagster 1.7.2, which deskgym does not install",
}

#: What single tasks call on the internet, by the beginning of the id of a task or of its counterpart.
INTERNET = {
    "airflow/33468fd4": "Docker and astro from the internet",
    "airflow/73ef8c87": "the web service wttr.in",
    "airflow/bdbefc1d": "the web service TheCocktailDB",
    "dagster/02b1238f": "the Iris data set from the internet",
    "dagster/11877023": "the Iris data set from the internet",
    "dagster/22ef9058": "the web service Hacker News",
    "dagster/5fee7fff": "the web service Hacker News",
    "dagster/716f8398": "its data sets of films from the internet",
    "dagster/933b74ab": "the web service Hacker News",
    "dagster/9f8eab3f": "the web service Hacker News",
    "dagster/cc95a46e": "the web service APOD of NASA",
    "jupyter/30f3108a": "the California Housing data set from the internet",
    "jupyter/a6b5475f": "texts of Project Gutenberg from the internet",
    "jupyter/d4b4bde1": "the California Housing data set from the internet",
}

MADE = {"superset": ("all_databases.sql",)}
"""Files that the copy may lack, since an app has own data for them; its ``lacks`` says where it has none."""

ABSENT_UPSTREAM = ("epidemiology.sqlite", "names.zip", "all_databases.sql")
"""Files that tasks name and that upstream's own snapshot does not have."""


def outside_needs(record: UpstreamTask) -> list[str]:
    """What a task needs from outside, each as an end of "needs …"; empty for most."""
    needed = dict.fromkeys(
        need for name in _types(record) for start, need in SERVICES.items() if name.startswith(start)
    )
    needed |= dict.fromkeys(SETTINGS[name] for name in _settings(record))
    if not needed and ACCOUNT in record.tags:
        needed["an account of a cloud service"] = None
    if record.app in APPS:
        needed[APPS[record.app]] = None
    for start, need in INTERNET.items():
        if record.id.startswith(start) or record.counterpart.startswith(start):
            needed[need] = None
    return list(needed)


def missing_files(record: UpstreamTask) -> list[str]:
    """Why a task lacks files, one reason a file; an app's own data is no reason."""
    found = []
    for name in record.missing:
        if name.endswith(MADE.get(record.app, ())):
            continue
        absent = " (upstream's own snapshot does not have it)" if name.endswith(ABSENT_UPSTREAM) else ""
        found.append(f"its file {name} is not in this copy{absent}")
    return found


def _types(record: UpstreamTask) -> Iterator[str]:
    yield from (step.type for step in (*record.config, *record.postconfig))
    yield from (comparison.result.type for comparison in record.comparisons)


def _settings(record: UpstreamTask) -> Iterator[str]:
    """The folders of ``settings`` that a task's steps and getters name."""
    values = [step.parameters for step in (*record.config, *record.postconfig)]
    values += [comparison.result.fields for comparison in record.comparisons]
    for path in _paths(value for mapping in values for value in mapping.values()):
        parts = path.parts
        if "settings" in parts[:-2] and parts[-2] in SETTINGS:
            yield parts[-2]


def _paths(values: Iterable[Any]) -> Iterator[Path]:
    for value in values:
        if isinstance(value, Path):
            yield value
        elif isinstance(value, tuple):
            yield from _paths(inner for step in value if isinstance(step, Step) for inner in step.parameters.values())
