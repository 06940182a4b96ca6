"""Installs Debian packages with apt-get, and waits while others do; also run as a script, before the rest.

``python deskgym/apt.py GROUP...`` installs what is missing of the groups of ``packages.py``, through ``sudo`` unless
you are root. With all of it there, neither root nor a network is needed.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

WAIT = 900.0
"""Seconds to wait for another program, such as unattended-upgrades, to give apt's locks back."""
_EVERY = 10.0  # seconds between two lines of progress
_BEFORE = 4  # lines that are told of an error: a script of a package says why it fails before dpkg does
_HELD = re.compile(r"Could not get lock .*|.*locked by another process.*")
_STATUS = re.compile(r"(?:pm|dl)status:[^:]*:([\d.]+):(.*)")


class AptError(ValueError):
    """apt-get failed; the message has its last lines."""


def install(packages: Sequence[str], wait: float = WAIT) -> None:
    """Fetch the lists of packages and install these; progress goes to stderr.

    apt-get waits for dpkg's lock if it is told to (``DPkg::Lock::Timeout``), but not for that of the lists. So a
    command that did not get a lock is run again until it does.

    Args:
        packages: their names.
        wait: seconds to wait for apt's locks.

    Raises:
        AptError: apt-get failed, or its locks were not free in time.
    """
    deadline, told = time.monotonic() + wait, float("-inf")
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        while held := _run(command):
            if time.monotonic() > deadline:
                raise AptError(f"another program has used apt for {wait:g} s: {held}; try again when it is done")
            if time.monotonic() - told > _EVERY:
                told = time.monotonic()
                _tell(f"waiting for another program that uses apt: {held}")
            time.sleep(1)


def _run(command: list[str]) -> str:
    """Run apt-get, and tell how far it is; returns the line that says that another program holds a lock, or ""."""
    environment = ("DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8")
    options = ("-qq", "-o", "APT::Status-Fd=9", "-o", "Dpkg::Use-Pty=0")
    # apt-get does not hand on the file of its status: with 1, packages' scripts have no stdout, and some fail for that
    argv = ["sh", "-c", 'exec "$@" 9>&1', "apt-get", "env", *environment, "apt-get", *options, *command]
    if os.geteuid() != 0:
        argv = ["sudo", *argv]
    last: deque[str] = deque(maxlen=20)
    errors: list[str] = []
    told = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as apt:
        assert apt.stdout is not None  # it is a pipe
        for line in apt.stdout:
            status = _STATUS.match(line)
            if status is None:
                last.append(line.strip())
                if line.startswith(("E: ", "dpkg: error")):
                    errors += [each for each in list(last)[-_BEFORE:] if each not in errors]
            elif time.monotonic() - told > _EVERY:
                told = time.monotonic()
                _tell(f"{float(status[1]):3.0f} %  {status[2].strip()}")
    held = next((found[0] for line in last if (found := _HELD.search(line))), "")
    if apt.returncode and not held:
        said = "; ".join(errors or last)
        raise AptError(f"apt-get {' '.join(command)} failed with status {apt.returncode}: {said}")
    return held if apt.returncode else ""


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _main(groups: Sequence[str]) -> None:
    here = Path(__file__).parent
    wanted = runpy.run_path(str(here / "packages.py"))["packages"](*groups)
    if missing := runpy.run_path(str(here / "envs/machines/packages.py"))["missing_packages"](wanted):
        _tell(f"installing with apt-get: {' '.join(missing)}")
        install(missing)


if __name__ == "__main__":
    try:
        _main(sys.argv[1:])
    except (AptError, OSError) as failure:
        sys.exit(str(failure))
    except KeyError as unknown:
        sys.exit(f"there is no group of packages {unknown}; deskgym/packages.py has them")
    except KeyboardInterrupt:
        sys.exit("interrupted")
