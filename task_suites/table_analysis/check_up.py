"""What ``deskgym doctor`` says of table analysis: the libraries that kernels load."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.doctor.doctor import CheckUp
from deskgym.envs.machines.kernels import LIBRARIES
from deskgym.envs.machines.libraries import build_libraries


def check() -> Iterator[CheckUp]:
    """Whether its kernels can have their libraries."""
    try:
        folder = build_libraries(LIBRARIES)
    except (MachineError, OSError) as error:
        fix = shlex.join([sys.executable, "-m", "pip", "install", *LIBRARIES])
        yield CheckUp("table analysis", "warn", str(error), fix)
        return
    yield CheckUp("table analysis", "ok", f"{', '.join(LIBRARIES)} for kernels in {folder}")
