"""Ctrl-C while something is imported: an exception there shows a traceback, looks like a missing library, or aborts.

While the command line itself is imported nothing has been started, so the process just ends. Later a
KeyboardInterrupt waits for the end of the import.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # what signal wraps: that one takes time, to make enums
import os
import sys

TYPE_CHECKING = False  # that of typing takes time to import
if TYPE_CHECKING:
    from types import FrameType

STATUS = 130
"""The exit status of a command that was interrupted."""


def end_while_importing() -> None:
    """Let SIGINT end the process in one line until ``imported``, if it is ``deskgym`` or ``python -m deskgym.cli``."""
    program = sys.orig_argv[1:3]  # sys.argv is also that of the workers which the command starts
    is_command = program == ["-m", "deskgym.cli"] or os.path.basename("".join(program[:1])) == "deskgym"
    if is_command and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def imported() -> None:
    """Let SIGINT be a KeyboardInterrupt again, after the import that may be going on; a second one does not wait."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    waits = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    while frame is not None and not waits:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            signal.signal(signal.SIGALRM, _interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        frame = frame.f_back
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise KeyboardInterrupt


def _end(number: int, frame: object) -> None:
    os.write(2, b"deskgym: interrupted\n")
    os._exit(STATUS)
