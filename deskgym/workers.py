"""Jobs in worker processes that own machines: when the work stops early, each worker closes its machine first."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import resource_tracker
from types import FrameType
from typing import NoReturn, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_jobs(job: Callable[[Item], Result], items: Sequence[Item], workers: int = 1) -> Generator[Result, None, None]:
    """Do the job on every item, and yield the results as they are done.

    Args:
        job: picklable if there are workers.
        items: picklable if there are workers.
        workers: processes that work at once; 1 works in this one, in the items' order.
    """
    if workers == 1:
        yield from map(job, items)
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would share this process's threads' locks
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin_worker) as pool:
        resource_tracker.ensure_running()  # it would unblock the signal
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers begin so: Ctrl-C while they import
        try:
            futures = [pool.submit(_work, job, item) for item in items]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for process in list(pool._processes.values()):  # public from Python 3.14: terminate_workers()
                process.terminate()
            pool.shutdown(cancel_futures=True)  # waits for them
            raise


_busy = False  # in a worker: a job is being done


def _begin_worker() -> None:
    """A terminated worker closes its machine first; Ctrl-C reaches the main process, which terminates."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        if _busy:
            raise SystemExit
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # so that what is started from here has it as usual


def _work(job: Callable[[Item], Result], item: Item) -> Result:
    """Do the job in a worker; the pool would catch SystemExit and go on with the next one."""
    global _busy
    _busy = True
    try:
        return job(item)
    except SystemExit:
        os._exit(1)
    finally:
        _busy = False
