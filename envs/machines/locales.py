"""Locales for machines: compiled once by libc's own tool, whatever the host has."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.libraries import UNUSED
from deskgym.envs.machines.sandbox.host import cache_folder

FORMAT = 2
INSIDE = "/opt/deskgym/locale"


@cache
def build_locale(name: str) -> Path:
    """The host's folder with this locale, such as ``"en_US.UTF-8"``; a program finds it there by ``LOCPATH``.

    Raises:
        MachineError: the sources of locales are not installed, or there is none of that name.
    """
    language, _, encoding = name.partition(".")
    tool = shutil.which("localedef")
    if tool is None or not Path("/usr/share/i18n/locales").is_dir():
        raise MachineError(f"the locale {name} needs `apt-get install locales`", "not_installed")
    if not Path("/usr/share/i18n/locales", language).is_file():
        raise MachineError(
            f"there is no locale {name!r}; legal are such as 'en_US.UTF-8' and 'de_DE.UTF-8'", "not_supported"
        )

    def fill(building: Path) -> None:
        building.chmod(0o755)
        target = building / f"{language}.{(encoding or 'UTF-8').lower().replace('-', '')}"
        command = [tool, "--no-archive", "-i", language, "-f", encoding or "UTF-8", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not target.is_dir():  # it warns about most locales, with exit status 1
            raise MachineError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]}", "locale")

    key = hashlib.sha256(f"{FORMAT} {name} {platform.libc_ver()}".encode()).hexdigest()[:16]
    return build_once(cache_folder() / f"locale-{key}", fill, unused=UNUSED)
