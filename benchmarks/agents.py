"""What agents with a model cost: ``python -m deskgym.benchmarks.agents``.

A test model that answers from the oracle is asked, so that what is left is ours: the prompt, its images, the request,
the parser. Three questions: what the agent adds to a step beside the model's own time; how much of the time many
episodes wait for the model and for nothing else; and how many tokens a request has by what the agent is shown.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import gymnasium as gym

import deskgym  # noqa: F401 - registers the environments
from deskgym.agents.base import run_episode
from deskgym.agents.llm.disentangled import DisentangledAgent
from deskgym.agents.llm.gui import GUIAgent
from deskgym.agents.llm.model import Model
from deskgym.agents.llm.oracle_server import OracleServer
from deskgym.agents.llm.seeact import SeeActAgent
from deskgym.agents.llm.settings import ModelSettings
from deskgym.agents.rollouts import Planned, Player, rollouts
from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.cli.output import print_json, print_table

TASKS = ("kalgebra/*", "Science-v0")
SHOWN = ("a11y", "screenshot", "screenshot+a11y", "som")
SCREEN = (1920, 1080)


class Clocked(OracleServer):
    """Knows how long it took itself for the requests of each thread's agent."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.busy = 0.0
        self._clock = threading.Lock()

    def handle(self, request: Any) -> None:
        """See ``OracleServer.handle``."""
        start = time.perf_counter()
        try:
            super().handle(request)
        finally:
            with self._clock:
                self.busy += time.perf_counter() - start


@dataclass
class Overhead:
    """Milliseconds that an agent adds to its steps.

    Attributes:
        name: of the agent.
        each: one number for each step, all requests of it together.
        tokens: of each request's prompt.
    """

    name: str
    each: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)

    @property
    def row(self) -> tuple[object, ...]:
        """For the table: median and 10 to 90 %."""
        found = sorted(self.each)
        low, high = found[len(found) // 10], found[-1 - len(found) // 10]
        return self.name, len(found), f"{median(found):.1f}", f"{low:.1f}-{high:.1f}", f"{median(self.tokens):.0f}"


def overhead(agent_class: type[GUIAgent], episodes: int, image_format: str = "png", **options: Any) -> Overhead:
    """Play episodes with one agent, and clock it."""
    shown = ", ".join([*map(str, options.values()), *([image_format] if image_format != "png" else [])])
    found = Overhead(f"{agent_class.name} ({shown})" if shown else agent_class.name)
    with Clocked() as server, Model(ModelSettings("oracle", server.url, image_format=image_format)) as model:
        agent = agent_class(model, **options)
        ask = agent.next_action

        def clocked(observation: Any) -> Any:
            busy, read, start = server.busy, agent.usage.prompt, time.perf_counter()
            requests = agent.requests
            action = ask(observation)
            found.each.append((time.perf_counter() - start - (server.busy - busy)) * 1000)
            found.tokens.append((agent.usage.prompt - read) // max(agent.requests - requests, 1))
            return action

        agent.next_action = clocked  # type: ignore[method-assign]
        env = gym.make(f"deskgym/{TASKS[1]}", task=TASKS[0], screen_size=SCREEN, **agent.env_options())
        with closing(agent.wrap(env)) as wrapped:
            for seed in range(episodes):
                result = run_episode(wrapped, agent, seed=seed)
                if result.outcome != "solved":
                    raise SystemExit(f"{result.task}: {result.outcome}: {result.message}")
    return found


def waiting(parallel: int, delay: float, episodes: int, form: str) -> dict[str, Any]:
    """How much of the time of many episodes at once goes by with waiting for a slow model alone.

    With the form ``code`` an answer of the test model is a program, and an episode has three; with ``computer`` it is
    one click or key, and an episode has four or five.
    """
    with OracleServer(delay=delay) as server, Model(ModelSettings("oracle", server.url)) as model:

        def player() -> Player:
            agent = GUIAgent(model, sees="screenshot+a11y", form=form)
            env = gym.make(
                f"deskgym/{TASKS[1]}", task=TASKS[0], screen_size=(1280, 720), pool={"depth": 1}, **agent.env_options()
            )
            return Player(agent.wrap(env), lambda seed: agent)

        plan = [Planned(None, seed) for seed in range(episodes)]
        start, played, asked = time.perf_counter(), 0.0, 0
        solved, resets = 0, 0.0
        for _, result in rollouts(plan, player, parallel=parallel):
            played += result.seconds
            resets += result.phases.get("reset", 0.0)
            solved += result.outcome == "solved"
            asked = server.requests
        wall = time.perf_counter() - start
    waited = asked * delay
    return {
        "form": form, "episodes": episodes, "at once": parallel, "solved": solved, "requests": asked,
        "wall s": round(wall, 1),
        "waiting, of all": round(waited / played, 3), "waiting, without resets": round(waited / (played - resets), 3),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.agents", description=__doc__)
    parser.add_argument("--episodes", type=int, default=5, metavar="N", help="of each agent (default: 5)")
    parser.add_argument("--parallel", type=int, default=16, metavar="N", help="episodes at once (default: 16)")
    parser.add_argument("--delay", type=float, default=2.0, metavar="S", help="of the slow model (default: 2 s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    warn_if_busy()
    rows = [overhead(GUIAgent, given.episodes, sees=sees, form="code") for sees in SHOWN]
    rows.append(overhead(GUIAgent, given.episodes, "jpeg", sees="screenshot", form="code"))
    rows += [overhead(SeeActAgent, given.episodes), overhead(DisentangledAgent, given.episodes)]
    many = [waiting(given.parallel, given.delay, given.parallel * 3, form) for form in ("code", "computer")]
    if given.json:
        print_json({"host": describe_host(), "agents": [row.row for row in rows], "waiting": many})
        return
    print(f"{describe_host()}, load {load()}")
    columns = ("agent", "steps", "adds, ms (median)", "10-90 %", "prompt tokens of a request")
    print_table("what an agent adds to a step, without the model's time", columns, [row.row for row in rows])
    print_table(f"with a model that takes {given.delay:g} s", tuple(many[0]), [tuple(each.values()) for each in many])


if __name__ == "__main__":
    main()
