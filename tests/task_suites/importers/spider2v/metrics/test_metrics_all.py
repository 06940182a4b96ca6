"""The table of metric functions."""

from deskgym.task_suites.importers.spider2v.metric_schema import METRICS as READ
from deskgym.task_suites.importers.spider2v.metrics import METRICS
from deskgym.task_suites.importers.spider2v.metrics.corrections import CORRECTIONS


def test_every_function_that_is_read_is_run() -> None:
    assert METRICS.keys() == READ.keys()
    assert CORRECTIONS.keys() <= METRICS.keys()


def test_nothing_is_always_wrong() -> None:
    for name, judge in METRICS.items():
        assert judge(None, None, None) == (0.0, "there is no result"), name
