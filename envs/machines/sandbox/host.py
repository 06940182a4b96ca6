"""Where the sandbox keeps its things on the host, and which tools of the host it uses."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError, near
from deskgym.envs.machines.userns import IdMap, NoIdsError, id_map

RUNTIMES = ("runc", "crun")
"""OCI runtimes that are known to work, in the order in which the documentation names them."""

GVISOR = "runsc"
"""The OCI runtime whose sandboxes are of a class of their own."""

_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"))


def find_tool(name: str) -> str | None:
    """The path of a program; looks into the ``sbin`` folders too, which an ordinary user's PATH lacks."""
    return shutil.which(name, path=_PATH)


def require_tools(runtime: str) -> str:
    """The path of the OCI runtime, once all that a sandbox needs from the host is there.

    Raises:
        MachineError: something is missing; the message has the command that installs it.
    """
    missing = {}
    if find_tool(runtime) is None:
        if runtime not in (known := (*RUNTIMES, GVISOR)):
            raise MachineError(
                f"there is no OCI runtime {runtime!r} on this host; known to work are {', '.join(known)}"
                + near(runtime, known),
                kind="not_installed",
            )
        missing[runtime] = runtime
    if os.geteuid() != 0:
        missing.update({tool: "uidmap" for tool in ("newuidmap", "newgidmap") if find_tool(tool) is None})
    missing.update({tool: tool for tool in ("nsenter", "tar") if find_tool(tool) is None})
    if missing:
        packages = " ".join(sorted({"util-linux" if p == "nsenter" else p for p in missing.values()}))
        raise MachineError(
            f"the sandbox needs {', '.join(missing)}: install with `sudo apt-get install {packages}`"
            ' (or use machine="process", which isolates nothing)',
            kind="not_installed",
        )
    return str(find_tool(runtime))


def machine_ids() -> IdMap:
    """Whom the files of machines belong to.

    Raises:
        MachineError: kind ``"not_allowed"``: this user has no ids to give away.
    """
    try:
        return id_map()
    except NoIdsError as error:
        raise MachineError(f"the sandbox has no ids to give away: {error}", kind="not_allowed") from error


@cache
def cache_folder() -> Path:
    """Where what is built once is kept: the guest runtime, root file systems, and snapshots.

    ``$XDG_CACHE_HOME/deskgym``, or ``~/.cache/deskgym``. Root's falls back to ``/var/cache/deskgym``, because the
    machines' mapped root must be able to reach it and root's home is closed to all others.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "deskgym"
    if os.geteuid() == 0 and not _open_to_all(folder):
        folder = Path("/var/cache/deskgym")
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise MachineError(
            f"the cache folder {folder} cannot be made: {error.strerror}; set XDG_CACHE_HOME to a folder that you can "
            "write to",
            kind="not_allowed",
        ) from error
    folder = folder.resolve()
    if folder.parts[1] in ("usr", "etc", "opt") or set(str(folder)) & set(":,\\"):
        raise MachineError(
            f"the sandbox cannot keep its layers in {folder}, because machines see /usr, /etc and /opt (and because "
            "overlayfs takes no colon, comma or backslash): set XDG_CACHE_HOME to a folder elsewhere",
            kind="not_allowed",
        )
    return folder


@cache
def runtime_folder() -> Path:
    """Where each process of this user keeps a state folder while it has machines."""
    uid = os.geteuid()
    candidates = [Path("/run/deskgym")] if uid == 0 else []
    if uid != 0 and (base := os.environ.get("XDG_RUNTIME_DIR")) and os.access(base, os.W_OK):
        candidates.append(Path(base) / "deskgym")
    candidates.append(Path(tempfile.gettempdir()) / f"deskgym-{uid}")
    for folder in candidates:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == uid:
            return folder.resolve()
    raise MachineError(
        f"no folder for the machines' state: tried {', '.join(map(str, candidates))}", kind="start_failed"
    )


def _open_to_all(folder: Path) -> bool:
    """Whether another uid could reach what is in ``folder`` (or in the nearest ancestor that exists)."""
    for ancestor in (folder, *folder.parents):
        try:
            if not ancestor.stat().st_mode & stat.S_IXOTH:
                return False
        except FileNotFoundError:
            continue
    return True
