"""Tool environments with Debian packages that are unpacked and not installed, such as a mail server's."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.machines.image.children import run_tool
from deskgym.envs.provision.layer_store import Report
from deskgym.envs.provision.tool_environments import ToolEnvironment

_PARTS = ("usr", "etc", "var", "opt")  # of what a package has, those that a layer may have something of


@dataclass(frozen=True)
class DebianEnvironment(ToolEnvironment):
    """A tool environment with Debian packages too, where machines look for them: below /usr, /etc and /var.

    They are unpacked and not installed, so that no script of theirs runs and no server of theirs starts on the host.
    Which versions they have, apt's lists say when it is built (``sudo apt-get update`` fetches them).

    Attributes:
        packages: names. What they depend on is not fetched: name it too, or let the program name it
            (``Program.packages``), which has it installed.
    """

    packages: tuple[str, ...] = ()

    @property
    def ingredients(self) -> tuple[str, ...]:
        """All that it is made from, beside its Python.

        Raises:
            ValueError: a requirement is not pinned.
        """
        return (*self.lines, *(f"deb {name}" for name in self.packages))

    def install(self, upper: Path, downloads: Path, report: Report) -> None:
        """Make it below ``upper`` and the folders beside it with pip and apt-get; see ``ToolEnvironment.install``.

        Raises:
            ToolFailed: pip, apt-get or dpkg-deb failed.
        """
        super().install(upper, downloads, report)
        log, fetched, layer = downloads / "apt.log", downloads / "packages", upper.parent.parent
        shutil.rmtree(fetched, ignore_errors=True)  # of a build that was killed
        fetched.mkdir()
        report(f"{self.name}: apt-get download", 0, len(self.packages))
        run_tool(["env", f"--chdir={fetched}", "apt-get", "download", *self.packages], log)
        files = sorted(fetched.glob("*.deb"))
        unpacked = downloads / "unpacked"
        for number, file in enumerate(files):
            report(f"{self.name}: unpacking {file.name.partition('_')[0]}", number, len(files))
            run_tool(["dpkg-deb", "--extract", str(file), str(unpacked)], log)
        for part in _PARTS:
            if (unpacked / part).is_dir():
                shutil.copytree(unpacked / part, layer / part / "upper", symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(unpacked)
