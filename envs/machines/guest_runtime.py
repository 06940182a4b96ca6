"""The guest runtime: a read-only folder with the guest's code and the few libraries that it needs, nothing else.

The host's site-packages never enter a machine: they may hold this package, whose evaluators and reference solutions an
agent must not read. The folder is built once per interpreter, library versions and guest source, and kept in the cache.

A plugin is a Python package that a program or a suite adds to the guest of the machines that ask for it
(``MachineConfig.plugins``). It is named by its import path, and has the same path inside. The packages above it are
empty there.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import sys
import sysconfig
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.sandbox.host import cache_folder

FORMAT = 6
UNUSED = 7 * 24 * 3600.0
"""Seconds after which a runtime that no process has started with counts as forgotten: machines do not run that long.
Each has 30 MB, and every change of the guest's source makes a new one."""

REQUIRED = ("msgpack", "dbus-fast", "python-xlib", "six", "h11")
OPTIONAL = ("pillow", "pyautogui", "pyscreeze", "pytweening", "pymsgbox", "pygetwindow", "pyrect")
"""MouseInfo is left out: it ends the interpreter where there is no tkinter. PyAutoGUI lives well without it."""

INSIDE = "/opt/deskgym/guest"
PYTHON_INSIDE = "/opt/deskgym/python"
SOURCE = Path(__file__).resolve().parent.parent / "guest"

_BOOT = '''"""Starts the guest as PID 1 of a sandbox."""

import gc
import os
import site
import sys

gc.disable()  # until all is loaded: it would look through the new modules again and again, and find nothing
os.chmod("/tmp", 0o1777)
site.setquit()  # -S leaves exit() and help() out, which code actions may call
site.sethelper()
sys.path.insert(0, "/opt/deskgym/guest")

sys.modules["ssl"] = None  # asyncio can do without, and it takes a fifth of asyncio's time to load
import asyncio

del sys.modules["ssl"]

from deskgym.envs.guest.server import main

sys.exit(main(sys.argv[1:]))
'''


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs the guest, seen from inside a machine.

    Attributes:
        path: its program inside.
        prefix: the host folder to mount at ``PYTHON_INSIDE``, or None where /usr has it.
        libraries: folder inside to put on LD_LIBRARY_PATH (a Python built with ``--enable-shared``), or None.
        masked: folders inside that must be hidden: its site-packages.
    """

    path: str
    prefix: str | None = None
    libraries: str | None = None
    masked: tuple[str, ...] = ()


@cache
def find_interpreter() -> Interpreter:
    """The interpreter that runs this process, as machines see it."""
    program = os.path.realpath(sys.executable)
    prefix = os.path.realpath(sys.base_prefix)
    if not program.startswith(f"{prefix}/"):  # a copy, in an environment made with ``venv --copies``
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        program = os.path.realpath(f"{prefix}/bin/python{version}")
    if prefix == "/usr" or prefix.startswith("/usr/"):
        return Interpreter(program)
    inside = f"{PYTHON_INSIDE}/{os.path.relpath(program, prefix)}"
    lib = f"{PYTHON_INSIDE}/{sys.platlibdir}"
    site = f"{lib}/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    shared = bool(sysconfig.get_config_var("Py_ENABLE_SHARED"))
    return Interpreter(inside, prefix, lib if shared else None, (site,))


@cache
def build_guest_runtime(plugins: tuple[str, ...] = ()) -> Path:
    """Find the guest runtime with these plugins in the cache, or build it.

    Args:
        plugins: import paths of packages, such as ``"my_suite.guest"``.

    Raises:
        MachineError: a library that the guest needs is not installed, or there is no such plugin.
    """
    if plugins:
        return _with_plugins(build_guest_runtime(), plugins)
    names = {name: _distribution(name) for name in (*REQUIRED, *OPTIONAL)}
    missing = [name for name in REQUIRED if names[name] is None]
    if missing:
        raise MachineError(
            f"the guest needs {', '.join(missing)}: `{sys.executable} -m pip install {' '.join(missing)}`",
            kind="not_installed",
        )
    found = [dist for dist in names.values() if dist is not None]
    sources = sorted(p for p in SOURCE.rglob("*") if p.is_file() and p.suffix != ".pyc")
    digest = hashlib.sha256(f"{FORMAT} {sys.version} {sysconfig.get_config_var('SOABI')} {_BOOT}".encode())
    for dist in found:
        digest.update(f"{dist.metadata['Name']} {dist.version} {dist.locate_file('')}".encode())
    for source in sources:
        digest.update(str(source.relative_to(SOURCE)).encode() + b"\0" + source.read_bytes() + b"\0")
    folder = cache_folder() / f"guest-{digest.hexdigest()[:16]}"
    return build_once(folder, lambda building: _build(building, found, sources), unused=UNUSED)


def _with_plugins(base: Path, plugins: tuple[str, ...]) -> Path:
    """The runtime ``base``, whose files it shares, with the packages added."""
    sources: dict[str, Path] = {}
    for plugin in plugins:
        root = _package(plugin)
        inside = plugin.replace(".", "/")
        found = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
        sources |= {f"{inside}/{path.relative_to(root)}": path for path in sorted(found)}
    digest = hashlib.sha256(base.name.encode())
    for name, source in sources.items():
        digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")

    def fill(building: Path) -> None:
        shutil.copytree(base, building, copy_function=link_or_copy, dirs_exist_ok=True)
        for name, source in sources.items():
            target = building / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        for plugin in plugins:
            inside = building.joinpath(*plugin.split("."))
            for above in inside.relative_to(building).parents[:-1]:
                (building / above / "__init__.py").touch()
        _compile(building, [building.joinpath(*plugin.split(".")) for plugin in plugins])

    return build_once(cache_folder() / f"guest-{digest.hexdigest()[:16]}", fill, unused=UNUSED)


def _package(name: str) -> Path:
    """The host's folder of a package, which is not imported; the packages above it are."""
    try:
        found = util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    if len(folders) != 1:
        raise MachineError(f"the guest plugin {name!r} is no Python package that can be imported", "not_installed")
    return Path(folders[0])


def link_or_copy(source: str, target: str) -> None:
    """Make ``target`` the same file, or a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _distribution(name: str) -> metadata.Distribution | None:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None


def _build(building: Path, distributions: list[metadata.Distribution], sources: list[Path]) -> None:
    for distribution in distributions:
        _copy_distribution(distribution, building)
    package = building / "deskgym" / "envs"
    package.mkdir(parents=True)
    (building / "deskgym" / "__init__.py").touch()
    (package / "__init__.py").touch()
    for source in sources:
        target = package / "guest" / source.relative_to(SOURCE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    (building / "boot.py").write_text(_BOOT)
    _compile(building, [building])


def _compile(building: Path, folders: Sequence[Path]) -> None:
    """Compile the modules in these folders, and let everybody read all."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the libraries' own code
        for folder in folders:
            compileall.compile_dir(folder, quiet=2, invalidation_mode=mode, workers=1)
    for path in (building, *building.rglob("*")):
        path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)


def _copy_distribution(distribution: metadata.Distribution, target: Path) -> None:
    for file in distribution.files or ():
        if file.parts[0] in ("..", "/") or file.is_absolute() or file.suffix == ".pyc" or "tests" in file.parts:
            continue
        if file.parts[0].endswith((".dist-info", ".egg-info")) or file.name.endswith(".pth"):
            continue
        source = Path(str(distribution.locate_file(file)))
        if source.is_file():
            copy = target.joinpath(*file.parts)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
