"""A machine with the shop beside it, for hooks that speak to a service."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import CompanionKeeper
from deskgym.task_suites.core.task import Setup

sys.path.insert(0, str(Path(__file__).parents[2] / "envs" / "provision"))  # shop_service


@pytest.fixture(scope="module")
def machine():
    from shop_service import SHOP

    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    try:
        with SandboxMachine(MachineConfig(screen_size=None)) as machine:
            keeper.give(machine, [SHOP], Counter())
            yield machine
    finally:
        keeper.close()


@pytest.fixture
def setup(machine):
    return Setup(machine, "demo/x")
