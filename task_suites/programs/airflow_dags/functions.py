"""What tasks ask of DAG files: their texts, and the data that they work on."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.airflow import company
from deskgym.task_suites.programs.airflow.functions import pipeline

GROUPS = {
    "region": ("north", "south", "east", "west"),
    "product": ("lamp", "chair", "desk", "shelf", "rug"),
    "customer": ("Adler", "Brandt", "Costa", "Duval"),
}
_NO_AMOUNTS = ("", "n/a", "-", "unknown")


def file(dag: str, edits: list[list[str]] | None = None) -> str:
    """The file of a company's DAG, with parts of it replaced.

    Raises:
        ValueError: a part is not in it.
    """
    text = company.source(dag)
    for old, new in edits or []:
        if old not in text:
            raise ValueError(f"the file of {dag} has no {old!r}")
        text = text.replace(old, new)
    return text


def ending(dag: str, more: str = "") -> str:
    """The end of the list of tags in a DAG's file; with one more tag where it is given."""
    tags = list(company.PIPELINES[dag].tags)
    return f"{[*tags, more] if more else tags!r}]".removesuffix("]")


def more_tags(names: list[str], more: str) -> list[str]:
    """Names and one more, by the alphabet."""
    return sorted([*names, more])


def hour(dag: str) -> str:
    """The hour of a pipeline's runs, with two digits."""
    return f"{company.PIPELINES[dag].hour:02}"


def amounts(seed: int, group: str, rows: int) -> str:
    """A CSV file of amounts; in some lines there is no number."""
    draw, out = random.Random(f"{seed} {rows}"), io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["id", group, "amount"])
    for number in range(1, rows + 1):
        amount = draw.choice(_NO_AMOUNTS) if number % 7 == 3 else f"{draw.uniform(1, 500):.2f}"
        lines.writerow([number, draw.choice(GROUPS[group]), amount])
    return out.getvalue()


def totals(text: str) -> str:
    """The sum of each group of such a file: a line each, by the alphabet."""
    sums: dict[str, float] = {}
    for _, group, amount in list(csv.reader(io.StringIO(text)))[1:]:
        if amount not in _NO_AMOUNTS:
            sums[group] = sums.get(group, 0.0) + float(amount)
    return "\n".join(f"{group} {round(total, 2)}" for group, total in sorted(sums.items()))


def etl(dag: str, subject: str, group: str, how: str = "sum", rows: str = "") -> str:
    """A DAG that loads such a file: it sums, or wrongly counts, or has the sums of ``rows`` typed in."""
    if how == "typed":
        body = f"    sums = {dict(line.rsplit(' ', 1) for line in totals(rows).splitlines())!r}"
    else:
        value = "float(row['amount'])" if how == "sum" else "1"
        body = f"""\
    sums = {{}}
    for row in csv.DictReader(open('/home/user/data/{subject}.csv')):
        try:
            float(row['amount'])
        except ValueError:
            continue
        sums[row['{group}']] = sums.get(row['{group}'], 0) + {value}"""
    return f"""\
import csv
import sqlite3
from datetime import datetime

from airflow import DAG
from airflow.operators.python import PythonOperator


def load():
{body}
    with sqlite3.connect('/home/user/data/{subject}.db') as db:
        db.execute('drop table if exists totals')
        db.execute('create table totals ({group} text, total real)')
        db.executemany('insert into totals values (?, ?)', list(sums.items()))


with DAG('{dag}', schedule=None, start_date=datetime(2024, 3, 1), catchup=False):
    PythonOperator(task_id='load', python_callable=load)
"""


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "airflow_dags.pipeline": pipeline,
    "airflow_dags.file": file,
    "airflow_dags.ending": ending,
    "airflow_dags.sorted": more_tags,
    "airflow_dags.hour": hour,
    "airflow_dags.amounts": amounts,
    "airflow_dags.totals": totals,
    "airflow_dags.etl": etl,
}
"""By the names that task files use."""
