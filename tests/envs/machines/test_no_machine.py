"""No machine: it starts at once, has nothing in it, and says so."""

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import MachineConfig, Snapshot, create_machine


def test_it_is_alive_from_start_to_stop_and_has_nothing():
    machine = create_machine("none", MachineConfig(screen_size=None))
    assert not machine.alive
    with machine:
        assert machine.alive and machine.untouched
        machine.restore(None)
        for what, said in (("guest", "run commands in"), ("display", "to see")):
            with pytest.raises(MachineError, match=said):
                getattr(machine, what)
        with pytest.raises(MachineError, match="take a snapshot of"):
            machine.snapshot()
        with pytest.raises(ValueError, match="machine='none' makes none"):
            machine.restore(Snapshot("sandbox", "/nowhere"))
    assert not machine.alive
