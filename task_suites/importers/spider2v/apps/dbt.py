"""dbt over DuckDB: projects that are edited in Geany and run in a terminal.

Evaluation scripts run dbt in the clean machine, over copies of the agent's project and of its profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskgym.envs.needs import Needs
from deskgym.task_suites.importers.spider2v.attempts import play, run
from deskgym.task_suites.importers.spider2v.frame import App, Attempts
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask

TIMEOUT = 180.0
"""Seconds for one command."""

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


def _tested(text: str) -> list[str]:
    return ["cd ~/projects/jaffle_shop", _written(text, "models/schema.yml"), "dbt test"]


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
            "a status left out": _tested(_TESTS.replace("return_pending, ", "")),
        },
    ),
    "dbt/4b331e9f-7fcf-40d6-aa7b-ad468010f334": (
        _declared(_SOURCE),
        {
            "not run": _declared(_SOURCE)[:2],
            "in another schema": _declared(_SOURCE.replace("schema: analytics", "schema: main")),
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


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle and the wrong attempts type commands, as the verbose instruction has them."""
    found = _COMMANDS.get(record.id) or _COMMANDS.get(record.counterpart)
    if found is None:
        return Attempts()
    oracle, wrong = found
    return Attempts(play(*_typed(oracle)), {name: play(*_typed(commands)) for name, commands in wrong.items()})


def _typed(commands: Sequence[str]) -> list[str]:
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
    environment={"DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
    attempts=attempts,
)
