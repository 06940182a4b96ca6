"""What a guest in the agent's hands could send."""

import os
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Callable

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.protocol import HEADER, MAX_FRAME, pack, unpack


def receive(sock: socket.socket) -> dict:
    (size,) = HEADER.unpack(sock.recv(HEADER.size, socket.MSG_WAITALL))
    return msgpack.unpackb(sock.recv(size, socket.MSG_WAITALL))


def against(guest: Callable[[socket.socket], None]) -> GuestClient:
    ours, theirs = socket.socketpair()

    def play() -> None:
        with theirs:
            try:
                guest(theirs)
            except OSError:
                pass

    threading.Thread(target=play, daemon=True).start()
    return GuestClient(ours)


def answering(*answers: dict) -> Callable[[socket.socket], None]:
    def guest(sock: socket.socket) -> None:
        for answer in answers:
            request = receive(sock)
            sock.sendall(pack({"id": request["id"], **answer}))
        sock.recv(1)

    return guest


def lost(client: GuestClient, why: str) -> None:
    with pytest.raises(GuestLost, match=why):
        client.call("hello", 0.5)
    with pytest.raises(GuestLost, match="lost"):
        client.call("hello", 5.0)


def test_silence_is_a_loss():
    began = time.monotonic()
    lost(against(lambda sock: sock.recv(1 << 20) and time.sleep(3)), "in time")
    assert time.monotonic() - began < 2


def test_the_end_of_the_stream_is_a_loss():
    lost(against(lambda sock: sock.recv(1)), "connection broke")


def test_a_trickle_does_not_extend_the_deadline():
    def guest(sock: socket.socket) -> None:
        for _ in range(100):
            sock.sendall(b"\0")
            time.sleep(0.05)

    began = time.monotonic()
    lost(against(guest), ".")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    "frame",
    [
        HEADER.pack(MAX_FRAME + 1),
        HEADER.pack(3) + b"\xc1\xc1\xc1",
        HEADER.pack(600) + b"\x91" * 600,
        pack({"id": 99, "result": {}}),
        pack({"id": 1}),
        pack({"id": 1, "result": [1]}),
        HEADER.pack(1) + b"\x07",
    ],
)
def test_garbage_is_a_loss(frame):
    lost(against(lambda sock: sock.sendall(frame) or sock.recv(1 << 20) and sock.recv(1)), "garbage|broke")


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data):
    client = against(lambda sock: sock.sendall(data))
    with pytest.raises((GuestLost, GuestCallError)):
        client.call("hello", 0.5)


def sized(count: int, kind: int = 0xDD) -> bytes:
    return bytes([kind]) + struct.pack(">I", count)


FULL = {
    "empty maps": lambda n: sized(n) + b"\x80" * n,
    "empty lists": lambda n: sized(n) + b"\x90" * n,
    "lists of maps": lambda n: sized(n >> 15) + (sized((1 << 15) - 5) + b"\x80" * ((1 << 15) - 5)) * (n >> 15),
    "keys": lambda n: sized(n // 6, 0xDF) + b"".join(b"\xa4%04x\xc0" % (i & 0xFFFF) for i in range(n // 6)),
    "maps of keys": lambda n: (
        sized(40) + (sized(65535, 0xDF) + b"".join(b"\xa4%04x\xc0" % i for i in range(65535))) * 40
    ),
    "texts": lambda n: sized(n // 4) + b"\xa3abc" * (n // 4),
}
"""Frames of nearly ``MAX_FRAME`` bytes, which would take up to 1.2 GB of memory."""


@pytest.mark.parametrize("kind", FULL)
def test_a_frame_does_not_fill_the_hosts_memory(kind):
    body = FULL[kind](MAX_FRAME - 16)
    assert MAX_FRAME // 2 < len(body) <= MAX_FRAME
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than|exceeds max"):
            unpack(body)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()


def test_such_a_frame_is_a_loss():
    body = FULL["empty maps"](MAX_FRAME - 16)
    lost(against(lambda sock: sock.sendall(HEADER.pack(len(body)) + body) or sock.recv(1 << 20)), "garbage")


def test_as_many_values_as_a_large_answer_has_are_taken():
    values = [list(range(1000))] * 1000
    assert unpack(msgpack.packb(values)) == values


def test_values_of_the_wrong_type_are_a_loss():
    client = against(answering({"result": {"returncode": "0", "stdout": b""}}))
    with pytest.raises(GuestLost, match="returncode"):
        client.run(["true"])


def test_another_version_is_a_loss():
    with pytest.raises(GuestLost, match="version"):
        against(answering({"result": {"version": 99}})).hello()


def test_names_outside_the_folder_are_refused(tmp_path):
    entry = {"name": "../../evil", "type": "file", "size": 1}
    client = against(answering({"result": {"entries": [entry], "truncated": False}}))
    with pytest.raises((GuestCallError, GuestLost)):
        client.get_folder("/x", tmp_path / "in")
    assert list(tmp_path.rglob("*evil*")) == []


def test_a_folder_that_lies_about_its_size_is_cut(tmp_path):
    listing = {"result": {"entries": [{"name": "a", "type": "file", "size": 1}], "truncated": False}}
    client = against(answering(listing, {"result": {"data": [b"x" * 1000]}}))
    with pytest.raises(GuestCallError, match="larger"):
        client.get_folder("/x", tmp_path, limit=100)


def test_unasked_descriptors_are_closed():
    read, write = os.pipe()

    def guest(sock: socket.socket) -> None:
        request = receive(sock)
        socket.send_fds(sock, [pack({"id": request["id"], "result": {}})], [write])
        os.close(write)
        sock.recv(1)

    client = against(guest)
    assert client.call("hello") == {}
    client.close()
    assert os.read(read, 1) == b""
    os.close(read)


def test_an_error_answer_leaves_the_guest_well():
    client = against(answering({"error": {"kind": "KeyError", "message": "no"}}, {"result": {"ok": 1}}))
    with pytest.raises(GuestCallError, match="no") as error:
        client.call("x")
    assert error.value.kind == "KeyError"
    assert client.call("x") == {"ok": 1}


def test_threads_take_turns():
    client = against(answering(*({"result": {"n": k}} for k in range(50))))
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(client.call("x")["n"] for _ in range(10))) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(answers) == list(range(50))
