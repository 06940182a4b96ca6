"""Opens the programs of a setup, and waits for their windows."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites import programs
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.importers.spider2v.guest.commands import BROWSER, COMMANDS, EDITOR, OFFICE, TERMINAL, Usage
from deskgym.task_suites.importers.spider2v.layout import HOME
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.programs.calc.program import PROFILE, SETTINGS

PAINTED = SettlePolicy(quiet_ms=100, cap_ms=3000, idle_ms=100, rest=True)
IDLE = SettlePolicy(quiet_ms=200, cap_ms=5000, idle_ms=200, busy_ms=5000, rest=True)
ANSWERS = 3
TIMEOUT = 60.0
NO_PAGE = "about:blank"
EDITOR_SETTINGS = Path(programs.__path__[0], "geany", "geany.conf")


def open_sheet(setup: Setup, path: str) -> None:
    """Open a workbook in LibreOffice Calc, with its first sheet in front."""
    setup.machine.put(PROFILE, SETTINGS.read_bytes())
    launch(
        setup, [*OFFICE, "--calc", path], window=f"*{posixpath.basename(path)}*", app="soffice", role="table cell",
        maximize=True, timeout=TIMEOUT,
    )  # fmt: skip
    setup.machine.display.perform([], PAINTED)


def open_page(setup: Setup, url: str, title: str = "*", role: str = "document web") -> None:
    """Open a page in Chromium, started with a fresh profile."""
    load_program("chromium").hooks["chromium.open"](setup, url=url, title=title, role=role, timeout=TIMEOUT)


def open_program(
    setup: Setup, argv: Sequence[str], cwd: str | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Open one of the programs that ``guest.commands`` translates to, and wait until it can be used.

    Raises:
        SetupError: it did not come up, or is none of them.
    """
    given: dict[str, Any] = {"cwd": cwd, "env": dict(env or {}), "timeout": TIMEOUT}
    if argv[0] == OFFICE[0]:
        open_sheet(setup, argv[-1])
    elif argv[0] == TERMINAL[0]:
        large = "--maximize" in argv
        rest = [word for word in argv if word != "--maximize"]
        launch(setup, rest, window="*", app=TERMINAL[0], role="terminal", maximize=large, **given)
    elif argv[0] == EDITOR[0]:
        _open_editor(setup, argv, given)
    elif argv[0] == BROWSER[0]:
        open_page(setup, argv[len(BROWSER)] if len(argv) > len(BROWSER) else NO_PAGE)
    else:
        raise SetupError(f"{argv[0]} is none of the programs that a setup opens")


def open_command(
    setup: Setup, command: Sequence[str], cwd: str | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Open what one of upstream's commands opens, such as ``["gedit", "/home/user/a.txt"]``.

    Raises:
        SetupError: it is none of those that are here, is called in a way that is not supported, or did not come up.
    """
    try:
        argv = COMMANDS[command[0]](command[1:])
    except KeyError:
        raise SetupError(f"{command[0]!r} is none of the programs that are here: {', '.join(COMMANDS)}") from None
    except Usage as error:
        raise SetupError(str(error)) from None
    open_program(setup, argv, cwd, env)


def wait_until_idle(machine: Machine, pid: int) -> None:
    """Return when a program has done what it was told before, such as saving: it paints nothing more, and answers.

    A program answers between two keys that it has still to read, and again before it begins to save. So it is asked
    several times.

    Raises:
        SetupError: it does not answer.
    """
    name = machine.get(f"/proc/{pid}/comm").decode(errors="replace").strip()
    program = AccessibleProgram(machine, name)
    for _ in range(ANSWERS):
        machine.display.perform([], IDLE)
        program.tree(TIMEOUT, outline=True, closed=("frame", "dialog", "alert"))


def open_queued(setup: Setup, queue: str) -> None:
    """Open what a setup's script has called: the files of one editor in one window, the rest in its order."""
    try:
        lines = setup.machine.get(queue).decode().splitlines()
    except GuestCallError:
        return  # it called nothing
    setup.machine.run(["rm", "-f", queue])
    asked = [json.loads(line) for line in lines]
    editors = [each for each in asked if each["argv"][0] == EDITOR[0]]
    if editors:
        words = dict.fromkeys(word for each in editors for word in each["argv"][len(EDITOR) :])
        editors[-1]["argv"] = [*EDITOR, *words]
    for each in asked:
        if each not in editors[:-1]:
            open_program(setup, each["argv"], each["cwd"], each["env"])


def _open_editor(setup: Setup, argv: Sequence[str], given: dict[str, Any]) -> None:
    """The files in one window; the last folder is the one that it starts in."""
    words: list[str] = []
    folders: list[str] = []
    for word in argv[len(EDITOR) :]:
        path = posixpath.join(given["cwd"] or HOME, word)
        (folders if _is_folder(setup, path) else words).append(path if not word.startswith("+") else word)
    files = [word for word in words if not word.startswith("+")]
    if folders:
        given["cwd"] = folders[-1]
    _put_settings(setup)
    title = f"{posixpath.basename(files[-1])} - *Geany" if files else "*Geany*"
    launch(setup, [*EDITOR, *words], window=title, app=EDITOR[0], maximize=True, **given)


def _is_folder(setup: Setup, path: str) -> bool:
    try:
        return bool(setup.machine.guest.stat(path)["type"] == "folder")
    except GuestCallError:
        return False


def _put_settings(setup: Setup) -> None:
    """Geany without sessions and without automatic changes of what is typed."""
    setup.machine.put(f"{HOME}/.config/geany/geany.conf", EDITOR_SETTINGS.read_bytes())
