"""Machines: computers that can be started, snapshotted, restored and stopped."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any

from deskgym.envs.errors import near
from deskgym.envs.extras import command_for
from deskgym.envs.machines.base import LIMITS, CommandResult, Machine, MachineConfig, Snapshot
from deskgym.envs.options import check_options, checked

MACHINES = {
    "sandbox": "deskgym.envs.machines.sandbox.machine:SandboxMachine",
    "qemu": "deskgym.envs.machines.qemu.machine:QemuMachine",
    "process": "deskgym.envs.machines.process.machine:ProcessMachine",
    "vnc": "deskgym.envs.machines.vnc.machine:VncMachine",
    "fake": "deskgym.envs.machines.fake.machine:FakeMachine",
    "none": "deskgym.envs.machines.none.machine:NoMachine",
}
"""Kind → where its class is; imported only when it is asked for."""

NEEDED = {"qemu": ("qemu.qmp", "vm"), "vnc": ("vncdotool", "vnc")}
"""Kind → the library that it needs, and the extra of this package that has it."""


@checked
def create_machine(kind: str, config: MachineConfig | None = None, /, **options: Any) -> Machine:
    """Build a machine by its kind, or by ``"module:Class"`` for one of your own. Starts nothing.

    Args:
        kind: one of ``MACHINES``.
        config: what it may have.
        options: further arguments of its class, such as ``runtime`` and ``hide`` of ``"sandbox"``.

    Raises:
        ValueError: there is no such kind, or it does not take these options.
    """
    place = MACHINES.get(kind, kind)
    module, _, name = place.partition(":")
    if not name:
        raise ValueError(
            f"unknown machine {kind!r}; legal are {', '.join(MACHINES)}, or 'module:Class' of your own"
            f"{near(kind, MACHINES)}"
        )
    library, extra = NEEDED.get(kind, ("", ""))
    if library and not _is_installed(library):
        raise ValueError(f"machine={kind!r} needs {library}: {command_for(extra)}")
    try:
        machine_class = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"machine {kind!r} cannot be loaded: {error}") from error
    if not (isinstance(machine_class, type) and issubclass(machine_class, Machine)):
        raise ValueError(f"machine {kind!r} is not a subclass of deskgym.envs.machines.Machine")
    machine_class = machine_class.variant(options)
    if not _takes_any(machine_class):
        options = check_options(machine_class, options, "machine_options", leading=1, legal=LIMITS)
    return machine_class(config, **options)


def _takes_any(machine_class: type[Machine]) -> bool:
    """Whether it passes on whatever options it is given."""
    return any(p.kind is p.VAR_KEYWORD for p in signature(machine_class).parameters.values())


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False


__all__ = ["MACHINES", "CommandResult", "Machine", "MachineConfig", "Snapshot", "create_machine"]
