"""A code action's own process: becomes the agent, runs the text as a script, and ends as an interpreter would."""

from __future__ import annotations

import gc
import os
import sys
import time
import types
from typing import Any, NoReturn

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.processes import become, reset_signals

NAME = "<action>"
"""The file name of an action's text in its tracebacks."""

pyautogui: Any = None


def preload() -> None:
    """Load, in the zygote, what actions use."""
    global pyautogui
    from deskgym.envs.guest.executor import automation

    pyautogui = automation.load()
    import json  # noqa: F401  (what actions often import)
    import random  # noqa: F401
    import re  # noqa: F401
    import subprocess  # noqa: F401
    import threading  # noqa: F401


def run_action(config: GuestConfig, request: dict[str, Any], fds: list[int]) -> NoReturn:
    """Run ``request["text"]`` in this process, forked from the zygote; ``fds`` are its stdout and stderr."""
    status = 1
    try:
        reset_signals()
        import signal

        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        os.setsid()
        become(config, "agent")
        os.dup2(fds[0], 1)
        os.dup2(fds[1], 2)
        os.closerange(3, 1 << 16)
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        time.tzset()
        gc.enable()
        status = _run(request["text"])
    except BaseException as error:
        try:
            os.write(2, f"the action could not be started: {type(error).__name__}: {error}\n".encode())
        except OSError:
            pass
    finally:
        os._exit(status)


def _run(text: str) -> int:
    import linecache

    sys.argv = [""]
    sys.path[:] = ["", *(entry for entry in sys.path if entry)]
    linecache.cache[NAME] = (len(text), None, text.splitlines(keepends=True), NAME)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    main.__dict__.update(pyautogui=pyautogui, time=time, __builtins__=__builtins__)
    status = 0
    try:
        exec(compile(text, NAME, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as leaving:
        status = _exit_status(leaving)
    except BaseException as error:
        _print_exception(error)
        status = 1
    try:
        import atexit
        import threading

        threading._shutdown()  # type: ignore[attr-defined]  # waits for its threads, as at the end of a script
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        _print_exception(error)
        status = status or 1
    return status


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)
    return 1


def _print_exception(error: BaseException) -> None:
    """The traceback from the action's first own frame on."""
    import traceback

    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    try:
        traceback.print_exception(type(error), error, trace, limit=50)
    except RecursionError:
        print(type(error).__name__, file=sys.stderr)
