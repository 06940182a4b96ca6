"""MaskablePPO learns the ladder of KAlgebra tasks on real desktops, on CPU, from a few demonstrations, in one command.

    python examples/train_ppo.py                     # trains, tests on held-out parameters, ablates, draws out/ppo.png
    python examples/train_ppo.py --minutes 2 --tasks 'ladder/1-tab' --no-ablation
    python examples/train_ppo.py --out out/ppo       # killed? the same command goes on where it was
    python examples/train_ppo.py --demonstrations 0  # from rewards alone
    python examples/train_ppo.py --plot out/ppo-0 out/ppo-1 out/ppo-2   # one picture of finished runs, with intervals
    python examples/train_ppo.py --tensorboard       # curves in out/ppo/tensorboard; --wandb for Weights & Biases

Reads top to bottom: the env, the curriculum, the demonstrations, the training run, the test on held-out parameters, the
picture.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents import OracleAgent
from deskgym.agents.base import judge
from deskgym.agents.pointer_policy import BLUR, READS, PointerPolicy, pointer_options
from deskgym.cli.numbers import number, whole
from deskgym.task_suites import load_suite
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.wrappers import FlatForSB3, JointDiscrete

LADDER = ("ladder/1-tab", "ladder/2-variable", "ladder/3-plot", "ladder/4-plot-and-variable")
BASELINES = ("random", "untrained", "cloned")  # with masks; cloned is what the demonstrations alone give
WINDOW = 40  # episodes that a task's running success is taken over
EPOCHS = 40  # passes over the demonstrations before the first episode
PPO = {
    "n_steps": 16, "batch_size": 64, "n_epochs": 6, "learning_rate": 2e-3, "gamma": 0.95, "gae_lambda": 0.95,
    "ent_coef": 0.01, "vf_coef": 0.5, "clip_range": 0.2, "max_grad_norm": 0.5,
}  # fmt: skip


Demonstrated = tuple[dict[str, Any], Any, int]
"""What the oracle saw, what it could have done, and what it did."""


# --- the environment


def make_env(tasks: tuple[str, ...], seed: int) -> gym.Env[Any, Any]:
    env = gym.make(
        "deskgym/Science-v0",
        task="ladder/*",
        action="discrete",
        observation=("elements", "instruction"),
        screen_size=(960, 600),
        max_elements=96,
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
        settle={"cap_ms": 200},
        pool={"depth": 1},
    )
    return Curriculum(FlatForSB3(JointDiscrete(env), ngrams=2048), tasks, seed)


class Curriculum(gym.Wrapper[Any, Any, Any, Any]):
    """Draws each episode's task by weights; plays a queue of held-out episodes first where there is one."""

    def __init__(self, env: gym.Env[Any, Any], tasks: tuple[str, ...], seed: int) -> None:
        super().__init__(env)
        self.tasks, self.weights, self.rng = tasks, [1.0] * len(tasks), random.Random(seed)
        self.queue: list[tuple[str, str, int]] = []
        self.next: tuple[str, str, int] | None = None

    def set_weights(self, weights: list[float]) -> None:
        self.weights = weights

    def set_queue(self, queue: list[tuple[str, str, int]]) -> None:
        self.queue, self.next = list(queue), None

    def choose(self) -> tuple[str, str, int]:
        if self.queue:
            return self.queue.pop(0)
        return self.rng.choices(self.tasks, self.weights)[0], "train", self.rng.randrange(2**31)

    def reset(self, **_: Any) -> tuple[Any, dict[str, Any]]:
        self.label = self.next or self.choose()
        task, split, seed = self.label
        start = self.env.reset(seed=seed, options={"task": task, "split": split})
        self.next = self.choose()  # its desktop is prepared while this episode runs
        task, split, seed = self.next
        self.get_wrapper_attr("prefetch")(seed=seed, options={"task": task, "split": split})
        return start

    def demonstrate(self) -> tuple[list[Demonstrated], int]:
        """Play each task's oracle; what it did in the episodes that it solved, and how many it did not."""
        kept: list[Demonstrated] = []
        unsolved = 0
        for task in self.tasks:
            options = {"task": task, "split": "train"}
            observation, info = self.env.reset(seed=self.rng.randrange(2**31), options=options)
            oracle, steps, over = OracleAgent(), [], False
            oracle.reset(self.env, observation, info)
            while not over:
                mask = self.get_wrapper_attr("action_masks")()
                action = self.get_wrapper_attr("join")(oracle.act(observation))
                if mask[action]:  # an oracle may have waited for something that was not there when it last looked
                    steps.append((observation, mask, action))
                observation, _, terminated, truncated, info = self.env.step(action)
                over = terminated or truncated
            solved = judge(info)[0] == "solved"
            kept += steps * solved
            unsolved += not solved
        return kept, unsolved

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            outcome, score, _ = judge(info)
            info["label"] = self.label
            info["solved"] = None if score is None else outcome == "solved"
        return observation, reward, terminated, truncated, info


# --- demonstrations


class Demonstrations:
    """What the oracles did, as tensors; played once, then kept in a file of the experiment's folder."""

    def __init__(self, vec: VecEnv, args: argparse.Namespace, progress: Lines) -> None:
        path = args.out / "demonstrations.npz"
        if not path.exists():
            each = -(-args.demonstrations // vec.num_envs)
            bar = progress.add_task("demonstrated", total=each, note="")
            steps = []
            for k in range(each):
                for kept, unsolved in vec.env_method("demonstrate"):
                    steps += kept
                    if unsolved:
                        print(f"{unsolved} demonstrations did not solve their task: left out")
                progress.tell(bar, k + 1, f"{len(steps)} actions")
            parts = {name: np.stack([seen[name] for seen, _, _ in steps]) for name in READS}
            masks, actions = np.stack([mask for _, mask, _ in steps]), np.array([action for _, _, action in steps])
            with path.with_suffix(".tmp").open("wb") as file:
                np.savez_compressed(file, masks=masks, actions=actions, **parts)
            path.with_suffix(".tmp").replace(path)
        with np.load(path) as kept:
            self.seen = {name: torch.from_numpy(kept[name]) for name in READS}
            self.masks, self.actions = torch.from_numpy(kept["masks"]), torch.from_numpy(kept["actions"])

    def loss(self, policy: Any, rows: Any, masks: bool) -> Any:
        """How unlikely the policy finds what was demonstrated: the mean of -log p."""
        seen = {name: part[rows] for name, part in self.seen.items()}
        able = self.masks[rows] if masks else None
        return -policy.evaluate_actions(seen, self.actions[rows], action_masks=able)[1].mean()

    def clone(self, model: MaskablePPO, masks: bool, tick: Any) -> None:
        """Behaviour cloning, before the first episode."""
        optimizer = torch.optim.AdamW(model.policy.parameters(), lr=2e-3, weight_decay=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
        for epoch in range(EPOCHS):
            self.epoch(model.policy, optimizer, masks, size=16)
            schedule.step()
            tick(epoch + 1)

    def epoch(self, policy: Any, optimizer: torch.optim.Optimizer, masks: bool, size: int = 64) -> None:
        """One pass over all of it. Training goes on with one per update, so that nothing of it is unlearned."""
        net = policy.mlp_extractor.net
        net.blur = BLUR
        for rows in torch.randperm(len(self.actions)).split(size):
            optimizer.zero_grad()
            self.loss(policy, rows, masks).backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), PPO["max_grad_norm"])
            optimizer.step()
        net.blur = 0.0


# --- training


class Run(BaseCallback):
    """One training run: its curriculum, its log, its checkpoints, its time."""

    def __init__(
        self, folder: Path, tasks: tuple[str, ...], seconds: float, bar: Any, demos: Demonstrations | None, masks: bool
    ) -> None:
        super().__init__()
        self.folder, self.tasks, self.seconds, self.bar = folder, tasks, seconds, bar
        self.demos, self.masks = demos, masks
        self.elapsed, self.episodes, self.lost = 0.0, 0, 0
        self.recent = {task: deque[bool](maxlen=WINDOW) for task in tasks}
        self.clock = time.monotonic()

    def restore(self) -> None:
        state = json.loads((self.folder / "state.json").read_text())
        self.elapsed, self.episodes, self.lost = state["elapsed"], state["episodes"], state["lost"]
        for task, results in state["recent"].items():
            self.recent[task].extend(results)

    def save(self) -> None:
        """The model, then what belongs to it: a kill between leaves the older pair, since the state names the model."""
        name = f"model-{self.model.num_timesteps}.zip"
        self.model.save(self.folder / "model.tmp.zip")
        (self.folder / "model.tmp.zip").replace(self.folder / name)
        state = {
            "model": name, "elapsed": self.elapsed, "episodes": self.episodes, "lost": self.lost,
            "steps": self.model.num_timesteps, "recent": {task: list(done) for task, done in self.recent.items()},
        }  # fmt: skip
        (self.folder / "state.tmp").write_text(json.dumps(state))
        (self.folder / "state.tmp").replace(self.folder / "state.json")
        for old in self.folder.glob("model-*.zip"):
            if old.name != name:
                old.unlink()

    def anneal(self, left: float) -> None:
        """Smaller steps and less exploration as time runs out."""
        self.model.lr_schedule = lambda _: left * PPO["learning_rate"]
        self.model.ent_coef = left * PPO["ent_coef"]

    def rates(self) -> dict[str, float]:
        return {task: sum(done) / WINDOW for task, done in self.recent.items()}

    def weights(self) -> list[float]:
        """A task is drawn the more, the less it is solved, and never so rarely that it could be unlearned unseen."""
        return [1.3 - rate for rate in self.rates().values()]

    def _on_rollout_start(self) -> None:
        now = time.monotonic()
        self.elapsed, self.clock = self.elapsed + now - self.clock, now
        self.training_env.env_method("set_weights", self.weights())
        self.anneal(max(0.05, 1 - self.elapsed / self.seconds))
        if self.demos and self.episodes:
            self.demos.epoch(self.model.policy, self.model.policy.optimizer, self.masks)
        self.save()
        log(self.folder, {"elapsed": self.elapsed, "episodes": self.episodes, "train": self.rates(), "lost": self.lost})
        for task, rate in self.rates().items():  # stable-baselines3's logger: TensorBoard, where there is one
            self.logger.record(f"solved/{task}", rate)
        self.logger.record("episodes", self.episodes)
        shown = " ".join(f"{rate:.0%}" for rate in self.rates().values())
        self.bar(min(self.elapsed, self.seconds), f"{self.episodes} episodes, solved {shown}")

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "label" in info:
                self.episodes += 1
                if info["solved"] is None:
                    self.lost += 1  # the machine or the evaluator broke: no verdict on the policy
                else:
                    self.recent[info["label"][0]].append(info["solved"])
        return self.elapsed + time.monotonic() - self.clock < self.seconds and not self.mastered()

    def mastered(self) -> bool:
        return all(len(done) == WINDOW and all(done) for done in self.recent.values())


class Lines(Progress):
    """Bars; and, where there is no terminal to draw them on, a line a minute."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("{task.description:12}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}")
        )
        self.said = time.monotonic()

    def tell(self, bar: TaskID, done: float, note: str = "") -> None:
        self.update(bar, completed=done, note=note)
        if not self.console.is_terminal and time.monotonic() - self.said >= 60:
            self.said, task = time.monotonic(), self.tasks[bar]
            print(
                f"{time.strftime('%H:%M')} {task.description.strip()} {done:.0f} of {task.total:.0f} {note}", flush=True
            )


def fresh(vec: VecEnv, seed: int) -> MaskablePPO:
    return MaskablePPO(PointerPolicy, vec, seed=seed, device="cpu", policy_kwargs=pointer_options(vec), **PPO)


def cloned(args: argparse.Namespace, vec: VecEnv, demos: Demonstrations, masks: bool, progress: Lines) -> MaskablePPO:
    """A policy that has learned from the demonstrations only; tested, if it is masked."""
    model, bar = fresh(vec, args.seed), progress.add_task("  cloning", total=EPOCHS, note="")
    torch.manual_seed(args.seed)
    demos.clone(model, masks, partial(progress.tell, bar))
    path = args.out / "cloned.json"
    if masks and not path.exists():
        path.write_text(json.dumps(test(vec, model, args, args.test_episodes // 2, True, progress)))
    return model


def train(
    args: argparse.Namespace, vec: VecEnv, demos: Demonstrations | None, name: str, minutes: float, masks: bool,
    progress: Lines,
) -> None:  # fmt: skip
    """Train one policy, or go on with it; leaves a folder with model, state and log."""
    folder = args.out / name
    folder.mkdir(parents=True, exist_ok=True)
    bar = progress.add_task(name, total=minutes * 60, note="")
    run = Run(folder, args.tasks, minutes * 60, partial(progress.tell, bar), demos, masks)
    if (folder / "state.json").exists():
        run.restore()
        model = MaskablePPO.load(folder / json.loads((folder / "state.json").read_text())["model"], env=vec)
    else:
        model = cloned(args, vec, demos, masks, progress) if demos else fresh(vec, args.seed)
        vec.env_method("set_weights", run.weights())
    vec.env_method("set_queue", [])
    if args.tensorboard or args.wandb:
        model.set_logger(configure(str(args.out / "tensorboard" / name), ["tensorboard"]))
    if run.elapsed < run.seconds and not run.mastered():
        (folder / "test.json").unlink(missing_ok=True)  # of a shorter training
        model.learn(2**31, callback=run, use_masking=masks, reset_num_timesteps=False)
    progress.update(bar, completed=minutes * 60)
    if (folder / "test.json").exists():
        return
    rates = test(vec, model, args, args.test_episodes if masks else args.test_episodes // 4, masks, progress)
    (folder / "test.json").write_text(json.dumps(rates))
    log(folder, {"elapsed": run.elapsed, "episodes": run.episodes, "test": rates})


# --- the test on held-out parameters


def test(
    vec: VecEnv, model: MaskablePPO | None, args: argparse.Namespace, count: int, masks: bool, progress: Lines
) -> dict[str, dict[str, Any]]:
    """Success per task on instances of the test split, of the actions that the model holds best.

    Without a model, of random actions that the masks allow.
    """
    episodes = [(task, "test", args.seed + 1000 + k) for k in range(count) for task in args.tasks]
    for k in range(vec.num_envs):
        vec.env_method("set_queue", episodes[k :: vec.num_envs], indices=[k])
    bar = progress.add_task("  held-out", total=len(episodes), note="")
    results: dict[str, list[bool | None]] = {task: [] for task in args.tasks}
    rng = np.random.default_rng(args.seed)
    observation = vec.reset()
    while sum(map(len, results.values())) < len(episodes):
        allowed = get_action_masks(vec)
        if model is None:
            action = np.array([rng.choice(np.flatnonzero(row)) for row in allowed])
        else:
            action, _ = model.predict(observation, action_masks=allowed if masks else None, deterministic=True)
        observation, _, _, infos = vec.step(action)
        for info in infos:
            if "label" in info and info["label"][1] == "test":
                results[info["label"][0]].append(info["solved"])
                progress.tell(bar, sum(map(len, results.values())))
    return {task: summary(solved) for task, solved in results.items()}


def summary(solved: list[bool | None]) -> dict[str, Any]:
    judged = [one for one in solved if one is not None]
    return {"solved": sum(judged), "of": len(judged), "lost": len(solved) - len(judged)}


# --- the picture


LOOKS = {"masks": ("C0", "o", "-"), "no masks": ("C1", "s", "--"), "cloned": ("C2", "v", ""),
         "untrained": ("grey", "^", ""), "random": ("black", "D", "")}  # fmt: skip


def draw(outs: list[Path], picture: Path) -> None:
    """One picture of one experiment, or of several with other seeds: a line and a dot of each."""
    from matplotlib import pyplot as plt

    tasks = json.loads((outs[0] / "settings.json").read_text())["tasks"]
    figure, axes = plt.subplots(
        1, len(tasks), figsize=(max(7, 3 * len(tasks) + 1), 3.8), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        for run, (color, mark, line) in LOOKS.items():
            for k, out in enumerate(outs):
                episodes = 0
                if (out / run / "log.jsonl").exists():
                    lines = [json.loads(line) for line in (out / run / "log.jsonl").read_text().splitlines()]
                    trained = [line for line in lines if "train" in line]
                    episodes = trained[-1]["episodes"]
                    curve = [line["episodes"] for line in trained], [line["train"][task] for line in trained]
                    axis.plot(*curve, line, color=color, alpha=0.6, label=f"{run}, training" if k == 0 else None)
                if tested := held_out(out, run):
                    _tested(axis, episodes + 12 * k, tested[task], color, mark, f"{run}, held-out" if k == 0 else None)
        axis.set_title(task, loc="left", fontsize=9)
        axis.set_xlabel("episodes (all tasks)")
        axis.set_ylim(-0.04, 1.04)
        axis.grid(alpha=0.3), axis.spines[["top", "right"]].set_visible(False), axis.margins(x=0.12)
    axes[0][0].set_ylabel(f"solved, mean of {WINDOW}")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=7 if len(tasks) > 2 else 4,
        fontsize=8,
        frameon=False,
    )
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)


def held_out(out: Path, run: str) -> dict[str, dict[str, int]] | None:
    """What a test found, or None where there was none."""
    path = out / f"{run}.json" if run in BASELINES else out / run / "test.json"
    found: dict[str, dict[str, int]] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def _tested(axis: Any, episodes: int, tested: dict[str, int], color: str, mark: str, label: str | None) -> None:
    """A share of held-out instances with its 95 % interval (Wilson's)."""
    of = max(1, tested["of"])
    low, high = wilson(tested["solved"], of)
    share = tested["solved"] / of
    axis.errorbar(episodes, share, [[share - low], [high - share]], fmt=mark, color=color, capsize=3, ms=5, label=label)


def check_settings(args: argparse.Namespace) -> None:
    """A folder holds one experiment, of which only the time may be changed: another one would get the wrong model."""
    free = ("out", "minutes", "ablation_minutes", "no_ablation")
    ours = {name: value for name, value in vars(args).items() if name not in free} | {"tasks": list(args.tasks)}
    path = args.out / "settings.json"
    if not path.exists():
        path.write_text(json.dumps(ours))
    theirs = json.loads(path.read_text())
    differ = [
        f"--{name.replace('_', '-')} {_typed(theirs.get(name))}" for name in ours if ours[name] != theirs.get(name)
    ]
    if differ:
        raise SystemExit(f"{args.out} holds a run with {', '.join(differ)}; give the same to go on, or another --out")


def _typed(value: Any) -> str:
    """As it is given on a command line."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def log(folder: Path, line: dict[str, Any]) -> None:
    with (folder / "log.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=LADDER, help="tasks, in order")
    parser.add_argument("--envs", type=whole(1), default=8, help="desktops at once (8)")
    parser.add_argument("--demonstrations", type=whole(0), default=24, help="of each task, by its oracle; 0: none (24)")
    parser.add_argument("--minutes", type=number(), default=15, help="of training, at most (15)")
    parser.add_argument("--ablation-minutes", type=number(), default=2, help="of training without masks (2)")
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument(
        "--test-episodes",
        type=whole(2),
        default=40,
        help="held-out instances per task; half as many for the baselines, a quarter for the ablation (40)",
    )
    parser.add_argument("--seed", type=whole(0), default=0)
    parser.add_argument("--out", type=Path, default=Path("out/ppo"))
    parser.add_argument(
        "--plot", nargs="+", type=Path, metavar="OUT", help="only draw these experiments, into --out with .png"
    )
    parser.add_argument(
        "--tensorboard", action="store_true", help="write curves for TensorBoard (pip install tensorboard)"
    )
    parser.add_argument("--wandb", metavar="PROJECT", help="and send them to Weights & Biases (pip install wandb)")
    args = parser.parse_args()
    if args.plot:
        if unknown := [str(out) for out in args.plot if not (out / "settings.json").exists()]:
            parser.error(f"--plot {' '.join(unknown)}: no experiment; legal are folders that --out was given")
        draw(args.plot, args.out.with_suffix(".png"))
        return
    args.tasks = tuple(args.tasks)
    if unknown := [task for task in args.tasks if task not in load_suite("science").ids()]:
        parser.error(f"--tasks {' '.join(unknown)}: no such task; legal are ids such as {' '.join(LADDER)}")
    if args.out.exists() and not args.out.is_dir():
        parser.error(f"--out {args.out}: it is a file; legal is a folder")
    args.out.mkdir(parents=True, exist_ok=True)
    check_settings(args)
    torch.set_num_threads(1)
    start = time.monotonic()
    if args.wandb:  # WANDB_MODE=offline keeps it here; an experiment that goes on is the same run there
        import wandb

        name = args.out / "wandb-id"
        if not name.exists():
            name.write_text(secrets.token_hex(4))
        settings = {key: str(value) for key, value in vars(args).items()} | PPO
        wandb.init(
            project=args.wandb, id=name.read_text(), resume="allow", dir=args.out, config=settings,
            sync_tensorboard=True,
        )  # fmt: skip
    vec = SubprocVecEnv([lambda k=k: make_env(args.tasks, 100 * args.seed + k) for k in range(args.envs)])
    runs = ["masks"] if args.no_ablation else ["masks", "no masks"]
    try:
        with Lines() as progress:
            demos = Demonstrations(vec, args, progress) if args.demonstrations else None
            train(args, vec, demos, "masks", args.minutes, True, progress)
            for name, model in zip(BASELINES, (None, fresh(vec, args.seed)), strict=False):
                path = args.out / f"{name}.json"
                if not path.exists():
                    path.write_text(json.dumps(test(vec, model, args, args.test_episodes // 2, True, progress)))
            if not args.no_ablation:
                train(args, vec, demos, "no masks", args.ablation_minutes, False, progress)
    finally:
        vec.close()
    draw([args.out], args.out.with_suffix(".png"))
    if args.wandb:
        wandb.log({"curves": wandb.Image(str(args.out.with_suffix(".png")))})
        wandb.finish()
    for name in (*runs, *BASELINES):
        for task, row in (held_out(args.out, name) or {}).items():
            print(f"{name:9} {task:28} held-out {row['solved']:3}/{row['of']:<3} lost {row['lost']}")
    print(f"{(time.monotonic() - start) / 60:.1f} minutes; picture: {args.out.with_suffix('.png')}")


if __name__ == "__main__":
    main()
