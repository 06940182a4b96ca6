"""Demos: play the oracles of a suite's tasks, and keep what they saw and did as a Minari dataset."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import add_env, add_tasks, env_kwargs, make_env, seed_number, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe
from deskgym.envs.extras import needs_extra

if TYPE_CHECKING:
    import minari  # type: ignore[import-untyped]

    from deskgym.datasets.demos import Demo, DemoFolder, DemoResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, how many, where, and the env."""
    add_tasks(parser)
    parser.add_argument("--task", metavar="GLOB", help="a task id or a glob over ids (default: all)")
    parser.add_argument("--episodes", type=int, default=1, metavar="N", help="of each task (default: 1)")
    parser.add_argument(
        "--seed", type=seed_number, default=0, metavar="S", help="the first episode's seed (default: 0)"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that play at once (default: 1)")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the dataset, as MINARI_DATASETS_PATH")
    parser.add_argument("--id", metavar="ID", help="id of the dataset (default: deskgym/SUITE-ACTION-v0)")
    parser.add_argument("--discrete", metavar="JSON", help="options of --action discrete, such as '{\"grid\": [0, 0]}'")
    parser.add_argument("--max-elements", type=int, default=512, metavar="N", help="rows of elements (default: 512)")
    add_env(parser, record=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Play what is missing and write the dataset; 0 when no demonstration failed and the dataset has some."""
    from deskgym.task_suites import find_entry

    for option in ("episodes", "workers"):
        if getattr(arguments, option) < 1:
            raise ValueError(f"--{option} {getattr(arguments, option)}; legal is a number from 1 up")
    if not find_entry(arguments.suite).display:
        raise ValueError(f"demonstrations are of suites with a screen; {arguments.suite!r} has none")
    with needs_extra("minari", "datasets need"):
        from deskgym.datasets.demos import DemoFolder, write_demos
        from deskgym.datasets.minari_export import check_id

    kwargs = _env_kwargs(arguments)
    make = partial(make_env, None, **kwargs)
    make().close()  # an env that cannot be made is an error now
    plan, unsupported = _plan(arguments)
    dataset_id = check_id(arguments.id or f"deskgym/{Path(arguments.suite).name}-{arguments.action or 'computer'}-v0")
    root = Path(arguments.out or ".")
    try:
        folder = DemoFolder(root / dataset_id / "episodes", kwargs)
    except OSError as error:
        legal = "legal is a folder that can be made or written"
        raise ValueError(f"--out {arguments.out!r}: {error.strerror} at {error.filename}; {legal}") from error
    there = sum(folder.path(demo).exists() for demo in plan)
    results = _collect(arguments, make, plan, folder)
    dataset = None
    if folder.kept():
        dataset = write_demos(root, dataset_id, folder, make, description=_description(arguments))
    return _report(arguments, dataset_id, there, results, unsupported, dataset)


def _env_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    kwargs = env_kwargs(arguments) | {"task": arguments.task, "max_elements": arguments.max_elements}
    if arguments.discrete is not None:
        try:
            kwargs["discrete"] = json.loads(arguments.discrete)
        except ValueError as error:
            raise ValueError(f"--discrete {arguments.discrete!r} is not JSON: {error}") from error
        if not isinstance(kwargs["discrete"], dict):
            raise ValueError(f'--discrete {arguments.discrete!r}; legal is an object such as {{"grid": [0, 0]}}')
    return kwargs


def _plan(arguments: argparse.Namespace) -> tuple[list[Demo], dict[str, str]]:
    """What to play, and the tasks that cannot be played, with the reason."""
    source = tasks_of(arguments)
    plan: list[Demo] = []
    unsupported: dict[str, str] = {}
    for task in matching(arguments):
        row = describe(source, task)
        if not row["supported"]:
            unsupported[task] = row["reason"]
        else:
            plan += [(task, arguments.seed + k) for k in range(arguments.episodes)]
    return plan, unsupported


def _collect(arguments: argparse.Namespace, make: Any, plan: Sequence[Demo], folder: DemoFolder) -> list[DemoResult]:
    from deskgym.datasets.demos import collect_demos

    results: list[DemoResult] = []
    with (
        progress(arguments.json) as bar,
        closing(collect_demos(make, plan, folder, workers=arguments.workers)) as running,
    ):
        there = sum(folder.path(demo).exists() for demo in plan)
        episodes = bar.add_task("episodes", total=len(plan), completed=there)
        for some in running:
            results += some
            bar.update(episodes, advance=len(some), description=some[-1].task)
            for result in some:
                if result.outcome != "kept":
                    note(f"{result.task} seed {result.seed}: {result.outcome}: {result.message}")
    return results


def _description(arguments: argparse.Namespace) -> str:
    named = f"tasks {arguments.task!r}" if arguments.task else "all tasks"
    split = f", split {arguments.split!r}" if arguments.split else ""
    return f"Oracle demonstrations of {named} of deskgym's suite {arguments.suite!r}{split}."


def _report(
    arguments: argparse.Namespace,
    dataset_id: str,
    there: int,
    results: Sequence[DemoResult],
    unsupported: dict[str, str],
    dataset: minari.MinariDataset | None,
) -> int:
    counts = Counter(result.outcome for result in results)
    episodes, steps = (dataset.total_episodes, dataset.total_steps) if dataset else (0, 0)
    if arguments.json:
        rows = [{**vars(result)} for result in results if result.outcome != "kept"]
        print_json(
            {
                "dataset": dataset_id, "folder": arguments.out, "episodes": episodes, "steps": steps,
                "played": counts["kept"], "there_before": there,
                "failed": [row for row in rows if row["outcome"] == "failed"],
                "skipped": [row for row in rows if row["outcome"] == "skipped"],
                "unsupported": unsupported,
            }
        )  # fmt: skip
    else:
        _print(results, unsupported)
        print(
            f"{counts['kept']} demonstrations played, {there} were there, {counts['failed']} failed, "
            f"{counts['skipped']} skipped, {len(unsupported)} tasks not supported"
        )
        if dataset:
            print(f"{dataset_id} in {arguments.out}: {episodes} episodes of {steps} steps; load it with:")
            print(f'  deskgym.datasets.load_dataset("{arguments.out}", "{dataset_id}")')
    return int(counts["failed"] > 0 or not episodes)


def _print(results: Sequence[DemoResult], unsupported: dict[str, str]) -> None:
    rows = [(r.task, str(r.seed), str(r.outcome), r.message) for r in results if r.outcome != "kept"]
    rows += [(task, "-", "unsupported", reason) for task, reason in unsupported.items()]
    if rows:
        print_table("not in the dataset", ("task", "seed", "outcome", "why"), rows)
