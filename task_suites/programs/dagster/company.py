"""The company's jobs, assets, schedules and sensors, as plain data: for its Dagster code, and for tasks.

Dagster's code location imports it too, so it uses the standard library alone.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

REGIONS = ("north", "south", "east", "west")
BATCH = 500
OUTAGE = "/var/lib/deskgym-dagster/outage"
"""While runs are made for everybody: the names of the ops that fail."""


@dataclass(frozen=True)
class Pipeline:
    """A job: its ops run one after the other.

    Attributes:
        ops: their names; the first one is configured.
        about: what it does.
        region: of its run that has succeeded.
        fails: the number of the op that has failed in its other run.
    """

    ops: tuple[str, ...]
    about: str
    region: str
    fails: int


JOBS = {
    "sales_etl": Pipeline(
        ("extract_orders", "clean_orders", "join_customers", "load_sales"), "Loads the orders of a day.", "north", 2
    ),
    "inventory_sync": Pipeline(
        ("read_stock", "compare_counts", "write_stock"), "Compares stock with what was counted.", "east", 1
    ),
    "marketing_report": Pipeline(
        ("collect_clicks", "attribute_sales", "rank_campaigns", "send_report"), "Ranks campaigns.", "south", 3
    ),
    "supplier_quality": Pipeline(
        ("fetch_deliveries", "score_suppliers", "publish_scores"), "Scores suppliers by their deliveries.", "west", 1
    ),
    "ledger_close": Pipeline(
        ("lock_period", "post_accruals", "reconcile", "sign_off"), "Closes the books of a month.", "north", 2
    ),
}

ASSETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "raw_orders": ("sales", ()),
    "valid_orders": ("sales", ("raw_orders",)),
    "daily_revenue": ("sales", ("valid_orders",)),
    "revenue_forecast": ("sales", ("daily_revenue",)),
    "raw_stock": ("stock", ()),
    "stock_levels": ("stock", ("raw_stock",)),
    "reorder_list": ("stock", ("stock_levels",)),
    "raw_customers": ("customers", ()),
    "customer_profiles": ("customers", ("raw_customers",)),
    "churn_scores": ("customers", ("customer_profiles",)),
}
"""Name → its group, and what it is made from."""

SCHEDULES = {
    "nightly_sales": ("sales_etl", "0 3 * * *"),
    "hourly_inventory": ("inventory_sync", "0 * * * *"),
    "weekly_marketing": ("marketing_report", "30 6 * * 1"),
    "monthly_ledger": ("ledger_close", "0 4 1 * *"),
}
"""Name → its job and when; the first two run."""

SENSORS = {
    "late_orders_sensor": "sales_etl",
    "stock_alert_sensor": "inventory_sync",
    "delivery_sensor": "supplier_quality",
}
"""Name → its job; the first one runs. Their cursor is the batch that they ask for."""

STARTED = ("nightly_sales", "hourly_inventory", "late_orders_sensor")
ERROR = "ConnectionError: the warehouse did not answer"


def figures(job: str, op: str, region: str, batch: int) -> tuple[int, int]:
    """What an op writes into its log: rows, and how many of them it rejected."""
    drawn = zlib.crc32(f"{job} {op} {region} {batch}".encode())
    rows = 1000 + drawn % 9000
    return rows, 3 + drawn // 9000 % 190
