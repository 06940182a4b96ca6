"""Verifying in several processes."""

from functools import partial

from fake_suite import FakeSource

from deskgym.cli.verifying import attempts_of, verify
from deskgym.envs.desktop_env import DesktopEnv


def test_workers_find_the_same():
    make = partial(DesktopEnv, FakeSource(("fake/copy", "fake/lazy")), machine="fake", screen_size=(160, 120))
    attempts = [attempt for task in ("fake/copy", "fake/lazy") for attempt in attempts_of(task, ["other"])]

    def found(workers):
        reports = verify(make, attempts, resets=2, workers=workers)
        return {(report.attempt.task, report.attempt.agent): (report.good, report.problems) for report in reports}

    assert found(2) == found(1)


def test_stopping_early_leaves_no_worker():
    import multiprocessing

    make = partial(DesktopEnv, FakeSource(), machine="fake", screen_size=(160, 120))
    running = verify(make, attempts_of("fake/copy", ["other"] * 6), resets=2, workers=2)
    next(running)
    running.close()
    assert not multiprocessing.active_children()
