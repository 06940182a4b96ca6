"""The kinds of machines that ``machines`` compares: which there are here, and how each is built."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import gymnasium

from deskgym.benchmarks.measure import Part
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError, near
from deskgym.envs.machines import Machine, MachineConfig, create_machine
from deskgym.envs.machines.image import Image, find_image
from deskgym.envs.machines.qemu.boots import FOLDER
from deskgym.envs.machines.qemu.folders import link, new_folder
from deskgym.envs.machines.qemu.probe import probe

KINDS = ("sandbox", "qemu")
ACCELS = ("tcg", "kvm")
TASK = "kalgebra/plot-2d"
SIZE = (1280, 720)


@dataclass(frozen=True, eq=False)
class Kind:
    """One column of the table.

    Attributes:
        name: such as ``"qemu/tcg"``.
        machine: as in ``gym.make(..., machine=...)``.
        options: the machine's.
        image: what it boots from, or None.
    """

    name: str
    machine: str
    options: Mapping[str, Any] = field(default_factory=dict)
    image: Image | None = None

    def build(self, **options: Any) -> Machine:
        """A machine that is not started."""
        return create_machine(self.machine, MachineConfig(screen_size=SIZE), **{**self.options, **options})

    def make(self, parts: Sequence[str]) -> DesktopEnv:
        """An env of a KAlgebra task, as users make it."""
        import deskgym  # noqa: F401 - registers the id

        env = gymnasium.make(
            "deskgym/Science-v0", task=TASK, machine=self.machine, screen_size=SIZE, observation=tuple(parts),
            max_steps=1_000_000, machine_options=dict(self.options), disable_env_checker=True,
        ).unwrapped  # fmt: skip
        assert isinstance(env, DesktopEnv)
        return env

    @contextmanager
    def unbooted(self) -> Iterator[Machine]:
        """A machine that has never been booted, not started: for an image, one of a copy without its kept boots."""
        if self.image is None:
            with _stopped_at_end(self.build()) as machine:
                yield machine
            return
        folder = new_folder("machine")  # of a killed process, the next one removes it
        try:
            for path in self.image.folder.iterdir():
                if path.name != FOLDER:
                    link(path, folder / path.name)
            with _stopped_at_end(self.build(image=str(folder))) as machine:
                yield machine
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stopped_at_end(machine: Machine) -> Iterator[Machine]:
    try:
        yield machine
    finally:
        machine.stop()


def check_kinds(names: Sequence[str], accels: Sequence[str]) -> None:
    """Raise ValueError for a kind or an accelerator that there is none of."""
    for option, given, legal in (("--machine", names, KINDS), ("--accel", accels, ACCELS)):
        for name in given:
            if name not in legal:
                raise ValueError(f"{option} {name}; legal are {', '.join(legal)}{near(name, legal)}")


def find_kinds(part: Part, names: Sequence[str], accels: Sequence[str], image_name: str) -> list[Kind]:
    """The kinds that can be measured here; why others cannot is noted in ``part.skipped``.

    Args:
        part: what the probe found is noted there, too.
        names: of ``KINDS``.
        accels: of ``ACCELS``; none is all that boot something here.
        image_name: the virtual machines' image.
    """
    kinds = []
    for name in names:
        if name != "qemu":
            kinds.append(Kind(name, name))
            continue
        try:
            image = find_image(image_name)
            outcome = probe(image)
        except MachineError as error:
            part.skipped["qemu"] = str(error)
            continue
        part.facts |= {"image": image.folder.name, "probe": asdict(outcome)}
        for accel in accels or ACCELS:
            if outcome.seconds.get(accel) is None:
                part.skipped[f"qemu/{accel}"] = f"boots nothing here: {outcome.said.get(accel)}"
            else:
                kinds.append(Kind(f"qemu/{accel}", "qemu", {"image": str(image.folder), "accel": accel}, image))
    return kinds
