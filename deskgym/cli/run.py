"""Run: play episodes with an agent."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import add_env, add_tasks, env_kwargs, make_env, seed_number, suite_options, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress, pulse
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.agents.base import EpisodeResult

_NAMED = {"wrong": "wrong attempt", "mutant": "mutant", "attack": "attack"}  # of each task its own


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, the agent and the env."""
    add_tasks(parser)
    parser.add_argument(
        "--task", metavar="GLOB", help="a task id or a glob over ids; drawn by the seed if it is left out"
    )
    agents = "oracle (default), random, noop, constant:TEXT, wrong:NAME, mutant:NAME, attack:NAME or module:Class"
    parser.add_argument("--agent", default="oracle", help=agents)
    parser.add_argument("--episodes", type=int, default=1, metavar="N", help="how many (default: 1)")
    parser.add_argument("--all", action="store_true", help="N episodes of every task that matches, not N in all")
    parser.add_argument(
        "--seed", type=seed_number, default=0, metavar="S", help="the first episode's seed (default: 0)"
    )
    parser.add_argument(
        "--instances", action="store_true", help="with --all: the instances #S, #S+1, ... of each task, none is drawn"
    )
    parser.add_argument("--max-steps", type=int, metavar="N", help="step limit (default: the task's own)")
    add_env(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Play; 0 when every episode was played to a verdict, whatever it said."""
    from deskgym.agents.base import LEFT_OUT
    from deskgym.agents.loading import make_agent
    from deskgym.agents.rollout import rollout

    if arguments.episodes < 1:
        raise ValueError(f"--episodes {arguments.episodes}; legal is a number from 1 up")
    make_agent(arguments.agent)  # an unknown agent is an error now
    _check_named(arguments)
    if arguments.instances and not arguments.all:
        raise ValueError("--instances goes with --all; without it, name one as --task ID#NUMBER")
    plan = _plan(arguments)
    kwargs = env_kwargs(arguments) | {
        "task": arguments.task,
        "max_steps": arguments.max_steps,
        "invalid_action": "raise" if arguments.agent == "oracle" else "feedback",
    }
    results: list[EpisodeResult] = []
    env = make_env(arguments.record, **kwargs)
    doing = "starting"
    with closing(env), progress(arguments.json) as bar, pulse(lambda: doing):
        episodes = bar.add_task(doing, total=len(plan))
        for number, (task, seed) in enumerate(plan, 1):
            doing = f"episode {number} of {len(plan)}: {task or arguments.suite}, reset"
            bar.update(episodes, description=doing)

            def on_step(step: int, info: Mapping[str, Any], number: int = number) -> None:
                nonlocal doing
                doing = f"episode {number} of {len(plan)}: {info.get('task', '')} step {step}"
                bar.update(episodes, description=doing)

            options = {"task": task} if task is not None else None
            agent = make_agent(arguments.agent, seed)
            results.append(rollout(env, agent, seed=seed, options=options, on_step=on_step))
            bar.advance(episodes)
            note(_line(results[-1]))
    _report(arguments, results)
    return int(any(result.outcome in LEFT_OUT for result in results))


def _plan(arguments: argparse.Namespace) -> list[tuple[str | None, int]]:
    """The task and the seed of each episode."""
    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    if not arguments.all:
        return [(arguments.task, seed) for seed in seeds]
    mark = "#{}" if arguments.instances else ""
    return [(task + mark.format(seed), seed) for task in _supported(arguments) for seed in seeds]


def matching(arguments: argparse.Namespace) -> list[str]:
    """The ids of the tasks that ``--task`` and ``--split`` name.

    Raises:
        TaskError: none does.
    """
    from fnmatch import fnmatchcase

    from deskgym.envs.errors import TaskError
    from deskgym.task_suites.arguments import other_interface

    source = tasks_of(arguments)
    ids = source.ids(arguments.split)
    if arguments.task is None:
        return ids
    if found := [task_id for task_id in ids if fnmatchcase(task_id, arguments.task)]:
        return found
    try:
        return [source.get(arguments.task).id]  # an instance id, or an error that names near matches
    except TaskError as error:
        if arguments.source is not None:
            raise
        interface = suite_options(arguments).get("interface")
        raise other_interface(arguments.suite, arguments.task, interface) or error from None


def _check_named(arguments: argparse.Namespace) -> None:
    """See that every task that may be played has what ``--agent wrong:NAME``, ``mutant:`` or ``attack:`` names.

    Raises:
        TaskError: one has not; the message names those of the first such task.
    """
    from deskgym.envs.errors import TaskError, near

    kind, _, name = arguments.agent.partition(":")
    if kind not in _NAMED:
        return
    of_task = {row["id"]: list(_names(arguments, kind, row)) for row in _described(arguments) if row["supported"]}
    lacking = [task for task, names in of_task.items() if name not in names]
    if lacking:
        task, names = lacking[0], of_task[lacking[0]]
        many = "" if len(of_task) == 1 else f" ({len(lacking)} of {len(of_task)} tasks have not; pick one with --task)"
        has = (", ".join(names) or "none") + near(name, names)
        raise TaskError(f"task {task!r} has no {_NAMED[kind]} {name!r}{many}; it has {has}")


def _names(arguments: argparse.Namespace, kind: str, row: Mapping[str, Any]) -> Iterable[str]:
    if kind == "wrong":
        names: Iterable[str] = row["wrong_attempts"]
        return names
    source = tasks_of(arguments)
    by_name = getattr(source, f"{kind}s", None)  # mutants or attacks, where the source knows some
    return by_name(source.get(row["id"], arguments.seed)) if by_name else ()


def _described(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    return [describe(tasks_of(arguments), task, arguments.machine) for task in matching(arguments)]


def _supported(arguments: argparse.Namespace) -> list[str]:
    """The tasks that match and can be played; says which cannot."""
    rows = _described(arguments)
    for row in rows:
        if not row["supported"]:
            note(f"{row['id']}: not supported: {row['reason']}")
    return [row["id"] for row in rows if row["supported"]]


def _line(result: EpisodeResult) -> str:
    score = "-" if result.score is None else f"{result.score:g}"
    played = f"{result.steps} steps, {result.seconds:.1f} s"
    if result.phases:
        played += f" ({', '.join(f'{name} {seconds:.1f}' for name, seconds in result.phases.items())})"
    line = f"{result.task} seed {result.seed}: {result.outcome}, score {score}, {played}"
    return f"{line} ({result.message})" if result.message else line


def _report(arguments: argparse.Namespace, results: list[EpisodeResult]) -> None:
    counts = Counter(result.outcome for result in results)
    scores = [result.score for result in results if result.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    if arguments.json:
        print_json(
            {
                "agent": arguments.agent,
                "mean_score": mean,
                "outcomes": dict(counts),
                "record": arguments.record,
                "episodes": [result.to_dict() for result in results],
            }
        )
        return
    print_table(
        f"{arguments.agent} on {arguments.suite}",
        ("task", "seed", "outcome", "score", "steps", "seconds", "step ms", "message"),
        (
            (
                result.task,
                result.seed,
                result.outcome,
                "-" if result.score is None else f"{result.score:g}",
                result.steps,
                f"{result.seconds:.1f}",
                "-" if result.step_ms is None else f"{result.step_ms:.0f}",
                result.message,
            )
            for result in results
        ),
    )
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"{shown}; mean score {'-' if mean is None else format(mean, '.3g')} over {len(scores)} evaluated")
    if arguments.record:
        print(f"recorded into {arguments.record}; see them with: deskgym view {arguments.record}")
