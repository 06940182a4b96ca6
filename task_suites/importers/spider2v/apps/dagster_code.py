"""The code that solves Dagster's tasks, and code that comes near, as commands of a shell."""

from __future__ import annotations


def written(path: str, text: str) -> str:
    """Write a file."""
    return f"cat > {path} << 'END'\n{text}\nEND"


_SCHEDULE = """from dagster import schedule


@schedule(cron_schedule="{}", job_name="sklearn_job")
def every_weekday_hour():
    return {{}}"""
_FEATURES = (  # the file's lines end as on Windows
    'cd ~/sklearn-dagster && sed -i -e \'s/"Sex", "Name"\\]\\r*$/"Sex", "Name", {}]/\' '
    "-e 's/^\\( *\\)(vect, \"Name\"),/&\\n\\1(SimpleImputer(), [{}]),/' ops/sklearn_ops.py"
)
_REPOSITORY = (
    "cd ~/sklearn-dagster/repositories && "
    "sed -i -e 's/^from jobs.*/&\\nfrom schedules.sklearn_schedule import every_weekday_hour/' "
    '-e \'s/^    return {/&\\n        "schedules": {"every_weekday_hour": lambda: every_weekday_hour},/\' *.py'
)


def sklearn(features: str, cron: str = "0 * * * 1-5") -> list[str]:
    """Take features into the model, and make and register a schedule."""
    schedule = written("~/sklearn-dagster/schedules/sklearn_schedule.py", _SCHEDULE.format(cron))
    return [_FEATURES.format(features, features), schedule, _REPOSITORY]


_SENSOR = """import os
from dagster import RunConfig, RunRequest, sensor
from .log_file_job import FileConfig, log_file_job

FOLDER = "/home/user/file-watch-sensor/files"


@sensor(job=log_file_job, minimum_interval_seconds=30)
def directory_sensor():
    for name in os.listdir(FOLDER):
        config = RunConfig(ops={{"process_file": FileConfig(filename={})}})
        yield RunRequest(run_key=name, run_config=config)"""
_WATCH = "~/file-watch-sensor/file_watch_sensor"


def sensor(name: str) -> list[str]:
    """Make the sensor, which tells its job this name, and register it."""
    definitions = "from dagster import Definitions\nfrom .directory_sensor import directory_sensor\n\n"
    return [
        written(f"{_WATCH}/directory_sensor.py", _SENSOR.format(name)),
        written(f"{_WATCH}/__init__.py", f"{definitions}defs = Definitions(sensors=[directory_sensor])"),
    ]


_EXTERNAL = """import pandas as pd
from dagster_pipes import PipesContext, open_dagster_pipes


def main():
    orders_df = pd.read_csv("orders_data.csv", encoding="utf-8-sig")
    context = PipesContext.get()
    context.report_asset_materialization(metadata={{"total_orders": len(orders_df)}})
    passed = bool(orders_df["{}"].notnull().all())
    context.report_asset_check(passed=passed, check_name="no_null_check")


if __name__ == "__main__":
    with open_dagster_pipes():
        main()"""
_SPEC = '@asset(check_specs=[AssetCheckSpec(name="no_null_check", asset="subprocess_asset")])'


def orders(column: str) -> list[str]:
    """Report the number of orders, and check this column."""
    spec = f"cd ~/orders/orders && sed -i 's/^@asset$/{_SPEC}/' assets.py"
    return [spec, written("~/orders/orders/external.py", _EXTERNAL.format(column))]


_SHOP = "~/dbt-dagster-proj/jaffle_shop/jaffle_shop_dagster/jaffle_shop_dagster"
_CUSTOMERS = '''
import duckdb
from dagster import asset
from dagster_dbt import get_asset_key_for_model

from .constants import dbt_project_dir

MODELS = ("stg_customers", "stg_orders", "stg_payments")


@asset(deps=[get_asset_key_for_model([jaffle_shop_dbt_assets], name) for name in MODELS])
def customers():
    query = """
    with made as (select customer_id, min(order_date) as first_order, max(order_date) as most_recent_order,
                         count(order_id) as number_of_orders from stg_orders group by customer_id),
         paid as (select customer_id, sum(amount) as total from stg_payments join stg_orders using (order_id)
                  group by customer_id)
    select c.customer_id, first_name, last_name, first_order, most_recent_order, number_of_orders, total as {}
    from stg_customers c {} join made using (customer_id) left join paid using (customer_id)
    """
    with duckdb.connect(str(dbt_project_dir.joinpath("tutorial.duckdb"))) as connection:
        return connection.sql(query).df().sort_values("customer_id")'''
_DEFINED = (
    f"cd {_SHOP} && sed -i -e 's/^from .assets import .*/&, customers/' "
    "-e 's/assets=\\[jaffle_shop_dbt_assets\\]/assets=[jaffle_shop_dbt_assets, customers]/' definitions.py"
)


def customers(column: str = "total_order_amount", join: str = "left") -> list[str]:
    """Add the asset: its last column has this name, and orders are joined so."""
    return [f"cat >> {_SHOP}/assets.py << 'END'\n{_CUSTOMERS.format(column, join)}\nEND", _DEFINED]


_SIZES = """import os

from dagster import get_dagster_logger, job, op


@op
def get_file_sizes():
    return {{name: os.path.getsize(os.path.join("files", name)) for name in os.listdir("files")}}


@op
def get_total_file_size(file_sizes):
    return sum(file_sizes.values())


@op
def get_max_file_size(file_sizes):
    return {}


@op
def report_file_stats(total_size, max_size):
    get_dagster_logger().info(f"Total size: {{total_size}}, max size: {{max_size}}")


@job
def file_sizes_job():
    file_sizes = get_file_sizes()
    report_file_stats(get_total_file_size(file_sizes), get_max_file_size(file_sizes))"""


def sizes(largest: str) -> list[str]:
    """Write the job: its largest file is this expression."""
    return [written("~/file-ops-and-jobs/file_sizes_job.py", _SIZES.format(largest))]


MODEL = """
@asset
def linear_regression_model(transformed_training_data):
    return LinearRegression().fit(*transformed_training_data)


@asset
def model_test_set_score(transformed_test_data, linear_regression_model):
    return linear_regression_model.score(*transformed_test_data)
"""
PREDICTIONS = """
@asset
def latest_story_comment_predictions(linear_regression_model, latest_story_data):
    return linear_regression_model.predict(latest_story_data)
"""


def model(code: str) -> list[str]:
    """Replace the assets that are to be filled in."""
    path = "~/hacker-news-ml-pipeline/hacker_news_ml_pipeline/assets.py"
    return [
        f"python -c \"import os; p = os.path.expanduser('{path}'); t = open(p).read(); "
        "open(p, 'w').write(t[:t.index('@asset\\ndef linear_regression_model')])\" "
        f"&& cat >> {path} << 'END'\n{code}\nEND"
    ]
