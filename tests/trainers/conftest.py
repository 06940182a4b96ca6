import sys
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine

sys.path.insert(0, str(Path(__file__).parent))  # press_suite


@pytest.fixture(autouse=True)
def _sandbox_or_skip(request):
    if request.node.get_closest_marker("sandbox"):
        try:
            with SandboxMachine(MachineConfig(screen_size=None)):
                pass
        except MachineError as error:
            pytest.skip(f"no sandbox here: {error}")
