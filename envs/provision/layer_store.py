"""Where prepared layers are kept: one read-only folder each, ``NAME-DIGEST``, in the cache."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.errors import MachineError, near
from deskgym.envs.machines.sandbox.host import cache_folder, machine_ids
from deskgym.envs.machines.sandbox.prepared import MANIFEST
from deskgym.envs.machines.sandbox.snapshots import TIMEOUT, remove_folder
from deskgym.envs.machines.sandbox.supervision import LAYERS_SCRIPT
from deskgym.envs.machines.userns import call_mapped

FORMAT = 1  # raise it whenever layers are built in another way

Report = Callable[[str, int, int], object]
"""Called as a build goes on: what is being done, and how many parts of how many are done (0 of 0: not known)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_]*(-[a-z0-9_]+)*")


@dataclass(frozen=True)
class Layer:
    """A prepared layer that is built.

    Attributes:
        path: its folder.
        name: its recipe's name.
        digest: hash of all that it was made from.
        size: bytes of its files.
        bases: folders of the layers that it stands on, the lowest first.
        used: when a machine was last started with it, in seconds since the epoch.
    """

    path: Path
    name: str
    digest: str
    size: int
    bases: tuple[str, ...] = ()
    used: float = 0.0

    @property
    def stack(self) -> tuple[str, ...]:
        """What a machine that needs it has in its ``MachineConfig.layers``."""
        return (*self.bases, str(self.path))

    @classmethod
    def open(cls, path: Path) -> Layer:
        """Read a layer's manifest.

        Raises:
            MachineError: kind ``"not_installed"``: there is none, or it cannot be read.
        """
        try:
            about = json.loads((path / MANIFEST).read_text())
            used = path.stat().st_mtime
            return cls(path, about["name"], about["digest"], about["bytes"], tuple(about["bases"]), used)
        except (OSError, ValueError, KeyError) as error:
            raise MachineError(f"{path} is no prepared layer: {error}", kind="not_installed") from error


def layers_folder() -> Path:
    """Where layers live: ``layers`` in deskgym's cache folder; made if need be."""
    folder = cache_folder() / "layers"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def layer_path(name: str, digest: str) -> Path:
    """The folder of a layer, built or not.

    Raises:
        ValueError: the name is not one.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"a layer cannot be called {name!r}; legal are small letters, digits, _ and single -")
    return layers_folder() / f"{name}-{digest}"


def list_layers() -> list[Layer]:
    """All layers that are built, by name."""
    return [Layer.open(path) for path in sorted(layers_folder().iterdir()) if (path / MANIFEST).is_file()]


def remove_layer(name: str) -> list[Layer]:
    """Delete a layer (``NAME-DIGEST``), or all of a name; returns those that are gone.

    Raises:
        MachineError: kind ``"not_installed"``: there is none; ``"in_use"``: a machine runs on it.
    """
    found = [layer for layer in list_layers() if name in (layer.path.name, layer.name)]
    if not found:
        known = {known for layer in list_layers() for known in (layer.name, layer.path.name)}
        raise MachineError(
            f"no layer {name!r} is built{near(name, known)}: `deskgym layers list` shows all", kind="not_installed"
        )
    for left in layers_folder().glob(".removing-*"):  # somebody was killed meanwhile
        remove_folder(left, machine_ids())
    for layer in found:
        held = os.open(layer.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # machines hold it shared; see sandbox.prepared
            leaving = layer.path.rename(layer.path.with_name(f".removing-{secrets.token_hex(4)}"))
        except BlockingIOError:
            raise MachineError(
                f"the layer {layer.path.name} is in use: a machine runs on it; stop it and try again", kind="in_use"
            ) from None
        finally:
            os.close(held)
        remove_folder(leaving, machine_ids())
    return found


def seal(folder: Path, name: str, digest: str, bases: tuple[str, ...] = ()) -> None:
    """Make a layer of a folder that holds ``usr/upper``, ``home/upper`` and so on, all owned by the machines' users.

    Raises:
        MachineError: there is no room for its manifest.
    """
    about = json.dumps({"name": name, "digest": digest, "bases": bases})
    try:
        call_mapped(machine_ids(), LAYERS_SCRIPT, ["seal", str(folder), MANIFEST, about], timeout=TIMEOUT)
    except RuntimeError as error:
        raise MachineError(f"the layer {name!r} could not be finished: {error}", kind="layer_failed") from error
