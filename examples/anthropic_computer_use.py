"""One episode with a model that has Anthropic's computer tool.

Run it with ``python examples/anthropic_computer_use.py MODEL``; it takes ``pip install anthropic`` and an
ANTHROPIC_API_KEY.
"""

import sys
from typing import Any

import gymnasium as gym

import deskgym  # noqa: F401  (registers the environments)
from deskgym.wrappers import AnthropicComputerUse


def play(env: AnthropicComputerUse, client: Any, model: str, seed: int | None = None) -> float:
    """The reward of an episode in which the model acts. ``client`` is an ``anthropic.Anthropic()``, or alike."""
    observation, info = env.reset(seed=seed)
    print(info["task"])
    messages: list[Any] = []
    reward, terminated, truncated = 0.0, False, False
    while not (terminated or truncated):
        messages.append({"role": "user", "content": env.output(observation)})
        message = client.beta.messages.create(
            model=model, max_tokens=4096, tools=[env.tool], betas=env.betas, messages=messages
        )
        messages.append({"role": "assistant", "content": message.content})
        observation, reward, terminated, truncated, info = env.step(message.content)
        print(f"  {info['actions']} {info.get('invalid_action', '')}")
    return reward


if __name__ == "__main__":
    from anthropic import Anthropic

    inner = gym.make(
        "deskgym/Science-v0", task="kalgebra/*", screen_size=(1280, 800), invalid_action="feedback", max_steps=60
    )
    with AnthropicComputerUse(inner) as desktop:
        print(f"reward {play(desktop, Anthropic(), sys.argv[1], seed=7)}")
