"""What tasks know of the company that Dagster shows."""

from deskgym.task_suites.programs.dagster import company, functions


def test_figures_of_a_run_are_those_that_its_log_has():
    for name, pipeline in company.JOBS.items():
        rows = functions.report(name)
        assert [row[0] for row in rows] == list(pipeline.ops) and len({row[2] for row in rows}) == len(rows)
        found = functions.figures(name, 1)
        assert [found["op"], found["rows"], found["rejected"]] == rows[1]
        assert functions.report(name, swapped=True)[1] == [found["op"], found["rejected"], found["rows"]]
    assert functions.csv([["a", 1, 2]]) == "op,rows,rejected\na,1,2\n"


def test_jobs_groups_schedules_and_sensors_fit_together():
    assert functions.group("stock") == ["raw_stock", "reorder_list", "stock_levels"]
    assert {job for job, _ in company.SCHEDULES.values()} | set(company.SENSORS.values()) <= company.JOBS.keys()
    assert functions.job("sales_etl")["failed"] == "join_customers"
    assert functions.sensor("delivery_sensor", 7)["config"] == {"ops": {"fetch_deliveries": {"config": {"batch": 7}}}}
