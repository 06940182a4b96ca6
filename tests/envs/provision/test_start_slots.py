"""Turns: never more at once than there are places, whoever is killed, forks or is stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from deskgym.envs.machines.start_slots import PER_CORE, slots, start_slot

HOLD = """
import os, sys, time
from pathlib import Path
from deskgym.envs.machines.start_slots import start_slot
with start_slot(Path(sys.argv[1]), 1):
    if sys.argv[2:] and os.fork() == 0:
        time.sleep(60)
    print("held", flush=True)
    sys.stdin.readline()
print("given back", flush=True)
"""


@pytest.fixture
def holder(tmp_path):
    """Starts a process that holds the only place until it is told to go on."""
    started = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path), *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdin.close()
        process.stdout.close()


def taken(folder, patience=0.1):
    with start_slot(folder, 1, patience) as place:
        return not place


def test_two_for_each_core():
    assert slots() == PER_CORE * len(os.sched_getaffinity(0)) >= 2


def test_never_more_than_there_are_places(tmp_path):
    lock, now, most = threading.Lock(), [0], []

    def work():
        for _ in range(5):
            with start_slot(tmp_path, 2) as place:
                assert place
                with lock:
                    now[0] += 1
                    most.append(now[0])
                time.sleep(0.005)
                with lock:
                    now[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 40 and max(most) == 2


def test_another_process_is_waited_for_and_its_death_gives_the_place_back(tmp_path, holder):
    process = holder()
    assert taken(tmp_path)
    process.kill()
    process.wait()
    assert not taken(tmp_path, 5.0)


def test_a_fork_does_not_keep_the_place(tmp_path, holder):
    process = holder("fork")
    assert taken(tmp_path)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "given back\n"
    assert not taken(tmp_path)


def test_who_was_stopped_holds_up_nobody_for_ever(tmp_path, holder):
    os.kill(holder().pid, signal.SIGSTOP)
    start = time.monotonic()
    assert taken(tmp_path, 0.3)
    assert 0.3 <= time.monotonic() - start < 5


def test_an_error_gives_the_place_back(tmp_path):
    with pytest.raises(KeyError), start_slot(tmp_path, 1):
        raise KeyError
    assert not taken(tmp_path)


def test_where_there_can_be_no_locks_nobody_waits(tmp_path):
    (tmp_path / "file").touch()
    start = time.monotonic()
    assert taken(tmp_path / "file" / "start-slots", 5.0)
    assert time.monotonic() - start < 5
