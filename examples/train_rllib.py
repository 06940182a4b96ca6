"""RLlib's PPO learns a KAlgebra task on desktops that Ray spreads over a cluster, or over this machine alone.

    pip install -e '.[ray,rl]'
    python examples/train_rllib.py                                      # some 15 minutes on 2 cores
    python examples/train_rllib.py --smoke                              # about a minute: does it run here?
    RAY_ADDRESS=head:6379 python examples/train_rllib.py --envs 256     # on your cluster

RLlib's environment runner takes ``DistributedEnvs`` as its vector environment: the desktops run in Ray actors wherever
there is room, the network runs once per step for all of them. Reads top to bottom: the desktops, the network, the
configuration, the loop.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import ray
import torch
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env
from torch import Tensor, nn

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.pointer_policy import READS, PointerNet, pointer_options
from deskgym.envs.ray.envs import DistributedEnvs
from deskgym.wrappers import FlatForSB3, JointDiscrete

WIDTH = 64  # of the network


# --- the desktops


class MaskInObservation(gym.Wrapper[Any, Any, Any, Any]):
    """RLlib's modules see observations only, so the mask is one more part of them."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        mask = spaces.Box(0, 1, (int(env.action_space.n),), np.float32)
        self.observation_space = spaces.Dict({**env.observation_space.spaces, "action_mask": mask})

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**options)
        return self._with_mask(observation), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, *others = self.env.step(int(action))
        return self._with_mask(observation), *others

    def _with_mask(self, observation: dict[str, Any]) -> dict[str, Any]:
        return observation | {"action_mask": self.env.get_wrapper_attr("action_masks")().astype(np.float32)}


def make_env(task: str) -> gym.Env[Any, Any]:
    env = gym.make(
        "deskgym/Science-v0",
        task=task,
        split="train",
        action="discrete",
        observation=("elements", "instruction"),
        screen_size=(960, 600),
        max_elements=96,
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
        settle={"cap_ms": 200},
        pool={"depth": 1},
        disable_env_checker=True,
    )
    return MaskInObservation(FlatForSB3(JointDiscrete(env), ngrams=512))


def make_vector(context: dict[str, Any]) -> DistributedEnvs:
    return DistributedEnvs(
        partial(make_env, context["task"]),
        context["num_envs"],
        num_cpus=context["num_cpus"],
        memory_mb=context["memory_mb"],
    )


# --- the network


class PointerModule(TorchRLModule, ValueFunctionAPI):
    """``PointerNet``, with what the mask forbids made impossible."""

    def setup(self) -> None:
        parts = self.observation_space.spaces
        options = {name: self.model_config[name] for name in ("blocks", "rows", "arguments")}
        self.net = PointerNet({name: parts[name].shape[0] for name in READS}, width=WIDTH, **options)
        self.value = nn.Linear(WIDTH, 1)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        observation = batch[Columns.OBS]
        logits, embeddings = self.net(observation)
        lowest = torch.finfo(logits.dtype).min / 2
        logits = torch.where(observation["action_mask"] > 0, logits, lowest)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: embeddings}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        if embeddings is None:
            embeddings = self.net(batch[Columns.OBS])[1]
        return self.value(embeddings)[..., 0]


# --- the configuration


def configure(args: argparse.Namespace) -> PPOConfig:
    env = make_env(args.task)  # starts nothing
    options = pointer_options(env)
    env.close()
    return (
        PPOConfig()
        .environment("desktops", env_config={"task": args.task, "num_cpus": args.num_cpus, "memory_mb": args.memory_mb})
        .env_runners(
            num_env_runners=0,  # RLlib's own processes: one is enough, since the desktops have actors of their own
            num_envs_per_env_runner=args.envs,
            gym_env_vectorize_mode="vector_entry_point",
            rollout_fragment_length=args.steps,
        )
        .training(
            train_batch_size_per_learner=args.envs * args.steps,
            minibatch_size=min(64, args.envs * args.steps),
            num_epochs=6,
            lr=2e-3,
            gamma=0.95,
            lambda_=0.95,
            entropy_coeff=0.01,
            vf_loss_coeff=0.5,
            clip_param=0.2,
            grad_clip=0.5,
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=PointerModule, model_config=options))
        .debugging(seed=args.seed, log_level="ERROR")
    )


# --- the loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="ladder/4-plot-and-variable", help="a glob takes several")
    parser.add_argument("--envs", type=int, default=6, help="desktops at once, over all nodes")
    parser.add_argument("--num-cpus", type=float, default=0.25, help="cores of its node that a desktop takes")
    parser.add_argument("--memory-mb", type=int, default=768, help="memory of its node that a desktop takes")
    parser.add_argument("--steps", type=int, default=16, help="of each desktop, per update")
    parser.add_argument("--updates", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smoke", action="store_true", help="two desktops, two updates of ladder/1-tab")
    args = parser.parse_args()
    if args.smoke:
        args.task, args.envs, args.updates, args.steps = "ladder/1-tab", 2, 2, 8
    torch.set_num_threads(1)
    register_env("desktops", make_vector)
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    start = time.monotonic()
    algorithm = configure(args).build_algo()
    try:
        for update in range(1, args.updates + 1):
            found = algorithm.train()["env_runners"]
            envs = algorithm.env_runner.env.unwrapped
            print(
                f"update {update:3}  {time.monotonic() - start:5.0f} s  episodes {found.get('num_episodes', 0):4.0f}  "
                f"solved {found.get('episode_return_mean', float('nan')):4.2f}  "
                f"lost workers {envs.stats['lost_workers']}",
                flush=True,
            )
    finally:
        algorithm.env_runner.env.close()
        algorithm.stop()
        ray.shutdown()


if __name__ == "__main__":
    main()
