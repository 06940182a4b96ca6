#!/usr/bin/python3 -IS
"""Upstream's desktop commands (gnome-terminal, code, gedit, google-chrome, xdg-open), by the programs that are here.

In a machine it is run under those names, standard library only: for an agent it becomes the program. While the
desktop is set up, it writes down what is to be opened, and the host opens it and waits for its window.
The host imports it for what a task's ``launch`` and ``open`` steps name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence

QUEUE = "SPIDER2V_QUEUE"
"""The environment variable with the file that a setup's openings are written to."""

BROWSER = (
    "chromium", "--no-sandbox", "--test-type", "--no-first-run", "--no-default-browser-check", "--password-store=basic",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--disable-session-crashed-bubble", "--hide-crash-restore-bubble", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-quic", "--disable-features=Translate,MediaRouter,OptimizationHints,GlobalMediaControls",
    "--force-renderer-accessibility", "--start-maximized",
)  # fmt: skip
EDITOR = ("geany", "--no-session", "--no-msgwin", "--no-terminal", "--no-plugins", "--no-ctags")
OFFICE = ("soffice", "--norestore", "--nologo", "--nofirststartwizard", "--nolockcheck")
TERMINAL = ("xfce4-terminal", "--disable-server")
_SHEETS = (".xlsx", ".xls", ".ods")
_PAGES = (".html", ".htm")
_WITH_VALUE = ("--locale", "--user-data-dir", "--profile", "--extensions-dir", "--log", "--install-extension")


class Usage(Exception):
    """A command was called in a way that is not supported; the message says how."""


def terminal(arguments: Sequence[str]) -> list[str]:
    """``gnome-terminal``: its folder, title, size and command."""
    argv, rest = list(TERMINAL), list(arguments)
    while rest:
        word = rest.pop(0)
        name, sign, value = word.partition("=")
        if word in ("--", "-x", "--execute"):
            return [*argv, "-x", *rest] if rest else argv
        if word in ("--maximize", "--fullscreen", "--full-screen"):
            argv.append("--maximize")
        elif name in ("--working-directory", "--title", "-t", "--geometry", "-e", "--command"):
            if not sign and not rest:
                raise Usage(f"gnome-terminal: {word} needs a value")
            value = value if sign else rest.pop(0)
            if name in ("-e", "--command"):
                return [*argv, "-x", "bash", "-c", value]
            argv.append(f"{'--title' if name == '-t' else name}={value}")
        elif word not in ("--window", "--tab", "--hide-menubar", "--wait"):
            raise Usage(f"gnome-terminal: {word} is not supported")
    return argv


def editor(arguments: Sequence[str]) -> list[str]:
    """``code`` and ``gedit``: the files; a folder is the one that the editor starts in."""
    argv, rest = list(EDITOR), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in _WITH_VALUE:
            rest = rest[1:]
        elif word in ("-g", "--goto") and rest:
            path, _, line = rest.pop(0).partition(":")
            argv += [path, *([f"+{line.partition(':')[0]}"] if line else [])]
        elif not word.startswith("-"):
            argv.append(word)
    return argv


def browser(arguments: Sequence[str]) -> list[str]:
    """``google-chrome``: the addresses; its own flags are left out."""
    return [*BROWSER, *(word for word in arguments if not word.startswith("-"))]


def any_file(arguments: Sequence[str]) -> list[str]:
    """``xdg-open``: the program for a file, or for an address."""
    paths = [word for word in arguments if not word.startswith("-")]
    if len(paths) != 1:
        raise Usage(f"xdg-open opens one file or address, got {len(paths)}")
    end = os.path.splitext(paths[0])[1].lower()
    if "://" in paths[0] or end in _PAGES:
        return browser(paths)
    return [*OFFICE, *paths] if end in _SHEETS else editor(paths)


COMMANDS: Mapping[str, Callable[[Sequence[str]], list[str]]] = {
    "gnome-terminal": terminal,
    "code": editor,
    "gedit": editor,
    "google-chrome": browser,
    "google-chrome-stable": browser,
    "xdg-open": any_file,
}
"""By the names that upstream calls them: arguments → program and arguments."""


def main(command: str, arguments: Sequence[str]) -> int:
    """Become the program, or write down that it is to be opened."""
    try:
        argv = COMMANDS[command](arguments)
    except Usage as error:
        print(error, file=sys.stderr)
        return 2
    queue = os.environ.get(QUEUE)
    if queue:
        variables = {name: _theirs(value) for name, value in os.environ.items() if name not in _OWN}
        told = {"argv": argv, "cwd": os.getcwd(), "env": variables}
        with open(queue, "a", encoding="utf-8") as file:
            file.write(json.dumps(told) + "\n")
        return 0
    os.execvp(argv[0], argv)


def _theirs(value: str) -> str:
    """A variable's value without the folder of commands that are of setup scripts alone."""
    return ":".join(part for part in value.split(":") if part != _SETUP_BIN) if _SETUP_BIN in value else value


_SETUP_BIN = "/opt/deskgym/spider2v/setup-bin"
_OWN = (QUEUE, "SPIDER2V_LOG", "BASH_ENV", "PWD", "OLDPWD", "SHLVL", "_", "DESKGYM_JOB", "DESKGYM_MACHINE")

if __name__ == "__main__":
    sys.exit(main(os.path.basename(sys.argv[0]), sys.argv[1:]))
