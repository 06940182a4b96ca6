"""A long run of short episodes with pooled resets, and whether anything is lost on the way.

``python -m deskgym.benchmarks.soak --episodes 2000 --envs 4``: what belongs to deskgym on this host is counted before,
at checkpoints where nothing is going on, and after. A count that grows with the episodes, or that does not come back
to what it was, is a leak; then the exit status is 1. See ``docs/faults.md``.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any

import numpy as np

from deskgym.benchmarks.census import Census, process_table, tree
from deskgym.benchmarks.host import describe_host, load
from deskgym.benchmarks.soak_tasks import LEAKS, SCRIPT, SHARES, make_env
from deskgym.benchmarks.soak_trends import COLUMNS, trends_of
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.envs.vector_env import DesktopVectorEnv

FORMAT = 1  # of the JSON
QUIET, PATIENCE = 0.3, 30.0  # seconds without a process coming or going; how long that is waited for


@dataclass(frozen=True)
class Options:
    """What is played.

    Attributes:
        episodes: how many in all.
        envs: how many at once.
        checkpoints: how often it is counted on the way.
        machine: kind of machine.
        screen_size: width and height in pixels.
        shares: kind of task → its part of the episodes.
        leaks: what to lose with every reset on purpose, of ``LEAKS``.
        seed: of the tasks.
    """

    episodes: int = 2000
    envs: int = 4
    checkpoints: int = 20
    machine: str = "sandbox"
    screen_size: tuple[int, int] = (1280, 720)
    shares: Mapping[str, float] = field(default_factory=lambda: dict(SHARES))
    leaks: tuple[str, ...] = ()
    seed: int = 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print the table, and write the data."""
    arguments = parse(argv)
    out, as_json = arguments.pop("out"), arguments.pop("json")
    data = soak(Options(**arguments), quiet=as_json)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(data, indent=1) + "\n")
        note(f"wrote {out}")
    if as_json:
        print_json(data)
    else:
        ends = ", ".join(f"{count} {end}" for end, count in data["ends"].items())
        title = f"{data['episodes']} episodes ({ends}) in {data['seconds']:.0f} s, {data['per_minute']:.0f} a minute"
        print_table(title, COLUMNS, [trend.cells() for trend in trends_of(data)])
        note("LEAKS: " + ", ".join(data["leaks"]) if data["leaks"] else "no leaks")
    return 1 if data["leaks"] else 0


def soak(options: Options, quiet: bool = False) -> dict[str, Any]:
    """One run; returns what the JSON has.

    Raises:
        SetupError: a task's programs did not come up, on two machines.
        MachineError: no machine could be had.
    """
    with own_temporary_folder() as temporary, progress(quiet) as bar:
        make = partial(make_env, options.machine, options.screen_size, options.shares, str(temporary))
        _warm_up(make, options.seed)
        census = Census(temporary=temporary)
        load_before, before = load(), count(census)
        todo = bar.add_task("episodes", total=options.episodes)
        vector = DesktopVectorEnv(partial(make, options.leaks), options.envs, autoreset_mode="SameStep", copy=False)
        samples: list[dict[str, float]] = []
        try:
            player = Player(vector, options.seed)
            player.warm_up(options.shares)
            for target in np.linspace(0, options.episodes, options.checkpoints + 1).round()[1:]:
                player.play(int(target) - player.episodes)
                vector.call("drain")
                samples.append({"episode": player.episodes, "seconds": player.seconds, **count(census)})
                bar.update(todo, completed=player.episodes)
            stats = sum((Counter(part) for part in vector.call("stats")), Counter(vector.stats))
        finally:
            vector.close()
        player.leave()
        del vector
        after = count(census)
    data = {
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": describe_host(),
        "load": {"before": load_before, "after": load()},
        "options": asdict(options),
        "episodes": player.episodes,
        "seconds": round(player.seconds, 1),
        "per_minute": round(60 * player.episodes / player.seconds, 1),
        "ends": dict(player.ends),
        "stats": dict(stats),
        "before": before,
        "samples": samples,
        "after": after,
    }
    return {**data, "leaks": [trend.what for trend in trends_of(data) if trend.leak]}


class Player:
    """Plays ``SCRIPT`` in every environment, each at its own pace.

    Attributes:
        episodes: that are over.
        seconds: spent on them.
        ends: counts ``solved``, ``failed``, ``error`` (of the evaluation) and ``fault``.
    """

    def __init__(self, vector: DesktopVectorEnv, seed: int) -> None:
        self.episodes, self.seconds = 0, 0.0
        self.ends: Counter[str] = Counter()
        self._vector, self._seed = vector, seed
        self._steps = [0] * vector.num_envs
        vector.reset(seed=seed)

    def warm_up(self, kinds: Iterable[str]) -> None:
        """Play one episode of each kind in each environment, uncounted: what a kind needs is loaded at its first."""
        vector = self._vector
        for kind in kinds:
            vector.reset(options={"task": f"soak/{kind}"})
            for action in SCRIPT:
                vector.step([action] * vector.num_envs)
        vector.reset(seed=self._seed)

    def play(self, episodes: int) -> None:
        """Play so many more; afterwards each environment is at the start of an episode."""
        began, vector = time.perf_counter(), self._vector
        first = list(range(min(episodes, vector.num_envs)))
        vector.send([SCRIPT[0]] * len(first), first)
        busy, left = len(first), episodes - len(first)
        while busy:
            *_, terminated, truncated, infos = vector.recv(1)
            k = int(infos["env_id"][0])
            self._steps[k] += 1
            if terminated[0] or truncated[0]:
                self._end(infos["final_info"])
                self._steps[k] = 0
                if left == 0:
                    busy -= 1
                    continue
                left -= 1
            vector.send([SCRIPT[self._steps[k]]], [k])
        self.seconds += time.perf_counter() - began

    def leave(self) -> None:
        """Let go of the environments."""
        del self._vector

    def _end(self, info: Mapping[str, Any]) -> None:
        self.episodes += 1
        if "verdict" not in info:
            self.ends["fault"] += 1
        elif info["verdict"].get("error", [None])[0]:
            self.ends["error"] += 1
        else:
            self.ends["solved" if info["verdict"]["success"][0] else "failed"] += 1


def _warm_up(make: Any, seed: int) -> None:
    """Play one episode, so that what all share is built and loaded before anything is counted."""
    vector = DesktopVectorEnv(make, 1, autoreset_mode="SameStep", copy=False)
    try:
        Player(vector, seed).play(1)
    finally:
        vector.close()


def count(census: Census) -> dict[str, float]:
    """The census, once no process of ours outside the machines comes or goes any more."""
    end = time.monotonic() + PATIENCE
    seen, since = _outside(census.root), time.monotonic()
    while time.monotonic() - since < QUIET and time.monotonic() < end:
        time.sleep(QUIET / 6)
        now = _outside(census.root)
        if now != seen:
            seen, since = now, time.monotonic()
    _give_back()
    return census.take()


def _give_back() -> None:
    """Free what nobody refers to: else malloc keeps a dozen screenshots' worth for later, or none, as it happens."""
    gc.collect()
    with suppress(AttributeError):  # malloc of another libc
        ctypes.CDLL(None).malloc_trim(0)


def _outside(root: int) -> set[int]:
    table = process_table()
    return {p.pid for p in tree(root, table) if p.depth == 0 or p.parent in table and table[p.parent].depth == 0}


@contextmanager
def own_temporary_folder() -> Iterator[Path]:
    """A folder that takes all temporary files of this process, so that they can be counted."""
    get_temp_dir()  # multiprocessing keeps the first one that it is given
    usual, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    folder = tempfile.mkdtemp(prefix="deskgym-soak-")
    os.chmod(folder, 0o755)  # the machines' root reads some of them
    tempfile.tempdir = folder
    try:
        yield Path(folder)
    finally:
        tempfile.tempdir = usual
        os.environ.pop("TMPDIR", None)  # a vector environment makes one environment in this process too, for its spaces
        if variable is not None:
            os.environ["TMPDIR"] = variable
        shutil.rmtree(folder, ignore_errors=True)


def parse(argv: Sequence[str] | None) -> dict[str, Any]:
    """The command line, as the fields of ``Options`` with ``out`` and ``json``."""
    parser = argparse.ArgumentParser(
        prog="python -m deskgym.benchmarks.soak", description="Many short episodes, and whether anything leaks."
    )
    parser.add_argument("--episodes", type=int, default=Options.episodes, help="how many (2000)")
    parser.add_argument("--envs", type=int, default=Options.envs, help="how many at once (4)")
    parser.add_argument("--checkpoints", type=int, default=Options.checkpoints, help="counts on the way (20)")
    parser.add_argument("--machine", default=Options.machine, help="kind of machine (sandbox)")
    parser.add_argument("--shares", type=_shares, default=dict(SHARES), metavar="KIND=PART,...", help=f"({SHARES})")
    parser.add_argument(
        "--leak", action="append", dest="leaks", choices=LEAKS, help="lose this with every reset: it must be found"
    )
    parser.add_argument("--seed", type=int, default=Options.seed, help="of the tasks (0)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the data there, as JSON")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    arguments = vars(parser.parse_args(argv))
    if not 4 <= arguments["checkpoints"] <= arguments["episodes"]:
        parser.error(f"--checkpoints {arguments['checkpoints']}: legal are 4 to the number of episodes")
    if arguments["envs"] < 1:
        parser.error(f"--envs {arguments['envs']}: legal is a number from 1 up")
    return {**arguments, "leaks": tuple(arguments["leaks"] or ())}


def _shares(text: str) -> dict[str, float]:
    try:
        shares = {kind: float(part) for kind, part in (word.split("=") for word in text.split(","))}
    except ValueError:
        shares = {}
    if not shares or set(shares) - set(SHARES) or min(shares.values()) < 0 or not sum(shares.values()):
        raise argparse.ArgumentTypeError(f"{text!r}; legal is such as bare=0.9,kalgebra=0.1, of {', '.join(SHARES)}")
    return shares


if __name__ == "__main__":
    raise SystemExit(main())
