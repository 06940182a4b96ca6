"""Doctor: say what this computer has and lacks, and the command that adds it."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from deskgym.cli.output import print_json, print_table, progress


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
        for check in iterate(start=not arguments.no_start):
            checks.append(check)
            bar.update(running, description=check.name, advance=1)
    failed = [check.name for check in checks if check.status == "fail"]
    if arguments.json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
        return int(bool(failed))
    rows = ((check.name, check.status, check.found, check.fix) for check in checks)
    print_table("", ("check", "status", "found", "what to do"), rows)
    print(f"this computer cannot run deskgym yet: {', '.join(failed)}" if failed else "this computer can run deskgym")
    return int(bool(failed))
