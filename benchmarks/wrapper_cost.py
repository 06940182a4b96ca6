"""What each wrapper adds to a step: ``python -m deskgym.benchmarks.wrapper_cost``.

Each wrapper is around KAlgebra on a real desktop, and random clicks are made. A clock inside it measures the step of what
is inside, so that the difference is the wrapper's own time, step by step, and the noise of the desktop falls out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

import deskgym  # noqa: F401 - registers the environments
from deskgym import wrappers as w
from deskgym.benchmarks.host import describe_host, load
from deskgym.cli.output import print_json, print_table, progress

Env = gym.Env[Any, Any]
Wrap = Callable[[Env], Env]

SCREEN = (1920, 1080)
PARTS = ("screenshot", "elements", "a11y", "instruction", "feedback")
DISCRETE = {"verbs": ["click", "press"]}

CASES: dict[str, tuple[str, Wrap]] = {
    "SetOfMark": ("computer", w.SetOfMark),
    "AccessibilityText, table": ("computer", w.AccessibilityText),
    "AccessibilityText, XML": ("computer", lambda env: w.AccessibilityText(env, form="xml")),
    "HistoryWindow, messages": ("computer", lambda env: w.HistoryWindow(env, form="messages")),
    "HistoryWindow, arrays": ("computer", lambda env: w.HistoryWindow(env, parts=("elements",))),
    "ExecutionFeedback": ("computer", w.ExecutionFeedback),
    "DownscaleScreenshot": ("computer", lambda env: w.DownscaleScreenshot(env, scale=0.5)),
    "RegionOfInterest": ("computer", lambda env: w.RegionOfInterest(env, box=(100, 100, 800, 600))),
    "CoordinateFrame": ("computer", lambda env: w.CoordinateFrame(env, "thousand")),
    "OpenAIComputerUse": ("computer", w.OpenAIComputerUse),
    "AnthropicComputerUse": ("computer", w.AnthropicComputerUse),
    "GuiOnly": ("computer", w.GuiOnly),
    "TimeLimitSeconds": ("computer", lambda env: w.TimeLimitSeconds(env, 600)),
    "PartialCredit": ("computer", w.PartialCredit),
    "JointDiscrete": ("discrete", w.JointDiscrete),
    "FlatForSB3": ("discrete", lambda env: w.FlatForSB3(env, screenshot=False)),
}


class Stopwatch(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up how long the steps of what is inside take."""

    seconds = 0.0

    def step(self, action: Any) -> Any:
        """Step, timed."""
        start = time.perf_counter()
        result = self.env.step(action)
        self.seconds += time.perf_counter() - start
        return result


def measure(action: str, wrap: Wrap, steps: int) -> list[float]:
    """The wrapper's own time in ms, of each of ``steps`` steps."""
    options = {"discrete": DISCRETE} if action == "discrete" else {}
    base = gym.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=SCREEN, observation=PARTS, action=action,
        max_steps=10_000, invalid_action="feedback", disable_env_checker=True, **options,
    )  # fmt: skip
    inner = Stopwatch(base)
    env = wrap(inner)
    rng, own = np.random.default_rng(0), []
    try:
        env.reset(seed=0)
        for k in range(steps + 3):
            chosen = _action(env, base, rng)
            inner.seconds, start = 0.0, time.perf_counter()
            env.step(chosen)
            if k >= 3:  # the first steps fill caches
                own.append((time.perf_counter() - start - inner.seconds) * 1000)
    finally:
        env.close()
    return own


def _action(env: Env, base: Env, rng: np.random.Generator) -> Any:
    """A click on a tab of KAlgebra, as the wrapper takes it."""
    if base.unwrapped.action_form == "discrete":  # type: ignore[attr-defined]
        return base.unwrapped.discrete.encode([_tab(base, rng)])  # type: ignore[attr-defined]
    return _tab(base, rng)


def _tab(base: Env, rng: np.random.Generator) -> Any:
    from deskgym.envs.actions import Action

    tabs = [e for e in base.unwrapped.elements if e.role == "page tab"][:4]  # type: ignore[attr-defined]
    return Action("click", *tabs[int(rng.integers(len(tabs)))].center)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.wrapper_cost", description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="of each wrapper")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", action="store_true", help="as JSON")
    args = parser.parse_args(argv)
    before, rows = load(), []
    with progress() as bar:
        task = bar.add_task("wrappers", total=len(args.only))
        for name in args.only:
            own = measure(*CASES[name], args.steps)
            rows.append([name, *(round(float(np.percentile(own, q)), 3) for q in (50, 10, 90))])
            bar.advance(task)
    host = describe_host() | {"load_before": before, "load_after": load()}
    if args.json:
        print_json({"rows": rows, "host": host})
    else:
        print_table(["wrapper", "adds, ms (median)", "10 %", "90 %"], rows)
        print(json.dumps(host))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
