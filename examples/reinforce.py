"""REINFORCE on text actions: where to start when you bring a language model. One file, CleanRL's way.

Each step offers the policy a list of candidate actions, Python with pyautogui, built from what the observation shows:
a click on each element, each of the task's words into each text box, and DONE. The policy here is log-linear in hashed
n-grams. To train a language model, replace ``Policy``: its ``sample`` reads a prompt and says what to do.

    python examples/reinforce.py                              # about 5 minutes on 2 cores
    python examples/reinforce.py --task kalgebra/tab --episodes 400 --envs 8
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

import deskgym  # noqa: F401  (registers the environments)
from deskgym.wrappers.rl.hashing import hashed

ROLES = {"page tab", "push button", "check box", "radio button", "menu item", "text", "table cell", "list item", "link"}


@dataclass
class Args:
    task: str = "ladder/1-tab"
    episodes: int = 250
    envs: int = 6
    batch: int = 12  # episodes per update
    max_steps: int = 3
    learning_rate: float = 0.05
    entropy: float = 0.01  # weight of the bonus that keeps the policy trying
    held_out: int = 30  # episodes of the test split, after training
    seed: int = 1
    out: str = "out/reinforce.png"


# --- what the policy reads and may say


def prompt_of(instruction: str, screen: str, done: Sequence[str]) -> str:
    """What to do, what was done, and what the screen shows: all that a language model needs."""
    return f"{instruction}\n\nDone so far: {'; '.join(done) or 'nothing'}\n\nOn the screen:\n{screen}"


def candidates_of(screen: str, vocabulary: str) -> list[str]:
    """The code actions that make sense now; the comment behind each says what it acts on.

    ``screen`` is the ``a11y`` observation, ``vocabulary`` the one of that name; both have tab-separated rows.
    """
    words = [row.split("\t")[2] for row in vocabulary.splitlines() if row.split("\t")[1] == "word"]
    actions = ["DONE"]
    for row in screen.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) != 7 or (cells[1] not in ROLES and "editable" not in cells[6]):
            continue
        (x, y), (width, height) = (tuple(map(int, cell.strip("()").split(", "))) for cell in cells[4:6])
        click = f"pyautogui.click({x + width // 2}, {y + height // 2})"
        actions.append(f"{click}  # {cells[1]} {cells[2]}")
        if "editable" in cells[6]:
            clear = f"{click}; pyautogui.hotkey('ctrl', 'a')"
            actions += [f"{clear}; pyautogui.write({word + chr(10)!r})  # {cells[1]} write {word}" for word in words]
    return actions


def meaning(action: str) -> str:
    """The comment of a code action, or all of it."""
    return action.rpartition("  # ")[2]


class Policy(nn.Module):
    """The seam: put a language model here. The rest of the file calls ``sample`` and ``logprob``, nothing else.

    A language model writes its action itself and needs no candidates: ``sample`` generates, and ``logprob`` is one
    forward pass over prompt and text, the sum over the text's tokens and their mean entropy.
    """

    def __init__(self, size: int = 256) -> None:
        super().__init__()
        self.size = size
        self.score = nn.Linear(3 * size, 1, bias=False)
        nn.init.zeros_(self.score.weight)  # every candidate is as likely as any other at first

    @torch.no_grad()
    def sample(self, prompt: str, candidates: Sequence[str], greedy: bool = False) -> tuple[str, float]:
        """An action, drawn or the likeliest, and its log-probability."""
        choice = self.choice(prompt, candidates)
        index = choice.probs.argmax() if greedy else choice.sample()
        return candidates[int(index)], float(choice.log_prob(index))

    def logprob(self, prompt: str, candidates: Sequence[str], text: str) -> tuple[Tensor, Tensor]:
        """The log-probability of an action and the entropy of the choice in nats, with their gradients."""
        choice = self.choice(prompt, candidates)
        return choice.log_prob(torch.tensor(candidates.index(text))), choice.entropy()

    def choice(self, prompt: str, candidates: Sequence[str]) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.score(self.features(prompt, candidates)).squeeze(-1))

    def features(self, prompt: str, candidates: Sequence[str]) -> Tensor:
        """float32 (candidates, 3 * size): each one's words, and these by what it shares with the task and the past.

        So "a page tab that the task names" has its weights, whatever its name is.
        """
        task, done = (torch.from_numpy(hashed(part, self.size).copy()) for part in prompt.split("\n\n")[:2])
        said = torch.from_numpy(np.stack([hashed(meaning(action), self.size) for action in candidates]))
        return torch.cat([3 * said, 10 * said * (said @ task)[:, None], 10 * said * (said @ done)[:, None]], dim=1)


# --- episodes


@dataclass
class Episode:
    """One episode: each step's prompt, candidates and choice, how likely that was in all, and how it ended."""

    steps: list[tuple[str, list[str], str]] = field(default_factory=list)
    logprob: float = 0.0
    reward: float = 0.0


def make_env(task: str, split: str, max_steps: int) -> gym.Env[Any, Any]:
    return gym.make(
        "deskgym/Science-v0", task=task, split=split, max_steps=max_steps, action="code", screen_size=(1280, 720),
        observation=("instruction", "a11y", "vocabulary"), disable_env_checker=True,
    )  # fmt: skip


def play(
    envs: gym.vector.VectorEnv[Any, Any, Any], policy: Policy, seed: int, greedy: bool = False
) -> Iterator[Episode]:
    """Episodes without end, as they are finished; one that says nothing about the policy is left out."""
    observation, _ = envs.reset(seed=seed)
    running = [Episode() for _ in range(envs.num_envs)]
    fresh = np.zeros(envs.num_envs, bool)  # these reset now, and their action is not read
    while True:
        actions = ["DONE"] * envs.num_envs
        for k in np.flatnonzero(~fresh):
            screen, episode = observation["a11y"][k], running[k]
            prompt = prompt_of(observation["instruction"][k], screen, [meaning(text) for *_, text in episode.steps])
            candidates = candidates_of(screen, observation["vocabulary"][k])
            actions[k], logprob = policy.sample(prompt, candidates, greedy)
            episode.steps.append((prompt, candidates, actions[k]))
            episode.logprob += logprob
        observation, rewards, terminated, truncated, infos = envs.step(tuple(actions))
        out = left_out(infos, envs.num_envs)
        over = (terminated | truncated) & ~fresh
        for k in np.flatnonzero(over):
            running[k].reward = float(rewards[k])
            if not out[k]:
                yield running[k]
            running[k] = Episode()
        fresh = over


def left_out(infos: dict[str, Any], count: int) -> list[bool]:
    """Whether each env's episode broke by itself or was not judged; what the policy breaks counts (docs/faults.md)."""
    causes = infos.get("fault", {}).get("cause", [None] * count)
    errors = infos.get("verdict", {}).get("error", [None] * count)
    return [cause == "infrastructure" or error is not None for cause, error in zip(causes, errors, strict=True)]


def loss_of(policy: Policy, batch: Sequence[Episode], entropy_weight: float) -> Tensor:
    """REINFORCE (Williams, 1992) with the mean reward of the other episodes as the baseline, and an entropy bonus.

    An episode that was running while the policy changed counts by how likely it has become (its importance weight).
    """
    rewards = torch.tensor([episode.reward for episode in batch])
    advantages = (rewards - rewards.mean()) * len(batch) / max(1, len(batch) - 1)
    terms, entropies = [], []
    for episode, advantage in zip(batch, advantages, strict=True):
        logprobs, more = zip(*(policy.logprob(*step) for step in episode.steps), strict=True)
        terms.append(advantage * (torch.stack(logprobs).sum() - episode.logprob).exp())
        entropies += more
    return -torch.stack(terms).mean() - entropy_weight * torch.stack(entropies).mean()


def evaluate(envs: gym.vector.VectorEnv[Any, Any, Any], policy: Policy, count: int, seed: int) -> tuple[int, int]:
    """Successes and episodes of the likeliest actions."""
    episodes = list(islice(play(envs, policy, seed, greedy=True), count))
    return sum(episode.reward == 1.0 for episode in episodes), len(episodes)


def train(envs: gym.vector.VectorEnv[Any, Any, Any], policy: Policy, args: Args) -> list[float]:
    """Train on ``args.episodes`` episodes; returns their rewards in order."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.learning_rate)
    rewards: list[float] = []
    batch: list[Episode] = []
    bar = tqdm(islice(play(envs, policy, args.seed), args.episodes), total=args.episodes, unit="episode")
    for episode in bar:
        rewards.append(episode.reward)
        batch.append(episode)
        if len(batch) == args.batch:
            optimizer.zero_grad()
            loss_of(policy, batch, args.entropy).backward()
            optimizer.step()
            batch.clear()
        bar.set_postfix(success=f"{np.mean(rewards[-30:]):.0%}")
    return rewards


def draw(rewards: Sequence[float], path: str) -> None:
    """The success rate over the last 30 episodes, as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rates = [float(np.mean(rewards[max(0, k - 29) : k + 1])) for k in range(len(rewards))]
    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(range(1, len(rates) + 1), rates)
    axes.set(xlabel="episode", ylabel="success, last 30", ylim=(0, 1.02))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for field_ in fields(Args):
        parser.add_argument(f"--{field_.name.replace('_', '-')}", type=type(field_.default), default=field_.default)
    args = Args(**vars(parser.parse_args(argv)))
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    policy, start = Policy(), time.monotonic()
    with vector(args, "train") as envs:
        rewards = train(envs, policy, args)
    seconds = time.monotonic() - start
    with vector(args, "test") as envs:
        right, count = evaluate(envs, policy, args.held_out, args.seed)
    first, last = rewards[:30], rewards[-30:]
    print(f"train, first {len(first)} episodes: {sum(first):g} solved; last {len(last)}: {sum(last):g} solved")
    print(f"held out: {right} of {count} solved; {len(rewards)} episodes of training took {seconds:.0f} s")
    draw(rewards, args.out)
    print(f"curve: {args.out}")
    return {"rewards": rewards, "held_out": (right, count), "seconds": seconds}


@contextmanager
def vector(args: Args, split: str) -> Iterator[gym.vector.VectorEnv[Any, Any, Any]]:
    """Envs of a split in processes of their own."""
    envs = gym.vector.AsyncVectorEnv([partial(make_env, args.task, split, args.max_steps)] * args.envs)
    try:
        yield envs
    finally:
        envs.close()


if __name__ == "__main__":
    main()
