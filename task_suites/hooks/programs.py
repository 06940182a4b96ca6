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
    app: str | None = None,
    role: str | None = None,
    name: str | None = None,
    timeout: float = 30.0,
    cwd: str | None = None,
    env: dict[str, str] | None = None,
) -> None:
    """Start a program and leave it running; returns when all that is named is there.

    Args:
        setup: the task's setup.
        command: program and arguments, or a Bash script.
        window: title of a window of its own, a glob.
        app: its name in the accessibility tree.
        role: role of an accessible element of it.
        name: name of that element.
        timeout: seconds.
        cwd: working folder; the user's home if left out.
        env: variables added to the session's.

    Raises:
        SetupError: it could not be started, or was not ready in time; with its last words.
    """
    wait: dict[str, Any] = {}
    if window is not None:
        wait["window"] = {"title": r"\A" + ".*".join(map(re.escape, window.split("*"))) + r"\Z"}
    if app is not None:
        wait["app"] = app
    if role is not None or name is not None:
        wait["node"] = {key: value for key, value in (("role", role), ("name", name)) if value is not None}
    if not wait:
        raise SetupError("launch needs window, app, role or name: what is there when the program is ready")
    asked = {"argv": _argv(command), "env": env, "cwd": cwd, "wait": wait, "timeout": timeout}
    setup.machine.guest.call("launch", timeout + GRACE, **asked)


def _argv(command: list[str] | str) -> list[str]:
    return ["bash", "-c", command] if isinstance(command, str) else list(command)


def _tail(output: bytes, limit: int = 500) -> str:
    return output[-limit:].decode(errors="replace").strip()
