"""Keeps companions from episode to episode, and gives each desktop those that its task needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from deskgym.envs.errors import MachineError, ServiceError
from deskgym.envs.machines.base import Machine, MachineConfig
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companions import Companion
from deskgym.envs.provision.layers import layer_paths
from deskgym.envs.provision.services import ServiceSpec

IDLE = 4
"""Companions that wait for a task which needs them; those that have waited longest are stopped."""


@dataclass(eq=False)
class _Held:
    """A companion, and the desktop that it serves."""

    companion: Companion
    desktop: Machine | None = None
    trusted: bool = True

    @property
    def free(self) -> bool:
        """Whether it can serve another: a desktop that was stopped needs it no more."""
        return self.desktop is None or not self.desktop.alive


class CompanionKeeper:
    """The companions of an environment's desktops, those that its pool prepares among them. Several threads may use it.

    Args:
        builder: builds their machines.
    """

    def __init__(self, builder: MachineBuilder) -> None:
        self._builder = builder
        self._lock = Lock()
        self._held: list[_Held] = []  # the one that was used last is last

    def give(self, desktop: Machine, specs: Sequence[ServiceSpec], stats: Counter[str]) -> None:
        """Set ``desktop.companions``: those of ``specs``, each with its data as new, and no others.

        Args:
            desktop: started afresh; what it had before is gone.
            specs: what its task needs.
            stats: counts ``companion_starts``, ``companion_roll_backs`` and ``companion_repairs`` (companions that were
                replaced because they had died or their data was not what it should be).

        Raises:
            MachineError: kind ``"service_failed"``: a service did not start, with its last words; ``"not_supported"``:
                this kind of machine has no companions; or a machine broke.
        """
        desktop.companions = {}
        for need, those in (("companions", specs), ("shared_folders", [spec for spec in specs if spec.shared])):
            if those and need not in desktop.can:
                names = ", ".join(spec.name for spec in those)
                raise MachineError(
                    f"a {desktop.kind} machine has no {need.replace('_', ' ')}, and the task needs the service "
                    f"{names}: choose machine='sandbox'",
                    kind="not_supported",
                )
        self._release(desktop, specs)
        for spec in specs:
            held = self._take(desktop, spec)
            try:
                held.companion, held.trusted = self._as_new(held, stats), True
                held.companion.attach(desktop)
            except ServiceError as error:
                self._end(held)
                raise MachineError(str(error), "service_failed") from error
            except BaseException:
                self._end(held)
                raise
            desktop.companions = {**desktop.companions, spec.name: held.companion}
        self._end_idle()

    def distrust(self, desktop: Machine) -> None:
        """A setup failed on this desktop: its companions may be the reason, and are replaced before their next use."""
        with self._lock:
            for held in self._held:
                held.trusted = held.trusted and held.desktop is not desktop

    def close(self) -> None:
        """Stop all of them. Idempotent; ``give`` starts new ones."""
        with self._lock:
            held, self._held = self._held, []
        for entry in held:
            entry.companion.stop()

    def _release(self, desktop: Machine, specs: Sequence[ServiceSpec]) -> None:
        with self._lock:
            for held in self._held:
                if held.desktop is desktop and held.companion.spec not in specs:
                    held.desktop = None

    def _take(self, desktop: Machine, spec: ServiceSpec) -> _Held:
        """One for this desktop: the one that it had before, another that is free, or a new one, not started."""
        with self._lock:
            fitting = [held for held in self._held if held.companion.spec == spec]
            held = next((held for held in fitting if held.desktop is desktop), None)
            held = held or next((held for held in fitting if held.free), None)
            if held is None:
                held = _Held(self._new(spec))
            else:
                self._held.remove(held)
            held.desktop = desktop
            self._held.append(held)
            return held

    def _new(self, spec: ServiceSpec) -> Companion:
        config = MachineConfig(
            screen_size=None,
            memory_mb=spec.memory_mb,
            disk_mb=spec.disk_mb,
            processes=spec.processes,
            layers=layer_paths(spec.layers),
        )
        return Companion(spec, self._builder.build(config))

    def _as_new(self, held: _Held, stats: Counter[str]) -> Companion:
        """The companion with its data rolled back, or where that does not work, a fresh one."""
        companion = held.companion
        if held.trusted and companion.machine.alive:
            try:
                companion.roll_back()
                stats["companion_roll_backs"] += 1
                return companion
            except (ServiceError, MachineError):
                stats["companion_repairs"] += 1
        elif companion.started:
            stats["companion_repairs"] += 1
        companion.stop(in_order=False)
        stats["companion_starts"] += 1
        fresh = self._new(companion.spec)
        try:
            fresh.start()
        except BaseException:
            fresh.stop()
            raise
        return fresh

    def _end(self, held: _Held) -> None:
        with self._lock:
            if held in self._held:
                self._held.remove(held)
        held.companion.stop()

    def _end_idle(self) -> None:
        with self._lock:
            idle = [held for held in self._held if held.free]
            going = idle[: max(0, len(idle) - IDLE)]
            self._held = [held for held in self._held if held not in going]
        for held in going:
            held.companion.stop()
