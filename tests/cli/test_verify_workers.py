"""Verifying in several processes."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial

import psutil
import pytest
from fake_suite import FakeSource

from deskgym.cli.verifying import verify
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.task_suites.core.verify.attempts import attempts_of
from deskgym.workers import run_jobs, stream_jobs


def test_workers_find_the_same():
    make = partial(DesktopEnv, FakeSource(("fake/copy", "fake/lazy")), machine="fake", screen_size=(160, 120))
    attempts = [attempt for task in ("fake/copy", "fake/lazy") for attempt in attempts_of(task, ["other"])]

    def found(workers):
        reports = verify(make, attempts, resets=2, workers=workers)
        return {(report.attempt.task, report.attempt.agent): (report.good, report.problems) for report in reports}

    assert found(2) == found(1)


def test_stopping_early_leaves_no_worker():
    make = partial(DesktopEnv, FakeSource(), machine="fake", screen_size=(160, 120))
    running = verify(make, attempts_of("fake/copy", ["other"] * 6), resets=2, workers=2)
    next(running)
    running.close()
    assert not multiprocessing.active_children()


def count_and_hang(number):
    yield from range(number)
    time.sleep(60)


def one_then_death(item):
    yield item
    os._exit(3)


def one_that_is_local(item):
    yield lambda: item  # cannot be sent


@pytest.mark.parametrize("by_error", [False, True])
def test_stopping_early_ends_no_process_of_the_caller(by_error):
    spawn = multiprocessing.get_context("spawn")
    before, during = (spawn.Process(target=time.sleep, args=(60,)) for _ in range(2))
    before.start()
    running = run_jobs(abs, [-1, "not a number"] if by_error else range(20), workers=2)
    try:
        if by_error:
            with pytest.raises(TypeError):
                list(running)
        else:
            next(running)
            during.start()
            running.close()
        own = [before] if by_error else [before, during]
        for process in own:
            process.join(0.2)
        assert all(process.is_alive() for process in own)
        assert set(multiprocessing.active_children()) == set(own)
    finally:
        for process in multiprocessing.active_children():
            process.kill()
            process.join()


def test_results_of_a_job_come_while_it_works():
    with closing(stream_jobs(count_and_hang, [3, 3], workers=2)) as running:
        assert sorted(next(running) for _ in range(6)) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("job", "error"), [(one_then_death, BrokenProcessPool), (one_that_is_local, AttributeError)])
def test_what_ends_a_job_is_said(job, error):
    with pytest.raises(error):
        list(stream_jobs(job, [1, 2], workers=2))


SLOW_TO_IMPORT = """
import os, time
if __name__ != "__main__":
    os.write(1, b"importing\\n")  # in one piece: both workers say it
    time.sleep(1)
from deskgym.workers import run_jobs

def job(item):
    return item

if __name__ == "__main__":
    print(sorted(run_jobs(job, [1, 2], 2)))
"""


def test_ctrl_c_does_not_reach_workers_while_they_import(tmp_path):
    script = tmp_path / "slow_to_import.py"
    script.write_text(SLOW_TO_IMPORT)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **pipes) as process:
        assert process.stdout.readline() == "importing\n"
        for child in psutil.Process(process.pid).children():
            child.send_signal(signal.SIGINT)
        found, said = process.communicate(timeout=60)
    assert (found.splitlines()[-1], said, process.returncode) == ("[1, 2]", "", 0)
