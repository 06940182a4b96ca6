"""The first stage of a build: all packages and files of an image in one tar archive, made by mmdebstrap."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image import inside
from deskgym.envs.machines.image.children import ToolFailed, as_root, run_tool
from deskgym.envs.machines.image.recipe import Recipe
from deskgym.envs.machines.image.sources import host_sources

_NEWLY = re.compile(r"(\d+) newly installed")
_STEP = re.compile(r"(Unpacking|Setting up|Get:\d+ \S+ \S+) (\S+)")
_PHASE = re.compile(r"I: ([a-z ]+)\.\.\.$")
_UNKNOWN = (
    re.compile(r"E: Unable to locate package (\S+)"),
    re.compile(r"E: Package '(\S+)' has no installation candidate"),
    re.compile(r"E: Couldn't find any package by \w+ '(\S+)'"),
)
_MIRROR = re.compile(
    r"Could not resolve|Failed to fetch|Temporary failure|Could not connect|Connection (failed|refused|timed out)"
    r"|Unable to connect|does not have a Release file|Network is unreachable|is not signed|Could not handshake"
)


class PackageCount:
    """Follows mmdebstrap's output: how many steps of how many are done.

    Each package has two. The last one is to pack all of it, which takes long too, so the count is never full before.
    """

    def __init__(self, report: Callable[[str, int, int], None]) -> None:
        self.report = report
        self.done = self.total = 0
        self.place = ""

    def read(self, line: str) -> None:
        """Take note of one line."""
        if found := _NEWLY.search(line):
            self.total = max(self.total, 1) + 2 * int(found[1])
        elif line.startswith("deskgym: "):
            self.place = line.removeprefix("deskgym: ")
            self.report(self.place, self.done, self.total)
        elif found := _PHASE.match(line):
            self.report(found[1], self.done, self.total)
        elif found := _STEP.match(line):
            fetching = found[1].startswith("Get")
            self.done = min(self.done + (not fetching), max(self.total - 1, 0))
            what = "fetching a package" if fetching else f"{found[1].lower()} {found[2]}"
            self.report(what, self.done, self.total)


def make_rootfs(recipe: Recipe, work: Path, target: Path, report: Callable[[str, int, int], None]) -> None:
    """Write the archive of the recipe's file tree to ``target``.

    Args:
        recipe: what to build.
        work: the build's folder; has ``build.log`` and what is only needed meanwhile.
        target: the archive.
        report: called with what is being done, and how many steps of how many are done.

    Raises:
        ValueError: the recipe asks for a package or a unit that there is not, or one of its commands failed.
        MachineError: the mirror cannot be reached, the disk is full, or mmdebstrap failed.
    """
    log, temporary = work / "build.log", work / "tmp"
    temporary.mkdir(mode=0o755, exist_ok=True)
    inside.write_tar(temporary / "early.tar", inside.early_files())
    inside.write_tar(temporary / "late.tar", inside.late_files(recipe))
    count = PackageCount(report)
    environment = {"SOURCE_DATE_EPOCH": str(inside.EPOCH), "LC_ALL": "C.UTF-8", "TMPDIR": str(temporary)}
    try:
        run_tool(as_root(_command(recipe, temporary, target)), log, on_line=count.read, environment=environment)
    except ToolFailed as error:
        raise _explained(error, recipe, count.place, log) from None


def _command(recipe: Recipe, temporary: Path, target: Path) -> list[str]:
    options = [f"--dpkgopt=path-exclude={pattern}" for pattern in inside.EXCLUDED]
    options += [f"--dpkgopt=path-include={pattern}" for pattern in inside.INCLUDED]
    early, late = (shlex.quote(str(temporary / name)) for name in ("early.tar", "late.tar"))
    command = [
        "mmdebstrap",
        "--verbose",
        "--variant=minbase",
        "--mode=root",
        "--format=tar",
        f"--include={','.join(recipe.all_packages)}",
        '--aptopt=Acquire::Retries "3"',
        *options,
        f"--essential-hook=tar-in {early} /",
        f"--customize-hook=tar-in {late} /",
        f'--customize-hook=chroot "$1" {inside.SCRIPT}',
        recipe.suite,
        str(target),
    ]
    if recipe.mirror is not None:
        command.append(recipe.mirror)
    elif sources := host_sources(recipe.suite):
        listing = temporary / "sources.list"
        listing.write_text("".join(f"{line}\n" for line in sources))
        command.append(str(listing))
    return command


def _explained(error: ToolFailed, recipe: Recipe, place: str, log: Path) -> Exception:
    lines = error.lines
    text = "\n".join(lines)
    for pattern in _UNKNOWN:
        if found := pattern.search(text):
            what = f"{recipe.suite} has no package {found[1]!r}"
            return ValueError(f"recipe {recipe.name!r}: {what}; look it up with `apt-cache search` (log: {log})")
    if "No space left on device" in text:
        return MachineError(
            f"the disk is full at {log.parent}: make room and build again (log: {log})", kind="disk_full"
        )
    errors = [line for line in lines if line.startswith(("E: ", "Err:")) and "mmdebstrap" not in line] or lines
    words = errors[-1] if errors else f"status {error}"
    if _MIRROR.search(text):
        network = next((line for line in reversed(lines) if _MIRROR.search(line)), words)
        return MachineError(
            f"no package could be fetched: {network.strip()} (is there a network? `mirror:` in the recipe names"
            f" another mirror; log: {log})",
            kind="no_network",
        )
    if place and place != "clearing up":
        before = [line for line in lines if not line.startswith(("I: ", "E: ", "deskgym: "))]
        return ValueError(f"recipe {recipe.name!r}: {place} failed: {(before or lines)[-1].strip()} (log: {log})")
    return MachineError(f"mmdebstrap failed: {words} (log: {log})", kind="build_failed")
