"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gymnasium

    from deskgym.envs.episode import TaskSource

RECORDED = ("screenshot", "elements", "instruction", "feedback")
"""What the command line's environments observe unless told otherwise: what a recording can show."""


def add_tasks(parser: argparse.ArgumentParser, *, suite_needed: bool = True) -> None:
    """SUITE, --split, --source, --path and --mode."""
    parser.add_argument(
        "suite",
        metavar="SUITE",
        nargs=None if suite_needed else "?",
        help="data_engineering, science, bpm or table_analysis",
    )
    parser.add_argument("--split", help="train or test")
    parser.add_argument("--source", help="take the tasks from a copy of a published benchmark, such as scienceboard")
    parser.add_argument("--path", metavar="DIR", help="the folder of that copy")
    parser.add_argument(
        "--mode",
        default="corrected",
        help="corrected (default) mends the benchmark's known-bad golds; paper keeps them",
    )


def add_env(parser: argparse.ArgumentParser, *, record: bool = True) -> None:
    """What an environment is made with."""
    parser.add_argument("--machine", default="sandbox", help="kind of machine (default: sandbox)")
    parser.add_argument("--action", default="computer", help="computer (default), code or discrete")
    parser.add_argument(
        "--observation", default=",".join(RECORDED), help="parts, with commas (default: %(default)s)", metavar="A,B"
    )
    parser.add_argument("--screen", default="1920x1080", metavar="WxH", help="screen size (default: %(default)s)")
    if record:
        parser.add_argument("--record", metavar="OUT", help="record each episode into a folder of its own in OUT")


def tasks_of(arguments: argparse.Namespace) -> TaskSource:
    """The tasks that the arguments name.

    Raises:
        TaskError: no such suite or source.
    """
    from deskgym.task_suites import load_suite

    return load_suite(arguments.suite, source=arguments.source, source_path=arguments.path, mode=arguments.mode)


def env_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``gymnasium.make``, ``id`` among them.

    Raises:
        TaskError: no such suite.
        ValueError: the screen size is none.
    """
    from deskgym.registration import IDS
    from deskgym.task_suites import load_suite

    ids = {suite: env_id for env_id, suite in IDS.items()}
    if arguments.suite not in ids:
        load_suite(arguments.suite)  # a folder of task files, or an error that names near matches
    width, _, height = arguments.screen.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"--screen {arguments.screen!r}; legal is a size such as 1920x1080")
    kwargs: dict[str, Any] = {
        "id": ids.get(arguments.suite, "deskgym/Science-v0"),
        "suite": arguments.suite,
        "split": arguments.split,
        "machine": arguments.machine,
        "action": arguments.action,
        "observation": tuple(arguments.observation.split(",")),
        "screen_size": (int(width), int(height)),
        "mode": arguments.mode,
    }
    if arguments.source is not None or arguments.path is not None:
        kwargs |= {"source": arguments.source, "source_path": arguments.path}
    return kwargs


def make_env(record: str | None, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """``gymnasium.make``, recorded into ``record`` if it is given; picklable as a partial, for worker processes."""
    import gymnasium

    import deskgym  # noqa: F401 - registers the ids

    env: gymnasium.Env[Any, Any] = gymnasium.make(disable_env_checker=True, **kwargs)
    if record is not None:
        from deskgym.wrappers.record_episode import RecordEpisode

        env = RecordEpisode(env, record)
    return env
