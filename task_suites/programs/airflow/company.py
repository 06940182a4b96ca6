"""The pipelines of a company, the same for everybody: plain data, and the text of each DAG's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

FIRST_DAY = datetime(2024, 3, 5, tzinfo=UTC)
DAYS = 2
PEOPLE = {"maya": "Op", "jonas": "User", "amara": "Viewer", "tomas": "User", "ines": "Viewer", "ravi": "Op"}
"""User name → role, beside ``admin``."""

VARIABLES = {
    "report_recipients": "finance@example.org", "warehouse_schema": "analytics", "max_batch_rows": "5000",
    "landing_bucket": "landing-eu", "retention_days": "30",
}  # fmt: skip
POOLS = {"warehouse": (4, "Writes to the warehouse"), "partner_api": (2, "Calls of partners' APIs")}
CONNECTIONS = {
    "warehouse": ("postgres", "warehouse.example.org", "analytics", "loader", 5432),
    "orders_db": ("postgres", "orders.example.org", "shop", "reader", 5432),
    "partner_api": ("http", "api.example.org", "", "partner", 443),
    "landing_ftp": ("ftp", "ftp.example.org", "", "drop", 21),
}


@dataclass(frozen=True)
class Pipeline:
    """One DAG: its tasks run one after the other."""

    owner: str
    tags: tuple[str, ...]
    hour: int
    tasks: tuple[str, ...]
    about: str
    paused: bool = False
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def schedule(self) -> str:
        """A cron expression: once a day."""
        return f"0 {self.hour} * * *"


PIPELINES = {
    "sales_daily_etl": Pipeline(
        "maya", ("sales", "etl"), 6, ("extract_orders", "clean_orders", "load_warehouse", "refresh_report"),
        "Orders of all shops into the warehouse.", conf={"region": "all", "full_refresh": "no"},
    ),
    "inventory_sync": Pipeline(
        "jonas", ("inventory", "ingest"), 5, ("fetch_stock", "compare_stock", "write_stock"),
        "Stock levels of the warehouses into the shop.", conf={"warehouse": "north"},
    ),
    "marketing_campaign_report": Pipeline(
        "amara", ("marketing", "report"), 8, ("fetch_clicks", "join_campaigns", "send_report"),
        "Clicks of all campaigns as a report.", conf={"campaign": "spring"},
    ),
    "customer_segmentation": Pipeline(
        "ines", ("customers", "ml"), 3, ("select_customers", "score_customers", "store_segments"),
        "Segments of customers by what they buy.", conf={"segments": "5"},
    ),
    "finance_ledger_close": Pipeline(
        "tomas", ("finance", "etl"), 1, ("collect_entries", "check_balance", "close_ledger", "archive_ledger"),
        "Closes the day's ledger.", conf={"ledger": "main"},
    ),
    "web_logs_ingest": Pipeline(
        "ravi", ("web", "ingest"), 4, ("copy_logs", "parse_logs", "load_sessions"),
        "Logs of the web servers into the warehouse.", conf={"host": "web-1"},
    ),
    "supplier_quality_checks": Pipeline(
        "jonas", ("suppliers", "quality"), 7, ("load_deliveries", "check_deliveries", "write_findings"),
        "Checks what suppliers deliver.", conf={"supplier": "all"},
    ),
    "exchange_rates_refresh": Pipeline(
        "tomas", ("finance", "ingest"), 2, ("fetch_rates", "validate_rates", "store_rates"),
        "Exchange rates of the day.", True, {"base": "EUR"},
    ),
    "hr_headcount_snapshot": Pipeline(
        "ines", ("hr", "report"), 9, ("read_contracts", "count_people", "write_snapshot"),
        "Who works where, once a day.", True, {"department": "all"},
    ),
    "metadata_backup": Pipeline(
        "ravi", ("maintenance",), 0, ("dump_metadata", "upload_dump", "remove_old_dumps"),
        "Keeps copies of the metadata.", True, {"keep": "7"},
    ),
}  # fmt: skip


def logical_dates(pipeline: Pipeline) -> list[datetime]:
    """The dates of the runs that each pipeline has at the start, the oldest one first."""
    return [FIRST_DAY + timedelta(days=day, hours=pipeline.hour) for day in range(DAYS)]


def run_id(date: datetime) -> str:
    """What Airflow calls the scheduled run of a date."""
    return f"scheduled__{date.isoformat()}"


def source(dag_id: str) -> str:
    """The file of a DAG."""
    dag = PIPELINES[dag_id]
    steps = "\n".join(f'    {task} = PythonOperator(task_id="{task}", python_callable=work)' for task in dag.tasks)
    return f'''"""{dag.about}"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.python import PythonOperator


def work(ti):
    rows = sum(map(ord, ti.task_id)) * ti.execution_date.day
    print(f"{{ti.task_id}}: {{rows}} rows")
    return rows


with DAG(
    dag_id="{dag_id}",
    description="{dag.about}",
    schedule="{dag.schedule}",
    start_date=datetime(2024, 3, 1),
    catchup=False,
    max_active_runs=1,
    params={dag.conf!r},
    tags={list(dag.tags)!r},
    default_args={{"owner": "{dag.owner}", "retries": 1, "retry_delay": timedelta(minutes=5)}},
) as dag:
{steps}

    {" >> ".join(dag.tasks)}
'''
