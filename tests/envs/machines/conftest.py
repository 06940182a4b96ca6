"""Tests marked ``qemu`` are skipped, with the reason, where there is no image."""

from functools import cache

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.image import find_image
from deskgym.envs.machines.qemu.host import find_qemu
from deskgym.envs.machines.sandbox.machine import SandboxMachine


@cache
def why_no_qemu():
    try:
        find_qemu()
        find_image("science").verify()
        return ""
    except MachineError as error:
        return str(error)


@pytest.fixture(autouse=True)
def _qemu_or_skip(request):
    if request.node.get_closest_marker("qemu") and (reason := why_no_qemu()):
        pytest.skip(f"no virtual machine here: {reason}")


@pytest.fixture
def headless():
    """A started sandbox without a display."""
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        yield machine
