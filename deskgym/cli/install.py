"""Install: get what a suite or a kind of machine needs: Debian packages, Python's, tool environments and layers."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskgym.cli.output import agreed
from deskgym.envs.errors import near
from deskgym.task_suites import SUITES

if TYPE_CHECKING:
    from deskgym.cli.layers import Entry

ALONE = ("vm", "image", "gvisor", "vnc", "view")
"""Groups of packages beside the suites': to run virtual machines, to build their images, to try VNC, to look on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, --yes and --dry-run."""
    parser.add_argument(
        "suite",
        metavar="SUITE",
        help=f"{', '.join(SUITES)}; a folder of your own tasks; a program, such as kalgebra; or what machines need: "
        f"{', '.join(ALONE)}",
    )
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(arguments: argparse.Namespace) -> int:
    """Install what is missing; says the command where it may not."""
    from deskgym.cli.layers import build_layers
    from deskgym.envs.extras import missing_of
    from deskgym.envs.machines.packages import package_versions
    from deskgym.packages import packages
    from deskgym.task_suites.programs import load_program

    if arguments.more:
        raise ValueError(f"install takes one name at a time, got {' '.join([arguments.suite, *arguments.more])}")
    programs, extra = _wanted(arguments.suite)
    wanted = packages(arguments.suite if arguments.suite in ALONE else "core")
    own = [f"{arguments.suite}/programs"]  # of a folder of task files
    wanted += [package for name in programs for package in load_program(name, own).packages]
    installed = package_versions(wanted)
    debian = [name for name in dict.fromkeys(wanted) if name not in installed]
    python = missing_of(extra) if extra else []
    layers = _missing_layers(programs)
    if not debian and not python and not layers:
        print(f"all packages of {arguments.suite} are installed")
        return 0
    if arguments.dry_run:
        print("\n".join([*_lines(_steps(debian, python)), *(f"deskgym layers build {entry.name}" for entry in layers)]))
        return 0
    if (debian or python) and not _installed(debian, python, arguments.yes):
        return 1
    began = time.monotonic()
    if built := build_layers(_missing_layers(programs)):
        size = sum(entry.layer.size for entry in built if entry.layer)
        print(f"built {len(built)} layers, {size / 2**20:.0f} MiB, in {time.monotonic() - began:.0f} s")
    return 0


def _missing_layers(programs: Sequence[str]) -> list[Entry]:
    from deskgym.cli.layers import find_entries

    return [entry for entry in find_entries() if entry.state != "present" and set(entry.programs) & set(programs)]


def _wanted(name: str) -> tuple[Sequence[str], str]:
    """The programs of a suite or of a folder of task files, or the one of that name; and the suite's extra."""
    from deskgym.envs.episode import KnowsNeeds
    from deskgym.task_suites import find_entry, load_suite
    from deskgym.task_suites.programs import program_names

    if name in ALONE:
        return (), ""
    if name in program_names():
        return (name,), ""
    if name not in SUITES and not os.path.isdir(name):
        legal = [*SUITES, *program_names(), *ALONE]
        raise ValueError(
            f"{name!r} is no suite, program or kind of machine; "
            f"legal are {', '.join(legal)}, and a folder of task files{near(name, legal)}"
        )
    entry = find_entry(name)
    if name in SUITES:
        return entry.programs, entry.extra
    tasks = load_suite(name)  # a folder of task files may use all programs, so look which it uses
    return (tasks.needs().programs if isinstance(tasks, KnowsNeeds) else ()), entry.extra


def _installed(debian: list[str], python: list[str], yes: bool) -> bool:
    """Install packages, if the user agrees."""
    from deskgym.apt import install

    steps = _steps(debian, python)
    lines = _lines(steps)
    if debian and not shutil.which("apt-get"):
        raise ValueError(f"there is no apt-get here; install these packages' like yourself: {' '.join(debian)}")
    if debian and os.geteuid() != 0:
        raise ValueError(f"packages can be installed by root only; run: {lines[0]}")
    if not yes and not agreed(" && ".join(lines)):
        print("deskgym: nothing installed", file=sys.stderr)
        return False
    if debian:
        install(debian)
    for step in _steps([], python):
        if status := subprocess.run(step, check=False).returncode:
            raise ValueError(f"{shlex.join(step)} failed with status {status}")
    print(f"installed {' '.join(debian + python)}")
    return True


def _steps(debian: list[str], python: list[str]) -> list[list[str]]:
    apt = ["apt-get", "install", "-y", "--no-install-recommends", *debian]
    pip = [sys.executable, "-m", "pip", "install", *python]
    return [*([apt] if debian else []), *([pip] if python else [])]


def _lines(steps: list[list[str]]) -> list[str]:
    sudo = "" if os.geteuid() == 0 else "sudo "
    return [(sudo if step[0] == "apt-get" else "") + shlex.join(step) for step in steps]
