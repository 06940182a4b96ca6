"""Which Debian packages this computer has."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from functools import lru_cache


def missing_packages(names: Iterable[str]) -> list[str]:
    """Those of the packages that are not installed; none where there is no dpkg to ask."""
    wanted = tuple(dict.fromkeys(names))
    if not wanted or not shutil.which("dpkg-query"):
        return []
    installed = _installed(wanted)
    if len(installed) < len(wanted):  # they may have been installed since it was asked first
        _installed.cache_clear()
        installed = _installed(wanted)
    return [name for name in wanted if name not in installed]


def package_versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed."""
    wanted = tuple(dict.fromkeys(names))
    return dict(_installed(wanted)) if wanted and shutil.which("dpkg-query") else {}


@lru_cache(maxsize=256)
def _installed(names: tuple[str, ...]) -> dict[str, str]:
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status}\t${Package}\t${Version}\n", *names]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    rows = (line.split("\t") for line in answer.stdout.splitlines() if line.count("\t") == 2)
    return {name: version for status, name, version in rows if status == "installed"}
