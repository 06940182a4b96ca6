"""One episode: the oracle solves a KAlgebra task, and a random agent does not.

Run it with ``python examples/quickstart.py``; ``make demo`` sets up what it needs.
"""

import gymnasium as gym

import deskgym  # noqa: F401  (registers the environments)

env = gym.make(
    "deskgym/Science-v0",
    task="kalgebra/*",
    observation=("screenshot", "elements", "a11y", "instruction", "feedback"),
    action="computer",
    screen_size=(1280, 720),
)

observation, info = env.reset(seed=7)
print(f"{info['task']}: {observation['instruction']}")
for action in env.unwrapped.oracle():
    observation, reward, terminated, truncated, info = env.step(action)
    print(f"  {action.to_dict()}  {sum(info['timing'].values()):.0f} ms")
print(f"the oracle earns {reward}: {[check['message'] for check in info['verdict']['checks']]}")

observation, info = env.reset(seed=7)
terminated = truncated = False
while not (terminated or truncated):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
print(f"a random agent earns {reward} after {info['step']} steps")

env.close()
