"""What every machine must do: run it over your own with pytest.

Example:
    In a test file::

        import pytest
        from deskgym.envs.machines import conformance

        @pytest.mark.parametrize("check", conformance.CHECKS, ids=conformance.name_of)
        def test_conformance(check):
            conformance.run_check(check, MyMachine)

A factory takes a MachineConfig and returns a machine that is not started. Every check gets one and raises
AssertionError. What a machine cannot do it declares (``can``, ``isolates``, ``enforces``), and the checks of that are
skipped by ``run_check`` with ``pytest.skip``. The guest of the machines need only have the programs of a coreutils.
"""

from deskgym.envs.machines.conformance.bounds import display, memory_is_limited, processes_are_limited
from deskgym.envs.machines.conformance.harness import CHECKS, Check, Factory, NotApplicable, name_of, run_check
from deskgym.envs.machines.conformance.running import commands, files
from deskgym.envs.machines.conformance.states import snapshots

__all__ = [
    "CHECKS",
    "Check",
    "Factory",
    "NotApplicable",
    "commands",
    "display",
    "files",
    "memory_is_limited",
    "name_of",
    "processes_are_limited",
    "run_check",
    "snapshots",
]
