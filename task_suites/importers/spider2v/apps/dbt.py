"""dbt over DuckDB: projects that are edited in Geany and run in a terminal.

Evaluation scripts run dbt in the clean machine, over copies of the agent's project and of its profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.envs.errors import GuestCallError
from deskgym.envs.needs import Needs
from deskgym.task_suites.importers.spider2v.attempts import play, run
from deskgym.task_suites.importers.spider2v.frame import App, Attempts, CheckFailed, Correction, Scene
from deskgym.task_suites.importers.spider2v.layout import HOME
from deskgym.task_suites.importers.spider2v.metrics.databases import read_database
from deskgym.task_suites.importers.spider2v.metrics.judging import Judging
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask
from deskgym.task_suites.programs import load_program

TIMEOUT = 180.0
"""Seconds for one command."""

_PROMPT = r"\(dbt\) user@desktop:[^$]*\$"

_TABLES = [
    "cd ~/projects/materialize_test",
    "sed -i 's/+materialized: view/+materialized: table/' dbt_project.yml",
    "sed -i \"s/'view'/'table'/\" models/test/my_first_dbt_model.sql",
]
_FOREIGN_KEY = ", relationships: {to: ref('stg_customers'), field: customer_id}"
_TESTS = (
    """version: 2
models:
  - name: customers
    columns: [{name: customer_id, tests: [unique, not_null]}]
  - name: stg_customers
    columns: [{name: customer_id, tests: [unique, not_null]}]
  - name: stg_orders
    columns:
      - {name: order_id, tests: [unique, not_null]}
      - name: status
        tests: [accepted_values: {values: [placed, shipped, completed, return_pending, returned]}]
      - name: customer_id
        tests: [not_null"""
    + f"{_FOREIGN_KEY}]"
)
_ASKED = {
    *((model, "customer_id", test) for model in ("customers", "stg_customers") for test in ("unique", "not_null")),
    ("stg_orders", "customer_id", "not_null"),
    ("stg_orders", "customer_id", "relationships"),
    ("stg_orders", "status", "accepted_values"),
}
_STATUSES = ["completed", "placed", "return_pending", "returned", "shipped"]
_COUNTS = """import os
count = int(open("count").read()) if os.path.exists("count") else 0
open("count", "w").write(str(count + 1))
print("Completed successfully ERROR=0" if count in (0, 10) else "", flush=True)
os._exit(0)"""
_ONE_TEST = "models: [{name: customers, columns: [{name: customer_id, tests: [unique]}]}]"
_PLUGIN = "s/type: duckdb/type: duckdb\\n      module_paths: [.]\\n      plugins: [{module: count_calls}]/"
_SOURCE = "sources: [{name: analytics, schema: analytics, tables: [{name: orders}]}]"
_SNAPSHOT = "target_schema='snapshots', unique_key='order_id', strategy='timestamp', updated_at='updated_at'"
_OUTPUT = "{type: duckdb, path: jaffle_shop.duckdb, threads: 1}"
_COLUMNS = (
    "customer_id, first_name, last_name, first_order_date, most_recent_order_date, "
    "coalesce(number_of_orders, 0) as number_of_orders"
)


def _written(text: str, path: str) -> str:
    return f"cat > {path} << 'END'\n{text}\nEND"


def _snapshot(config: str, again: bool = True) -> list[str]:
    once = ["dbt seed", "dbt run", "dbt snapshot"]
    renewed = ["cp ~/Desktop/raw_orders.csv seeds/raw_orders.csv", *once]
    edit = f'sed -i "s/config(/config({config}/" snapshots/orders_snapshot.sql'
    return ["cd ~/projects/analytics", edit, *once, *(renewed if again else [])]


def _project(outputs: str, seeds: str = "dbt seed") -> list[str]:
    profile = f"jaffle_shop: {{target: dev, outputs: {{{outputs}}}}}"
    return [
        "cd ~/projects",
        "dbt init --skip-profile-setup jaffle_shop",
        "unzip -q jaffle-shop-data.zip",
        "mv jaffle-shop-data/* jaffle_shop/seeds",
        _written(profile, "~/.dbt/profiles.yml"),
        "cd jaffle_shop",
        seeds,
    ]


def _customers(columns: str) -> list[str]:
    edit = f"sed -i 's#/\\* code here \\*/#{columns}#' models/customers.sql"
    return ["cd ~/projects/jaffle_shop", "dbt seed", edit, "dbt run"]


def _tested(text: str, fails: bool = False) -> list[str]:
    """Write tests and run them; a wrong attempt's may fail, as its author expects."""
    return ["cd ~/projects/jaffle_shop", _written(text, "models/schema.yml"), "! dbt test" if fails else "dbt test"]


def _declared(source: str) -> list[str]:
    return ["cd ~/projects/analytics", f"printf '\\n{source}\\n' >> models/schema.yml", "dbt seed", "dbt run"]


_COMMANDS: Mapping[str, tuple[list[str], Mapping[str, list[str]]]] = {
    "dbt/1137ff65-39d1-423e-bb70-7ef0a34cb90a": (
        [*_TABLES, "dbt run"],
        {"one model left a view": [*_TABLES[:2], "dbt run"], "not run": _TABLES},
    ),
    "dbt/49f981ee-f793-5e27-9a53-083d66934ea1": (
        _tested(_TESTS),
        {
            "without the foreign key": _tested(_TESTS.replace(_FOREIGN_KEY, "")),
            "a status left out": _tested(_TESTS.replace("return_pending, ", ""), fails=True),
            "code that counts the evaluation's calls": [
                "cd ~/projects/jaffle_shop",
                _written(_COUNTS, "count_calls.py"),
                f"sed -i '{_PLUGIN}' ~/.dbt/profiles.yml",
                _written(_ONE_TEST, "models/schema.yml"),
            ],
        },
    ),
    "dbt/4b331e9f-7fcf-40d6-aa7b-ad468010f334": (
        _declared(_SOURCE),
        {
            "not run": _declared(_SOURCE)[:2],
            "in another schema": _declared(_SOURCE.replace("schema: analytics", "schema: main")),
            "a snapshot without a source": [
                "cd ~/projects/analytics",
                "sed -i 's/{{ source.*}}/analytics.orders/' snapshots/orders_snapshot.sql",
                "dbt seed",
                "dbt run",
            ],
        },
    ),
    "dbt/7b81c78d-8c06-4820-bfee-614dd391c920": (
        _snapshot(_SNAPSHOT),
        {
            "one snapshot": _snapshot(_SNAPSHOT, again=False),
            "by all columns": _snapshot(
                _SNAPSHOT.replace("'timestamp', updated_at='updated_at'", "'check', check_cols='all'")
            ),
        },
    ),
    "dbt/8aa9e870-b0c9-5417-be80-03154e83c7a3": (
        _project(f"dev: {_OUTPUT}, prod: {_OUTPUT}"),
        {
            "without prod": _project(f"dev: {_OUTPUT}"),
            "not loaded": _project(f"dev: {_OUTPUT}, prod: {_OUTPUT}", seeds="dbt debug"),
        },
    ),
    "dbt/8ff98608-8e0e-526e-9413-d744554ba708": (
        _customers(_COLUMNS),
        {
            "without a default": _customers(_COLUMNS.replace("coalesce(number_of_orders, 0) as ", "")),
            "not run": _customers(_COLUMNS)[:3],
        },
    ),
}
"""By the abstract task's id: what solves it, and what comes near, as commands in a terminal."""


def with_contents(record: UpstreamTask) -> UpstreamTask:
    """Databases are compared by columns and rows."""
    return replace(
        record,
        comparisons=tuple(
            replace(each, options={**each.options, "check_type": ["table-schema-content"]})
            if each.metric == "check_local_database"
            else each
            for each in record.comparisons
        ),
    )


def has_source(scene: Scene) -> None:
    """The project declares ``analytics.orders`` as a source, and its database has it. Raises CheckFailed otherwise."""
    project = f"{HOME}/projects/analytics"
    found = [place for properties in _properties(scene, project) for place in _orders_of(properties)]
    if not found:
        raise CheckFailed("no file of the models declares the table orders of a source analytics")
    try:
        data = scene.machine.get(f"{project}/analytics.duckdb")
    except GuestCallError as error:
        raise CheckFailed(str(error)) from error
    judging = Judging(scene.mode, scene.fresh_machine, scene.record.abstract)
    schema, name = found[0]
    if not {f"table {name}", f"view {name}"} & read_database(judging, data, "analytics.duckdb", schema).keys():
        raise CheckFailed(f"analytics.duckdb has no {schema}.{name}")


def has_tests(scene: Scene) -> None:
    """The project declares the tests that are asked for. Raises CheckFailed otherwise."""
    project = f"{HOME}/projects/jaffle_shop"
    found = {test for properties in _properties(scene, project) for test in _tests_of(properties)}
    if missing := _ASKED - found:
        raise CheckFailed(f"no file of the models declares {', '.join(sorted(' '.join(test) for test in missing))}")


def _properties(scene: Scene, project: str) -> list[Any]:
    """What the files of properties below a project's models say."""
    with TemporaryDirectory() as folder:
        try:
            scene.machine.get_folder(f"{project}/models", Path(folder, "models"))
            return [yaml.safe_load(path.read_text()) for path in sorted(Path(folder).rglob("*.y*ml"))]
        except GuestCallError as error:
            raise CheckFailed(str(error)) from error
        except (yaml.YAMLError, ValueError, RecursionError, OSError) as error:
            raise CheckFailed(f"the models' files of properties cannot be read: {error}") from error


def _orders_of(properties: Any) -> Iterator[tuple[str, str]]:
    """Schema and name of each declaration of the table."""
    for source in _dicts(properties, "sources"):
        for table in _dicts(source, "tables"):
            if (source.get("name"), table.get("name")) == ("analytics", "orders"):
                yield str(source.get("schema", "analytics")), str(table.get("identifier", "orders"))


def _tests_of(properties: Any) -> Iterator[tuple[str, str, str]]:
    """Model, column and test of each declaration, of a column or of its model."""
    for model in _dicts(properties, "models"):
        places = [(None, model), *((column.get("name"), column) for column in _dicts(model, "columns"))]
        for column, place in places:
            for test in (*_list(place, "tests"), *_list(place, "data_tests")):
                (name, given), *_ = test.items() if isinstance(test, dict) and test else ((test, {}),)
                given = given if isinstance(given, dict) else {}
                if name == "accepted_values" and sorted(map(str, _list(given, "values"))) != _STATUSES:
                    continue
                if name == "relationships" and ("stg_customers" not in str(given.get("to"))):
                    continue
                yield str(model.get("name")), str(column or given.get("column_name")), str(name)


def _list(data: Any, key: str) -> list[Any]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def _dicts(data: Any, key: str) -> list[dict[Any, Any]]:
    return [each for each in _list(data, key) if isinstance(each, dict)]


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle types commands into the terminal; the wrong attempts run others like them, without a window."""
    found = _COMMANDS.get(record.id) or _COMMANDS.get(record.counterpart)
    if found is None:
        return Attempts()
    oracle, wrong = found
    return Attempts(partial(_type, oracle), {name: play(*_programs(commands)) for name, commands in wrong.items()})


def _type(commands: Sequence[str], screen: Screen) -> Iterator[BurstOrProgram]:
    """Type commands into the terminal, which the editor covers where the setup opened one."""
    macros = load_program("terminal").macros
    if screen.find_all(window="*Geany*"):
        yield [Action("press", keys=("alt", "tab"))]
    for command in commands:
        yield from macros["terminal.run"](screen, command, prompt=_PROMPT, timeout=TIMEOUT)
    yield [Action("done")]


def _programs(commands: Sequence[str]) -> list[str]:
    """One program for each command, since one with all would take longer than a code action may; ``cd`` goes on."""
    folder, programs = "~", list[str]()
    for command in commands:
        if command.startswith("cd "):
            path = command.removeprefix("cd ")
            folder = path if path.startswith("~") else f"{folder}/{path}"
        else:
            programs.append(run(f"cd {folder}\n{command}", TIMEOUT))
    return programs


APP = App(
    name="dbt",
    programs=("terminal", "geany", "dbt"),
    needs=Needs(packages=("unzip",)),
    keeps=(".dbt",),
    corrections={
        "dbt/8ff98608-8e0e-526e-9413-d744554ba708": Correction(
            "only the names of tables are compared, not what is in them", mend=with_contents
        ),
        "dbt/49f981ee-f793-5e27-9a53-083d66934ea1": Correction(
            "what dbt prints can be the project's own; the tests must be declared", test=has_tests
        ),
        "dbt/4b331e9f-7fcf-40d6-aa7b-ad468010f334": Correction(
            "a snapshot that needs no source passes; the source must be declared and its table be there",
            test=has_source,
        ),
    },
    environment={"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
    attempts=attempts,
)
