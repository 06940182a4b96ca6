"""System calls for programs on gVisor: without them GTK and Qt find no files, and lose some. Built once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.libraries import UNUSED
from deskgym.envs.machines.sandbox.host import cache_folder

LIBRARY, PRELOAD = "calls.so", "ld.so.preload"
_SOURCE = Path(__file__).with_name("gvisor_calls.c")


@cache
def build_calls(inside: str) -> Path:
    """The host's folder with ``LIBRARY``, and with the ``PRELOAD`` that names it by its folder in the machine.

    Raises:
        MachineError: there is no C compiler, or it failed.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise MachineError(
            "sandboxes on runsc need a C compiler once: `sudo apt-get install gcc libc6-dev`", "not_installed"
        )
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", LIBRARY, str(_SOURCE)]

    def fill(building: Path) -> None:
        building.chmod(0o755)
        done = subprocess.run(command, capture_output=True, text=True, cwd=building)
        if done.returncode != 0:
            raise MachineError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}", "not_installed")
        (building / PRELOAD).write_text(f"{inside}/{LIBRARY}\n")
        (building / PRELOAD).chmod(0o644)
        (building / LIBRARY).chmod(0o755)

    key = hashlib.sha256(f"{inside} {command[1:-1]}".encode() + _SOURCE.read_bytes()).hexdigest()[:16]
    return build_once(cache_folder() / f"gvisor-calls-{key}", fill, unused=UNUSED)
