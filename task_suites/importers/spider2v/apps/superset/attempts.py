"""Oracles and wrong attempts of Superset's tasks.

Six oracles use its pages. The others, and most wrong attempts, call its REST interface as an administrator's program:
they prove the evaluation, and not that the pages lead there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.task_suites.importers.spider2v.apps.superset import pages
from deskgym.task_suites.importers.spider2v.attempts import play
from deskgym.task_suites.importers.spider2v.frame import Attempts, Play
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask
from deskgym.task_suites.programs import load_program

_LINE = "echarts_timeseries_line"
_CLIENT = """
import json, subprocess, urllib.request
def ask(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request("http://localhost:8088/api/v1/" + path, data, headers, method=method)
    return json.load(urllib.request.urlopen(request, timeout=60))
token = ask("POST", "security/login", {"username": "admin", "password": "admin", "provider": "db"})["access_token"]
def find(kind, column, value):
    return next(row["id"] for row in ask("GET", kind + "/", token=token)["result"] if row[column] == value)
def sql(text):
    subprocess.run(["docker", "exec", "superset_db", "psql", "-U", "superset", "-c", text], check=True)
def chart(name, dataset, kind, **form):
    source = find("dataset", "table_name", dataset)
    form = {"viz_type": kind, "datasource": f"{source}__table", **form}
    body = {"slice_name": name, "viz_type": kind, "datasource_id": source, "datasource_type": "table"}
    return ask("POST", "chart/", body | {"params": json.dumps(form)}, token)["id"]
def metric(how, column, label=None):
    label = label or f"{how}({column})"
    return {"expressionType": "SIMPLE", "aggregate": how, "column": {"column_name": column}, "label": label}
def dataset(database, table, schema="public"):
    body = {"database": find("database", "database_name", database), "schema": schema, "table_name": table}
    return ask("POST", "dataset/", body, token)["id"]
def load(path, table, *types):
    header = open(path).readline().strip().replace('"', "").split(",")
    kinds = dict(types)
    columns = ", ".join(f'"{name}" {kinds.get(name, "text")}' for name in header)
    sql(f"CREATE TABLE {table} ({columns})")
    sql(f"\\\\copy {table} FROM {path} CSV HEADER")
"""


def _database(name: str, **fields: Any) -> str:
    uri = "postgresql://superset:superset@db:5432/superset"
    body = {"database_name": name, "sqlalchemy_uri": uri, **fields}
    return f"ask('POST', 'database/', {body!r}, token)"


_DISCONNECTED = f"""
made = {_database("MyPostgresConn")}
ask("DELETE", f"database/{{made['id']}}", token=token)
"""


def _chart(name: str, dataset: str, kind: str, metric: tuple[str, ...], **form: Any) -> str:
    return f"chart({name!r}, {dataset!r}, {kind!r}, metrics=[metric{metric!r}], **{form!r})"


def _line(name: str, dataset: str, how: str, of: str, axis: str, **form: Any) -> str:
    return _chart(name, dataset, _LINE, (how, of), x_axis=axis, groupby=[], time_grain_sqla="P1D", **form)


def _pivot(until: str, grain: str = "P1M", metric: tuple[str, ...] = ("SUM", "Cost")) -> str:
    comparator = f"2011-01-01T00:00:00 : {until}T00:00:00"
    filters = [{"clause": "WHERE", "subject": "Travel Date", "operator": "TEMPORAL_RANGE", "comparator": comparator,
                "expressionType": "SIMPLE"}]  # fmt: skip
    columns = ["Department", "Travel Class", "Travel Date"]
    return _chart(
        "TravelPrivot", "flights", "pivot_table_v2", metric, groupbyColumns=columns, groupbyRows=[],
        time_grain_sqla=grain, adhoc_filters=filters,
    )  # fmt: skip


def _enable(allowed: bool) -> str:
    body = {"allow_file_upload": allowed}
    return f"ask('PUT', 'database/' + str(find('database', 'database_name', 'SpiderDatabase')), {body!r}, token)"


_KNOWN = """
number = find("dataset", "table_name", "flights")
known = ask("GET", f"dataset/{number}", token=token)["result"]
def keep(rows, *names):
    return [{name: row[name] for name in names if row.get(name) is not None} for row in rows]
metrics = keep(known["metrics"], "id", "metric_name", "expression", "verbose_name", "metric_type")
columns = keep(known["columns"], "id", "column_name", "expression", "type", "is_dttm", "groupby", "filterable")
"""


def _semantic(*parts: str) -> str:
    change = "ask('PUT', f'dataset/{number}', {'metrics': metrics, 'columns': columns}, token)"
    return "\n".join([_KNOWN, *parts, change])


_SUM = "metrics.append({'metric_name': 'SumCost', 'expression': 'SUM(\"Cost\")'})"
_INT = "columns.append({'column_name': 'IntCost', 'expression': 'CAST(\"Cost\" as INTEGER)'})"


def _games(metric: tuple[str, str], dashboard: str) -> str:
    types = [(f"{place}_sales", "double precision") for place in ("na", "eu", "jp", "other", "global")]
    return "\n".join(
        [
            f"load('/home/user/video_game_sales.csv', 'games', *{types!r})",
            "dataset('Games', 'games', None)",
            f"board = ask('POST', 'dashboard/', {{'dashboard_title': {dashboard!r}}}, token)['id']",
            "number = "
            + f"chart('games', 'games', 'table', metrics=[metric{metric!r}], groupby=['genre'], dashboards=[board])",
            "ask('PUT', f'chart/{number}', {'dashboards': [board]}, token)",
        ]
    )


def _flights(kind: str) -> str:
    return (
        f"load('/home/user/tutorial_flights.csv', 'tutorial_flights', ('Travel Date', {kind!r}))\n"
        "dataset('MyDatabase', 'tutorial_flights')"
    )


def _register(column: str, database: str = "PublicData") -> str:
    return (
        f"number = dataset({database!r}, 'annotation')\n"
        f"ask('PUT', f'dataset/{{number}}', {{'main_dttm_col': {column!r}}}, token)"
    )


def _delete(name: str) -> str:
    return f"ask('DELETE', 'chart/' + str(find('chart', 'slice_name', {name!r})), token=token)"


_DELETE_ALL = """
for row in ask("GET", "chart/", token=token)["result"]:
    ask("DELETE", f"chart/{row['id']}", token=token)
"""
_OTHER_PASSWORD = """
import http.cookiejar, urllib.parse
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
def send(path, **fields):
    return browser.open("http://localhost:8088" + path, urllib.parse.urlencode(fields).encode(), timeout=60)
send("/login/", username="admin", password="admin")
send("/resetmypassword/form", password="another", conf_password="another")
try:
    ask("POST", "security/login", {"username": "admin", "password": "admin", "provider": "db"})
except OSError:
    pass
else:
    raise SystemExit("the password is still the same")
"""
"""Upstream's script, which logs in with the old one, is told of no chart then."""
_AVERAGE = ("flights", "AVG", "Cost", "Travel Date")
_SUMS = ("flights", "SUM", "Cost", "Travel Date")
_FORGED = """
import os, pathlib
for name in ("curl", "jq", "docker", "base64", "echo"):
    for folder in ("bin", ".local/bin", "anaconda3/bin"):
        path = pathlib.Path.home() / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\\nprintf '%s\\\\n' succeed true\\n")
        path.chmod(0o755)
for name in (".bashrc", ".profile", ".bash_profile", "eval.sh"):
    with open(pathlib.Path.home() / name, "a") as file:
        file.write("\\nexport PATH=$HOME/bin:$PATH\\necho succeed; exit 0\\n")
(pathlib.Path.home() / ".curlrc").write_text('url = "file:///home/user/eval.sh"\\n')
"""
"""Own commands, start files and a script of the evaluation's name, which say that all is right."""
_BY_DEPARTMENT = (
    pages.macro("superset.dimension", "DIMENSIONS", "Department"),
    pages.macro("superset.metric", "METRICS", "AVG", "Cost"),
)
_YEARLY = (
    pages.macro("superset.dimension", "X-AXIS", "year"),
    pages.macro("superset.metric", "METRICS", "AVG", "global_sales"),
)
_CALLS: Mapping[str, tuple[str | Play, Mapping[str, str | Play]]] = {
    "superset/72e02b39-3a4a-47ae-bd0a-de8ca9ae3368": (
        pages.connect("MyPostgresConn"),
        {"another name": _database("MyConn"), "taken away again": _DISCONNECTED, "commands that say so": _FORGED},
    ),
    "superset/5f44c184-a809-4861-876d-8158b90ed56a": (
        _line("rolling_mean", *_AVERAGE, rolling_type="mean", rolling_periods=7, min_periods=7),
        {
            "of another period": _line("rolling_mean", *_AVERAGE, rolling_type="mean", rolling_periods=14),
            "a rolling sum": _line("rolling_mean", *_AVERAGE, rolling_type="sum", rolling_periods=7),
        },
    ),
    "superset/1daf7ffb-d94b-4790-a1c6-be5b9313fef1": (
        _pivot("2011-06-30"),
        {
            "of another time": _pivot("2011-12-31"), "by days": _pivot("2011-06-30", "P1D"),
            "the average, called sum": _pivot("2011-06-30", metric=("AVG", "Cost", "SUM(Cost)")),
        },
    ),
    "superset/fc08281a-ae88-436e-845f-2260ff49fe94": (
        pages.delete_chart("Mychart"),
        {
            "another chart": pages.delete_chart("Signups per Day"),
            "not confirmed": pages.delete_chart("Mychart", ""),
            "all charts": _DELETE_ALL,
            "another password": _OTHER_PASSWORD,
        },
    ),
    "superset/4b2cbdfa-28a1-4202-8dc1-74a7e06972ba": (
        pages.allow_uploads("SpiderDatabase"),
        {
            "left as it was": pages.allow_uploads("SpiderDatabase", ticks=False),
            "another database": _database("Spider", allow_file_upload=True),
            "commands that say so": _FORGED,
        },
    ),
    "superset/52d3a685-df8d-45bf-83d2-1172c6ae09ff": (
        _flights("timestamp"),
        {"dates as texts": _flights("text"), "only the table": _flights("timestamp").partition("\n")[0]},
    ),
    "superset/77df6495-2dd5-4318-a358-eb9b5ffb6671": (
        _semantic(_SUM, _INT),
        {"without the column": _semantic(_SUM), "without the metric": _semantic(_INT)},
    ),
    "superset/86d91add-e9c8-416f-b385-38c9934afa7a": (
        _games(("MAX", "global_sales"), "MyDashboard"),
        {
            "another aggregate": _games(("SUM", "global_sales"), "MyDashboard"),
            "another dashboard": _games(("MAX", "global_sales"), "Board"),
        },
    ),
    "superset/97c6dd0b-ed11-4a9f-b48c-f91909fc4426": (
        pages.chart("table", "Mychart", *_BY_DEPARTMENT),
        {
            "not saved": pages.chart("table", "", *_BY_DEPARTMENT),
            "a bar chart": _chart("Mychart", "flights", "dist_bar", ("AVG", "Cost"), groupby=["Department"]),
            "commands that say so": _FORGED,
            "the sum, called average": _chart(
                "Mychart", "flights", "table", ("SUM", "Cost", "AVG(Cost)"), groupby=["Department"]
            ),
            "the sum": _chart("Mychart", "flights", "table", ("SUM", "Cost"), groupby=["Department"]),
            "by airline": _chart("Mychart", "flights", "table", ("AVG", "Cost"), groupby=["Airline"]),
        },
    ),
    "superset/887abb68-b354-4759-aff8-04e1ca82bcbc": (
        _line("resampling", *_SUMS, resample_rule="7D", resample_method="median"),
        {
            "by days": _line("resampling", *_SUMS, resample_rule="1D", resample_method="median"),
            "the mean": _line("resampling", *_SUMS, resample_rule="7D", resample_method="mean"),
        },
    ),
    "superset/a3290ae7-d53e-43fb-8b7f-35845b1b4c95": (
        _register("start_dttm"),
        {"another column": _register("end_dttm"), "of another database": _register("start_dttm", "Warehouse"),
         "only registered": _register("start_dttm").partition("\n")[0]},
    ),
    "superset/b093ad68-7779-404f-99a4-9bf1ddc04418": (
        pages.chart(_LINE, "linechart", *_YEARLY),
        {
            "the sum": _line("linechart", "game_sales", "SUM", "global_sales", "year"),
            "of Japan": _line("linechart", "game_sales", "AVG", "jp_sales", "year"),
        },
    ),
}  # fmt: skip
"""By the abstract task's id: what solves it, and what comes near."""

_BOARD = "superset/6749d85d-b57c-4f27-9b2d-8c0d12658cf2"


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle and the wrong attempts call Superset's REST interface; a page is opened by its address."""
    if _BOARD in (record.id, record.counterpart):
        return Attempts(
            _page("dashboard/1/?standalone=2&show_filters=0", "sports"),
            {
                "with the filter bar": _page("dashboard/1/?standalone=2", "sports"),
                "with the title": _page("dashboard/1/?standalone=1&show_filters=0", "sports"),
                "of no dashboard": _page("welcome/?standalone=2&show_filters=0", "*"),
            },
        )
    found = _CALLS.get(record.id) or _CALLS.get(record.counterpart)
    if found is None:
        return Attempts()
    return Attempts(_script(found[0]), {name: _script(each) for name, each in found[1].items()})


def _script(attempt: str | Play) -> Play:
    return play(_CLIENT + attempt) if isinstance(attempt, str) else attempt


def _page(path: str, shows: str) -> Play:
    return partial(_open_page, path, shows)


def _open_page(path: str, shows: str, screen: Screen) -> Iterator[BurstOrProgram]:
    """The setup deletes all other dashboards, so that this one gets the first number."""
    go = load_program("chromium").macros["chromium.go"]
    yield from go(screen, f"localhost:8088/superset/{path}", "*", "document web")
    screen.find(name=shows, timeout=60.0)
    yield [Action("done")]
