"""One episode with a model that has OpenAI's computer tool.

Run it with ``python examples/openai_computer_use.py MODEL``; it takes ``pip install openai`` and an OPENAI_API_KEY.
"""

import sys
from typing import Any

import gymnasium as gym

import deskgym  # noqa: F401  (registers the environments)
from deskgym.wrappers import OpenAIComputerUse


def play(env: OpenAIComputerUse, client: Any, model: str, seed: int | None = None) -> float:
    """The reward of an episode in which the model acts. ``client`` is an ``openai.OpenAI()``, or alike."""
    observation, info = env.reset(seed=seed)
    print(info["task"])
    previous, reward, terminated, truncated = None, 0.0, False, False
    while not (terminated or truncated):
        response = client.responses.create(
            model=model,
            tools=[env.tool],
            input=env.output(observation, acknowledge=ask),
            truncation="auto",
            **({"previous_response_id": previous} if previous else {}),
        )
        observation, reward, terminated, truncated, info = env.step(response.output)
        print(f"  {info['actions']} {info.get('invalid_action', '')}")
        previous = response.id
    return reward


def ask(check: Any) -> bool:
    """Whether you accept a safety check."""
    return input(f"The API warns: {check.get('message')!r}. Go on? [y/N] ").lower() == "y"


if __name__ == "__main__":
    from openai import OpenAI

    inner = gym.make(
        "deskgym/Science-v0", task="kalgebra/*", screen_size=(1280, 720), invalid_action="feedback", max_steps=60
    )
    with OpenAIComputerUse(inner) as desktop:
        print(f"reward {play(desktop, OpenAI(), sys.argv[1], seed=7)}")
