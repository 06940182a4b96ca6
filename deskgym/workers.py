"""Jobs in worker processes that own machines: when the work stops early, each worker closes its machine first."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import resource_tracker
from types import FrameType
from typing import NoReturn, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
_CHECK = 0.2  # seconds within which a job's error, or a worker's death, is noticed


def run_jobs(job: Callable[[Item], Result], items: Sequence[Item], workers: int = 1) -> Generator[Result, None, None]:
    """Do the job on every item, and yield the results as they are done.

    Args:
        job: picklable if there are workers.
        items: picklable if there are workers.
        workers: processes that work at once; 1 works in this one, in the items' order.
    """
    yield from stream_jobs(partial(_one, job), items, workers)


def stream_jobs(
    job: Callable[[Item], Iterable[Result]], items: Sequence[Item], workers: int = 1
) -> Generator[Result, None, None]:
    """Do a job of many results on every item, and yield each result when it is there, not when its job has ended.

    Args:
        job: picklable if there are workers, as its results are; called and iterated in the worker.
        items: picklable if there are workers.
        workers: processes that work at once; 1 works in this one, in the items' order.
    """
    if workers == 1:
        for item in items:
            yield from job(item)
        return
    spawn = multiprocessing.get_context("spawn")  # a fork would share this process's threads' locks
    results: multiprocessing.Queue[bytes] = spawn.Queue()
    with ProcessPoolExecutor(workers, mp_context=spawn, initializer=_begin_worker, initargs=(results,)) as pool:
        resource_tracker.ensure_running()  # it would unblock the signal
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # workers begin so: Ctrl-C while they import
        try:
            running = {pool.submit(_work, job, item) for item in items}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        counts, got = 0, 0  # of what the ended jobs have sent, and of what has arrived
        try:
            while running or got < counts:
                ended = {each for each in running if each.done()}
                running -= ended
                counts += sum(each.result() for each in ended)
                try:
                    result = pickle.loads(results.get(timeout=_CHECK))
                except queue.Empty:
                    continue
                got += 1
                yield result
        except BaseException:
            for process in list(pool._processes.values()):  # public from Python 3.14: terminate_workers()
                process.terminate()
            pool.shutdown(cancel_futures=True)  # waits for them
            raise


def _one(job: Callable[[Item], Result], item: Item) -> list[Result]:
    return [job(item)]


_results: multiprocessing.Queue[bytes]  # in a worker: to the main process
_busy = False  # in a worker: a job is being done


def _begin_worker(results: multiprocessing.Queue[bytes]) -> None:
    """A terminated worker closes its machine first; Ctrl-C reaches the main process, which terminates."""
    global _results
    _results = results

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        if _busy:
            raise SystemExit
        os._exit(1)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # so that what is started from here has it as usual


def _work(job: Callable[[Item], Iterable[Result]], item: Item) -> int:
    """Do the job in a worker, and say how many results it sent; the pool would catch SystemExit and go on."""
    global _busy
    _busy, sent = True, 0
    try:
        for result in job(item):
            _results.put(pickle.dumps(result))  # here, since an error in the queue's own thread would be lost
            sent += 1
        return sent
    except SystemExit:
        os._exit(1)
    finally:
        _busy = False
