"""What an image's boots are kept as: the first machine boots, all later ones are restored to where that boot ended."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once, file_lock
from deskgym.envs.machines.image import Image
from deskgym.envs.machines.qemu.command import Hardware
from deskgym.envs.machines.qemu.snapshots import Frozen

FOLDER = "boots"
"""In the image's folder, one snapshot per hardware: they go when the image is removed."""


def find(image: Image, hardware: Hardware) -> Frozen | None:
    """The snapshot of an image's boot on this hardware, or None."""
    try:
        return Frozen.open(_place(image, hardware))
    except ValueError:
        return None


def forget(image: Image, hardware: Hardware) -> None:
    """Remove it, so that the next start boots."""
    shutil.rmtree(_place(image, hardware), ignore_errors=True)


@contextmanager
def booting(image: Image, hardware: Hardware) -> Iterator[Path]:
    """Held while an image is booted, so that of several processes one does, and the others wait for it.

    Yields:
        Where ``keep`` shall put the snapshot.

    Raises:
        MachineError: the image's folder cannot be written to.
    """
    place = _place(image, hardware)
    with ExitStack() as stack:
        try:
            place.parent.mkdir(exist_ok=True)
            stack.enter_context(file_lock(place.with_name(f"{place.name}.lock")))
        except OSError as error:
            message = f"the boot cannot be kept in the image's folder: {error}; copy the image to a folder of your own"
            raise MachineError(message, kind="start_failed") from error
        yield place


def keep(place: Path, freeze: Callable[[Path], None]) -> None:
    """Have a snapshot taken of the machine that has just booted.

    Where that fails (a full disk) there is a warning, and the next start boots again.

    Args:
        place: where it goes.
        freeze: fills a folder with the snapshot.
    """
    try:
        build_once(place, freeze, replace=True)
    except (MachineError, OSError) as error:
        warnings.warn(f"the boot cannot be kept, so the next start boots again: {error}", stacklevel=4)


def _place(image: Image, hardware: Hardware) -> Path:
    return image.folder / FOLDER / hardware.key
