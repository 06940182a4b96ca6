"""Where requests begin and answers end on a connection, whatever the pieces are that its bytes come in."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.guest.http_watch import Allowance, HttpWatch


class Heard:
    """A watch and what it told."""

    def __init__(self, counts=lambda path: True, allowance=None):
        self.begun, self.ended = 0, []
        self.watch = HttpWatch(self._begin, self.ended.append, counts, allowance)

    def _begin(self, *ignored):
        self.begun += 1
        return self.begun

    @property
    def open(self):
        return self.begun - len(self.ended)

    def say(self, sent=b"", received=b"", size=1 << 16):
        for tell, data in ((self.watch.sent, sent), (self.watch.received, received)):
            for k in range(0, len(data), size):
                tell(data[k : k + size])


GET = b"GET /orders?page=2 HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nsalt"
CHUNKED_POST = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsalt\r\n0\r\n\r\n"
HEAD = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"
LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
REDIRECT = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HEADERS_ONLY = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("asked", [GET, POST, CHUNKED_POST])
@pytest.mark.parametrize("answer", [LENGTH, CHUNKED, EMPTY, REDIRECT, CONTINUE + LENGTH])
def test_a_request_is_open_until_its_answer_is_complete(asked, answer, size):
    heard = Heard()
    for k in range(1, 4):  # on one connection
        heard.say(asked, size=size)
        heard.say(received=answer[:-1], size=size)
        assert (heard.begun, heard.open) == (k, 1)
        heard.say(received=answer[-1:])
        assert (heard.begun, heard.open) == (k, 0)


def test_an_answer_without_a_body_though_it_names_a_length():
    heard = Heard()
    heard.say(HEAD, HEADERS_ONLY)
    assert (heard.begun, heard.open) == (1, 0)


def test_an_answer_that_ends_with_its_connection():
    heard = Heard()
    heard.say(GET, b"HTTP/1.0 200 OK\r\n\r\nhello")
    assert heard.open == 1
    heard.watch.received(b"")
    assert heard.open == 0


def test_requests_that_are_sent_ahead_follow_each_other():
    heard = Heard()
    heard.say(GET + GET)
    assert heard.open == 1
    heard.say(received=LENGTH)
    assert (heard.begun, heard.open) == (2, 1)
    heard.say(received=LENGTH)
    assert heard.open == 0


def test_a_connection_that_breaks_leaves_nothing_open():
    heard = Heard()
    heard.say(GET, LENGTH[:-2])
    heard.watch.close()
    assert heard.open == 0


UPGRADE = b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
EVENTS = b"GET /news HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (UPGRADE, SWITCH + b"\x81\x05hello"),
        (EVENTS, STREAM),
        (GET, STREAM + b"data: 1\n\n"),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"N"),  # PostgreSQL
        (b"\x16\x03\x01\x02\x00", b"\x16\x03\x03"),  # TLS
        (b"", b"220 mail ready\r\n"),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * (1 << 19), b""),
    ],
)
def test_what_does_not_load_a_page_is_not_open(sent, received):
    heard = Heard()
    heard.say(sent, received)
    heard.say(b"\x81\x01x" + GET, LENGTH)
    assert heard.open == 0


def test_paths_that_a_service_names_do_not_count():
    heard = Heard(lambda path: not path.startswith("/poll"))
    heard.say(b"GET /poll HTTP/1.1\r\nHost: x\r\n\r\n")
    assert heard.begun == 0
    heard.say(received=LENGTH)
    heard.say(GET)
    assert heard.open == 1


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200)), max_size=20))
def test_no_bytes_make_it_fail_or_leave_something_open_for_ever(pieces):
    heard = Heard()
    for sent, data in pieces:
        (heard.watch.sent if sent else heard.watch.received)(data)
    heard.watch.close()
    assert heard.open == 0


def test_a_flood_of_tiny_chunks_costs_a_bounded_time_and_then_none():
    allowance = Allowance()
    piece = (b"1\r\nx\r\n" * 11_000)[: 1 << 16]
    watches = [Heard(allowance=allowance) for _ in range(40)]
    begun = time.thread_time()
    for heard in watches:
        heard.say(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + piece * 4)
    used = time.thread_time() - begun
    assert used < 4.0  # without the allowance it is about 40
    assert watches[-1].open == 0 and allowance.over


def test_an_allowance_comes_back():
    allowance = Allowance()
    allowance.spend(1.01)
    assert allowance.over
    time.sleep(0.2)
    assert not allowance.over
    heard = Heard(allowance=allowance)
    heard.say(GET, LENGTH)
    assert (heard.begun, heard.open) == (1, 0)
