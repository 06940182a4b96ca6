"""Doctor: say what this computer has and lacks, and the command that adds it."""

from __future__ import annotations

import argparse

from deskgym.cli.output import print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the checks; 1 if any fails."""
    from deskgym.envs.machines.doctor import diagnose

    checks = diagnose()
    failed = [check for check in checks if not check.ok]
    if arguments.json:
        rows = [{"name": c.name, "ok": c.ok, "message": c.message, "fix": c.fix} for c in checks]
        print_json({"ok": not failed, "checks": rows})
        return int(bool(failed))
    print_table(
        "",
        ("check", "", "found", "what to do"),
        ((c.name, "ok" if c.ok else "missing", c.message, c.fix or "") for c in checks),
    )
    print("this computer can run deskgym" if not failed else f"{len(failed)} checks failed")
    return int(bool(failed))
