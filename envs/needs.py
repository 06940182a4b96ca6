"""What a task needs of the machines that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any

from deskgym.envs.errors import near
from deskgym.envs.options import CheckedFields, DiskMb, MemoryMb, Processes, Seconds, check_session


@dataclass(frozen=True)
class Needs(CheckedFields):
    """What a task needs; what is left out, it does not care about.

    A program declares its needs, and a task may raise them. An environment makes its machines by them, so that one
    environment serves tasks of different needs.

    Attributes:
        memory_mb: memory of all processes and written files together, in MiB.
        disk_mb: what may be written in all, in MiB.
        processes: how many processes and threads may live at once.
        glx: the X server must offer GLX.
        elements: rows of accessible elements that a reading may have.
        element_deadline: seconds that a reading of the elements may take.
        motion: the part of the screen, up to 1, in which things move by themselves, so that a step does not wait for
            them, and up to 300 ms for what was done to show; see ``docs/settling.md``.
        locale: of what is started in the session, such as ``"en_US.UTF-8"``.
        clock: the time that it is there when the setup begins, in ISO 8601, such as ``"2024-05-01T09:00"``.
        layers: recipes of the prepared layers that lie under the machine's files, tool environments among them; frozen
            dataclasses with a ``name``.
        libraries: the tool environment whose libraries its kernels have in place of the environment's own, where the
            machine takes layers; a frozen dataclass with a ``name``.
        services: specifications of the services that run beside it; frozen dataclasses with a ``name``.
        programs: the names of the programs, for messages.
        packages: the Debian packages that must be installed where its programs run.
        plugins: import paths of packages that are added to the guest, see ``MachineConfig.plugins``.

    Raises:
        ValueError: a value is not legal; the message says what is.
    """

    memory_mb: MemoryMb | None = None
    disk_mb: DiskMb | None = None
    processes: Processes | None = None
    glx: bool = False
    elements: Annotated[int, (1, 1 << 20)] | None = None
    element_deadline: Seconds | None = None
    motion: Annotated[float, (0.001, 1)] | None = None
    locale: str | None = None
    clock: str | None = None
    layers: tuple[Any, ...] = ()
    libraries: Any = None
    services: tuple[Any, ...] = ()
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_session(self.locale, self.clock)

    @classmethod
    def merged(cls, *needs: Needs) -> Needs:
        """What serves all of them: the larger number, the union of lists; of locales, clocks, libraries the last one.

        Examples:
            >>> Needs.merged(Needs(memory_mb=512, glx=True), Needs(memory_mb=2048))
            Needs(memory_mb=2048, glx=True)
        """
        return cls(
            **{entry.name: _join(entry.name, [getattr(each, entry.name) for each in needs]) for entry in fields(cls)}
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Needs:
        """From what a task file says under ``needs``.

        Raises:
            ValueError: an unknown key or a value that is not legal.
        """
        for name in values:
            if name not in TASK_KEYS:
                raise ValueError(f"unknown need {name!r}; legal are {', '.join(TASK_KEYS)}{near(name, TASK_KEYS)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """What is asked for, JSON-able: of layers and services their names."""
        asked = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        named: dict[str, Any] = {name: [each.name for each in asked[name]] for name in ("layers", "services")}
        if self.libraries is not None:
            named["libraries"] = self.libraries.name
        asked |= named | {name: list(asked[name]) for name in ("programs", "packages", "plugins")}
        return {name: value for name, value in asked.items() if value}

    def __repr__(self) -> str:
        """Only what is asked for."""
        asked = {e.name: getattr(self, e.name) for e in fields(self) if getattr(self, e.name) != e.default}
        return f"Needs({', '.join(f'{name}={value!r}' for name, value in asked.items())})"


TASK_KEYS = ("memory_mb", "disk_mb", "processes", "glx", "elements", "element_deadline", "motion", "locale", "clock")
"""What a task file may say under ``needs``; layers, services and packages come with its programs."""

NO_NEEDS = Needs()


def _join(name: str, values: list[Any]) -> Any:
    if name in ("layers", "services", "programs", "packages", "plugins"):
        return tuple(dict.fromkeys(item for value in values for item in value))
    if name == "glx":
        return any(values)
    given = [value for value in values if value is not None]
    if not given:
        return None
    return given[-1] if name in ("locale", "clock", "libraries") else max(given)
