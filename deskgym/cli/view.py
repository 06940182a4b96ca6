"""View: make one self-contained HTML page of recorded episodes, or show running machines in the browser."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from deskgym.cli.output import progress
from deskgym.envs.errors import near
from deskgym.envs.extras import needs_extra

if TYPE_CHECKING:
    from deskgym.envs.machines.live.registry import LiveMachine
    from deskgym.viewer.live_server import LiveServer

ALL = "all"
"""What ``--live`` takes for the machines of all commands."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, a second one, --out and --open; --gif and --mp4; --live and what goes with it."""
    parser.add_argument("folder", metavar="DIR", nargs="?", help="an episode's folder, or one with episodes in it")
    parser.add_argument(
        "other",
        metavar="OTHER",
        nargs="?",
        help="a second episode's folder: the two are shown side by side, step by step",
    )
    parser.add_argument("--out", metavar="FILE", help="the page (default: DIR/episodes.html)")
    parser.add_argument("--open", action="store_true", help="open it in the browser")
    film = parser.add_mutually_exclusive_group()
    film.add_argument(
        "--gif", action="store_true", help="make a film of one episode instead (default: DIR/episode.gif)"
    )
    film.add_argument("--mp4", action="store_true", help="the same as MP4, which needs the extra video")
    parser.add_argument("--pace", type=float, metavar="S", help="of a film: seconds for each step (default: 1)")
    live = parser.add_argument_group("running machines (docs/live.md)")
    live.add_argument(
        "--live",
        metavar="NAME",
        nargs="?",
        const="",
        help="show the running machines of a process by its pid, one by its name, or all; without NAME those of the "
        "only command that has some; until Ctrl-C",
    )
    live.add_argument("--control", action="store_true", help="your keys and clicks go to the machine that you open")
    live.add_argument("--port", type=int, help="port on 127.0.0.1 (default: a free one)")
    live.add_argument("--wait", action="store_true", help="do not end when no machine runs yet")


def run(arguments: argparse.Namespace) -> int:
    """Write the page, or serve the live one."""
    live = arguments.live is not None
    if live == (arguments.folder is not None):
        raise ValueError("give a folder with recorded episodes (deskgym view DIR), or --live for running machines")
    only_live = {"--control": arguments.control, "--port": arguments.port is not None, "--wait": arguments.wait}
    only_written = {
        "--out": arguments.out is not None, "--gif": arguments.gif, "--mp4": arguments.mp4,
        "--pace": arguments.pace is not None,
    }  # fmt: skip
    wrong = [name for name, given in (only_written if live else only_live).items() if given]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} does not go with {'--live' if live else 'a folder'}")
    if live:
        return _serve(arguments)
    if arguments.gif or arguments.mp4:
        return _film(arguments)
    if arguments.pace is not None:
        raise ValueError("--pace goes with --gif or --mp4")
    return _write(arguments)


def _write(arguments: argparse.Namespace) -> int:
    from deskgym.viewer.page import write_page, write_pair
    from deskgym.wrappers.recording.recording import find_recordings

    folder = Path(arguments.folder)
    out = Path(arguments.out) if arguments.out else folder / "episodes.html"
    recordings = find_recordings(folder)
    if arguments.other is None:
        with progress() as bar:
            frames = bar.add_task("episodes", total=len(recordings))
            size = write_page(recordings, out, lambda: bar.advance(frames))
        told = "1 episode" if len(recordings) == 1 else f"{len(recordings)} episodes"
    else:
        others = find_recordings(Path(arguments.other))
        for name, found in ((arguments.folder, recordings), (arguments.other, others)):
            if len(found) != 1:
                raise ValueError(f"{name} has {len(found)} episodes; side by side go two folders of one episode each")
        size, told = write_pair(recordings[0], others[0], out), "2 episodes side by side"
    print(f"{out} ({told}, {size / 1e6:.1f} MB)")
    if arguments.open:
        _open(out.resolve().as_uri())
    return 0


def _film(arguments: argparse.Namespace) -> int:
    from deskgym.viewer.film import write_film
    from deskgym.wrappers.recording.recording import find_recordings

    folder, form = Path(arguments.folder), "gif" if arguments.gif else "mp4"
    out = Path(arguments.out) if arguments.out else folder / f"episode.{form}"
    recordings = find_recordings(folder)
    if len(recordings) != 1 or arguments.other is not None:
        raise ValueError(f"a film is of one episode; {folder} has {len(recordings)}: give the folder of one of them")
    if out.suffix != f".{form}":
        raise ValueError(f"--out {out} does not end as --{form} does")
    seconds = write_film(recordings[0], out, 1.0 if arguments.pace is None else arguments.pace)
    print(f"{out} ({seconds:.0f} s, {out.stat().st_size / 1e6:.1f} MB)")
    if arguments.open:
        _open(out.resolve().as_uri())
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    with needs_extra("view", "--live needs"):
        from deskgym.viewer.live_server import LiveServer

    if arguments.port is not None and not 0 < arguments.port < 65536:
        raise ValueError(f"--port {arguments.port}; legal are 1 to 65535")
    server = LiveServer(control=arguments.control)  # says first what is not installed
    try:
        found = _find(arguments.live, arguments.wait)
        if not found:
            return 1
        server.owner = _owner(arguments.live, found)
        asyncio.run(_listen(server, arguments))
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return 0


def _find(name: str, wait: bool) -> list[LiveMachine]:
    """What there is to show; waits for it where that is asked for."""
    from deskgym.envs.machines.live.registry import running

    machines = running()
    if not _chosen(machines, name) and wait:
        print(f"waiting for {name or 'a machine to start'}", file=sys.stderr)
        while not _chosen(machines := running(), name):
            time.sleep(0.2)
    if not machines:
        print(
            "deskgym: no machine of yours is running; start one (gym.make and reset, or deskgym run), or give --wait",
            file=sys.stderr,
        )
    found = _chosen(machines, name)
    if machines and not found:
        names = [machine.name for machine in machines]
        raise ValueError(f"no machine {name!r} is running{near(name, names)}; running are {', '.join(names)}")
    jobs = Counter(machine.job for machine in found)
    if len(jobs) > 1 and not name:
        told = ", ".join(f"{_command(job)} ({count} machines)" for job, count in jobs.items())
        raise ValueError(f"machines of {len(jobs)} commands are running; give --live one of their pids, or all: {told}")
    return found


def _chosen(machines: list[LiveMachine], name: str) -> list[LiveMachine]:
    return [m for m in machines if name in ("", ALL, m.name) or (name.isdigit() and m.is_of(int(name)))]


def _command(pid: int) -> str:
    """A process as people know it, such as ``4711 python train.py``."""
    import psutil

    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return str(pid)
    line = " ".join(" ".join([Path(words[0]).name, *words[1:]]).split()) if words else ""  # a script has lines
    return f"{pid} {line[:40]}".rstrip()


def _owner(name: str, found: list[LiveMachine]) -> int | None:
    """The process whose machines are shown: a machine's own ends with its episode, and the page goes on to the next."""
    if name == ALL:
        return None
    if name.isdigit():
        return int(name)
    job = found[0].job
    return found[0].owner if name or not all(machine.is_of(job) for machine in found) else job


async def _listen(server: LiveServer, arguments: argparse.Namespace) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with server.listen(arguments.port or 0) as url:
        if arguments.live not in ("", ALL) and not arguments.live.isdigit():
            url += f"#{arguments.live}"
        what = "keys and clicks go to the machine" if arguments.control else "view only"
        print(f"{url}  ({what}; Ctrl-C ends it)", flush=True)
        if arguments.open:
            _open(url)
        await ended.wait()


def _open(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
