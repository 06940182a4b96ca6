"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gymnasium

    from deskgym.envs.episode import TaskSource

SCREEN = "1920x1080"
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
    parser.add_argument("--action", help="computer (default), code or discrete; table analysis has code only")
    parser.add_argument(
        "--observation",
        metavar="A,B",
        help=f"parts, with commas (default: {','.join(RECORDED)}; of tables all but plot)",
    )
    parser.add_argument("--screen", metavar="WxH", help=f"screen size (default: {SCREEN}); table analysis has none")
    parser.add_argument("--episode", help="table analysis: turn (default) or dialogue")
    if record:
        parser.add_argument("--record", metavar="OUT", help="record each episode into a folder of its own in OUT")


def tasks_of(arguments: argparse.Namespace) -> TaskSource:
    """The tasks that the arguments name.

    Raises:
        TaskError: no such suite or source.
    """
    from deskgym.task_suites import load_suite

    return load_suite(
        arguments.suite,
        source=arguments.source,
        source_path=arguments.path,
        mode=arguments.mode,
        episode=getattr(arguments, "episode", None),
    )


def env_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``gymnasium.make``, ``id`` among them.

    Raises:
        TaskError: no such suite.
        ValueError: the screen size is none.
    """
    from deskgym.registration import IDS
    from deskgym.task_suites import has_conversations, load_suite

    ids = {suite: env_id for env_id, suite in IDS.items()}
    if arguments.suite not in ids:
        load_suite(arguments.suite)  # a folder of task files, or an error that names near matches
    if has_conversations(arguments.suite):
        return _conversation_kwargs(arguments)
    width, _, height = (arguments.screen or SCREEN).partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"--screen {arguments.screen!r}; legal is a size such as 1920x1080")
    kwargs: dict[str, Any] = {
        "id": ids.get(arguments.suite, "deskgym/Science-v0"),
        "suite": arguments.suite,
        "split": arguments.split,
        "machine": arguments.machine,
        "action": arguments.action or "computer",
        "observation": RECORDED if arguments.observation is None else tuple(arguments.observation.split(",")),
        "screen_size": (int(width), int(height)),
        "mode": arguments.mode,
    }
    if arguments.episode is not None:
        kwargs["episode"] = arguments.episode
    return kwargs | _source(arguments)


def _source(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.source is None and arguments.path is None:
        return {}
    return {"source": arguments.source, "source_path": arguments.path}


def _conversation_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The same for a suite without a display."""
    from deskgym.registration import IDS
    from deskgym.task_suites import CONVERSATIONS

    kwargs: dict[str, Any] = {
        "id": next(env_id for env_id, suite in IDS.items() if suite in CONVERSATIONS),
        "suite": arguments.suite,
        "split": arguments.split,
        "machine": arguments.machine,
        "mode": arguments.mode,
    }
    for name in ("action", "episode"):
        if getattr(arguments, name) is not None:
            kwargs[name] = getattr(arguments, name)
    if arguments.screen is not None:
        raise ValueError(f"--screen {arguments.screen}: the suite {arguments.suite!r} has no screen")
    if arguments.observation is not None:
        kwargs["observation"] = tuple(arguments.observation.split(","))
    return kwargs | _source(arguments)


def make_env(record: str | None, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """``gymnasium.make``, recorded into ``record`` if it is given; picklable as a partial, for worker processes."""
    import gymnasium

    import deskgym  # noqa: F401 - registers the ids

    env: gymnasium.Env[Any, Any] = gymnasium.make(disable_env_checker=True, **kwargs)
    if record is not None:
        from deskgym.wrappers.recording.record_episode import RecordEpisode

        env = RecordEpisode(env, record)
    return env
