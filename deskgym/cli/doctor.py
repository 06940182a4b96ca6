"""Doctor: say what this computer has and lacks, and the command that adds it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from deskgym.cli.output import print_json, print_table, progress
from deskgym.task_suites import import_place
from deskgym.task_suites.suites import ENTRIES

if TYPE_CHECKING:
    from deskgym.envs.machines.doctor.doctor import CheckUp


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--no-start and --json."""
    parser.add_argument("--no-start", action="store_true", help="do not start a sandbox as the last check")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the checks; 1 if any fails."""
    from deskgym.envs.machines.doctor.doctor import iterate

    checks = []
    with progress(arguments.json) as bar:
        running = bar.add_task("checks", total=None)
        for check in chain(iterate(start=not arguments.no_start), suite_checks()):
            checks.append(check)
            bar.update(running, description=check.name, advance=1)
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
