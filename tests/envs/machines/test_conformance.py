"""Every machine that ships passes the suite that ships."""

import pytest

from deskgym.envs.machines import conformance
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.machines.qemu.machine import QemuMachine
from deskgym.envs.machines.sandbox.gvisor import GvisorMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_fake(check):
    conformance.run_check(check, FakeMachine)


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_process(check):
    conformance.run_check(check, ProcessMachine)


@pytest.mark.sandbox
@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_sandbox(check):
    conformance.run_check(check, SandboxMachine)


@pytest.mark.sandbox
@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_gvisor(check):
    conformance.run_check(check, GvisorMachine)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_qemu(check):
    conformance.run_check(check, lambda config: QemuMachine(config, image="science", accel="tcg"))
