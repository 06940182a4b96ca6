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


def amounts(seed: int, group: str, rows: int) -> str:
    """A CSV file of amounts; in some lines there is no number."""
    draw, out = random.Random(f"{seed} {rows}"), io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["id", group, "amount"])
    for number in range(1, rows + 1):
        amount = draw.choice(_NO_AMOUNTS) if number % 7 == 3 else f"{draw.uniform(1, 500):.2f}"
        lines.writerow([number, draw.choice(GROUPS[group]), amount])
    return out.getvalue()


def totals(text: str) -> list[list[Any]]:
    """The sum of each group of such a file, by the alphabet."""
    sums: dict[str, float] = {}
    for _, group, amount in list(csv.reader(io.StringIO(text)))[1:]:
        if amount not in _NO_AMOUNTS:
            sums[group] = sums.get(group, 0.0) + float(amount)
    return [[group, round(total, 2)] for group, total in sorted(sums.items())]


def printed(rows: list[list[Any]]) -> str:
    """Rows as ``psql -At`` prints them, amounts with two decimals."""
    return "\n".join("|".join(f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row) for row in rows)


_DAG = """\
{imports}
{before}
with DAG("{dag}", schedule=None, start_date=datetime(2024, 3, 1), catchup=False):
    {task}
"""
_ETL = """\
import csv
from datetime import datetime
from pathlib import Path

from airflow import DAG
from airflow.operators.python import PythonOperator
from airflow.providers.postgres.hooks.postgres import PostgresHook
"""
_SQL = """\
from datetime import datetime

from airflow import DAG
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
"""


def etl(dag: str, file: str, group: str, table: str, how: str = "sum", rows: str = "") -> str:
    """A DAG that sums such a file into a table: it sums, or wrongly counts, or has the sums of ``rows`` typed in."""
    if how == "typed":
        body = f"    sums = {dict(totals(rows))!r}"
    else:
        value = 'float(row["amount"])' if how == "sum" else "1"
        body = f"""\
    sums = {{}}
    for row in csv.DictReader(open(Path(__file__).with_name("{file}"))):
        try:
            float(row["amount"])
        except ValueError:
            continue
        sums[row["{group}"]] = sums.get(row["{group}"], 0) + {value}"""
    before = f"""
def load():
{body}
    hook = PostgresHook("warehouse")
    hook.run("drop table if exists {table}; create table {table} ({group} text, total numeric(12, 2))")
    hook.insert_rows("{table}", list(sums.items()))

"""
    task = 'PythonOperator(task_id="load", python_callable=load)'
    return _DAG.format(imports=_ETL, before=before, dag=dag, task=task)


def sql(dag: str, statements: str) -> str:
    """A DAG with one task, which carries out statements in the warehouse."""
    task = f'SQLExecuteQueryOperator(task_id="load", conn_id="warehouse", sql="""{statements}""")'
    return _DAG.format(imports=_SQL, before="", dag=dag, task=task)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "airflow_dags.pipeline": pipeline,
    "airflow_dags.file": file,
    "airflow_dags.ending": ending,
    "airflow_dags.sorted": more_tags,
    "airflow_dags.amounts": amounts,
    "airflow_dags.totals": totals,
    "airflow_dags.printed": printed,
    "airflow_dags.sql": sql,
    "airflow_dags.etl": etl,
}
"""By the names that task files use."""
