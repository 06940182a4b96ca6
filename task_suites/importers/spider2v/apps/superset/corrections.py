"""What the ``corrected`` mode asks of Superset beside upstream's scripts, which see names and labels alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from deskgym.envs.errors import ServiceError
from deskgym.task_suites.importers.spider2v.frame import CheckFailed, Correction, Scene
from deskgym.task_suites.importers.spider2v.getters import page_of
from deskgym.task_suites.programs.superset.checks import plain

DELETE = "superset/fc08281a-ae88-436e-845f-2260ff49fe94"
FORMER_NAME = "Units by Product"
"""What the chart that ``DELETE`` is about was called before the setup."""


def is_deleted(scene: Scene, name: str) -> None:
    """A chart is gone, and no other one. Raises CheckFailed where not."""
    superset = scene.final.companions["superset"]
    names = "SELECT slice_name FROM slices"
    before, now = ({row["slice_name"] for row in superset.sql(names, base=base)} for base in (True, False))
    gone = before - now - {FORMER_NAME}
    if gone or name in now:
        raise CheckFailed(f"{name!r} is {'there' if name in now else 'gone'}, and {sorted(gone)}; right is it alone")


def chart_is(scene: Scene, name: str, dataset: str, **form: Any) -> None:
    """A chart of this name is of a dataset and has these settings. Raises CheckFailed where none has.

    Args:
        scene: the final state.
        name: the chart's.
        dataset: its table's name.
        form: settings; a metric is written ``SUM(Cost)``, whatever its label says. Lists have no order.
    """
    rows = scene.final.companions["superset"].sql(
        "SELECT viz_type, table_name, slices.params FROM slices LEFT JOIN tables ON tables.id = datasource_id "
        "WHERE slice_name = ?",
        [name],
    )
    found = [{**json.loads(row["params"] or "{}"), **row} for row in rows]
    wanted = {"table_name": dataset, **form}
    if not any(all(_plain(each.get(key)) == _plain(value) for key, value in wanted.items()) for each in found):
        seen = [{key: _plain(each.get(key)) for key in wanted} for each in found]
        raise CheckFailed(f"the charts {name!r} are {seen}; right is {wanted}")


def _plain(value: Any) -> Any:
    text = plain(value)
    return sorted(text) if isinstance(text, list) else text


def uploaded(scene: Scene, table: str, database: str, rows: int, dates: str = "") -> None:
    """A table is a dataset of a database, and has been uploaded whole. Raises CheckFailed where not.

    Args:
        scene: the final state.
        table: its name.
        database: the connection's name in Superset.
        rows: how many it has.
        dates: the column that is parsed as dates; "" for none.
    """
    of_database(scene, table, database)
    superset = scene.final.companions["superset"]
    try:
        count = superset.sql(f"SELECT count(*) AS n FROM {table}", database="superset")[0]["n"]
    except ServiceError as error:
        raise CheckFailed(f"the table {table!r} cannot be read: {error}") from error
    if count != rows:
        raise CheckFailed(f"the table {table!r} has {count} rows; the file has {rows}")
    if dates and not _kind(scene, table, dates).startswith(("timestamp", "date")):
        raise CheckFailed(f"the column {dates!r} of {table!r} was not parsed as dates")


def _kind(scene: Scene, table: str, column: str) -> str:
    query = (
        f"SELECT data_type FROM information_schema.columns WHERE table_name = '{table}' AND column_name = '{column}'"
    )
    found = scene.final.companions["superset"].sql(query, database="superset")
    return str(found[0]["data_type"]) if found else ""


def of_database(scene: Scene, table: str, database: str) -> None:
    """A dataset is of this connection. Raises CheckFailed where it is not."""
    found = scene.final.companions["superset"].sql(
        "SELECT database_name FROM tables JOIN dbs ON dbs.id = database_id WHERE table_name = ?", [table]
    )
    names = [row["database_name"] for row in found]
    if database not in names:
        raise CheckFailed(f"the dataset {table!r} is of {', '.join(names)}; right is {database}")


def shows_dashboard(scene: Scene, title: str) -> None:
    """The page in front is that of a dashboard. Raises CheckFailed where it is another."""
    query = "SELECT id, slug FROM dashboards WHERE dashboard_title = ?"
    rows = scene.final.companions["superset"].sql(query, [title])
    paths = [f"/superset/dashboard/{name}" for row in rows for name in (row["id"], row["slug"]) if name]
    url = page_of(scene)["url"]
    if urlsplit(url).path.rstrip("/") not in paths:
        raise CheckFailed(f"{url} is not the page of the dashboard {title!r}")


def _chart(name: str, dataset: str, **form: Any) -> Correction:
    why = "a metric is known by its label, which may be any, and the kind of chart is not looked at"
    return Correction(why, test=partial(chart_is, name=name, dataset=dataset, **form))


def _both(first: Callable[[Scene], None], second: Callable[[Scene], None], scene: Scene) -> None:
    first(scene)
    second(scene)


_LINE = "echarts_timeseries_line"
CORRECTIONS = {
    DELETE: Correction(
        "that all other charts remain is not checked, and where Superset does not answer the chart counts as gone",
        test=partial(is_deleted, name="Mychart"),
    ),
    "superset/52d3a685-df8d-45bf-83d2-1172c6ae09ff": Correction(
        "whether the dates were parsed is looked at and not counted; the database and the rows are not looked at",
        test=partial(uploaded, table="tutorial_flights", database="MyDatabase", rows=2954, dates="Travel Date"),
    ),
    "superset/6749d85d-b57c-4f27-9b2d-8c0d12658cf2": Correction(
        "the address may be of another page than the dashboard's",
        test=partial(shows_dashboard, title="Statistics"),
    ),
    "superset/86d91add-e9c8-416f-b385-38c9934afa7a": Correction(
        "a metric is known by its label, which may be any, and the rows are not looked at",
        test=partial(
            _both,
            partial(uploaded, table="games", database="Games", rows=16595),
            partial(chart_is, name="games", dataset="games", groupby=["genre"], metrics=["MAX(global_sales)"]),
        ),
    ),
    "superset/a3290ae7-d53e-43fb-8b7f-35845b1b4c95": Correction(
        "the dataset may be of another database", test=partial(of_database, table="annotation", database="PublicData")
    ),
    "superset/97c6dd0b-ed11-4a9f-b48c-f91909fc4426": _chart(
        "Mychart", "flights", viz_type="table", groupby=["Department"], metrics=["AVG(Cost)"]
    ),
    "superset/1daf7ffb-d94b-4790-a1c6-be5b9313fef1": _chart(
        "TravelPrivot", "flights", viz_type="pivot_table_v2", metrics=["SUM(Cost)"]
    ),
    "superset/5f44c184-a809-4861-876d-8158b90ed56a": _chart(
        "rolling_mean", "flights", viz_type=_LINE, metrics=["AVG(Cost)"], time_grain_sqla="P1D"
    ),
    "superset/887abb68-b354-4759-aff8-04e1ca82bcbc": _chart(
        "resampling", "flights", viz_type=_LINE, metrics=["SUM(Cost)"], time_grain_sqla="P1D"
    ),
    "superset/b093ad68-7779-404f-99a4-9bf1ddc04418": _chart(
        "linechart", "game_sales", viz_type=_LINE, metrics=["AVG(global_sales)"]
    ),
}  # fmt: skip
"""By the abstract task's id."""
