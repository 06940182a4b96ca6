"""What the reader of DAG files lets through: a file that does more than define a pipeline is never run."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from deskgym.task_suites.programs import airflow_dags
from deskgym.task_suites.programs.airflow import company

DAG = "sales_daily_etl"
GIVEN = company.source(DAG)

PLAIN = {
    "as it was": GIVEN,
    "other retries": GIVEN.replace('"retries": 1', '"retries": 4'),
    "two at once": GIVEN.replace("extract_orders >> clean_orders", "[extract_orders, clean_orders]"),
    "chain": f"from airflow.models.baseoperator import chain\n{GIVEN}",
    "without a name for the DAG": GIVEN.replace(") as dag:", "):"),
    "a remark": f"# mended\n{GIVEN}",
}

HOSTILE = {
    "another import": f"import json\n{GIVEN}",
    "a star": GIVEN.replace("import DAG", "import *"),
    "another name": GIVEN.replace("import PythonOperator", "import PythonOperator as chain"),
    "another function": GIVEN.replace("python_callable=work)", "python_callable=print)"),
    "a default function": GIVEN.replace('"retries"', '"python_callable": print, "retries"'),
    "a default under a name put together": GIVEN.replace('"retries"', '"python_" + "callable": print, "retries"'),
    "unpacked arguments": GIVEN.replace("python_callable=work)", '**{"python_callable": print})'),
    "unpacked defaults": GIVEN.replace('"retries"', '**{"python_callable": print}, "retries"'),
    "a callback": GIVEN.replace("python_callable=work)", "python_callable=work, on_failure_callback=work)"),
    "a function with another body": GIVEN.replace("    return rows", "    return 0"),
    "a decorated function": GIVEN.replace("def work", "@print\ndef work"),
    "a second function": f"{GIVEN}\n\ndef other():\n    pass\n",
    "the function twice": f"{GIVEN}\n\ndef work(ti):\n    pass\n",
    "the function left out": GIVEN.replace("def work", "def worked"),
    "a name with another meaning": f"{GIVEN}\nDAG = 1\n",
    "a function with another meaning": f"{GIVEN}\nwork = 1\n",
    "a call of a built-in": f"{GIVEN}\nprint(1)\n",
    "a call in an argument": GIVEN.replace('"retries": 1', '"retries": len("a")'),
    "an attribute": f"{GIVEN}\nDAG.x = 1\n",
    "a method": f'{GIVEN}\nDAG("x").clear()\n',
    "a lambda": GIVEN.replace("python_callable=work)", "python_callable=lambda: 1)"),
    "a list comprehension": f"{GIVEN}\n[x for x in (1, 2)]\n",
    "a loop": f"{GIVEN}\nfor x in (1, 2):\n    x\n",
    "a class": f"{GIVEN}\nclass X:\n    pass\n",
    "code in a remark of another encoding": f"# coding: utf-7\n# +AAo-import json\n{GIVEN}",
}


@pytest.fixture(scope="module")
def problem() -> Callable[[bytes, bytes], str | None]:
    """The reader, which is a script of the companion's: nothing imports it."""
    return runpy.run_path(str(Path(airflow_dags.__file__).with_name("site") / "read_dags.py"))["problem"]


@pytest.mark.parametrize("dag", company.PIPELINES)
def test_lets_the_companys_own_files_through(problem: Callable[[bytes, bytes], str | None], dag: str) -> None:
    text = company.source(dag).encode()
    assert problem(text, text) is None


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
def test_lets_a_plain_file_through(problem: Callable[[bytes, bytes], str | None], text: str) -> None:
    assert problem(text.encode(), GIVEN.encode()) is None


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_refuses_what_does_more(problem: Callable[[bytes, bytes], str | None], text: str) -> None:
    assert text != GIVEN
    assert problem(text.encode(), GIVEN.encode())
