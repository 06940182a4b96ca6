"""Tests marked ``sandbox`` are skipped, with the reason, where a sandbox cannot be had."""

from functools import cache

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox import SandboxMachine


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


@pytest.fixture
def headless():
    """A started sandbox without a display."""
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        yield machine
