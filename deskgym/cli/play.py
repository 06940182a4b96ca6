"""Play: a person plays a task in the browser, recorded like any agent's episode."""

from __future__ import annotations

import argparse
import webbrowser
from contextlib import closing

from deskgym.cli.options import RECORDED, add_env, add_tasks, env_kwargs, make_env, seed_number
from deskgym.cli.output import note, pulse

_PATIENCE = 5.0  # seconds within which an open page has asked for the verdict; a closed one never does


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, the task, the env, and where the page is."""
    add_tasks(parser)
    parser.add_argument(
        "--task", metavar="GLOB", help="a task id or a glob over ids; drawn by the seed if it is left out"
    )
    parser.add_argument("--seed", type=seed_number, default=0, metavar="S", help="the episode's seed (default: 0)")
    parser.add_argument("--max-steps", type=int, metavar="N", help="step limit (default: the task's own)")
    add_env(parser)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(arguments: argparse.Namespace) -> int:
    """Serve one episode; 0 when it was played to a verdict, whatever it said."""
    from deskgym.agents.base import LEFT_OUT
    from deskgym.agents.person import Person
    from deskgym.agents.rollout import rollout
    from deskgym.task_suites import find_entry
    from deskgym.viewer.play_server import PlayServer

    if not find_entry(arguments.suite, arguments.source).display:
        raise ValueError(f"{arguments.suite} has no screen that a person could play on")
    if arguments.action not in (None, "computer"):
        raise ValueError(f"--action {arguments.action}; a person has mouse and keyboard: legal is computer")
    if arguments.observation is not None:
        raise ValueError(f"--observation {arguments.observation}; a person sees the screen: leave it out")
    if not 0 <= arguments.port < 65536:
        raise ValueError(f"--port {arguments.port}; legal are 1 to 65535, and 0 for a free one")
    arguments.observation = ",".join(RECORDED)
    kwargs = env_kwargs(arguments) | {
        "task": arguments.task, "max_steps": arguments.max_steps, "invalid_action": "feedback",
    }  # fmt: skip
    with closing(PlayServer(arguments.port)) as page, closing(make_env(arguments.record, **kwargs)) as env:
        print(f"play at {page.address}", flush=True)
        if arguments.open:
            webbrowser.open(page.address)
        with pulse(lambda: "waiting for what you do in the browser"):
            result = rollout(env, Person(page), seed=arguments.seed)
        score = "" if result.score is None else f"score {result.score:g}"
        told = ", ".join(filter(None, (score, result.message)))
        page.show(None, over=True, outcome=result.outcome, message=told)
        note(f"{result.task}: {', '.join(filter(None, (result.outcome, told)))}, {result.steps} steps")
        page.wait_seen(_PATIENCE)
    return int(result.outcome in LEFT_OUT)
