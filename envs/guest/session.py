"""The agent's user session: its folders and its environment."""

from __future__ import annotations

import math
import os
import time
from datetime import UTC, datetime
from glob import glob

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import StartFailed

_PATH = "/opt/deskgym/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def make_folders(config: GuestConfig) -> None:
    """Make the folders of the session that are not there yet."""
    for path, mode, agents in (
        (config.state_dir, 0o711, False),
        (config.home, 0o755, True),
        (config.runtime_dir, 0o700, True),
        (config.tmp_dir, 0o1777, True),
    ):
        if not os.path.isdir(path):
            os.makedirs(path, exist_ok=True)
            os.chmod(path, mode)
            if agents and config.uid is not None and path != "/tmp":
                os.chown(path, *config.owner)


def base_environment(config: GuestConfig) -> dict[str, str]:
    """What every program of the machine has in its environment, before there is a desktop."""
    env = {
        "PATH": _PATH,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/bash",
        "LANG": config.locale or _locale(),
    }
    if config.locale_path is not None:
        env["LOCPATH"] = config.locale_path
    if config.clock is not None:
        env |= _clock(config.clock)
    if config.attached:  # that desktop's own
        env.update((name, value) for name, value in os.environ.items() if not name.startswith("DESKGYM_"))
    env |= {
        "HOME": config.home,
        "TMPDIR": config.tmp_dir,
        "XDG_RUNTIME_DIR": config.runtime_dir,
        "XDG_CONFIG_HOME": f"{config.home}/.config",
        "XDG_CACHE_HOME": f"{config.home}/.cache",
        "XDG_DATA_HOME": f"{config.home}/.local/share",
    }
    if "TZ" in os.environ:
        env["TZ"] = os.environ["TZ"]
    return env


def _clock(start: str) -> dict[str, str]:
    """What makes programs believe that it is another time, by one offset for all.

    The monotonic clock gets it too: with libfaketime 0.9.10 waits fail otherwise (Python), or programs hang (Chromium).

    Raises:
        StartFailed: there is no libfaketime.
    """
    paths = sorted(glob("/usr/lib/*/faketime/libfaketime.so.1"))
    if not paths:
        raise StartFailed("a clock of its own needs libfaketime: `apt-get install libfaketime`")
    begins = datetime.fromisoformat(start)
    offset = begins.replace(tzinfo=begins.tzinfo or UTC).timestamp() - time.time()
    return {"LD_PRELOAD": paths[0], "FAKETIME": f"{math.ceil(offset):+d}"}


def _locale() -> str:
    """en_US.UTF-8 where the machine has it, for programs that format by locale; else C.UTF-8."""
    folder = "/usr/lib/locale"
    if os.path.exists(f"{folder}/en_US.utf8") or os.path.exists(f"{folder}/en_US.UTF-8"):
        return "en_US.UTF-8"
    try:
        with open(f"{folder}/locale-archive", "rb") as archive:
            if b"en_US.utf8\0" in archive.read():
                return "en_US.UTF-8"
    except OSError:
        pass
    return "C.UTF-8"
