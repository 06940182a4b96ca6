"""Makes an ext4 disk of an image's file tree. A script: run by the builder as root of its own ids, and nobody else's.

``python -IS tree.py kernel TAR FOLDER`` takes the kernel, its initial RAM disk and dpkg's status file out of the
archive. ``... disk TAR TREE RAW SIZE_MB ID EPOCH`` unpacks the archive to TREE and writes it to RAW. ``... remove
FOLDER`` deletes a folder whatever its owners, and ``... run PROGRAM ARGUMENT...`` becomes a program. Uses the standard
library only, because it runs without site-packages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Callable

LEFT_OUT = ("./dev/*", "./boot/*", "./proc/*", "./sys/*", "./run/*", "./tmp/*", "./vmlinuz*", "./initrd.img*")
FEATURES = "^has_journal,^metadata_csum,^resize_inode"
"""Not needed by disks that machines only read: what they write goes to overlays that are thrown away."""


def main(arguments: list[str]) -> int:
    """Do what the first argument says."""
    verb, *rest = arguments
    verbs: dict[str, Callable[..., None]] = {"kernel": take_kernel, "disk": make_disk, "remove": remove, "run": become}
    verbs[verb](*rest)
    return 0


def take_kernel(archive: str, folder: str) -> None:
    """Write ``vmlinuz``, ``initrd.img``, ``status`` and ``kernel-version`` to the folder."""
    wanted = {"boot/vmlinuz-": "vmlinuz", "boot/initrd.img-": "initrd.img", "var/lib/dpkg/status": "status"}
    found: dict[str, str] = {}
    with tarfile.open(archive) as tar:
        for member in tar:
            path = member.name.removeprefix("./")
            for start, name in wanted.items():
                exact = not start.endswith("-")
                if (path == start if exact else path.startswith(start)) and (source := tar.extractfile(member)):
                    if name in found:
                        raise SystemExit(f"the image has two kernels: {found[name]} and {path}")
                    found[name] = path
                    with open(os.path.join(folder, f"{name}.part"), "wb") as file:
                        shutil.copyfileobj(source, file)
    if missing := sorted(set(wanted.values()) - set(found)):
        raise SystemExit(f"the image has no {' and no '.join(missing)}: does the recipe's kernel package have one?")
    with open(os.path.join(folder, "kernel-version"), "w") as file:
        file.write(found["vmlinuz"].removeprefix("boot/vmlinuz-"))


def make_disk(archive: str, tree: str, raw: str, size_mb: str, identity: str, epoch: str) -> None:
    """Unpack the archive to a tree and make a file system of it; the same archive always gives the same bytes."""
    os.mkdir(tree, 0o755)
    unpack = ["tar", "-x", "-C", tree, "--numeric-owner", "--same-owner", "-p", "--xattrs", "--xattrs-include=*"]
    subprocess.run([*unpack, *(f"--exclude={pattern}" for pattern in LEFT_OUT), "-f", archive], check=True)
    machine_id = uuid.UUID(identity)
    with open(os.path.join(tree, "etc/machine-id"), "w") as file:
        file.write(f"{machine_id.hex}\n")
    for path, mode in (("", 0o755), ("tmp", 0o1777), ("etc/machine-id", 0o444)):
        os.chmod(os.path.join(tree, path), mode)
    for path in ("var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
        if os.path.isdir(os.path.join(tree, path)):
            os.chown(os.path.join(tree, path), 0, 0)  # _apt's, unless an ordinary user built it
    late = ["find", tree, "-newermt", f"@{epoch}"]  # a folder that tar comes back to, and what was written here
    subprocess.run([*late, "-exec", "touch", "--no-dereference", f"--date=@{epoch}", "{}", "+"], check=True)
    with open(raw, "wb") as file:
        file.truncate(int(size_mb) << 20)
    options = ["-O", FEATURES, "-m", "0", "-L", "desktop", "-U", identity]
    extended = f"hash_seed={identity},lazy_itable_init=0,root_owner=0:0"
    environment = {**os.environ, "E2FSPROGS_FAKE_TIME": epoch, "SOURCE_DATE_EPOCH": epoch}
    command = [_tool("mke2fs"), "-q", "-F", "-t", "ext4", *options, "-E", extended, "-d", tree, raw]
    subprocess.run(command, check=True, env=environment)
    _set_times(raw, epoch, environment)


def remove(folder: str) -> None:
    """Delete a folder."""
    shutil.rmtree(folder)


def become(program: str, *arguments: str) -> None:
    """Go on as another program."""
    os.execv(_tool(program), [program, *arguments])


def _set_times(raw: str, epoch: str, environment: dict[str, str]) -> None:
    """Overwrite what mke2fs took from the tree and nobody can set there: when its inodes changed and were read."""
    listing = subprocess.run([_tool("dumpe2fs"), raw], capture_output=True, text=True, check=True).stdout
    count = re.search(r"^Inode count: +(\d+)$", listing, re.M)
    if count is None:
        raise SystemExit("dumpe2fs does not say how many inodes there are")
    free: set[int] = set()
    for ranges in re.findall(r"^  Free inodes: (.*)$", listing, re.M):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", ranges):
            free.update(range(int(first), int(last or first) + 1))
    used = [2, *(number for number in range(11, int(count[1]) + 1) if number not in free)]
    commands = "".join(f"sif <{n}> {field} @{epoch}\n" for n in used for field in ("ctime", "atime"))
    done = subprocess.run(
        [_tool("debugfs"), "-w", "-f", "/dev/stdin", raw], input=commands, capture_output=True, text=True,
        env=environment,
    )  # fmt: skip
    problems = [line for line in done.stderr.splitlines() if not line.startswith("debugfs 1.")]
    if done.returncode != 0 or problems:
        raise SystemExit(f"debugfs: {' | '.join(problems[:3]) or done.returncode}")


def _tool(name: str) -> str:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") or name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
