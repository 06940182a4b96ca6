import sys
from functools import cache
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine

sys.path.insert(0, str(Path(__file__).parent))  # press_suite


@cache
def why_no_sandbox():
    try:
        with SandboxMachine(MachineConfig(screen_size=None)):
            return ""
    except MachineError as error:
        return str(error)


@pytest.fixture(autouse=True)
def _sandbox_or_skip(request):
    if request.node.get_closest_marker("sandbox") and (reason := why_no_sandbox()):
        pytest.skip(f"no sandbox here: {reason}")
