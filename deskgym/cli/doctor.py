"""Doctor: say what this computer has and lacks, and the command that adds it."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from deskgym.cli.output import agreed, note, print_json, print_table, progress
from deskgym.task_suites import import_place
from deskgym.task_suites.suites import ENTRIES

if TYPE_CHECKING:
    from deskgym.envs.machines.doctor.doctor import CheckUp

_COMMAND = re.compile(r"(sudo (sysctl -w|usermod)|/\S+ -m pip install) [\w.=/+ -]+")
_PACKAGES = re.compile(r"sudo apt-get install ([\w.+ -]+)")
"""What ``--fix`` does of what a check advises; the rest is for a person to decide."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--fix, --yes, --no-start and --json."""
    parser.add_argument("--fix", action="store_true", help="run the commands that mend what failed, and look again")
    parser.add_argument("--yes", "-y", action="store_true", help="with --fix: do not ask")
    parser.add_argument("--no-start", action="store_true", help="do not start a sandbox as the last check")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the checks, and mend what failed where that is asked for; 1 if any fails."""
    if arguments.yes and not arguments.fix:
        raise ValueError("--yes goes with --fix")
    checks = _checks(arguments)
    if arguments.fix and _mend([check for check in checks if check.status == "fail"], arguments.yes):
        checks = _checks(arguments)
    failed = [check.name for check in checks if check.status == "fail"]
    if arguments.json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
        return int(bool(failed))
    print_table("", ("check", "status", "found"), ((check.name, check.status, check.found) for check in checks))
    for check in checks:
        if check.fix:
            print(f"{check.name}: {check.fix}")
    print(f"this computer cannot run deskgym yet: {', '.join(failed)}" if failed else "this computer can run deskgym")
    return int(bool(failed))


def _checks(arguments: argparse.Namespace) -> list[CheckUp]:
    from deskgym.envs.machines.doctor.doctor import iterate

    checks = []
    with progress(arguments.json) as bar:
        running = bar.add_task("checks", total=None)
        for check in chain(iterate(start=not arguments.no_start), suite_checks()):
            checks.append(check)
            bar.update(running, description=check.name, advance=1)
    return checks


def _mend(failed: Sequence[CheckUp], yes: bool) -> bool:
    """Do what the checks advise, if the user agrees; say what is left to do by hand. Whether anything was done."""
    from deskgym.apt import install

    packages = [name for check in failed if (match := _PACKAGES.fullmatch(check.fix)) for name in match[1].split()]
    lines = list(dict.fromkeys(check.fix for check in failed if _COMMAND.fullmatch(check.fix)))
    for check in failed:
        if check.fix not in lines and not _PACKAGES.fullmatch(check.fix):
            note(f"{check.name}, by hand: {check.fix or check.found}")
    if os.geteuid() == 0:
        lines = [line.removeprefix("sudo ") for line in lines]
    asked = [*([f"apt-get install {' '.join(packages)}"] if packages else []), *lines]
    if not asked or not (yes or agreed(" && ".join(asked))):
        return False
    if packages:
        install(packages)
    for line in lines:
        note(line)
        try:
            subprocess.run(shlex.split(line), check=True, stdout=2)  # progress is no result
        except (OSError, subprocess.CalledProcessError) as error:
            raise ValueError(f"{line} failed: {error}") from None
    return True


def suite_checks() -> Iterator[CheckUp]:
    """What each suite lacks: its programs, Python's packages, and whatever else it looks at itself."""
    from deskgym.envs.extras import command_for, distribution, missing_extras, missing_of
    from deskgym.envs.machines.doctor.doctor import CheckUp
    from deskgym.envs.machines.packages import missing_packages
    from deskgym.task_suites.programs import load_program

    for entry in ENTRIES:
        for program in map(load_program, entry.programs):
            if missing := missing_packages(program.packages):
                fix = f"deskgym install {program.name}"
                yield CheckUp(program.title, "warn", f"not installed, for {entry.name}: {', '.join(missing)}", fix)
            else:
                yield CheckUp(program.title, "ok", f"installed, for {entry.name}")
        if entry.extra and (wanted := missing_of(entry.extra)):
            found = f"missing: {', '.join(map(distribution, wanted))}"
            yield CheckUp(entry.name, "warn", found, f"deskgym install {entry.name}")
        elif entry.check_up:
            yield from import_place(entry.check_up)()
    shown = {entry.extra for entry in ENTRIES}
    if lacking := {name: what for name, what in missing_extras().items() if name not in shown}:
        found = "; ".join(f"{name} ({', '.join(what)})" for name, what in lacking.items())
        yield CheckUp("extras", "warn", f"not installed: {found}", command_for("NAME"))
