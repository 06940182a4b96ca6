"""Arguments that several commands share, and what they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deskgym.task_suites import SUITES, option_names, option_owners
from deskgym.task_suites.suites import ENTRIES

if TYPE_CHECKING:
    import gymnasium

    from deskgym.envs.episode import TaskSource

    Wrap = Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]

MACHINE = "sandbox"
SCREEN = "1920x1080"
RECORDED = ("screenshot", "elements", "instruction", "feedback")
"""What the command line's environments observe unless told otherwise: what a recording can show."""


def add_tasks(parser: argparse.ArgumentParser, *, suite_needed: bool = True) -> None:
    """SUITE, --split, --source, --path and --mode."""
    parser.add_argument(
        "suite",
        metavar="SUITE",
        nargs=None if suite_needed else "?",
        help=f"{', '.join(SUITES)}, or a folder of task files",
    )
    parser.add_argument(
        "--split", help="train or test; of a published benchmark one of its lists, such as test_abstract"
    )
    parser.add_argument("--source", help="take the tasks from a copy of a published benchmark, such as scienceboard")
    parser.add_argument("--path", metavar="DIR", help="the folder of that copy")
    parser.add_argument(
        "--mode",
        default="corrected",
        help="corrected (default) mends the benchmark's known-bad reference solutions; paper keeps them",
    )


def add_env(parser: argparse.ArgumentParser, *, record: bool = True) -> None:
    """What an environment is made with."""
    parser.add_argument("--machine", default=MACHINE, help=f"kind of machine (default: {MACHINE})")
    code = ", ".join(f"for {source}" for entry in ENTRIES for source in entry.code_scripts)
    parser.add_argument(
        "--action",
        help=f"computer (default), code or discrete; without a screen, and {code}, code; for proofs as text, tactic",
    )
    parser.add_argument(
        "--observation",
        metavar="A,B",
        help=f"parts, with commas (default: {','.join(RECORDED)}; without a screen the environment's own)",
    )
    parser.add_argument("--screen", metavar="WxH", help=f"screen size (default: {SCREEN}), for suites with a screen")
    add_suite_options(parser)
    if record:
        parser.add_argument("--record", metavar="OUT", help="record each episode into a folder of its own in OUT")


def add_suite_options(parser: argparse.ArgumentParser) -> None:
    """The options of suites and of published benchmarks."""
    for name, legal in option_names().items():
        rest = " or ".join(legal[1:])
        parser.add_argument(
            f"--{name.replace('_', '-')}", help=f"{', '.join(option_owners(name))}: {legal[0]} (default) or {rest}"
        )


def tasks_of(arguments: argparse.Namespace) -> TaskSource:
    """The tasks that the arguments name.

    Raises:
        TaskError: no such suite or source, or a mode that would make no difference.
    """
    from deskgym.task_suites import find_entry, load_suite
    from deskgym.task_suites.arguments import check_mode

    tasks = load_suite(
        arguments.suite,
        source=arguments.source,
        source_path=arguments.path,
        mode=arguments.mode,
        **suite_options(arguments),
    )
    check_mode(find_entry(arguments.suite, arguments.source), arguments.source, arguments.mode)
    return tasks


def suite_options(arguments: argparse.Namespace) -> dict[str, str]:
    """Those that are given."""
    given = {name: getattr(arguments, name, None) for name in option_names()}
    return {name: value for name, value in given.items() if value is not None}


def env_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments of ``gymnasium.make``, ``id`` among them.

    Raises:
        TaskError: no such suite.
        ValueError: the screen size is none.
    """
    from deskgym.task_suites import find_entry

    entry = find_entry(arguments.suite, arguments.source)
    kwargs: dict[str, Any] = {
        "id": entry.gym_id,
        "suite": arguments.suite,
        "split": arguments.split,
        "machine": _machine(arguments, entry.machine),
        "mode": arguments.mode,
        **suite_options(arguments),
    }
    if arguments.source is not None or arguments.path is not None:
        kwargs |= {"source": arguments.source, "source_path": arguments.path}
    if arguments.action is not None or entry.display:
        kwargs["action"] = arguments.action or ("code" if arguments.source in entry.code_scripts else "computer")
    if arguments.observation is not None or entry.display:
        kwargs["observation"] = tuple(arguments.observation.split(",")) if arguments.observation else RECORDED
    if entry.display:
        kwargs["screen_size"] = _size(arguments.screen or SCREEN)
    elif arguments.screen is not None:
        raise ValueError(f"--screen {arguments.screen}: the suite {arguments.suite!r} has no screen")
    return kwargs


def seed_number(text: str) -> int:
    """A seed, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"seed {text!r}; legal is a whole number from 0 up")
    return int(text)


def _machine(arguments: argparse.Namespace, only: str) -> str:
    """The kind of machine: the suite's only one, or the one that was asked for."""
    if only and arguments.machine not in (MACHINE, only):
        raise ValueError(f"--machine {arguments.machine}: the suite {arguments.suite!r} takes {only!r} only")
    return only or str(arguments.machine)


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"--screen {text!r}; legal is a size such as 1920x1080")
    return int(width), int(height)


def make_env(record: str | None, wrap: Wrap | None = None, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """``gymnasium.make``, wrapped, and recorded into ``record``, if these are given; picklable as a partial."""
    import gymnasium

    import deskgym  # noqa: F401 - registers the ids

    env: gymnasium.Env[Any, Any] = gymnasium.make(disable_env_checker=True, **kwargs)
    if wrap is not None:
        env = wrap(env)
    if record is not None:
        from deskgym.wrappers.recording.record_episode import RecordEpisode

        env = RecordEpisode(env, record)
    return env
