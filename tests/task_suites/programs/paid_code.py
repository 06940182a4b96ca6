"""What an agent is paid for code that it runs."""

from typing import Any

SEED = 4


def reward(env: Any, task: str, *changes: str) -> tuple[float, str]:
    """What an agent is paid that runs these in the instance of ``SEED``, and why; ``params`` are the task's in them."""
    env.reset(seed=SEED, options={"task": task})
    for change in changes:
        play(env, f"params = {dict(env.unwrapped.task.params)!r}\n{change}")
    return finish(env)


def play(env: Any, code: str) -> None:
    """Run code as the agent; an attack that fails of itself proves nothing."""
    observation, *_, info = env.step(code)
    assert info["execution"]["status"] == 0, (info["execution"], observation.get("feedback"))


def finish(env: Any) -> tuple[float, str]:
    """What the agent is paid that says DONE now, and why."""
    _, reward, terminated, _, info = env.step("DONE")
    assert terminated and not info["verdict"]["error"], info["verdict"]
    return reward, str(info["verdict"]["checks"])
