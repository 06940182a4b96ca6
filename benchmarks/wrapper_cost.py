"""What each wrapper adds to a step: ``python -m deskgym.benchmarks.wrapper_cost``.

Each wrapper is around KAlgebra on a real desktop, and random clicks are made. A clock inside it measures the step of
what is inside, so that the difference is the wrapper's own time, step by step, and the noise of the desktop falls out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

import deskgym  # noqa: F401 - registers the environments
from deskgym import wrappers as w
from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.cli.output import print_json, print_table, progress
from deskgym.envs.action.actions import Action

Env = gym.Env[Any, Any]
Point = tuple[int, int]

SCREEN = (1920, 1080)
PARTS = ("screenshot", "elements", "a11y", "instruction", "feedback")
DISCRETE = {"verbs": ["click", "press"]}
FOLDER = tempfile.TemporaryDirectory()


@dataclass(frozen=True)
class Case:
    """A wrapper, the action that it is given for a click on a point, and what else its user calls after a step."""

    wrap: Callable[[Env], Env]
    act: Callable[[Point], Any] = lambda point: {"action": "click", "x": point[0], "y": point[1]}
    after: Callable[[Any, Any], object] | None = None
    discrete: bool = False


def _block(point: Point) -> str:
    action = {"action": "click", "x": point[0], "y": point[1]}
    return f"```json\n{json.dumps(action)}\n```"


def _openai(point: Point) -> dict[str, Any]:
    action = {"type": "click", "x": point[0], "y": point[1], "button": "left"}
    return {"type": "computer_call", "call_id": "1", "action": action, "pending_safety_checks": []}


def _anthropic(point: Point) -> dict[str, Any]:
    return {"type": "tool_use", "id": "1", "name": "computer", "input": {"action": "left_click", "coordinate": point}}


def _thousand(point: Point) -> dict[str, Any]:
    return {"action": "click", "x": point[0] / SCREEN[0] * 1000, "y": point[1] / SCREEN[1] * 1000}


def _halved(point: Point) -> dict[str, Any]:
    return {"action": "click", "x": point[0] // 2, "y": point[1] // 2}


def _output(env: Any, observation: Any) -> object:
    return env.output(observation)


CASES = {
    "SetOfMark": Case(w.SetOfMark),
    "AccessibilityText, table": Case(w.AccessibilityText),
    "AccessibilityText, XML": Case(lambda env: w.AccessibilityText(env, form="xml")),
    "HistoryWindow, arrays": Case(lambda env: w.HistoryWindow(env, parts=("elements",))),
    "HistoryWindow, messages": Case(lambda env: w.HistoryWindow(env, form="messages")),
    "HistoryWindow, messages, with messages()": Case(
        lambda env: w.HistoryWindow(env, form="messages"), after=lambda env, _: env.messages()
    ),
    "ExecutionFeedback": Case(w.ExecutionFeedback, _block),
    "DownscaleScreenshot": Case(lambda env: w.DownscaleScreenshot(env, scale=0.5), _halved),
    "RegionOfInterest": Case(lambda env: w.RegionOfInterest(env, box=(0, 0, 1000, 600))),
    "CoordinateFrame": Case(lambda env: w.CoordinateFrame(env, "thousand"), _thousand),
    "OpenAIComputerUse": Case(w.OpenAIComputerUse, _openai),
    "OpenAIComputerUse, with output()": Case(w.OpenAIComputerUse, _openai, _output),
    "AnthropicComputerUse": Case(w.AnthropicComputerUse, _anthropic),
    "AnthropicComputerUse, with output()": Case(w.AnthropicComputerUse, _anthropic, _output),
    "GuiOnly": Case(w.GuiOnly),
    "TimeLimitSeconds": Case(lambda env: w.TimeLimitSeconds(env, 600)),
    "PartialCredit": Case(w.PartialCredit),
    "RecordEpisode": Case(lambda env: w.RecordEpisode(env, FOLDER.name)),
    "JointDiscrete": Case(w.JointDiscrete, discrete=True),
    "FlatForSB3": Case(lambda env: w.FlatForSB3(env, screenshot=False), discrete=True),
}


class Stopwatch(gym.Wrapper[Any, Any, Any, Any]):
    """Adds up how long the steps of what is inside take, less the guards that a wrapper put there."""

    seconds = 0.0

    def step(self, action: Any) -> Any:
        """Step, timed."""
        start = time.perf_counter()
        result = self.env.step(action)
        self.seconds += time.perf_counter() - start
        return result

    def watch(self, guard: Callable[[Any], None]) -> Callable[[Any], None]:
        """The guard; its time is not that of the step."""

        def timed(actions: Any) -> None:
            start = time.perf_counter()
            guard(actions)
            self.seconds -= time.perf_counter() - start

        return timed


def measure(case: Case, steps: int) -> list[float]:
    """The wrapper's own time in ms, of each of ``steps`` steps."""
    options: dict[str, Any] = {"action": "discrete", "discrete": DISCRETE} if case.discrete else {"action": "computer"}
    base = gym.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=SCREEN, observation=PARTS, max_steps=10_000,
        invalid_action="raise", disable_env_checker=True, **options,
    )  # fmt: skip
    desktop: Any = base.unwrapped
    inner = Stopwatch(base)
    env = case.wrap(inner)
    desktop.guards[:] = [inner.watch(guard) for guard in desktop.guards]
    rng, own = np.random.default_rng(0), []
    try:
        env.reset(seed=0)
        for k in range(steps + 3):
            point = _tab(desktop, rng)
            action = desktop.discrete.encode([Action("click", *point)]) if case.discrete else case.act(point)
            inner.seconds, start = 0.0, time.perf_counter()
            observation, _, _, _, info = env.step(action)
            if case.after is not None:
                case.after(env, observation)
            if k >= 3:  # the first steps fill caches
                own.append((time.perf_counter() - start - inner.seconds) * 1000)
            assert "invalid_action" not in info, info["invalid_action"]
    finally:
        env.close()
    return own


def _tab(desktop: Any, rng: np.random.Generator) -> Point:
    tabs = [element for element in desktop.elements if element.role == "page tab"][:4]
    x, y = tabs[int(rng.integers(len(tabs)))].center
    return x, y


def main(argv: Sequence[str] | None = None) -> int:
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.wrapper_cost", description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="of each wrapper")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", action="store_true", help="as JSON")
    args = parser.parse_args(argv)
    before, busy, rows = load(), warn_if_busy(), []
    with progress() as bar:
        task = bar.add_task("wrappers", total=len(args.only))
        for name in args.only:
            own = measure(CASES[name], args.steps)
            rows.append([name, *(round(float(np.percentile(own, q)), 3) for q in (50, 10, 90))])
            bar.advance(task)
    host = describe_host() | {"load_before": before, "load_after": load(), "busy": busy}
    if args.json:
        print_json({"rows": rows, "host": host})
    else:
        print_table("", ["wrapper", "adds, ms (median)", "10 %", "90 %"], rows)
        print(json.dumps(host))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
