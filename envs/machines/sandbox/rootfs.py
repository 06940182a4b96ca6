"""The sandbox's root file system: a small skeleton, and the layer that lies over the host's folders.

Built once per host state and kept in the cache. Two trees:

* ``root``: mount points, links such as ``/bin -> usr/bin``, and ``.layers/NAME/{upper,work}``, which runc copies onto
  the machine's tmpfs before it mounts the overlays.
* ``base/NAME``: lies between the host's ``/NAME`` (where that is shown) and the machine's own changes. It replaces
  what identifies the host and hides what belongs to its other users.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.envs.machines.userns import IdMap, call_mapped

FORMAT = 3  # raise it whenever the trees change
LAYERS = ("usr", "etc", "var", "opt", "home", "tmp")
HOST_LAYERS = ("usr", "etc", "opt")
"""The layers that the host's folders of the same names lie below."""

AGENT = 1000
MACHINE_ID = "6d0c5c1a8e5f4f0c9b1d7a3e2f486b95"

_LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_MOUNT_POINTS = ("proc", "dev", "sys", "run", "root", "mnt", "srv", "media")

_HIDDEN = {
    "etc": (
        "NetworkManager", "apt/auth.conf.d", "cron.d", "cron.daily", "cron.hourly", "cron.monthly", "cron.weekly",
        "docker", "ipsec.d", "kubernetes", "letsencrypt", "netplan", "openvpn", "profile.d", "rancher", "ssh",
        "sudoers.d", "systemd/network", "wireguard",
    ),
}  # fmt: skip
"""Folders that are empty in a machine: they are of no use to programs, and hold what is the host's own business."""

_VAR_SHOWN = tuple(
    f"/var/{name}"
    for name in (
        "cache/app-info", "cache/dictionaries-common", "cache/fontconfig", "cache/man", "cache/swcatalog", "games",
        "lib/app-info", "lib/aspell", "lib/ca-certificates-java", "lib/dictionaries-common", "lib/dpkg",
        "lib/emacsen-common", "lib/flatpak", "lib/gcc", "lib/gems", "lib/ghc", "lib/ghostscript", "lib/ispell",
        "lib/libreoffice", "lib/mecab", "lib/octave", "lib/openbox", "lib/python", "lib/R", "lib/sgml-base",
        "lib/snapd/desktop", "lib/swcatalog", "lib/tex-common", "lib/texmf", "lib/vim", "lib/xfonts", "lib/xkb",
        "lib/xml-core",
    )
)  # fmt: skip
"""What programs read in /var. The rest is the host's own business: logs, mail, databases, containers, homes of
services. (And this cache: an overlay cannot have one folder and its parent as layers, so /var is not one.)"""

_VAR_OWN = ("cache", "games", "lib", "lib/dbus", "lib/misc", "local", "log", "mail", "opt", "spool")

_EMPTIED = (
    "crontab", "environment", "fstab", "gshadow", "gshadow-", "hosts.equiv", "krb5.keytab", "netrc", "passwd-",
    "pip.conf", "resolv.conf", "shadow", "shadow-", "group-", "subgid", "subgid-", "subuid", "subuid-", "sudoers",
)  # fmt: skip

Entry = tuple[str, str, int, int, str]  # path, kind, mode, uid, content: see layers.build


@dataclass(frozen=True)
class RootFs:
    """A built root file system.

    Attributes:
        root: the skeleton.
        base: the folder of the base layers.
        binds: host folders that are shown as they are, read-only: parts of /var, and /bin where it is no link.
    """

    root: Path
    base: Path
    binds: tuple[str, ...]


def build_rootfs(ids: IdMap) -> RootFs:
    """Find the root file system for this host in the cache, or build it.

    Raises:
        MachineError: it cannot be built.
    """
    plan, binds = _plan()
    text = json.dumps(plan)
    key = hashlib.sha256(f"{FORMAT} {ids} {text}".encode()).hexdigest()[:16]
    folder = cache_folder() / f"rootfs-{key}"
    try:
        build_once(folder, lambda building: _build(building, text, ids))
    except (OSError, RuntimeError) as error:
        raise MachineError(
            f"the sandbox's root file system cannot be built in {folder.parent}: {error}", kind="start_failed"
        ) from error
    return RootFs(folder / "root", folder / "base", binds)


def _build(building: Path, plan: str, ids: IdMap) -> None:
    building.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(building, *ids.root)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(plan)
        file.flush()
        os.chmod(file.name, 0o644)
        layers = str(Path(__file__).with_name("layers.py"))
        call_mapped(ids, layers, ["build", file.name, str(building)])


def _plan() -> tuple[list[Entry], tuple[str, ...]]:
    """What is in the two trees, and the host folders to bind."""
    plan: list[Entry] = [("root", "folder", 0o755, 0, ""), ("base", "folder", 0o755, 0, "")]
    binds: list[str] = []
    for name in _LINKED:
        path = Path("/", name)
        if path.is_symlink():
            plan.append((f"root/{name}", "link", 0, 0, os.readlink(path)))
        elif path.is_dir():
            plan.append((f"root/{name}", "folder", 0o755, 0, ""))
            binds.append(str(path))
    plan += [(f"root/{name}", "folder", 0o755, 0, "") for name in (*_MOUNT_POINTS, *LAYERS)]
    plan.append(("root/.layers", "folder", 0o700, 0, ""))
    for name in LAYERS:
        plan.append((f"root/.layers/{name}", "folder", 0o755, 0, ""))
        plan += [(f"root/.layers/{name}/{part}", "folder", 0o755, 0, "") for part in ("upper", "work")]
        plan.append((f"base/{name}", "folder", 0o755, 0, ""))
    for name, folders in _HIDDEN.items():
        for folder in folders:
            if Path("/", name, folder).is_dir():
                _hide(plan, name, folder)
    binds += _plan_var(plan)
    plan.append(("base/opt/deskgym", "opaque", 0o755, 0, ""))
    plan += [(f"base/opt/deskgym/{part}", "folder", 0o755, 0, "") for part in ("guest", "python")]
    plan.append(("base/home/user", "folder", 0o755, AGENT, ""))
    plan += [(f"base/etc/{name}", "file", 0o644, 0, text) for name, text in _etc().items()]
    return plan, tuple(binds)


def _hide(plan: list[Entry], layer: str, folder: str) -> None:
    known = {entry[0] for entry in plan}
    parts = folder.split("/")
    for depth in range(1, len(parts)):
        parent = f"base/{layer}/{'/'.join(parts[:depth])}"
        if parent not in known:
            known.add(parent)
            plan.append((parent, "folder", 0o755, 0, ""))
    plan.append((f"base/{layer}/{folder}", "opaque", 0o755, 0, ""))


def _plan_var(plan: list[Entry]) -> list[str]:
    """Plan the machine's own /var; the host folders to bind into it."""
    shown = [path for path in _VAR_SHOWN if os.path.isdir(path) and os.path.realpath(path) == path]
    known = {f"base/var/{name}" for name in _VAR_OWN}
    plan += [(f"base/var/{name}", "folder", 0o755, 0, "") for name in _VAR_OWN]
    plan.append(("base/var/tmp", "folder", 0o1777, 0, ""))
    plan += [(f"base/var/{name}", "link", 0, 0, f"/run{target}") for name, target in (("run", ""), ("lock", "/lock"))]
    for path in shown:
        *parents, _ = path.split("/")[2:]
        for depth in range(1, len(parents) + 1):
            parent = f"base/var/{'/'.join(parents[:depth])}"
            if parent not in known:
                known.add(parent)
                plan.append((parent, "folder", 0o755, 0, ""))
        if f"base{path}" not in known:
            plan.append((f"base{path}", "folder", 0o755, 0, ""))
    return shown


def _etc() -> dict[str, str]:
    """Files of /etc that are the machine's own."""
    passwd = [
        line
        for line in _lines("/etc/passwd")
        if _id_of(line) < 1000 and not line.startswith(("root:", "user:")) or line.startswith("nobody:")
    ]
    group = [
        ":".join((*line.split(":")[:3], ""))
        for line in _lines("/etc/group")
        if _id_of(line) < 1000 and not line.startswith(("root:", "user:")) or line.startswith("nogroup:")
    ]
    files = {name: "" for name in _EMPTIED if Path("/etc", name).exists()}
    files |= {
        "passwd": "\n".join(
            ("root:x:0:0:root:/root:/bin/sh", *passwd, f"user:x:{AGENT}:{AGENT}:User:/home/user:/bin/bash", "")
        ),
        "group": "\n".join(("root:x:0:", *group, f"user:x:{AGENT}:", "")),
        "hostname": "desktop\n",
        "hosts": "127.0.0.1 localhost desktop\n::1 localhost ip6-localhost ip6-loopback\n",
        "machine-id": MACHINE_ID + "\n",
        "resolv.conf": "",
    }
    return files


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError:
        return []


def _id_of(line: str) -> int:
    try:
        return int(line.split(":")[2])
    except (IndexError, ValueError):
        return 1 << 32
