"""A desktop of processes, and what keeps companions, shared by the tests of one file."""

import shutil
from collections.abc import Iterator

import pytest

from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import CompanionKeeper


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


@pytest.fixture(scope="module")
def keeper() -> Iterator[CompanionKeeper]:
    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    yield keeper
    keeper.close()
