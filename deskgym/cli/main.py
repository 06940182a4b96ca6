"""Parses the command line, and turns whatever goes wrong into one line and an exit status."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn, TextIO

from deskgym._version import __version__
from deskgym.cli import (
    bench,
    demos,
    doctor,
    documents,
    export,
    image,
    install,
    layers,
    play,
    record,
    results,
    run,
    serve,
    tasks,
    verify,
    view,
)
from deskgym.cli.output import note
from deskgym.envs.errors import near
from deskgym.interrupt import STATUS as INTERRUPTED
from deskgym.interrupt import imported
from deskgym.task_suites.suites import ENTRIES

COMMANDS = {
    "doctor": doctor,
    "install": install,
    "tasks": tasks,
    "run": run,
    "play": play,
    "serve": serve,
    "verify": verify,
    "demos": demos,
    "record": record,
    "results": results,
    "export": export,
    "bench": bench,
    "view": view,
    "image": image,
    "layers": layers,
    "documents": documents,
} | {name: import_module(place) for entry in ENTRIES for name, place in entry.commands.items()}

FAILED, USAGE = 1, 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read what is right."""
        self.exit(USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _PrintCompletion(argparse.Action):
    """Prints a shell's completion and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> NoReturn:
        """Print it."""
        import shtab

        _, shell, *_ = arguments
        print(shtab.complete(parser, shell))
        parser.exit(0)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = Parser(prog="deskgym", description="Gymnasium environments made of real professional desktop software.")
    parser.add_argument("--version", action="version", version=f"deskgym {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error came from")
    shells = ("bash", "zsh", "tcsh", "fish")
    parser.add_argument(
        "--print-completion", choices=shells, action=_PrintCompletion, help="print what completes commands in a shell"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, module in COMMANDS.items():
        summary = (module.__doc__ or "").split("\n")[0].split(": ", 1)[-1].rstrip(".")
        command = commands.add_parser(name, help=summary, description=summary + ".")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status: 0, 1 (failed), 2 (wrong usage) or 130 (interrupted)."""
    argv = list(sys.argv[1:] if argv is None else argv)
    show_traceback = "--traceback" in argv
    argv = [argument for argument in argv if argument != "--traceback"]
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        return _fail(f"unknown command {argv[0]!r}; legal are {', '.join(COMMANDS)}{near(argv[0], COMMANDS)}", USAGE)
    _show_log()
    previous = signal.signal(signal.SIGTERM, _terminate)
    try:
        imported()
        arguments, rest = build_parser().parse_known_args(argv)
        if rest:
            name = arguments.command
            return _fail(f"{name} does not know {' '.join(rest)}; what it knows: deskgym {name} --help", USAGE)
        with warnings.catch_warnings():
            warnings.showwarning = _warn
            _find_suite(arguments)
            return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no second error when Python flushes it
        return FAILED
    except Exception as error:
        if show_traceback or not _is_expected(error):
            raise
        return _fail(str(error) or type(error).__name__, FAILED, getattr(error, "problems", ()))
    finally:
        signal.signal(signal.SIGTERM, previous)


def _find_suite(arguments: argparse.Namespace) -> None:
    """Go to the suite that plays the task, where that is another one."""
    if getattr(arguments, "suite", None) and getattr(arguments, "task", None):
        from deskgym.task_suites.arguments import suite_of

        arguments.suite = suite_of(arguments.suite, arguments.task, getattr(arguments, "source", None))


class _Notes(logging.Handler):
    """Lines for people, on what is stderr then."""

    def emit(self, record: logging.LogRecord) -> None:
        note(self.format(record))


def _show_log() -> None:
    """Show what takes long and says so."""
    logger = logging.getLogger("deskgym.qemu")
    if not logger.handlers:
        logger.addHandler(_Notes())
        logger.setLevel(logging.INFO)


def _is_expected(error: Exception) -> bool:
    """Whether the error's message alone tells a user what to do; any other one is a bug and shows its traceback."""
    import gymnasium

    from deskgym.envs.errors import DeskgymError

    return isinstance(error, (DeskgymError, ValueError, OSError, gymnasium.error.Error))


def _fail(message: str, status: int, problems: Sequence[object] = ()) -> int:
    """Say one line; the problems of task files take a line each."""
    if len(problems) > 1:
        line = "\n".join([f"{len(problems)} mistakes in task files:", *map(str, problems)])
    else:
        line = "; ".join(part.strip() for part in message.splitlines() if part.strip())
    print(f"deskgym: {line}", file=sys.stderr)
    return status


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"deskgym: warning: {message}", file=sys.stderr)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt  # so that machines are closed
