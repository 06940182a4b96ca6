"""What it costs a step loop when somebody looks: ``python -m deskgym.benchmarks.live_view``.

One environment steps all the time. In turns nobody looks, a viewer takes the pictures and throws them away (a browser
on another computer), and a headless chromium draws them on this one. ``docs/live.md`` has the results.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import gymnasium

from deskgym.benchmarks.host import describe_host
from deskgym.envs.machines.live.registry import running
from deskgym.envs.machines.live.stream import connect
from deskgym.envs.machines.sandbox.host import find_tool

ENCODINGS = (7, 1, 5, 0, -26, -254)  # tight with JPEG of quality 6, as noVNC asks for; copyrect, hextile, raw
UPDATES = 20  # a second
ENOUGH = 200_000  # bytes of pictures that show that there was something to take
TABS = (233, 316, 482, 400)  # x of KAlgebra's tabs on a screen of 1280x720


def watch(name: str) -> None:
    """Take a machine's pictures as fast as a browser would, until killed."""
    machine = next(m for m in running() if m.name == name)
    width, height = machine.size
    with connect(machine) as stream:
        stream.recv(12)
        stream.sendall(b"RFB 003.008\n")
        stream.recv(2)
        stream.sendall(b"\1\1")
        stream.recv(4096)
        stream.sendall(struct.pack(">BxH6i", 2, len(ENCODINGS), *ENCODINGS))
        stream.settimeout(1 / UPDATES)
        print("ready", flush=True)
        incremental, taken = 0, 0
        signal.signal(signal.SIGTERM, lambda *_: (print(taken, flush=True), os._exit(0)))
        while True:
            stream.sendall(struct.pack(">BBHHHH", 3, incremental, 0, 0, width, height))
            incremental, end = 1, time.monotonic() + 1 / UPDATES
            while time.monotonic() < end:
                with suppress(TimeoutError):
                    taken += len(stream.recv(1 << 20))


@contextmanager
def taken(name: str) -> Iterator[None]:
    """While it lasts, another process takes the pictures."""
    command = [sys.executable, "-m", "deskgym.benchmarks.live_view", "--watch", name]
    with _running(command) as said:
        yield
    if int(said[1]) < ENOUGH:
        raise RuntimeError(f"the viewer got {said[1].strip()} bytes: nothing was measured")


@contextmanager
def drawn(name: str) -> Iterator[None]:
    """While it lasts, chromium shows the page of ``deskgym view --live``."""
    serve = [sys.executable, "-m", "deskgym.cli", "view", "--live", name]
    with _running(serve) as said, tempfile.TemporaryDirectory() as profile:
        browse = [
            str(find_tool("chromium")), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
            "--window-size=1400,900", f"--user-data-dir={profile}", "--no-first-run", said[0].split()[0],
        ]  # fmt: skip
        process = subprocess.Popen(browse, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(3.0)  # the browser's own start is not what is measured
            yield
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _running(command: list[str]) -> Iterator[list[str]]:
    """A program that says one line when it is ready; what it says at its end comes later."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = [process.stdout.readline() if process.stdout else ""]
            yield said
        finally:
            process.terminate()
            said.append(process.stdout.read() if process.stdout else "")


def steps_per_second(env: gymnasium.Env[Any, Any], seconds: float) -> float:
    """Click KAlgebra's tabs for a while: each step changes about a quarter of the screen."""
    start, done = time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < seconds:
        env.step({"action": "click", "x": TABS[done % len(TABS)], "y": 150})
        done += 1
    return done / elapsed


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--watch", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.watch:
        watch(arguments.watch)
    env = gymnasium.make("deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=(1280, 720), max_steps=10**9)
    ways: dict[str, Callable[[str], AbstractContextManager[None]]] = {
        "nobody": lambda _: nullcontext(), "pictures taken": taken, "drawn by chromium here": drawn,
    }  # fmt: skip
    found: dict[str, list[float]] = {way: [] for way in ways}
    try:
        env.reset(seed=1)
        name = next(m.name for m in running() if m.owner == os.getpid())
        steps_per_second(env, 2.0)
        for _ in range(arguments.rounds):
            for way, look in ways.items():
                with look(name):
                    found[way].append(steps_per_second(env, arguments.seconds))
    finally:
        env.close()
    print(describe_host())
    for way, rates in found.items():
        ratios = [rate / nobody for rate, nobody in zip(rates, found["nobody"], strict=True)]
        print(
            f"{way:24} {statistics.median(rates):6.1f} steps/s; to nobody in the same round "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


if __name__ == "__main__":
    import deskgym  # noqa: F401  (registers the environment)

    main()
