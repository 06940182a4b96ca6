"""One policy for three programs, tested on a fourth that it has never seen; each of the four is the fourth once.

    python examples/transfer.py                          # about half an hour on 2 cores
    python examples/transfer.py --demos 8 --tests 4      # a first look

Each program has small tasks of the same kind: a text that the instruction names goes into a field, and before or after
it something is clicked that the instruction tells. Reads top to bottom: the programs, the policies, the test, the
table. The env, the demonstrations, the network and its training are ``behaviour_cloning.py``'s. Killed, the same
command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from behaviour_cloning import Cloned, MaskedRandom, demonstrate, make_env, make_net, train
from rich.console import Console
from rich.progress import track
from rich.table import Table

from deskgym.agents.rollout import rollout
from deskgym.cli.numbers import whole
from deskgym.datasets import Episode, episodes_of
from deskgym.task_suites import load_suite
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.workers import run_jobs

PROGRAMS = {
    "KAlgebra": "ladder/[23]-*",
    "KStars": "transfer/kstars-*",
    "CoqIDE": "transfer/coqide-*",
    "PyMOL": "transfer/pymol-*",
}
PLAYERS = ("random", "untrained", "the other three", "all four")
"""Who plays a program: what the masks allow, an untrained network, one of the other programs' demonstrations, and one
of all programs'."""


# --- the programs


def tasks_of(pattern: str) -> list[str]:
    return [task for task in load_suite("science").ids() if Path(task).match(pattern)]


def demonstrated(args: argparse.Namespace) -> dict[str, list[Episode]]:
    """The episodes of each program's oracle, as the network reads them."""
    found = {}
    for program, pattern in PROGRAMS.items():
        print(f"demonstrations of {program}")
        one = argparse.Namespace(**{**vars(args), "tasks": pattern})
        dataset = demonstrate(one, tasks_of(pattern), f"deskgym/transfer-{program.lower()}-v0")
        found[program] = list(episodes_of(dataset))
    return found


# --- the policies


def weights_of(args: argparse.Namespace, player: str, program: str) -> Path | None:
    """Where the weights are of who plays a program; None for chance."""
    name = {"untrained": "untrained", "the other three": f"without {program}", "all four": "all"}.get(player)
    return None if name is None else args.out / f"{name}.pt"


def learn(args: argparse.Namespace, episodes: Mapping[str, list[Episode]]) -> None:
    """One network without demonstrations, one of all, and one without each program's; those that are there stay."""
    plans = {"untrained": [], "all": list(episodes)}
    plans |= {f"without {program}": [name for name in episodes if name != program] for program in episodes}
    with closing(make_env(PROGRAMS["KAlgebra"], "test")) as env:  # all programs have the same spaces
        for name, programs in plans.items():
            path = args.out / f"{name}.pt"
            if path.exists():
                continue
            torch.manual_seed(args.seed)
            net = make_net(env)
            if programs:
                print(f"learning from {', '.join(programs)}")
                train(net, chain.from_iterable(episodes[each] for each in programs), args.epochs, args.seed)
            torch.save(net.state_dict(), path)


# --- the test, on held-out instances


class Job(NamedTuple):
    """Some episodes of one player in one program."""

    player: str
    program: str
    task: str
    seeds: tuple[int, ...]
    weights: Path | None


def test(args: argparse.Namespace) -> list[dict[str, Any]]:
    """What came of each episode: its player, program, task and outcome."""
    path = args.out / "tested.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    jobs = []
    for program, pattern in PROGRAMS.items():
        for player in PLAYERS:
            count = args.tests if player in ("the other three", "all four") else args.tests // 2
            for task in tasks_of(pattern):
                have = {line["seed"] for line in done if (line["player"], line["task"]) == (player, task)}
                seeds = [seed for seed in range(args.seed + 1000, args.seed + 1000 + count) if seed not in have]
                jobs += [
                    Job(player, program, task, tuple(seeds[k : k + 5]), weights_of(args, player, program))
                    for k in range(0, len(seeds), 5)
                ]
    with closing(run_jobs(play, jobs, args.workers)) as results, path.open("a") as file:
        for lines in track(results, "held-out test", len(jobs)):
            done += lines
            file.write("".join(json.dumps(line) + "\n" for line in lines))
            file.flush()
    return done


def play(job: Job) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    lines = []
    with closing(make_env(job.task, "test")) as env:
        for seed in job.seeds:
            agent = MaskedRandom(seed) if job.weights is None else Cloned(job.weights)
            result = rollout(env, agent, seed=seed, options={"task": job.task})
            known = {"player": job.player, "program": job.program, "task": job.task, "seed": seed}
            lines.append({**known, "outcome": result.outcome})
    return lines


# --- the table


def show(lines: list[dict[str, Any]]) -> None:
    table = Table("task (held-out instances)", *PLAYERS, title="solved, with 95 % intervals")
    for pattern in PROGRAMS.values():
        for task in tasks_of(pattern):
            cells = []
            for player in PLAYERS:
                outcomes = [line["outcome"] for line in lines if (line["player"], line["task"]) == (player, task)]
                solved, of = outcomes.count("solved"), outcomes.count("solved") + outcomes.count("failed")
                low, high = wilson(solved, max(1, of))
                lost = f", {len(outcomes) - of} lost" if len(outcomes) > of else ""
                cells.append(f"{solved}/{of} ({low:.0%} to {high:.0%}){lost}")
            table.add_row(task, *cells)
    Console(width=120).print(table)


def check_settings(args: argparse.Namespace) -> None:
    """A folder holds one experiment, of which only the number of tests may be changed."""
    path, ours = args.out / "settings.json", {name: getattr(args, name) for name in ("demos", "epochs", "seed")}
    if not path.exists():
        path.write_text(json.dumps(ours))
    if (theirs := json.loads(path.read_text())) != ours:
        told = " ".join(f"--{name} {value}" for name, value in theirs.items())
        raise SystemExit(f"{args.out} holds an experiment with {told}; give the same to go on, or another --out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--demos", type=whole(1), default=48, help="demonstrations per task (48)")
    parser.add_argument("--tests", type=whole(2), default=40, help="held-out per task; half of it for baselines (40)")
    parser.add_argument("--epochs", type=whole(1), default=40, help="passes over the demonstrations (40)")
    parser.add_argument("--workers", type=whole(1), default=2, help="desktops at once (2)")
    parser.add_argument("--seed", type=whole(0), default=0)
    parser.add_argument("--out", type=Path, default=Path("out/transfer"))
    args = parser.parse_args()
    if args.out.exists() and not args.out.is_dir():
        parser.error(f"--out {args.out}: it is a file; legal is a folder")
    start = time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    check_settings(args)
    learn(args, demonstrated(args))
    show(test(args))
    print(f"{(time.monotonic() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
