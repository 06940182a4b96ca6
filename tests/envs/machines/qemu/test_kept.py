"""Kept snapshots: which are deleted, and when."""

import itertools
import os
import threading

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import UNSAVABLE, Snapshot
from deskgym.envs.provision.snapshot_cache import KeptSnapshots


class Shelf:
    """Takes and drops snapshots, and knows which there are."""

    def __init__(self, limit):
        self.there = set()
        self.numbers = itertools.count()
        self.kept = KeptSnapshots(limit, self.drop)

    def take(self):
        snapshot = Snapshot("test", str(next(self.numbers)))
        self.there.add(snapshot.path)
        return snapshot

    def drop(self, snapshot):
        self.there.remove(snapshot.path)

    def keep(self, *keys):
        return [self.kept.keep(key, self.take) for key in keys]

    def has(self, key):
        with self.kept.lent(key) as snapshot:
            assert snapshot is None or snapshot.path in self.there
            return snapshot is not None


def test_what_is_kept_is_found_by_its_key():
    shelf = Shelf(2)
    assert shelf.keep("a", "a", "b", "") == [True, False, True, False]
    with shelf.kept.lent("a") as first, shelf.kept.lent("b") as second, shelf.kept.lent("c") as third:
        assert (first.path, second.path, third) == ("0", "1", None)
    shelf.kept.close()
    assert not shelf.there and not shelf.has("a")
    assert shelf.keep("a") == [True]


def test_the_least_recently_used_goes_first():
    shelf = Shelf(3)
    shelf.keep("a", "b", "c")
    for key in "abca":
        assert shelf.has(key)
    shelf.keep("d")
    assert len(shelf.there) == 3
    assert [shelf.has(key) for key in "abcd"] == [True, False, True, True]


def test_what_was_never_used_goes_before_what_was():
    shelf = Shelf(3)
    shelf.keep("a", "b")
    assert shelf.has("a") and shelf.has("b")
    for number in range(20):
        shelf.keep(f"once {number}")
    assert shelf.has("a") and shelf.has("b") and shelf.has("once 19") and len(shelf.there) == 3


def test_none_is_kept_where_the_limit_is_0():
    shelf = Shelf(0)
    assert shelf.keep("a") == [False] and not shelf.there


def test_one_that_is_lent_is_deleted_when_it_is_given_back():
    shelf = Shelf(1)
    shelf.keep("a")
    with shelf.kept.lent("a") as lent, shelf.kept.lent("a"):
        shelf.keep("b")
        assert lent.path in shelf.there and not shelf.has("a")
    assert shelf.there == {"1"}
    with shelf.kept.lent("b") as lent:
        shelf.kept.discard("b")
        assert shelf.there == {lent.path}
    assert not shelf.there


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), MachineError("no", "snapshot_failed")])
def test_no_more_are_kept_than_there_is_room_for(error):
    shelf = Shelf(8)

    def full():
        if len(shelf.there) >= room:
            raise error
        return shelf.take()

    room = 2
    for key in "abc":
        try:
            assert shelf.kept.keep(key, full)
        except type(error):
            assert key == "c"
    assert shelf.kept.keep("d", full) and len(shelf.there) == 2
    room = 0
    for _ in range(2):
        with pytest.raises(type(error)):
            shelf.kept.keep("e", full)
    assert not shelf.kept.keep("f", full) and not shelf.there
    shelf.kept.close()
    room = 1
    assert shelf.kept.keep("f", full)


def test_what_cannot_be_saved_is_not_tried_again_and_costs_the_others_nothing():
    shelf, tries = Shelf(2), []

    def refused():
        tries.append(1)
        raise MachineError("endpoint still has waiters upon save", UNSAVABLE)

    assert shelf.kept.keep("a", shelf.take)
    with pytest.raises(MachineError, match="waiters"):
        shelf.kept.keep("b", refused)
    assert not shelf.kept.keep("b", refused) and len(tries) == 1
    assert shelf.kept.keep("c", shelf.take) and len(shelf.there) == 2


def test_all_are_deleted_even_if_one_cannot_be():
    shelf = Shelf(3)
    shelf.keep("a", "b", "c")
    shelf.there.remove("1")
    with pytest.raises(KeyError):
        shelf.kept.close()
    assert not shelf.there


def test_one_is_taken_at_a_time_of_each_key():
    shelf = Shelf(2)
    begun, go_on = threading.Event(), threading.Event()

    def slowly():
        begun.set()
        assert go_on.wait(10)
        return shelf.take()

    worker = threading.Thread(target=shelf.kept.keep, args=("a", slowly))
    worker.start()
    assert begun.wait(10)
    assert shelf.keep("a") == [False]
    assert shelf.keep("b", "c") == [True, True]  # "c" in the place of "b": the other one is spoken for
    go_on.set()
    worker.join(10)
    assert shelf.has("a") and shelf.has("c") and len(shelf.there) == 2


def test_many_threads():
    shelf = Shelf(3)
    wrong = []

    def work(number):
        for step in range(300):
            key = str((number * 7 + step * step) % 11)
            with shelf.kept.lent(key) as snapshot:
                if snapshot is not None and snapshot.path not in shelf.there:
                    wrong.append(key)
            if snapshot is None:
                shelf.kept.keep(key, shelf.take)
            elif step % 5 == 0:
                shelf.kept.discard(key)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong and len(shelf.there) == len(shelf.kept) <= 3
    shelf.kept.close()
    assert not shelf.there


def test_a_fork_deletes_nothing(tmp_path):
    kept = KeptSnapshots(1, lambda snapshot: os.unlink(snapshot.path))
    file = tmp_path / "snapshot"
    file.touch()
    kept.keep("a", lambda: Snapshot("test", str(file)))
    child = os.fork()
    if child == 0:
        kept.close()
        os._exit(len(kept))
    assert os.waitpid(child, 0)[1] == 0 and file.exists()
    kept.close()
    assert not file.exists()
