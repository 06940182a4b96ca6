r"""Prepared layers: what takes long and is the same for every episode, built once, and put under many machines.

A recipe runs once in a sandbox. What it writes (to /home, /opt, /var, /etc, /usr) is frozen as a folder, named by the
hash of the recipe, of its packages' versions, and of what it stands on. A machine that needs it mounts it read-only
beneath its own writes, which costs nothing.

Example:
    >>> recipe = LayerRecipe("greeting", build="echo hello > /home/user/greeting.txt")
    >>> with SandboxMachine(MachineConfig(layers=layer_paths([recipe]))) as machine:  # doctest: +SKIP
    ...     machine.get("/home/user/greeting.txt")
    b'hello\n'
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.packages import missing_packages, package_versions
from deskgym.envs.machines.sandbox.host import machine_ids
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.machines.sandbox.prepared import MANIFEST
from deskgym.envs.provision.layer_store import FORMAT, Layer, Report, layer_path, seal
from deskgym.envs.provision.tool_environments import (
    ToolEnvironment,
    build_environment,
    environment_digest,
    find_environment,
)


@dataclass(frozen=True)
class LayerRecipe:
    """How a layer is made: data only, so that equal recipes are one layer.

    Attributes:
        name: small letters, digits, ``_`` and single ``-``.
        build: a bash script (it ends at the first command that fails), or a program with its arguments; run once, in a
            machine without a network. It ends what it starts: only files are kept. "" where ``files`` is all.
        packages: Debian packages that it needs; other versions of them make another layer.
        files: put in before the script runs: the path inside, and the content (bytes) or a host's file or folder.
        bases: what it stands on: layers and tool environments, which a machine with it has too.
        environment: variables of the script, as pairs.
        user: who runs the script: ``"agent"`` (the desktop's user) or ``"guest"`` (root inside).
        screen_size: width and height in pixels of the display it needs; None for none.
        memory_mb: memory that the script may have, in MiB.
        disk_mb: what it may write, in MiB.
        timeout: seconds until the script is ended.
    """

    name: str
    build: str | tuple[str, ...] = ""
    packages: tuple[str, ...] = ()
    files: tuple[tuple[str, bytes | Path], ...] = ()
    bases: tuple[LayerRecipe | ToolEnvironment, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    user: str = "agent"
    screen_size: tuple[int, int] | None = None
    memory_mb: int = 4096
    disk_mb: int = 2048
    timeout: float = 300.0

    @property
    def argv(self) -> list[str]:
        """The command that builds it; empty where there is none."""
        if isinstance(self.build, str):
            return ["/bin/bash", "-euo", "pipefail", "-c", self.build] if self.build else []
        return list(self.build)


def layer_paths(items: Sequence[LayerRecipe | ToolEnvironment]) -> tuple[str, ...]:
    """What ``MachineConfig.layers`` takes: the folders of these and of all that they stand on, each once.

    Recipes that are not built yet are built, which can take minutes. Later ones lie over earlier ones.

    Raises:
        MachineError: kind ``"not_installed"``: an environment or a package is missing; the message has the command
            that adds it. Kind ``"layer_failed"``: a recipe's script failed.
    """
    layers = [_found(item) for item in items]
    if not all(Path(path, MANIFEST).is_file() for layer in layers for path in layer.stack):  # somebody removed one
        _found.cache_clear()
        layers = [_found(item) for item in items]
    return tuple(dict.fromkeys(path for layer in layers for path in layer.stack))


@lru_cache(maxsize=256)
def _found(item: LayerRecipe | ToolEnvironment) -> Layer:
    """The layer of a recipe; it is asked for in every reset, so packages and files are looked at once per process."""
    return find_environment(item) if isinstance(item, ToolEnvironment) else prepare_layer(item)


def prepare_layer(recipe: LayerRecipe | ToolEnvironment, report: Report = lambda text, done, total: None) -> Layer:
    """Give the layer of a recipe or tool environment; builds it if it is not there.

    Args:
        recipe: how it is made. Recipes that it stands on are built too; tool environments must be there.
        report: called as the build goes on.

    Raises:
        MachineError: see ``layer_paths`` and ``build_environment``.
        ValueError: the recipe's name is not one, or it puts in a file that is not there.
    """
    if isinstance(recipe, ToolEnvironment):
        return build_environment(recipe, report)
    digest = layer_digest(recipe)

    def build(_: Path) -> Path:
        return _build(recipe, digest, layer_paths(recipe.bases), report)

    def waiting(pid: str) -> None:
        report(f"{recipe.name}: process {pid} builds it", 0, 0)

    return Layer.open(build_once(layer_path(recipe.name, digest), build, waiting=waiting))


def layer_digest(recipe: LayerRecipe | ToolEnvironment) -> str:
    """Hash of all that a layer is made from, whether it is built or not.

    Raises:
        MachineError: kind ``"not_installed"``: a package or a Python is missing.
    """
    if isinstance(recipe, ToolEnvironment):
        return environment_digest(recipe)
    bases = [layer_digest(base) for base in recipe.bases]
    about = [FORMAT, recipe.argv, recipe.environment, recipe.user, recipe.screen_size, bases]
    if missing := missing_packages(recipe.packages):
        raise MachineError(
            f"the layer {recipe.name!r} needs {', '.join(missing)}: `sudo apt-get install {' '.join(missing)}`",
            kind="not_installed",
        )
    digest = hashlib.sha256(json.dumps([*about, package_versions(recipe.packages)]).encode())
    digest.update(machine_ids().to_json().encode())
    for path, source in recipe.files:
        digest.update(b"\0" + path.encode())
        for name, content in _contents(source):
            digest.update(b"\0" + name.encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


def _contents(source: bytes | Path) -> Iterable[tuple[str, bytes]]:
    if isinstance(source, bytes):
        yield "", source
    elif not source.exists():
        raise ValueError(f"a layer's recipe puts in {source}, and there is no such file or folder")
    elif source.is_file():
        yield f"{source.stat().st_mode:o}", source.read_bytes()
    else:
        for path in sorted(path for path in source.rglob("*") if path.is_file()):
            yield f"{path.relative_to(source)} {path.stat().st_mode:o}", path.read_bytes()


def _build(recipe: LayerRecipe, digest: str, bases: tuple[str, ...], report: Report) -> Path:
    """Run the recipe in a sandbox; gives the frozen folder, which is deleted with this process until it is renamed."""
    config = MachineConfig(
        screen_size=recipe.screen_size, memory_mb=recipe.memory_mb, disk_mb=recipe.disk_mb, layers=bases
    )
    with SandboxMachine(config) as machine:
        for path, source in recipe.files:
            machine.put(path, source)
        if recipe.argv:
            report(f"{recipe.name}: running its script", 0, 0)
            _run(recipe, machine)
        report(f"{recipe.name}: freezing what it wrote", 0, 0)
        snapshot = machine.snapshot()
        try:
            seal(Path(snapshot.path), recipe.name, digest, bases)
        except BaseException:
            machine.drop(snapshot)
            raise
    return Path(snapshot.path)


def _run(recipe: LayerRecipe, machine: SandboxMachine) -> None:
    done = machine.run(
        recipe.argv, env=dict(recipe.environment), timeout=recipe.timeout, user=recipe.user, output_limit=1 << 20
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace").strip()[-1000:] or "nothing"
        why = f"did not end within {recipe.timeout:g} s" if done.timed_out else f"ended with status {done.returncode}"
        raise MachineError(f"the script of the layer {recipe.name!r} {why}; it said: {said}", kind="layer_failed")
