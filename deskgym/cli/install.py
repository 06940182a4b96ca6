"""Install: get the Debian packages of a suite, or of a kind of machine, with apt."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys

EXTRA = ("vm", "image", "vnc", "view")
"""Groups of packages beside the suites': to run virtual machines, to build their images, to try VNC, to look on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, --yes and --dry-run."""
    parser.add_argument(
        "suite",
        metavar="SUITE",
        help=f"data_engineering, science, bpm or table_analysis; or what machines need: {', '.join(EXTRA)}",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(arguments: argparse.Namespace) -> int:
    """Install what is missing; says the command where it may not."""
    from deskgym.packages import packages
    from deskgym.task_suites import SUITES, load_suite

    if arguments.suite not in (*SUITES, *EXTRA):
        load_suite(arguments.suite)  # its error names near matches
    groups = (arguments.suite,) if arguments.suite in EXTRA else ("core", arguments.suite)
    missing = [name for name in packages(*groups) if not is_installed(name)]
    if not missing:
        print(f"all packages of {arguments.suite} are installed")
        return 0
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    line = ("" if os.geteuid() == 0 else "sudo ") + shlex.join(command)
    if arguments.dry_run:
        print(line)
        return 0
    if not shutil.which("apt-get"):
        raise ValueError(f"there is no apt-get here; install these packages' like yourself: {' '.join(missing)}")
    if os.geteuid() != 0:
        raise ValueError(f"packages can be installed by root only; run: {line}")
    if not arguments.yes and not _agreed(line):
        print("deskgym: nothing installed", file=sys.stderr)
        return 1
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update", "-qq"], command):
        status = subprocess.run(step, env=environment, check=False).returncode
        if status:
            raise ValueError(f"{shlex.join(step)} failed with status {status}")
    print(f"installed {' '.join(missing)}")
    return 0


def is_installed(package: str) -> bool:
    """Whether dpkg has the package."""
    if not shutil.which("dpkg-query"):
        return False
    query = ["dpkg-query", "-W", "-f", "${Status}", package]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    return "ok installed" in answer.stdout


def _agreed(line: str) -> bool:
    if not sys.stdin.isatty():
        raise ValueError(f"there is nobody to ask; give --yes, or run: {line}")
    return input(f"{line}\nrun this? [y/N] ").strip().lower() in ("y", "yes")
