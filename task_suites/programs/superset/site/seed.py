"""Fills the warehouse and an empty Superset with the shop's data."""

import json
import uuid
from datetime import datetime

import psycopg2
import shop
from psycopg2.extras import execute_values
from superset.app import create_app

URI = "postgresql://superset:superset@127.0.0.1:5432/superset"
EPOCH = datetime(2024, 1, 8, 9, 0)

with psycopg2.connect(URI) as warehouse, warehouse.cursor() as cursor:
    for table, columns in shop.TABLES.items():
        cursor.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
        execute_values(cursor, f"INSERT INTO {table} VALUES %s", shop.rows(table))


def total(column: str, aggregate: str = "SUM") -> dict:
    """A metric as Superset's own page makes it."""
    return {
        "expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": aggregate,
        "label": f"{aggregate}({column})", "hasCustomLabel": False, "optionName": f"metric_{column}",
    }  # fmt: skip


CHARTS = {
    "Revenue by Region": ("orders", "echarts_timeseries_bar",
                          {"x_axis": "region", "metrics": [total("revenue")], "groupby": []}),
    "Orders by Channel": (
        "orders", "pie", {"metric": "count", "groupby": ["channel"], "row_limit": 100, "show_legend": True},
    ),
    "Units by Product": (
        "orders", "table",
        {"query_mode": "aggregate", "groupby": ["product"], "metrics": [total("quantity")], "all_columns": []},
    ),
    "Visits by Country": ("visits", "pie", {"metric": total("visits"), "groupby": ["country"], "row_limit": 100}),
    "Signups per Day": (
        "visits", "echarts_timeseries_line",
        {"x_axis": "day", "time_grain_sqla": "P1D", "metrics": [total("signups")], "groupby": []},
    ),
}  # fmt: skip
DASHBOARDS = {
    "Sales Overview": ("sales", True, ("Revenue by Region", "Orders by Channel")),
    "Web Traffic": ("traffic", False, ("Visits by Country",)),
}
PEOPLE = {"maya": "Alpha", "jonas": "Gamma", "amara": "Gamma"}


def layout(title: str, charts: list) -> str:
    """A dashboard with its charts in one row."""
    parents = ["ROOT_ID", "GRID_ID", "ROW-1"]
    cells = {
        f"CHART-{chart.id}": {
            "type": "CHART", "id": f"CHART-{chart.id}", "children": [], "parents": parents,
            "meta": {"width": 5, "height": 50, "chartId": chart.id, "uuid": str(chart.uuid),
                     "sliceName": chart.slice_name},
        }
        for chart in charts
    }  # fmt: skip
    row = {"type": "ROW", "id": "ROW-1", "children": [*cells], "parents": parents[:2],
           "meta": {"background": "BACKGROUND_TRANSPARENT"}}  # fmt: skip
    return json.dumps({
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-1"], "parents": ["ROOT_ID"]},
        "HEADER_ID": {"type": "HEADER", "id": "HEADER_ID", "meta": {"text": title}},
        "ROW-1": row,
    } | cells)  # fmt: skip


app = create_app()
with app.app_context():
    from superset import db, security_manager
    from superset.connectors.sqla.models import SqlaTable
    from superset.models.core import Database, Log
    from superset.models.dashboard import Dashboard
    from superset.models.slice import Slice

    admin = security_manager.find_user("admin")
    stamp = {"created_by_fk": admin.id, "changed_by_fk": admin.id, "created_on": EPOCH, "changed_on": EPOCH}
    draw = shop.random.Random(34)

    def named(**values):
        """What every object has: who made it when, and an identity."""
        return values | stamp | {"uuid": uuid.UUID(int=draw.getrandbits(128), version=4)}

    for name, role in PEOPLE.items():
        email = f"{name}@example.org"
        security_manager.add_user(name, name.title(), "Shop", email, security_manager.find_role(role), "deskgym")
    source = Database(**named(database_name="Warehouse", expose_in_sqllab=True, allow_file_upload=True))
    source.set_sqlalchemy_uri(URI)
    db.session.add(source)
    db.session.flush()
    security_manager.add_permission_view_menu(
        "database_access", security_manager.get_database_perm(source.id, source.database_name)
    )
    tables = {}
    for name in ("orders", "visits"):
        table = SqlaTable(**named(table_name=name, schema="public", database=source, owners=[admin]))
        db.session.add(table)
        db.session.flush()
        table.fetch_metadata()
        table.main_dttm_col = "order_date" if name == "orders" else "day"
        tables[name] = table
    charts = {}
    for name, (table, kind, values) in CHARTS.items():
        form = {"viz_type": kind, "datasource": f"{tables[table].id}__table", "adhoc_filters": [],
                "time_range": "No filter"} | values  # fmt: skip
        chart = Slice(
            **named(slice_name=name, viz_type=kind, datasource_type="table", datasource_id=tables[table].id,
                    datasource_name=f"public.{table}", params=json.dumps(form), owners=[admin]),
            last_saved_at=EPOCH, last_saved_by_fk=admin.id,
        )  # fmt: skip
        db.session.add(chart)
        charts[name] = chart
    db.session.flush()
    for title, (slug, published, names) in DASHBOARDS.items():
        shown = [charts[name] for name in names]
        db.session.add(Dashboard(
            **named(dashboard_title=title, slug=slug, published=published, slices=shown, owners=[admin],
                    position_json=layout(title, shown), json_metadata="{}"),
        ))  # fmt: skip
    db.session.commit()
    for model in (Database, SqlaTable, Slice, Dashboard):
        db.session.query(model).update({"changed_on": EPOCH, "created_on": EPOCH}, synchronize_session=False)
    db.session.query(Log).delete()
    db.session.commit()
