"""What is kept is built once, and is there as a whole or not at all."""

import os
import subprocess
import sys
import threading
import time

import pytest

from deskgym.envs.machines.build_once import STALE, build_once, file_lock


def fill(folder):
    (folder / "file").write_text("content")


def test_it_is_built_at_the_first_call_only(tmp_path):
    target = tmp_path / "thing"
    assert build_once(target, fill) == target
    assert build_once(target, lambda folder: pytest.fail("built again")) == target
    assert [path.name for path in tmp_path.iterdir()] == ["thing"] and (target / "file").read_text() == "content"


def test_a_build_can_give_a_file(tmp_path):
    def build(folder):
        fill(folder)
        return folder / "file"

    assert build_once(tmp_path / "disk", build).read_text() == "content"
    assert [path.name for path in tmp_path.iterdir()] == ["disk"]


def test_a_build_that_fails_leaves_nothing(tmp_path):
    def build(folder):
        fill(folder)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        build_once(tmp_path / "thing", build)
    assert not list(tmp_path.iterdir())
    build_once(tmp_path / "thing", fill)


def test_replacing_keeps_the_old_one_until_the_new_one_is_there(tmp_path):
    target = build_once(tmp_path / "thing", fill)

    def build(folder):
        assert (target / "file").read_text() == "content"
        (folder / "file").write_text("new")

    build_once(target, build, replace=True)
    assert (target / "file").read_text() == "new"


def test_of_several_threads_one_builds(tmp_path):
    built, waited = [], []

    def build(folder):
        built.append(folder)
        time.sleep(0.2)
        fill(folder)

    threads = [
        threading.Thread(target=build_once, args=(tmp_path / "thing", build), kwargs={"waiting": waited.append})
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1 and set(waited) <= {str(os.getpid()), "?"}
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]


KILLED = """
import sys, time
from pathlib import Path
from deskgym.envs.machines.build_once import build_once

def build(folder):
    (folder / "half").touch()
    print("building", flush=True)
    time.sleep(60)

build_once(Path(sys.argv[1]), build)
"""


def test_a_killed_builder_disturbs_nobody(tmp_path):
    target = tmp_path / "thing"
    with subprocess.Popen([sys.executable, "-c", KILLED, target], stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout.readline() == "building\n"
        builder.kill()
    assert not target.exists() and len(list(tmp_path.iterdir())) == 2  # the lock's file and the unfinished folder
    build_once(target, fill)
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]
    assert [path.name for path in target.iterdir()] == ["file"]


def test_old_unfinished_folders_of_others_go_and_young_ones_stay(tmp_path):
    for name in (".building-old-x", ".building-young-x"):
        (tmp_path / name).mkdir()
    past = time.time() - STALE - 1
    os.utime(tmp_path / ".building-old-x", (past, past))
    build_once(tmp_path / "thing", fill)
    assert {path.name for path in tmp_path.iterdir()} == {"thing", ".building-young-x"}


def test_forgotten_neighbours_are_deleted_and_used_ones_are_not(tmp_path):
    for name in ("guest-used", "guest-forgotten", "rootfs-other"):
        (tmp_path / name).mkdir()
    for name in ("guest-forgotten", "rootfs-other"):
        os.utime(tmp_path / name, (0, 0))
    build_once(tmp_path / "guest-new", fill, unused=3600.0)
    assert {path.name for path in tmp_path.iterdir()} == {"guest-used", "guest-new", "rootfs-other"}
    os.utime(tmp_path / "guest-used", (0, 0))
    build_once(tmp_path / "guest-used", fill, unused=3600.0)  # asked for: it counts as used from now on
    build_once(tmp_path / "guest-newer", fill, unused=3600.0)
    assert (tmp_path / "guest-used").exists()


def test_a_lock_is_not_shared_by_two_who_saw_its_file_come_and_go(tmp_path):
    inside, most = [0], [0]

    def work():
        for _ in range(50):
            with file_lock(tmp_path / "lock"):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0001)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1 and not list(tmp_path.iterdir())
