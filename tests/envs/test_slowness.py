"""On a slow machine everything that programs do may take longer: in the guest, in waiting for it, and in settling."""

import socket
import threading
import time
from contextlib import suppress

import pytest

from deskgym.envs.deadline import Deadline
from deskgym.envs.displays import by_guest
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestLost, SetupError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.protocol import HEADER, pack, unpack
from deskgym.envs.guest.step import CodeRequest, CodeResult, ElementsReading, ElementsRequest, StepRequest
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks import waits

ANSWER = {
    "settled": True,
    "loading": False,
    "timing": {},
    "code": vars(CodeResult()),
    "elements": vars(ElementsReading(b"", [])),
}


@pytest.fixture
def asked():
    """What a guest was asked, by a client for a machine that is so many times slower."""
    opened = []

    def asked(slowness, ask, delay=0.0):
        ours, theirs = socket.socketpair()
        client, got = GuestClient(ours, slowness), []

        def answer():
            size = HEADER.unpack(theirs.recv(HEADER.size, socket.MSG_WAITALL))[0]
            got.append(unpack(theirs.recv(size, socket.MSG_WAITALL)))
            time.sleep(delay)
            with suppress(BrokenPipeError):  # it was given up
                theirs.sendall(pack({"id": got[0]["id"], "result": ANSWER}))

        thread = threading.Thread(target=answer)
        thread.start()
        opened.extend([client, theirs])
        try:
            ask(client)
        finally:
            thread.join(10)
        return got[0]["params"]

    yield asked
    for part in opened:
        part.close()


def test_deadlines_in_requests_are_multiplied(asked):
    def look(client):
        client.call("tree", 5.0, deadline=2.0, timeout=1, ref="x", value=3.0, app=None)

    assert asked(1.0, look) == {"deadline": 2.0, "timeout": 1, "ref": "x", "value": 3.0, "app": None}
    assert asked(10.0, look) == {"deadline": 20.0, "timeout": 10.0, "ref": "x", "value": 3.0, "app": None}


def test_the_answer_is_awaited_for_so_much_longer(asked):
    def look(client):
        client.call("tree", 0.2, deadline=0.1)

    asked(10.0, look, delay=0.5)
    with pytest.raises(GuestLost, match="no answer"):
        asked(1.0, look, delay=0.5)


def test_a_step_gives_slow_programs_time(asked):
    def step(client):
        request = StepRequest([], SettlePolicy(10, 20, 500), CodeRequest("", 3.0), ElementsRequest(9))
        by_guest.carry_out(client, request)

    usual, slow, slower = (asked(slowness, step) for slowness in (1.0, 4.0, 40.0))
    waits = [[step["settle"][name] for name in ("quiet_ms", "first_ms", "cap_ms")] for step in (usual, slow, slower)]
    assert waits == [[10.0, 20.0, 500.0], [40.0, 80.0, 2000.0], [100.0, 200.0, 20000.0]]
    assert (usual["elements"]["limit"], usual["elements"]["deadline"], slow["elements"]["deadline"]) == (9, 0.5, 2.0)
    assert usual["code"]["timeout"] == slow["code"]["timeout"] == 3.0, "the user's own limit"


def test_a_deadline_counts_in_the_machines_time():
    slow, usual = Deadline(1.0, 100.0), Deadline(0.0)
    assert 0.99 < slow.left <= 1.0 and not slow.over
    assert usual.left == 0.0
    time.sleep(0.001)
    assert usual.over


def test_hooks_and_oracles_wait_longer():
    with FakeMachine() as machine:
        machine.slowness = 20.0
        threading.Timer(0.3, machine.put, ("/tmp/late", b"")).start()
        waits.wait_for_file(Setup(machine), "/tmp/late", timeout=0.1)
        start = time.monotonic()
        with pytest.raises(SetupError, match=r"within 0\.01 s"):
            Setup(machine).screen.find(name="Nothing", timeout=0.01)
        assert time.monotonic() - start > 0.19
