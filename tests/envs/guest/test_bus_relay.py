"""The relay before a bus: it leads, learns whose a connection is, and is not used up or misled."""

import asyncio
import os
import socket

import pytest

from deskgym.envs.guest import bus_relay
from deskgym.envs.guest.bus_relay import BusRelay

HELLO = b"l\x02\x01\x01\x0b\0\0\0\x01\0\0\0\x3d\0\0\0\x06\x01s\0\x05\0\0\0%s\0\0\0\x08\x01g\0\x01s\0\0"
SIGNAL = b"l\x04\x01\x01\0\0\0\0\x01\0\0\0\x3d\0\0\0\x07\x01s\0\x04\0\0\0:1.2\0\0\0\0"


@pytest.fixture
def led(tmp_path):
    """Runs a client, a blocking function of the relay's path, beside a relay and a bus that answers each line."""

    def run(client, answers):
        async def serve(reader, writer):
            for answer in answers:
                await reader.readline()
                writer.write(answer)
            while line := await reader.readline():
                writer.write(line)
            writer.close()

        async def main():
            server = await asyncio.start_unix_server(serve, tmp_path / "bus")
            relay = BusRelay(str(tmp_path / "relay"), str(tmp_path / "bus"), (os.getuid(), os.getgid()))
            try:
                return await asyncio.get_running_loop().run_in_executor(None, client, str(tmp_path / "relay"), relay)
            finally:
                server.close()
                for task in list(relay._tasks):
                    task.cancel()

        return asyncio.run(main())

    return run


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(5)
    sock.connect(path)
    return sock


def ask(sock, line):
    sock.sendall(line + b"\n")
    return sock.recv(4096)


def wait_for(relay, processes):
    for _ in range(100):
        if relay.processes == processes:
            return
        asyncio.run(asyncio.sleep(0.02))
    assert relay.processes == processes


def test_whose_a_connection_is_is_known_while_it_is_open(led):
    def client(path, relay):
        with connect(path) as sock:
            assert ask(sock, b"AUTH") == b"OK 12\r\n"
            ask(sock, b"BEGIN")
            wait_for(relay, {":1.7": os.getpid()})
            assert ask(sock, b"on") == b"on\n"
        wait_for(relay, {})

    led(client, [b"OK 12\r\n", HELLO % b":1.7"])


@pytest.mark.parametrize(
    "answers", [[b"OK 12\r\n", SIGNAL], [b"OK 12\r\n", SIGNAL + HELLO % b":1.7"], [b"REJECTED :1.2\0\r\n", b"x" * 2000]]
)
def test_a_name_is_learnt_of_the_answer_to_hello_alone(led, answers):
    def client(path, relay):
        with connect(path) as sock:
            for _ in answers:
                ask(sock, b"x")
            assert ask(sock, b"on").endswith(b"on\n") and not relay.processes

    led(client, answers)


def test_a_name_that_is_taken_stays_whose_it_is(led):
    def client(path, relay):
        relay.processes[":1.7"] = 1
        with connect(path) as sock:
            ask(sock, b"AUTH")
            ask(sock, b"BEGIN")
            assert ask(sock, b"on") == b"on\n"
        asyncio.run(asyncio.sleep(0.1))
        assert relay.processes == {":1.7": 1}

    led(client, [b"OK 12\r\n", HELLO % b":1.7"])


def test_no_more_than_so_many_are_open_and_then_others_may(led, monkeypatch):
    monkeypatch.setattr(bus_relay, "CONNECTIONS", 4)

    def client(path, relay):
        flood = [connect(path) for _ in range(20)]
        asyncio.run(asyncio.sleep(0.3))
        assert len(relay._tasks) <= 6
        for sock in flood:
            sock.close()
        with connect(path) as sock:
            assert ask(sock, b"on") == b"on\n"

    led(client, [])


def test_descriptors_go_through(led):
    def client(path, relay):
        with connect(path) as sock:
            read, write = os.pipe()
            socket.send_fds(sock, [b"on\n"], [read])
            os.close(read)
            os.close(write)
            assert sock.recv(100) == b"on\n"

    led(client, [])
