"""Search on a running desktop: where a policy errs, go back to where it was least sure, and try what it held next best.

    python examples/train_ppo.py                              # makes the policy, in out/ppo
    python examples/search.py                                 # tries it alone, n times from the start, and with search
    python examples/search.py --record out/search && deskgym view out/search --open    # the tree

Reads top to bottom: the env, the policy, the three ways, the table. The judge is the task's own evaluator, so this
finds solutions to learn from, of tasks that the policy does not solve yet, and is no way to be measured by a benchmark.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sb3_contrib import MaskablePPO

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.base import judge
from deskgym.cli.numbers import number, whole
from deskgym.envs.states import SavedState
from deskgym.task_suites import load_suite
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.wrappers import Branching, FlatForSB3, JointDiscrete, RecordEpisode

LADDER = ["ladder/4-plot-and-variable", "ladder/5-plot-variable-tab"]

# --- the environment


def make_env(args: argparse.Namespace) -> Branching:
    env = gym.make(
        "deskgym/Science-v0",
        task="ladder/*",
        machine=args.machine,
        machine_options={"runtime": args.runtime} if args.runtime else {},
        action="discrete",
        observation=("elements", "instruction"),
        screen_size=(960, 600),
        max_elements=96,
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
        settle={"cap_ms": 200},
    )
    if args.record is not None:
        env = RecordEpisode(env, args.record)
    return Branching(FlatForSB3(JointDiscrete(env), ngrams=2048))


# --- the policy


class Policy:
    """How likely it finds each action."""

    def __init__(self, folder: Path) -> None:
        found = sorted((folder / "masks").glob("model-*.zip"))
        if not found:
            raise SystemExit(f"there is no policy in {folder}: python examples/train_ppo.py --out {folder} makes one")
        self.model = MaskablePPO.load(found[-1], device="cpu")

    def probabilities(self, env: Branching, observation: Any) -> Any:
        seen, _ = self.model.policy.obs_to_tensor(observation)
        with torch.no_grad():
            masks = env.get_wrapper_attr("action_masks")()
            return self.model.policy.get_distribution(seen, masks).distribution.probs[0].numpy()


# --- the ways to play


@dataclass
class Played:
    """What came of a task."""

    solved: bool
    tries: int
    seconds: float


def alone(env: Branching, policy: Policy, task: str, seed: int, args: argparse.Namespace) -> Played:
    """Once, with what it holds best."""
    return best_of(env, policy, task, seed, argparse.Namespace(tries=1))


def best_of(env: Branching, policy: Policy, task: str, seed: int, args: argparse.Namespace) -> Played:
    """From the start, again and again: first what it holds best, then samples."""
    start, random = time.monotonic(), np.random.default_rng(seed)
    for attempt in range(args.tries):
        observation, _ = env.reset(seed=seed, options={"task": task, "split": "test"})
        over = False
        while not over:
            likely = policy.probabilities(env, observation)
            action = random.choice(len(likely), p=likely) if attempt else likely.argmax()
            observation, _, terminated, truncated, info = env.step(int(action))
            over = terminated or truncated
        if judge(info)[0] == "solved":
            return Played(True, attempt + 1, time.monotonic() - start)
    return Played(False, args.tries, time.monotonic() - start)


def search(env: Branching, policy: Policy, task: str, seed: int, args: argparse.Namespace) -> Played:
    """Best first: an idea is an action in a saved state, and as good as the policy finds all that led there."""
    start, order = time.monotonic(), itertools.count()
    observation, _ = env.reset(seed=seed, options={"task": task, "split": "test"})
    ideas: list[tuple[float, int, SavedState, int]] = []
    cost, action = 0.0, -1
    for attempt in range(args.tries):
        over = False
        while not over:
            if action < 0:  # go on with what it holds best, and note what else it might have done
                likely = policy.probabilities(env, observation)
                best = np.argsort(likely)[::-1][: args.width]
                if likely[best[1]] >= args.least:
                    state = env.save_state()
                    for other in best[1:]:
                        if likely[other] >= args.least:
                            heapq.heappush(ideas, (cost - np.log(likely[other]), next(order), state, int(other)))
                action = int(best[0])
                cost -= float(np.log(likely[action]))
            observation, _, terminated, truncated, info = env.step(action)
            over, action = terminated or truncated, -1
        if judge(info)[0] == "solved":
            return Played(True, attempt + 1, time.monotonic() - start)
        if not ideas:
            break
        cost, _, state, action = heapq.heappop(ideas)
        observation, _ = env.restore_state(state, strict=False)
    return Played(False, attempt + 1, time.monotonic() - start)


WAYS = {"alone": alone, "from the start": best_of, "search": search}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", type=Path, default=Path("out/ppo"), help="folder of examples/train_ppo.py")
    parser.add_argument("--tasks", nargs="+", default=LADDER, metavar="TASK", help=f"({' '.join(LADDER)})")
    parser.add_argument("--episodes", type=whole(1), default=20, help="held-out instances per task (20)")
    parser.add_argument("--tries", type=whole(1), default=8, help="episodes that may be ended, per instance (8)")
    parser.add_argument("--width", type=whole(1), default=4, help="actions that are considered in a state (4)")
    parser.add_argument(
        "--least", type=number(0, 1), default=0.002, help="probability of an action that is considered (0.002)"
    )
    parser.add_argument("--machine", default="sandbox", help="such as sandbox or qemu (sandbox)")
    parser.add_argument("--runtime", help="of the sandbox, such as runsc, whose states are snapshots")
    parser.add_argument("--record", type=Path, help="record the episodes of the search here, and play no other way")
    parser.add_argument("--seed", type=whole(0), default=5000, help="of the first instance (5000)")
    args = parser.parse_args()
    if unknown := [task for task in args.tasks if task not in load_suite("science").ids()]:
        parser.error(f"--tasks {' '.join(unknown)}: no such task; legal are ids such as {' '.join(LADDER)}")
    torch.set_num_threads(1)
    policy = Policy(args.policy)
    table = Table(
        "task (held-out instances)", "way", "solved", "95 %", "tries", "s", title=f"at most {args.tries} tries"
    )
    for task in args.tasks:
        for name, way in WAYS.items():
            if args.record and name != "search":
                continue
            with closing(make_env(args)) as env:
                played = [way(env, policy, task, args.seed + k, args) for k in range(args.episodes)]
            solved = sum(each.solved for each in played)
            low, high = wilson(solved, len(played))
            tries, seconds = (float(np.mean([getattr(each, key) for each in played])) for key in ("tries", "seconds"))
            table.add_row(
                task, name, f"{solved}/{len(played)}", f"{low:.0%} to {high:.0%}", f"{tries:.1f}", f"{seconds:.1f}"
            )
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
