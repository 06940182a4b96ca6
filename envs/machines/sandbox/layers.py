"""What is done to a machine's files while being their root: build, unpack, merge, delete.

Called through ``userns.py``, in a user namespace where the machines' root is root. Standard library only; everything
is imported here at the top, because later the interpreter's own files may be out of reach.

A *layer* is an upper folder of overlayfs: a whiteout (a character device 0:0) hides what lies below it, and a folder
with the attribute ``user.overlay.opaque`` hides the folder below it.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable

OPAQUE = "user.overlay.opaque"


def build(plan_file: str, folder: str) -> None:
    """Build a tree from a plan: a list of ``[path, kind, mode, uid, content]``, parents first."""
    with open(plan_file) as file:
        plan = json.load(file)
    os.umask(0)
    for path, kind, mode, uid, content in plan:
        target = os.path.join(folder, path)
        if kind == "link":
            os.symlink(content, target)
            continue
        if kind == "file":
            with open(target, "w") as file:
                file.write(content)
        else:
            os.mkdir(target)
            if kind == "opaque":
                os.setxattr(target, OPAQUE, b"y")
        os.chown(target, uid, uid)
        os.chmod(target, mode)


def fresh(folder: str, *names: str) -> None:
    """Make the empty layers of a machine."""
    for name in names:
        for part in ("upper", "work"):
            os.makedirs(os.path.join(folder, name, part))


def take(folder: str, parent: str) -> None:
    """Unpack the layers from a tar archive on stdin into ``folder``; below it lie those of ``parent``, if any."""
    subprocess.run(
        ["tar", "-x", "-f", "-", "-C", folder, "-p", "--same-owner", "--xattrs", "--xattrs-include=user.*"], check=True
    )
    if parent:
        for name in os.listdir(folder):
            merge(os.path.join(parent, name, "upper"), os.path.join(folder, name, "upper"))


def merge(lower: str, upper: str) -> None:
    """Make the layer ``upper`` show alone what it showed over ``lower``.

    Files of ``lower`` are hard-linked: nobody ever writes to a layer that was taken. Whiteouts and opaque folders
    stay, because below both lies the host.
    """
    if not os.path.isdir(lower):
        return
    with os.scandir(lower) as scan:
        entries = list(scan)
    for entry in entries:
        over = os.path.join(upper, entry.name)
        try:
            status = os.lstat(over)
        except FileNotFoundError:
            copy_linked(entry.path, over)
            continue
        if not stat.S_ISDIR(status.st_mode) or is_opaque(over):
            continue  # replaced or deleted
        if entry.is_dir(follow_symlinks=False):
            merge(entry.path, over)
            if is_opaque(entry.path):
                os.setxattr(over, OPAQUE, b"y")
        else:  # a whiteout, or a file that became a folder: what lies deeper stays hidden
            os.setxattr(over, OPAQUE, b"y")


def copy_linked(source: str, target: str) -> None:
    """Copy a tree with its folders anew and everything else hard-linked."""
    if not os.path.isdir(source) or os.path.islink(source):
        os.link(source, target, follow_symlinks=False)
        return
    status = os.stat(source)
    os.mkdir(target)
    for entry in os.listdir(source):
        copy_linked(os.path.join(source, entry), os.path.join(target, entry))
    os.chown(target, status.st_uid, status.st_gid)
    os.chmod(target, stat.S_IMODE(status.st_mode))
    for name in os.listxattr(source):
        if name.startswith("user."):
            os.setxattr(target, name, os.getxattr(source, name))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def is_opaque(folder: str) -> bool:
    """Whether a folder of a layer hides the one below it."""
    try:
        return os.getxattr(folder, OPAQUE) == b"y"
    except OSError:
        return False


def seal(folder: str, name: str, about: str) -> None:
    """Make a prepared layer of a folder of layers: drop what no machine needs, and write the manifest ``name``.

    ``about`` is the manifest as a JSON object; the size in bytes is added.
    """
    remove(os.path.join(folder, "tmp"))
    size = 0
    for part in os.listdir(folder):
        upper = os.path.join(folder, part, "upper")
        if not os.listdir(upper):
            remove(os.path.join(folder, part))
        for base, _, files in os.walk(upper):
            size += sum(os.lstat(os.path.join(base, file)).st_size for file in files)
    with open(os.path.join(folder, name), "w") as file:
        json.dump(json.loads(about) | {"bytes": size}, file)


def remove(folder: str) -> None:
    """Delete a tree, whatever its modes are."""
    shutil.rmtree(folder, ignore_errors=True)


def main(argv: "list[str]") -> int:
    """Call one of the functions above: ``NAME ARGUMENT...``."""
    sys.stdout = sys.stderr
    functions: dict[str, Callable[..., None]] = {
        "build": build,
        "fresh": fresh,
        "take": take,
        "seal": seal,
        "remove": remove,
    }
    functions[argv[0]](*argv[1:])
    return 0
