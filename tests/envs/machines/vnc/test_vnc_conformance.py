"""A VNC desktop with our guest in it passes the suite that ships."""

from contextlib import ExitStack

import pytest
from vnc_desktops import VncDesktop

from deskgym.envs.machines import conformance
from deskgym.envs.machines.vnc.machine import VncMachine


@pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
def test_vnc(check):
    with ExitStack() as desktops:

        def on_a_desktop_of_its_own(config):
            desktop = desktops.enter_context(VncDesktop(config.screen_size or (640, 400), guest=True))
            return VncMachine(config, address=desktop.address, guest=desktop.guest_address)

        conformance.run_check(check, on_a_desktop_of_its_own)


def test_without_a_guest():
    with VncDesktop((640, 400)) as desktop:
        conformance.run_check(conformance.display, lambda config: VncMachine(config, address=desktop.address))
