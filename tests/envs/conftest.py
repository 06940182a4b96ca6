"""A desktop of processes, shared by the tests of one file. Tests marked ``sandbox`` are skipped where there is none."""

import shutil
from collections.abc import Iterator
from functools import cache

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine


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


@pytest.fixture(scope="module")
def desktop() -> Iterator[ProcessMachine]:
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    with ProcessMachine(MachineConfig(screen_size=(1280, 720))) as machine:
        yield machine


@pytest.fixture(scope="module")
def headless() -> Iterator[ProcessMachine]:
    with ProcessMachine(MachineConfig(screen_size=None)) as machine:
        yield machine
