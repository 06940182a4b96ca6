"""A sandbox for the tests of machines."""

import pytest

from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine


@pytest.fixture
def headless():
    """A started sandbox without a display."""
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        yield machine
