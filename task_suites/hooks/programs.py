"""Hooks that run commands and start programs."""

from __future__ import annotations

import re
from typing import Any

from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.calls import shown
from deskgym.task_suites.core.task import Setup

GRACE = 10.0
"""Seconds that the guest may take beyond the time that the program is given."""


def run(
    setup: Setup,
    command: list[str] | str,
    expect: int = 0,
    timeout: float = 60.0,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    user: str | None = None,
    in_: str | None = None,
) -> None:
    """Run a command (a list) or a Bash script (a text) to its end.

    Args:
        setup: the task's setup.
        command: program and arguments, or a Bash script.
        expect: its exit status.
        timeout: seconds.
        cwd: working folder; the user's home if left out, and ``/`` in a companion.
        env: variables added to the session's.
        user: whom it runs as: ``agent`` (the default), ``guest`` (root inside) or a user of the machine; in a
            companion, the service's user if left out.
        in_: the service in whose companion it runs.

    Raises:
        SetupError: its exit status is not ``expect``, or it took longer than ``timeout`` seconds.
    """
    argv = _argv(command)
    if in_ is not None:
        result = setup.companion(in_).run(argv, env=env, cwd=cwd or "/", timeout=timeout, user=user or "")
    else:
        result = setup.machine.run(argv, env=env, cwd=cwd, timeout=timeout, user=user or "agent")
    if result.timed_out:
        raise SetupError(f"{shown(command)} took longer than {timeout:g} s; it wrote {_tail(result.stderr)}")
    if result.returncode != expect:
        wrote = _tail(result.stderr) or _tail(result.stdout) or "nothing"
        raise SetupError(f"{shown(command)} ended with {result.returncode}, not {expect}; it wrote {wrote}")


def launch(
    setup: Setup,
    command: list[str] | str,
    window: str | None = None,
    window_class: str | None = None,
    window_type: str | None = None,
    window_size: tuple[int, int] | None = None,
    app: str | None = None,
    role: str | None = None,
    name: str | None = None,
    port: int | None = None,
    process: str | None = None,
    file: str | None = None,
    place: tuple[int, int, int, int] | None = None,
    maximize: bool = False,
    timeout: float = 30.0,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
) -> None:
    """Start a program and leave it running; returns when all that is named is there.

    Args:
        setup: the task's setup.
        command: program and arguments, or a Bash script.
        window: title of a window of its own, a glob. A splash screen is none.
        window_class: that window's class or instance, a glob.
        window_type: that window's type, such as ``"dialog"`` or ``"splash"``.
        window_size: least width and height of it, where type and class do not tell it from a splash screen.
        app: its name in the accessibility tree.
        role: role of an accessible element of it.
        name: name of that element.
        port: a TCP port of 127.0.0.1 that accepts connections.
        process: name of a process of it, such as ``soffice.bin``.
        file: a path that is there.
        place: where its window is put: x, y, width and height of its content in pixels.
        maximize: its window is maximised.
        timeout: seconds.
        cwd: working folder; the user's home if left out.
        env: variables added to the session's.

    Raises:
        SetupError: it could not be started, or was not ready in time; with what was awaited, what was there instead,
            and its last words.
    """
    looks = {
        "title": None if window is None else _pattern(window),
        "class": None if window_class is None else _pattern(window_class),
        "type": window_type,
        "size": window_size,
    }
    element = {"role": role, "name": name}
    conditions = {
        "window": _given(looks), "app": app, "node": _given(element), "port": port, "process": process, "file": file,
    }  # fmt: skip
    wait = {key: value for key, value in conditions.items() if value}
    if not wait:
        raise SetupError(
            "launch needs window, window_class, app, role, name, port, process or file: what is there when the program "
            "is ready"
        )
    if place is not None and maximize:
        raise SetupError("launch has place and maximize: give one of them")
    where = "maximized" if maximize else place
    if where is not None and "window" not in wait:
        raise SetupError("launch has place or maximize without a window: give window or window_class")
    asked = {"argv": _argv(command), "env": env, "cwd": cwd, "wait": wait, "place": where, "timeout": timeout}
    setup.machine.guest.call("launch", timeout + GRACE, **asked)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _pattern(glob: str) -> str:
    """A regular expression for all of a text that fits a glob with ``*``."""
    return r"\A" + ".*".join(map(re.escape, glob.split("*"))) + r"\Z"


def _argv(command: list[str] | str) -> list[str]:
    return ["bash", "-c", command] if isinstance(command, str) else list(command)


def _tail(output: bytes, limit: int = 500) -> str:
    return output[-limit:].decode(errors="replace").strip()
