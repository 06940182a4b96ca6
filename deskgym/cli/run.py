"""Run: play episodes with an agent."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.agents.llm.loading import KINDS, WORD
from deskgym.cli.models import add_model, asked
from deskgym.cli.options import add_env, add_tasks, env_kwargs, make_env, seed_number, suite_options, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress, pulse
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.agents.base import EpisodeResult
    from deskgym.agents.rollouts import Planned, Player
    from deskgym.cli.models import Asked
    from deskgym.envs.episode import TaskSource

RUN = "run.json"
"""Beside the recordings of a run: what it is of."""
_NO_PART = ("base_url", "timeout", "retries", "requests_per_minute", "tokens_per_minute", "token_budget", "cost_budget",
            "price", "cache")  # fmt: skip
"""Of a model's settings, what may change where a run is resumed."""
_TEST_STEPS = 200
"""Limit for the test model's programs: it makes one click in each, where a task's own limit counts on several."""
_NAMED = {"wrong": "wrong attempt", "mutant": "mutant", "attack": "attack"}  # of each task its own


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, the agent and the env."""
    add_tasks(parser)
    parser.add_argument(
        "--task", metavar="GLOB", help="a task id or a glob over ids; drawn by the seed if it is left out"
    )
    agents = (
        "oracle (default), random, noop, constant:TEXT, wrong:NAME, mutant:NAME, attack:NAME, module:Class; or with a "
        f"model {', '.join([WORD, *(f'{WORD}:{kind}' for kind in KINDS)])}"
    )
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
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="episodes at once (default: 1)")
    add_env(parser)
    parser.add_argument(
        "--resume", action="store_true", help="with --record: do not play again what OUT has, and count it"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play; 0 when every episode was played to a verdict, whatever it said."""
    from deskgym.agents.base import LEFT_OUT
    from deskgym.agents.loading import make_agent
    from deskgym.agents.rollouts import played, result_of

    if arguments.episodes < 1:
        raise ValueError(f"--episodes {arguments.episodes}; legal is a number from 1 up")
    if arguments.parallel < 1:
        raise ValueError(f"--parallel {arguments.parallel}; legal is a number from 1 up")
    if arguments.resume and arguments.record is None:
        raise ValueError("--resume needs --record OUT: the folder with what was played")
    if arguments.instances and not arguments.all:
        raise ValueError("--instances goes with --all; without it, name one as --task ID#NUMBER")
    with asked(arguments) as model:
        if model is None:
            make_agent(arguments.agent)  # an unknown agent is an error now
            _check_named(arguments)
        plan = _plan(arguments)
        results: list[EpisodeResult] = []
        own = {} if arguments.record is None else _same_run(arguments, model)
        if arguments.resume:
            before = dict(played(Path(arguments.record)))
            results = [result_of(each, before[each]) for each in plan if each in before]
            plan = [each for each in plan if each not in before]
            note(f"{len(results)} episodes are there already; {len(plan)} are left")
        if plan:
            _play(arguments, plan, model, own, results)
        _report(arguments, results, model)
    return int(any(result.outcome in LEFT_OUT for result in results))


def _same_run(arguments: argparse.Namespace, asking: Asked | None) -> dict[str, Any]:
    """What is to be kept beside the recordings, so that a run is resumed by the same one only; nothing if it is there.

    Raises:
        ValueError: another run is to be resumed, or what was recorded is not known.
    """
    path = Path(arguments.record) / RUN
    own = env_kwargs(arguments) | {"max_steps": arguments.max_steps, "agent": arguments.agent}
    if asking is not None:
        own |= {"agent options": sorted(arguments.set), "model": asking.model.settings.to_dict()}
        for name in _NO_PART:
            own["model"].pop(name, None)
    mine: dict[str, Any] = json.loads(json.dumps(own, sort_keys=True, default=str))
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = None
    if arguments.resume and there is None and any(path.parent.glob("*/meta.json")):
        raise ValueError(f"--resume: {path} is missing, so it is not known what {arguments.record} was recorded with")
    other = sorted(name for name in {*mine, *(there or {})} if mine.get(name) != (there or {}).get(name))
    if arguments.resume and there is not None and other:
        is_, was = mine.get(other[0]), there.get(other[0])
        raise ValueError(f"--resume: {arguments.record} is of another run: its {other[0]} is {was!r}, not {is_!r}")
    if there is not None and other:  # two runs in one folder: neither can be resumed
        path.unlink()
    return mine if there is None and not any(path.parent.glob("*/meta.json")) else {}


def _play(
    arguments: argparse.Namespace,
    plan: Sequence[Planned],
    asking: Asked | None,
    own: Mapping[str, Any],
    results: list[EpisodeResult],
) -> None:
    """Play what is planned, and add what comes of it to the results."""
    from deskgym.agents.rollouts import rollouts

    total, before, start = len(results) + len(plan), len(results), time.monotonic()
    steps: dict[Planned, str] = {}

    def doing() -> str:
        playing = list(steps.values())
        what = playing[0] if len(playing) == 1 else f"{len(playing)} at once"
        left = _left(len(results) - before, len(plan), time.monotonic() - start)
        return f"episode {len(results) + 1} of {total}: {what}{_so_far(results, asking)}{left}"

    def on_step(each: Planned, step: int, info: Mapping[str, Any]) -> None:
        steps[each] = f"{info.get('task', '')} step {step}"

    for each in plan[: arguments.parallel]:
        steps[each] = f"{each.task or arguments.suite}, reset"
    with progress(arguments.json) as bar, pulse(doing):
        shown = bar.add_task(doing(), total=total, completed=len(results))
        for each, result in rollouts(
            plan,
            partial(_player, arguments, asking, own),
            parallel=arguments.parallel,
            on_step=on_step,
            cancel=asking.cancel if asking else None,
        ):
            results.append(result)
            steps.pop(each, None)
            note(_line(result))
            bar.update(shown, completed=len(results), description=doing())


def _so_far(results: Sequence[EpisodeResult], asking: Asked | None) -> str:
    """What the run has come to, for its progress."""
    scores = [result.score for result in results if result.score is not None]
    solved = f"; {sum(result.outcome == 'solved' for result in results)} of {len(scores)} solved" if scores else ""
    if asking is None:
        return solved
    spent = asking.told()
    tokens = spent["prompt tokens"] + spent["answer tokens"]
    speed = f", {spent['answer tokens per s']} answer tokens/s"
    cost = "" if spent["dollars"] is None else f", {spent['dollars']} dollars"
    return f"{solved}; {tokens} tokens{speed}{cost}"


def _left(done: int, planned: int, seconds: float) -> str:
    """How long the rest will take, where that can be said."""
    minutes = seconds / done * (planned - done) / 60 if done else 0.0
    return f"; some {minutes:.0f} min left" if minutes >= 1 else ""


def _player(arguments: argparse.Namespace, asking: Asked | None, own: Mapping[str, Any]) -> Player:
    """An env, and who plays in it; where there can be one, what the run is of is kept beside its recordings."""
    from deskgym.agents.loading import make_agent
    from deskgym.agents.rollouts import Player

    kwargs = env_kwargs(arguments) | {"task": arguments.task, "max_steps": arguments.max_steps}
    if asking is None:
        kwargs["invalid_action"] = "raise" if arguments.agent == "oracle" else "feedback"
        player = Player(make_env(arguments.record, **kwargs), partial(make_agent, arguments.agent))
        _keep(arguments, own)
        return player
    agent = asking.make()
    needed = agent.env_options()
    for name in ("action", "observation"):
        if getattr(arguments, name) is not None and name in needed:
            raise ValueError(f"--{name}: the agent {agent.name!r} says what it needs; see its options for --set")
    if asking.is_test and needed.get("action") == "code" and arguments.max_steps is None:
        kwargs["max_steps"] = _TEST_STEPS
    player = Player(make_env(arguments.record, agent.wrap, **(kwargs | needed)), lambda seed: agent)
    _keep(arguments, own)
    return player


def _keep(arguments: argparse.Namespace, own: Mapping[str, Any]) -> None:
    """Write what the run is of; of a folder that does not take it, the recorder says what is wrong."""
    if own:
        with suppress(OSError):
            path = Path(arguments.record) / RUN
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(own, indent=1), encoding="utf-8")


def _plan(arguments: argparse.Namespace) -> list[Planned]:
    """The task and the seed of each episode."""
    from deskgym.agents.rollouts import Planned

    seeds = range(arguments.seed, arguments.seed + arguments.episodes)
    if not arguments.all:
        return [Planned(arguments.task, seed) for seed in seeds]
    mark = "#{}" if arguments.instances else ""
    return [Planned(task + mark.format(seed), seed) for task in _supported(arguments) for seed in seeds]


def matching(arguments: argparse.Namespace, source: TaskSource | None = None) -> list[str]:
    """The ids of the tasks that ``--task`` and ``--split`` name.

    Args:
        arguments: the command's.
        source: the suite's tasks, if they are loaded.

    Raises:
        TaskError: none does.
    """
    from fnmatch import fnmatchcase

    from deskgym.envs.errors import TaskError
    from deskgym.task_suites.arguments import other_interface

    source = source or tasks_of(arguments)
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


def _report(arguments: argparse.Namespace, results: list[EpisodeResult], asking: Asked | None) -> None:
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
                "model": asking.told() if asking else None,
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
    if asking:
        print(", ".join(f"{name} {value}" for name, value in asking.told().items() if value is not None))
    if arguments.record:
        print(f"recorded into {arguments.record}; see them with: deskgym view {arguments.record}")
