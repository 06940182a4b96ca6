"""Behaviour cloning: a policy learns from the oracles' demonstrations, and is tested on instances it has never seen.

    python examples/behaviour_cloning.py                      # about 5 minutes on 2 cores
    python examples/behaviour_cloning.py --tasks 'ladder/1*' --demos 10 --tests 5

Reads top to bottom: the env, the demonstrations (a Minari dataset), the training, the test on the real program. Killed
while demonstrations are played, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch.nn.functional import cross_entropy

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents import Agent, RandomAgent
from deskgym.agents.pointer_policy import BLUR, READS, PointerNet
from deskgym.agents.rollout import rollout
from deskgym.datasets import Episode, collect_demos, episodes_of
from deskgym.datasets.demos import DemoFolder, write_demos
from deskgym.workers import run_jobs
from deskgym.wrappers import FlatForSB3, JointDiscrete

DATASET = "deskgym/ladder-oracle-v0"
Case = tuple[str, str, int]
"""Who plays, what, and the seed."""


# --- the environment


def make_env(tasks: str, split: str) -> gym.Env[Any, Any]:
    env = gym.make(
        "deskgym/Science-v0",
        task=tasks,
        split=split,
        action="discrete",
        observation=("elements", "instruction"),
        screen_size=(960, 600),
        max_elements=96,
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
    )
    return FlatForSB3(JointDiscrete(env), ngrams=2048)


# --- demonstrations


def demonstrate(args: argparse.Namespace, tasks: list[str], dataset: str = DATASET) -> minari.MinariDataset:
    """The dataset of ``args.demos`` solved episodes per task, of the training split."""
    make = partial(make_env, args.tasks, "train")
    plan = [(task, args.seed + k) for task in tasks for k in range(args.demos)]
    folder = DemoFolder(args.out / dataset / "episodes", {"tasks": args.tasks, "split": "train"})
    left = sum(not folder.path(demo).exists() for demo in plan)
    results = collect_demos(make, plan, folder, workers=args.workers)
    with closing(results):
        for some in track(results, "demonstrations", max(1, math.ceil(left / 4))):
            for result in some:
                if result.outcome != "kept":
                    print(f"{result.task} seed {result.seed}: {result.outcome}: {result.message}")
    return write_demos(args.out, dataset, folder, make, description=f"Oracles of {args.tasks}")


# --- the policy


def make_net(env: gym.Env[Any, Any]) -> PointerNet:
    sizes = {name: env.observation_space[name].shape[0] for name in READS}
    about = (env.get_wrapper_attr(name) for name in ("blocks", "rows", "arguments"))
    return PointerNet(sizes, *about)


def train(net: PointerNet, episodes: Iterable[Episode], epochs: int, seed: int) -> float:
    """Supervised learning of which of the possible actions is demonstrated; returns how often it then chooses that."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)  # the network is too small for more
    steps = [
        (e.observations[k], e.masks[k], e.actions[k])
        for e in episodes
        for k in range(len(e.actions))
        if e.masks[k][e.actions[k]]  # an oracle may have waited for something that was not there when it last looked
    ]
    seen = {name: torch.from_numpy(np.stack([observation[name] for observation, _, _ in steps])) for name in READS}
    able = torch.from_numpy(np.stack([mask for _, mask, _ in steps]))
    done = torch.tensor([int(action) for _, _, action in steps])
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    net.blur = BLUR
    for _ in track(range(epochs), "training"):
        for batch in torch.randperm(len(done)).split(16):
            logits, _ = net({name: part[batch] for name, part in seen.items()})
            loss = cross_entropy(logits.masked_fill(~able[batch], -torch.inf), done[batch])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    net.blur = 0.0
    with torch.no_grad():
        chosen = net(seen)[0].masked_fill(~able, -torch.inf).argmax(1)
        return float((chosen == done).float().mean())


class Cloned:
    """Plays what the network thinks best of what can be done now."""

    def __init__(self, weights: Path) -> None:
        self.weights = weights

    def reset(self, env: gym.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        self.masks: Callable[[], Any] = env.get_wrapper_attr("action_masks")
        self.net = make_net(env)
        self.net.load_state_dict(torch.load(self.weights, weights_only=True))

    def act(self, observation: Any) -> int:
        with torch.no_grad():
            logits, _ = self.net({name: torch.from_numpy(observation[name])[None] for name in READS})
        return int(np.where(self.masks(), logits[0].numpy(), -np.inf).argmax())


class MaskedRandom:
    """Any action that can be done now, DONE among them, each as likely."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def reset(self, env: gym.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        self.masks: Callable[[], Any] = env.get_wrapper_attr("action_masks")

    def act(self, observation: Any) -> int:
        return int(self.rng.choice(np.flatnonzero(self.masks())))


# --- the test, on held-out instances of the real program

PLAYERS = ("cloned", "random agent", "masked random")


def test(args: argparse.Namespace, tasks: list[str], weights: Path) -> Counter[tuple[str, str, str]]:
    """How many episodes there were of each player, task and outcome."""
    cases = [(who, task, args.seed + k) for task in tasks for k in range(args.tests) for who in PLAYERS]
    chunks = [cases[k : k + 6] for k in range(0, len(cases), 6)]
    results = run_jobs(partial(play_some, args.tasks, weights), chunks, args.workers)
    counts: Counter[tuple[str, str, str]] = Counter()
    with closing(results):
        for some in track(results, "held-out test", len(chunks)):
            counts.update(some)
    return counts


def play_some(tasks: str, weights: Path, cases: list[Case]) -> list[tuple[str, str, str]]:
    torch.set_num_threads(1)
    outcomes = []
    with closing(make_env(tasks, "test")) as env:
        for who, task, seed in cases:
            agents: dict[str, Callable[[], Agent]] = {
                "cloned": partial(Cloned, weights),
                "random agent": partial(RandomAgent, seed),
                "masked random": partial(MaskedRandom, seed),
            }
            result = rollout(env, agents[who](), seed=seed, options={"task": task})
            outcomes.append((who, task, result.outcome))
            if result.outcome not in ("solved", "failed"):
                print(f"{who}: {task} seed {seed}: {result.outcome}: {result.message}")
    return outcomes


def show(counts: Counter[tuple[str, str, str]], tasks: list[str]) -> None:
    table = Table("task (held-out instances)", *PLAYERS, title="solved")
    for task in (*tasks, "all"):
        cells = []
        for who in PLAYERS:
            of: Counter[str] = Counter()
            for (player, of_task, outcome), number in counts.items():
                of[outcome] += number * (player == who and task in (of_task, "all"))
            played = of["solved"] + of["failed"]
            lost = of.total() - played
            cells.append(
                f"{of['solved']}/{played} ({of['solved'] / max(1, played):.0%})" + f", {lost} lost" * bool(lost)
            )
        table.add_row(task, *cells)
    Console(width=100).print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="ladder/*", help="a glob over task ids")
    parser.add_argument("--demos", type=int, default=24, help="demonstrations per task")
    parser.add_argument("--tests", type=int, default=8, help="held-out instances per task")
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2, help="desktops at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/behaviour_cloning"))
    args = parser.parse_args()
    start = time.monotonic()
    with closing(make_env(args.tasks, "test")) as env:
        tasks = [task for task in env.unwrapped.episodes.suite.ids() if Path(task).match(args.tasks)]
        net = make_net(env)
    dataset = demonstrate(args, tasks)
    print(f"{DATASET} in {args.out}: {dataset.total_episodes} episodes of {dataset.total_steps} steps")
    agreed = train(net, episodes_of(dataset), args.epochs, args.seed)
    weights = args.out / "policy.pt"
    torch.save(net.state_dict(), weights)
    print(f"the policy chooses {agreed:.0%} of the demonstrated actions")
    show(test(args, tasks, weights), tasks)
    print(f"{(time.monotonic() - start) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
