"""Ctrl-C while the command line is still being imported: nothing has been started, so the process just ends.

An exception would not do: an import that is interrupted shows a traceback, or is taken for a broken library.
"""

import _signal as signal  # type: ignore[import-not-found]  # what signal wraps: that one takes time, to make enums
import os
import sys

STATUS = 130
"""The exit status of a command that was interrupted."""


def end_while_importing() -> None:
    """Let SIGINT end the process in one line until ``imported``, if it is ``deskgym`` or ``python -m deskgym.cli``."""
    program = sys.orig_argv[1:3]  # sys.argv is also that of the workers which the command starts
    is_command = program == ["-m", "deskgym.cli"] or os.path.basename("".join(program[:1])) == "deskgym"
    if is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def imported() -> None:
    """Let SIGINT be a KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: object) -> None:
    os.write(2, b"deskgym: interrupted\n")
    os._exit(STATUS)
