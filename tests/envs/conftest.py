"""A desktop of processes, and what keeps companions, shared by the tests of one file."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

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


@pytest.fixture
def in_own_mounts() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs Python code that may mount a small disk over the cache: nobody else sees what it mounts."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk over the cache")

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", code],
            capture_output=True, text=True, timeout=200, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    return run
