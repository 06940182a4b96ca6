"""Which Debian packages this computer has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from functools import cache


def missing_packages(names: Iterable[str]) -> list[str]:
    """Those of the packages that are not installed; none where there is no dpkg to ask."""
    wanted = list(dict.fromkeys(names))
    if not wanted or not shutil.which("dpkg-query"):
        return []
    if not _installed().keys() >= set(wanted):
        _installed.cache_clear()  # they may have been installed since it was asked first
    return [name for name in wanted if name not in _installed()]


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    wanted = list(dict.fromkeys(names))
    if not wanted or not shutil.which("dpkg-query"):
        return {}
    return {name: _installed()[name] for name in wanted if name in _installed()}


@cache
def _installed() -> dict[str, str]:
    """The versions of all packages: asking for all takes as long as asking for one."""
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Package}\t${Version}\n"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    rows = (line.split("\t") for line in answer.stdout.splitlines() if line.count("\t") == 2)
    return {name: version for status, name, version in rows if status == "installed"}
