"""Many forks of one state, and whether anything is lost on the way.

``python -m deskgym.benchmarks.soak_forks --forks 1000 --runtime runsc``: an episode is played to its middle and saved;
each fork goes on from there for one step and is closed. What belongs to deskgym on this host is counted as by
``deskgym.benchmarks.soak``; the exit status is 1 where a count grows, or does not come back.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import deskgym  # noqa: F401 - registers the ids
from deskgym.benchmarks.census import Census
from deskgym.benchmarks.host import describe_host, load
from deskgym.benchmarks.soak import count, own_temporary_folder
from deskgym.benchmarks.soak_trends import COLUMNS, trends_of
from deskgym.cli.numbers import whole
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.envs.branching import fork_from
from deskgym.envs.errors import DeskgymError
from deskgym.envs.machine_env import MachineEnv

FORMAT = 1  # of the JSON
WARM = 3  # forks before anything is counted


def main(argv: Sequence[str] | None = None) -> int:
    """Run it, print the table, and write the data."""
    options = parse(argv)
    try:
        data = soak(options)
    except (DeskgymError, ValueError, OSError, gymnasium.error.Error) as error:
        note(str(error))
        return 2
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(data, indent=1) + "\n")
    if options.json:
        print_json(data)
    else:
        title = f"{data['episodes']} {data['what']} in {data['seconds']:.0f} s, {data['differed']} of which differed"
        print_table(title, COLUMNS, [trend.cells() for trend in trends_of(data)])
        note("LEAKS: " + ", ".join(data["leaks"]) if data["leaks"] else "no leaks")
    return int(bool(data["leaks"]))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.soak_forks", description=__doc__)
    parser.add_argument("--forks", type=whole(4), default=1000, help="how many (1000)")
    parser.add_argument("--restores", action="store_true", help="restore the state in one environment, and fork none")
    parser.add_argument("--env", default="Science-v0", help="the environment's id, after deskgym/ (Science-v0)")
    parser.add_argument("--task", default="kalgebra/tab", help="its id (kalgebra/tab)")
    parser.add_argument("--runtime", help="of the sandbox, such as runsc")
    parser.add_argument("--checkpoints", type=whole(4), help="counts on the way (20, or as many as there are forks)")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the data there, as JSON")
    options = parser.parse_args(argv)
    options.checkpoints = options.checkpoints or min(20, options.forks)
    options.env = options.env.removeprefix("deskgym/")
    if options.checkpoints > options.forks:
        parser.error(f"--checkpoints {options.checkpoints}: legal are 4 to the number of forks, {options.forks}")
    return options


def soak(options: argparse.Namespace) -> dict[str, Any]:
    """One run; returns what the JSON has.

    Raises:
        DeskgymError: no machine could be had, or the state could not be saved.
    """
    with own_temporary_folder() as temporary, progress(options.json) as bar:
        _Forks(options).close()  # so that what all share is built and loaded
        census, load_before = Census(temporary=temporary), load()
        before = count(census)
        todo = bar.add_task("forks", total=options.forks)
        forks = _Forks(options)
        samples: list[dict[str, float]] = []
        try:
            for _ in range(WARM):
                forks.play()
            forks.made, began = 0, time.perf_counter()
            for target in np.linspace(0, options.forks, options.checkpoints + 1).round()[1:]:
                while forks.made < target:
                    forks.play()
                    bar.update(todo, completed=forks.made)
                samples.append({"episode": forks.made, "seconds": time.perf_counter() - began, **count(census)})
        finally:
            forks.close()
        after = count(census)
    data = {
        "benchmark": "soak_forks",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "host": describe_host(),
        "load": {"before": load_before, "after": load()},
        "what": f"{'restores' if options.restores else 'forks'} of {options.task} ({forks.how})",
        "episodes": forks.made,
        "seconds": round(samples[-1]["seconds"], 1),
        "differed": forks.differed,
        "before": before,
        "samples": samples,
        "after": after,
    }
    return {**data, "leaks": [trend.what for trend in trends_of(data) if trend.leak]}


class _Forks:
    """An episode in its middle, its state, and what has been made of it."""

    def __init__(self, options: argparse.Namespace) -> None:
        machine = {} if options.runtime is None else {"runtime": options.runtime}
        made: Any = gymnasium.make(
            f"deskgym/{options.env}", task=options.task, machine_options=machine, disable_env_checker=True
        )
        self._env: MachineEnv = made.unwrapped
        self._restores = options.restores
        self.made = self.differed = 0
        try:
            self._env.reset(seed=0)
            self._next = next(iter(self._env.oracle()))
            self._state = self._env.save_state()
            self.how = self._state.how
        except BaseException:
            self._env.close()
            raise

    def play(self) -> None:
        """One more: it goes on for a step."""
        if self._restores:
            _, info = self._env.restore_state(self._state)
            self._env.step(self._next)
            self.differed += bool(info["restored"]["differs"])
        else:
            seen: list[str] = []
            (fork,) = fork_from(
                self._env, 1, lambda env: seen.append(env.restore_state(self._state)[1]["restored"]["differs"])
            )
            try:
                fork.step(self._next)
                self.differed += bool(seen[0])
            finally:
                fork.close()
        self.made += 1

    def close(self) -> None:
        """Let go of the state and the environment."""
        self._state.close()
        self._env.close()


if __name__ == "__main__":
    raise SystemExit(main())
