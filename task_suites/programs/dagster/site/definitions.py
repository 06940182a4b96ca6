"""The company's code location: nobody changes it."""

import time
from pathlib import Path

import company
from dagster import (
    Config,
    DefaultScheduleStatus,
    DefaultSensorStatus,
    Definitions,
    RunRequest,
    ScheduleDefinition,
    asset,
    graph,
    in_process_executor,
    op,
    sensor,
)  # fmt: skip


class Batch(Config):
    """Which orders a run takes."""

    region: str = "north"
    batch: int = company.BATCH


def work(context, job, name, region, batch):
    """Fail where an outage was made for this op, or write the figures into the log."""
    outage = Path(company.OUTAGE)
    if outage.exists() and name in outage.read_text().split():
        raise ConnectionError("the warehouse did not answer")
    rows, rejected = company.figures(job, name, region, batch)
    context.log.info(f"{name}: {rows} rows written, {rejected} rejected")
    return [region, batch]


def first(job, name):
    """The op that is configured."""

    @op(name=name)
    def run(context, config: Batch) -> list:
        return work(context, job, name, config.region, config.batch)

    return run


def later(job, name):
    """An op that works on with what the one before gives it."""

    @op(name=name)
    def run(context, given: list) -> list:
        return work(context, job, name, *given)

    return run


def job_of(name, pipeline):
    """A job whose ops run one after the other."""
    ops = [first(name, pipeline.ops[0]), *(later(name, each) for each in pipeline.ops[1:])]

    @graph(name=name, description=pipeline.about)
    def made():
        given = ops[0]()
        for each in ops[1:]:
            given = each(given)

    return made.to_job(name=name, description=pipeline.about)


@op(name="copy_archive")
def copy_archive(context, config: Batch) -> list:
    """Copy for a quarter of an hour."""
    for minute in range(15):
        context.log.info(f"copied {minute} of 15 parts of {config.region}")
        for _ in range(60):
            time.sleep(1)
    return []


@graph(name="archive_history", description="Copies old orders of a region into the archive.")
def archive():
    """One op that takes long."""
    copy_archive()


def asset_of(name, group, sources):
    """An asset; it is made from names alone."""

    @asset(name=name, group_name=group, deps=list(sources))
    def made(context) -> None:
        rows, _ = company.figures("assets", name, group, company.BATCH)
        context.add_output_metadata({"rows": rows})

    return made


def sensor_of(name, job):
    """A sensor that asks for a run of the batch that its cursor names."""

    @sensor(name=name, job_name=job, minimum_interval_seconds=3600, default_status=status(name, DefaultSensorStatus))
    def made(context):
        batch = int(context.cursor or company.BATCH)
        first_op = company.JOBS[job].ops[0]
        yield RunRequest(run_key=str(batch), run_config={"ops": {first_op: {"config": {"batch": batch}}}})

    return made


def status(name, kind):
    """Whether it runs from the start on."""
    return kind.RUNNING if name in company.STARTED else kind.STOPPED


defs = Definitions(
    assets=[asset_of(name, *about) for name, about in company.ASSETS.items()],
    jobs=[*(job_of(name, about) for name, about in company.JOBS.items()), archive.to_job(name="archive_history")],
    schedules=[
        ScheduleDefinition(
            name=name, job_name=job, cron_schedule=cron, default_status=status(name, DefaultScheduleStatus)
        )
        for name, (job, cron) in company.SCHEDULES.items()
    ],
    sensors=[sensor_of(name, job) for name, job in company.SENSORS.items()],
    executor=in_process_executor,
)
