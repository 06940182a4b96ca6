"""Keeps a prover's text REPL running for the environment; runs in the machine, on its Python.

``python3 repl_server.py SOCKET SETTING`` starts the REPL that the JSON file SETTING names, has it carry out the opening
requests, and then answers at a Unix socket: one connection, one JSON request, one JSON answer. A REPL that does not
answer in time, ends, or answers too much, is started again, and carries out again all that it had taken: its proof
states keep their numbers.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any

LONGEST = 320 << 10  # bytes of an answer; what the host takes is 1 MiB, where one of them can be three


class Lost(Exception):
    """The REPL did not answer; the message says why."""


class Repl:
    """The REPL's process: requests and answers are JSON, each followed by a blank line."""

    def __init__(self, setting: dict[str, Any]) -> None:
        self._setting = setting
        self._process: subprocess.Popen[bytes] | None = None
        self._taken: list[dict[str, Any]] = []

    def open(self) -> list[dict[str, Any]]:
        """Start it; gives what it answers to the opening requests. Raises Lost."""
        answers: list[dict[str, Any]] = []
        try:
            self._start()
            for request in self._setting["open"]:
                if "cmd" in request and answers:
                    request = {**request, "env": answers[-1].get("env")}
                answers.append(self._ask(request, self._setting["patience"]))
        except Lost:
            self.end()
            raise
        return answers

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What it answers. Raises Lost."""
        if self._process is None:
            self._resume()
        try:
            answer = self._ask(request, seconds)
        except Lost:
            self.end()
            raise
        if isinstance(answer.get("proofState"), int):
            self._taken.append(request)
        return answer

    def end(self) -> None:
        """Kill it, with all that it started."""
        process, self._process = self._process, None
        if process is not None:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _resume(self) -> None:
        """Start it again, where it was."""
        self.open()
        try:
            for request in self._taken:
                self._ask(request, self._setting["patience"])
        except Lost:
            self.end()
            raise

    def _start(self) -> None:
        most = int(self._setting["memory_mb"]) << 20
        try:
            self._process = subprocess.Popen(
                self._setting["argv"], cwd=self._setting["cwd"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (most, most)),
            )  # fmt: skip
        except OSError as error:
            raise Lost(f"{self._setting['argv'][0]} cannot be started: {error}") from error
        os.set_blocking(self._pipes()[0], False)

    def _pipes(self) -> tuple[int, int]:
        """The descriptors that it is written to and read from."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise Lost("the prover has ended")
        return process.stdin.fileno(), process.stdout.fileno()

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Send a request and read up to the blank line after its answer."""
        write, read = self._pipes()
        unsent, answer = memoryview(json.dumps(request, ensure_ascii=False).encode() + b"\n\n"), b""
        deadline = time.monotonic() + seconds
        try:
            while not answer.endswith(b"\n\n") or not answer.strip():
                left = deadline - time.monotonic()
                ready = select.select([read], [write] if unsent else [], [], max(0, left))
                if left <= 0 or not any(ready):
                    raise Lost(f"there is no answer within {seconds:g} s")
                if ready[1]:
                    unsent = unsent[os.write(write, unsent) :]
                if ready[0]:
                    piece = os.read(read, 65536)
                    if not piece:
                        raise Lost("the prover has ended")
                    answer += piece
                    if len(answer) > LONGEST:
                        raise Lost(f"the answer is longer than {LONGEST} bytes")
            parsed = json.loads(answer)
        except (OSError, ValueError, RecursionError) as error:
            raise Lost(f"the prover's answer cannot be read: {error}") from error
        if not isinstance(parsed, dict):
            raise Lost("the prover's answer is no JSON object")
        return parsed


def serve(path: str, setting: dict[str, Any]) -> None:
    """Answer at the socket, for ever."""
    repl = Repl(setting)
    opening = repl.open()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen(8)
    os.rename(f"{path}.new", path)
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10.0)
            try:
                data = b""
                while piece := connection.recv(65536):
                    data += piece
                asked = json.loads(data)
                if "request" not in asked:
                    answer = {"opening": opening, "about": setting["about"]}
                else:
                    answer = repl.ask(asked["request"], asked["seconds"])
            except Lost as error:
                answer = {"message": f"{error}; the proof states are still there", "lost": True}
            except (OSError, ValueError):
                continue
            try:
                connection.sendall(json.dumps(answer).encode())
            except OSError:
                continue


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        serve(sys.argv[1], json.load(file))
