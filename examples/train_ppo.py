"""MaskablePPO learns the ladder of KAlgebra tasks on real desktops, on CPU, in one command.

    python examples/train_ppo.py                     # trains, tests on held-out parameters, ablates, draws out/ppo.png
    python examples/train_ppo.py --minutes 2 --tasks 'ladder/1-tab' --no-ablation
    python examples/train_ppo.py --out out/ppo       # killed? the same command goes on where it was
    python examples/train_ppo.py --tensorboard       # curves in out/ppo/tensorboard; --wandb for Weights & Biases

Reads top to bottom: the env, the curriculum, the training run, the test on held-out parameters, the picture.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import deque
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.base import judge
from deskgym.agents.pointer_policy import PointerPolicy, pointer_options
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.wrappers import FlatForSB3, JointDiscrete

LADDER = ("ladder/1-tab", "ladder/2-variable", "ladder/3-plot", "ladder/4-plot-and-variable")
BASELINES = ("random", "untrained")  # both with masks
WINDOW = 40  # episodes that a task's running success is taken over
PPO = {
    "n_steps": 16, "batch_size": 64, "n_epochs": 6, "learning_rate": 2e-3, "gamma": 0.95, "gae_lambda": 0.95,
    "ent_coef": 0.01, "vf_coef": 0.5, "clip_range": 0.2, "max_grad_norm": 0.5,
}  # fmt: skip


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
    return Curriculum(FlatForSB3(JointDiscrete(env), ngrams=512), tasks, seed)


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

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            outcome, score, _ = judge(info)
            info["label"] = self.label
            info["solved"] = None if score is None else outcome == "solved"
        return observation, reward, terminated, truncated, info


# --- training


class Run(BaseCallback):
    """One training run: its curriculum, its log, its checkpoints, its time."""

    def __init__(self, folder: Path, tasks: tuple[str, ...], seconds: float, bar: Any) -> None:
        super().__init__()
        self.folder, self.tasks, self.seconds, self.bar = folder, tasks, seconds, bar
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
        """A task is drawn the more, the less it is solved."""
        return [1.15 - rate for rate in self.rates().values()]

    def _on_rollout_start(self) -> None:
        now = time.monotonic()
        self.elapsed, self.clock = self.elapsed + now - self.clock, now
        self.training_env.env_method("set_weights", self.weights())
        self.anneal(max(0.05, 1 - self.elapsed / self.seconds))
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


def fresh(vec: VecEnv, seed: int) -> MaskablePPO:
    return MaskablePPO(PointerPolicy, vec, seed=seed, device="cpu", policy_kwargs=pointer_options(vec), **PPO)


def train(args: argparse.Namespace, vec: VecEnv, name: str, minutes: float, masks: bool, progress: Progress) -> None:
    """Train one policy, or go on with it; leaves a folder with model, state and log."""
    folder = args.out / name
    folder.mkdir(parents=True, exist_ok=True)
    bar = progress.add_task(name, total=minutes * 60, note="")
    run = Run(folder, args.tasks, minutes * 60, lambda done, note: progress.update(bar, completed=done, note=note))
    vec.env_method("set_queue", [])
    if (folder / "state.json").exists():
        run.restore()
        model = MaskablePPO.load(folder / json.loads((folder / "state.json").read_text())["model"], env=vec)
    else:
        model = fresh(vec, args.seed)
        vec.env_method("set_weights", run.weights())
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
    vec: VecEnv, model: MaskablePPO | None, args: argparse.Namespace, count: int, masks: bool, progress: Progress
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
                progress.advance(bar)
    return {task: summary(solved) for task, solved in results.items()}


def summary(solved: list[bool | None]) -> dict[str, Any]:
    judged = [one for one in solved if one is not None]
    return {"solved": sum(judged), "of": len(judged), "lost": len(solved) - len(judged)}


# --- the picture


def draw(out: Path, tasks: tuple[str, ...], runs: list[str]) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(tasks), figsize=(3 * len(tasks) + 1, 3.8), sharey=True, squeeze=False, layout="constrained"
    )
    for axis, task in zip(axes[0], tasks, strict=True):
        for k, (run, style) in enumerate(zip(runs, ("-", "--"), strict=False)):
            lines = [json.loads(line) for line in (out / run / "log.jsonl").read_text().splitlines()]
            trained = [line for line in lines if "train" in line]
            episodes = [line["episodes"] for line in trained]
            axis.plot(
                episodes, [line["train"][task] for line in trained], style, color=f"C{k}", label=f"{run}, training"
            )
            tested = json.loads((out / run / "test.json").read_text())[task]
            _tested(axis, episodes[-1], tested, f"C{k}", "o", f"{run}, held-out")
        for name, color, mark in zip(BASELINES, ("black", "grey"), "D^", strict=True):
            _tested(axis, 0, json.loads((out / f"{name}.json").read_text())[task], color, mark, f"{name}, held-out")
        (
            axis.set_title(task, loc="left", fontsize=9),
            axis.set_xlabel("episodes (all tasks)"),
            axis.set_ylim(-0.04, 1.04),
        )
        axis.grid(alpha=0.3), axis.spines[["top", "right"]].set_visible(False), axis.margins(x=0.12)
    axes[0][0].set_ylabel(f"solved, mean of {WINDOW}")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8, frameon=False
    )
    figure.savefig(out.with_suffix(".png"), dpi=110)


def _tested(axis: Any, episodes: int, tested: dict[str, int], color: str, mark: str, label: str) -> None:
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
    differ = [f"--{name.replace('_', '-')} {theirs.get(name)}" for name in ours if ours[name] != theirs.get(name)]
    if differ:
        raise SystemExit(f"{args.out} holds a run with {', '.join(differ)}; give the same to go on, or another --out")


def log(folder: Path, line: dict[str, Any]) -> None:
    with (folder / "log.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=LADDER, help="tasks, in order")
    parser.add_argument("--envs", type=int, default=8, help="desktops at once")
    parser.add_argument("--minutes", type=float, default=20, help="of training, at most")
    parser.add_argument("--ablation-minutes", type=float, default=2, help="of training without masks")
    parser.add_argument("--no-ablation", action="store_true")
    parser.add_argument(
        "--test-episodes",
        type=int,
        default=40,
        help="held-out instances per task; half as many for the baselines, a quarter for the ablation",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out/ppo"))
    parser.add_argument(
        "--tensorboard", action="store_true", help="write curves for TensorBoard (pip install tensorboard)"
    )
    parser.add_argument("--wandb", metavar="PROJECT", help="and send them to Weights & Biases (pip install wandb)")
    args = parser.parse_args()
    args.tasks = tuple(args.tasks)
    args.out.mkdir(parents=True, exist_ok=True)
    check_settings(args)
    torch.set_num_threads(1)
    start = time.monotonic()
    if args.wandb:  # WANDB_MODE=offline keeps it here; an experiment that goes on is the same run there
        import wandb

        name = args.out / "wandb-id"
        if not name.exists():
            name.write_text(wandb.util.generate_id())
        settings = {key: str(value) for key, value in vars(args).items()} | PPO
        wandb.init(
            project=args.wandb, id=name.read_text(), resume="allow", dir=args.out, config=settings,
            sync_tensorboard=True,
        )  # fmt: skip
    vec = SubprocVecEnv([lambda k=k: make_env(args.tasks, 100 * args.seed + k) for k in range(args.envs)])
    columns = (TextColumn("{task.description:12}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
    runs = ["masks"] if args.no_ablation else ["masks", "no masks"]
    try:
        with Progress(*columns) as progress:
            train(args, vec, "masks", args.minutes, True, progress)
            for name, model in zip(BASELINES, (None, fresh(vec, args.seed)), strict=True):
                path = args.out / f"{name}.json"
                if not path.exists():
                    path.write_text(json.dumps(test(vec, model, args, args.test_episodes // 2, True, progress)))
            if not args.no_ablation:
                train(args, vec, "no masks", args.ablation_minutes, False, progress)
    finally:
        vec.close()
    draw(args.out, args.tasks, runs)
    if args.wandb:
        wandb.log({"curves": wandb.Image(str(args.out.with_suffix(".png")))})
        wandb.finish()
    for name in (*runs, *BASELINES):
        path = args.out / f"{name}.json" if name in BASELINES else args.out / name / "test.json"
        for task, row in json.loads(path.read_text()).items():
            print(f"{name:9} {task:28} held-out {row['solved']:3}/{row['of']:<3} lost {row['lost']}")
    print(f"{(time.monotonic() - start) / 60:.1f} minutes; picture: {args.out.with_suffix('.png')}")


if __name__ == "__main__":
    main()
