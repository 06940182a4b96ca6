"""Tool environments: Python programs whose pins conflict with others', each in a virtual environment of its own.

``deskgym install SUITE`` or ``deskgym layers build NAME`` builds it on the host. It is a prepared layer then, and all
machines that need it share it, read-only, at ``/opt/deskgym/env/NAME``.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.image.children import ToolFailed, run_tool
from deskgym.envs.machines.sandbox.host import cache_folder, machine_ids
from deskgym.envs.machines.sandbox.prepared import MANIFEST
from deskgym.envs.provision.layer_store import FORMAT, Layer, Report, layer_path, seal

INSIDE = "/opt/deskgym/env"


@dataclass(frozen=True)
class ToolEnvironment:
    """A virtual environment with pins of its own.

    Attributes:
        name: small letters, digits, ``_`` and single ``-``; its folder inside is ``/opt/deskgym/env/NAME``.
        requirements: lines of a requirements file, each pinned (``"dbt-core==1.10.1"``); or the path of such a file.
        python: the interpreter, one that machines see. A Python below /home (pyenv, uv) is none.
    """

    name: str
    requirements: tuple[str, ...] | Path
    python: str = "/usr/bin/python3"

    @property
    def inside(self) -> str:
        """Its folder in a machine."""
        return f"{INSIDE}/{self.name}"

    @property
    def libraries(self) -> str:
        """The folder of its libraries in a machine."""
        return f"{self.inside}/lib/python{'.'.join(map(str, self.version))}/site-packages"

    @property
    def version(self) -> tuple[int, int]:
        """The major and minor version of its Python.

        Raises:
            MachineError: kind ``"not_installed"``: there is no such Python.
        """
        major, minor, *_ = _version(self.python).split()[1].split(".")
        return int(major), int(minor)

    @property
    def lines(self) -> tuple[str, ...]:
        """Its requirements, without comments.

        Raises:
            ValueError: one is not pinned.
        """
        given = self.requirements
        text = given.read_text() if isinstance(given, Path) else "\n".join(given)
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in text.replace("\\\n", " ").splitlines()]
        loose = [line for line in lines if line and ("==" not in line or line.startswith("-"))]
        if loose:
            raise ValueError(f"environment {self.name!r} has requirements without a pin (==): {', '.join(loose)}")
        return tuple(filter(None, lines))

    @property
    def ingredients(self) -> tuple[str, ...]:
        """All that it is made from, beside its Python.

        Raises:
            ValueError: something is not pinned.
        """
        return self.lines

    def install(self, upper: Path, downloads: Path, report: Report) -> None:
        """Make it below ``upper``, which machines see as /opt, with pip.

        Args:
            upper: there is nothing of it below yet.
            downloads: what a try before this one has downloaded; it keeps what this one does.
            report: called as it goes on; counts requirements.

        Raises:
            ToolFailed: pip failed.
        """
        lines, log = self.lines, downloads / "pip.log"
        place = self.place(upper)
        place.mkdir(parents=True)
        requirements = place / "requirements.txt"
        requirements.write_text("\n".join(lines) + "\n")
        done = 0

        def on_line(line: str) -> None:
            nonlocal done
            done += line.startswith(("Collecting ", "Processing "))
            if line.startswith(("Collecting ", "Processing ", "Building ", "Installing ")):
                report(f"{self.name}: {line.partition(' (')[0]}", min(done, len(lines)), len(lines))

        run_tool([self.python, "-m", "venv", "--without-pip", str(place)], log)
        install = [
            sys.executable, "-m", "pip", f"--python={place}/bin/python", "install", "--no-compile", "--no-input",
            "--disable-pip-version-check", "--no-warn-script-location", "--progress-bar=off",
            f"--cache-dir={downloads}", f"--requirement={requirements}",
        ]  # fmt: skip
        run_tool(install, log, on_line=on_line)
        for path in (place / "pyvenv.cfg", *(place / "bin").iterdir()):
            if not path.is_symlink() and b"\0" not in (content := path.read_bytes()):
                path.write_bytes(content.replace(str(place).encode(), self.inside.encode()))
        report(f"{self.name}: compiling", len(lines), len(lines))
        options = ["-qq", "-j", "0", "-s", str(place), "-p", self.inside, "--invalidation-mode", "unchecked-hash"]
        with suppress(ToolFailed):  # libraries have templates that are no Python
            run_tool([self.python, "-I", "-m", "compileall", *options, str(place / "lib")], log)

    def place(self, upper: Path) -> Path:
        """Its folder below what machines see as /opt."""
        return upper / os.path.relpath(self.inside, "/opt")


def find_environment(environment: ToolEnvironment) -> Layer:
    """The layer of an environment that is built.

    Raises:
        MachineError: kind ``"not_installed"``: it is not; the message has the command that builds it.
    """
    path = layer_path(environment.name, environment_digest(environment))
    if not (path / MANIFEST).is_file():
        raise MachineError(
            f"the tool environment {environment.name!r} is not installed: `deskgym layers build {environment.name}` "
            "(or `deskgym install SUITE`, which builds all that a suite needs)",
            kind="not_installed",
        )
    return Layer.open(path)


def environment_digest(environment: ToolEnvironment) -> str:
    """Hash of all that an environment is made from."""
    about = (FORMAT, environment.name, environment.ingredients, _version(environment.python), platform.machine())
    return hashlib.sha256(f"{about} {machine_ids()}".encode()).hexdigest()[:16]


def build_environment(environment: ToolEnvironment, report: Report = lambda text, done, total: None) -> Layer:
    """Give an environment's layer; builds it if it is not there.

    What a killed build has downloaded is not downloaded again.

    Args:
        environment: what to build.
        report: called as the build goes on; counts requirements.

    Raises:
        MachineError: kind ``"build_failed"``: pip or npm failed; the message has its last lines. Kind
            ``"not_installed"``: there is no pip, or no such Python.
        ValueError: the environment's name or a requirement is not one.
    """
    digest = environment_digest(environment)
    target = layer_path(environment.name, digest)
    downloads = cache_folder() / "downloads" / target.name

    def build(folder: Path) -> None:
        downloads.mkdir(parents=True, exist_ok=True)
        try:
            environment.install(folder / "opt" / "upper", downloads, report)
        except ToolFailed as error:
            said = " | ".join(error.lines[-8:])
            message = f"the environment {environment.name!r} cannot be built: {error}: {said}"
            raise MachineError(message, kind="build_failed") from error
        _give_away(folder)
        seal(folder, environment.name, digest)
        shutil.rmtree(downloads)

    def waiting(pid: str) -> None:
        report(f"{environment.name}: process {pid} builds it", 0, 0)

    return Layer.open(build_once(target, build, waiting=waiting))


def _give_away(folder: Path) -> None:
    """Let the machines' root own all files, and everybody read them."""
    owner = machine_ids().root if os.geteuid() == 0 else (-1, -1)
    for base, folders, files in os.walk(folder):
        for path in (os.path.join(base, name) for name in (*folders, *files)):
            os.lchown(path, *owner)
            if not os.path.islink(path):
                mode = os.stat(path).st_mode
                os.chmod(path, mode | (0o555 if mode & 0o100 else 0o444))
    os.chown(folder, *owner)


@cache
def _version(python: str) -> str:
    try:
        return subprocess.run([python, "-VV"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise MachineError(f"tool environments need {python}: {error}", kind="not_installed") from error
