"""Builds an environment's machines, by what its tasks need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import LIMITS, Machine, MachineConfig, no_layers
from deskgym.envs.machines.packages import missing_packages
from deskgym.envs.needs import Needs
from deskgym.envs.options import check_option, check_options
from deskgym.envs.provision.layers import layer_paths


@dataclass(frozen=True)
class MachineBuilder:
    """A kind of machine, and what each one has at least.

    Attributes:
        kind: see ``deskgym.envs.machines.create_machine``.
        least: the configuration for a task that needs nothing. A task that needs more memory, say, gets more; one that
            needs less gets as much as this says.
        options: arguments of the machine's class.
    """

    kind: str
    least: MachineConfig = field(default_factory=MachineConfig)
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_options(cls, kind: str, machine_options: Mapping[str, Any] | None, **config: Any) -> MachineBuilder:
        """From what ``gym.make(..., machine_options=...)`` was given.

        Args:
            kind: of machine.
            machine_options: values of ``MachineConfig`` named in ``LIMITS``, and arguments of the machine's class.
            config: other values of ``MachineConfig``.

        Raises:
            ValueError: a value is not legal.
        """
        check_option("machine_options", machine_options, Mapping[str, Any] | None)
        options = dict(machine_options or {})
        limits = {name: options.pop(name) for name in LIMITS if name in options}
        return cls(kind, MachineConfig(**config, **check_options(MachineConfig, limits, "machine_options")), options)

    def config(self, needs: Needs) -> MachineConfig:
        """The configuration of a machine for these needs; machines of equal ones can stand in for each other.

        Prepared layers that are missing are built.

        Raises:
            MachineError: a program or a tool environment is not installed, ``kind="not_installed"``; the machine takes
                no layers, ``"not_supported"``; a layer cannot be built, ``"layer_failed"``.
        """
        self.check_installed(needs)
        raised = {
            name: max(wanted, getattr(self.least, name))
            for name in ("memory_mb", "disk_mb", "processes")
            if (wanted := getattr(needs, name)) is not None
        }
        layers, libraries = self.least.layers, self.least.libraries
        wanted_layers = needs.layers
        takes_layers = "layers" in self.build(self.least).can
        if needs.libraries is not None and takes_layers:
            wanted_layers, libraries = (*wanted_layers, needs.libraries), (needs.libraries.libraries,)
        if wanted_layers:
            if not takes_layers:
                raise no_layers(self.kind, [layer.name for layer in wanted_layers])
            layers = tuple(dict.fromkeys((*layers, *layer_paths(wanted_layers))))
        plugins = tuple(dict.fromkeys((*self.least.plugins, *needs.plugins)))
        session = {name: getattr(needs, name) for name in ("locale", "clock") if getattr(needs, name) is not None}
        if session and "session" not in self.build(self.least).can:
            asked = " and ".join(f"{name}={value!r}" for name, value in session.items())
            raise MachineError(
                f"the task needs {asked}, which machine={self.kind!r} cannot set: use machine='sandbox'",
                "not_supported",
            )
        glx = self.least.glx or needs.glx
        return replace(self.least, glx=glx, layers=layers, libraries=libraries, plugins=plugins, **session, **raised)

    def check_installed(self, needs: Needs) -> None:
        """Raise MachineError where a program of the task's is not installed where it would run."""
        if needs.packages and self._runs_host_programs and (missing := missing_packages(needs.packages)):
            programs = f"the task uses {', '.join(needs.programs)}" if needs.programs else "the task uses programs"
            raise MachineError(
                f"{programs}, which machine={self.kind!r} takes from its host; these Debian packages are missing here: "
                f"{', '.join(missing)}. Install them: `deskgym install SUITE`, with the suite's name or folder, or "
                f"`sudo apt-get install {' '.join(missing)}`",
                kind="not_installed",
            )

    def build(self, config: MachineConfig) -> Machine:
        """A machine of this configuration; starts nothing."""
        return create_machine(self.kind, config, **self.options)

    @property
    def _runs_host_programs(self) -> bool:
        return self.build(self.least).runs_host_programs
