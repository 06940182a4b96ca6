"""Folders that two machines share: an empty file system of limited size, mounted in one machine, then in another too.

A script of its own (standard library only), started as ``python -IS folders.py PIDFD FD OPERATION PATH ...``. It
becomes root in the user and mount namespaces of the machine whose PID 1 is behind PIDFD; the host's root and the user
whose machine it is may do so. There it does one of two things:

* ``make PATH SIZE new|again``: mounts a tmpfs of SIZE MiB at PATH, and sends a detached copy of the mount over the
  socket FD. ``again`` first unmounts the one before.
* ``attach PATH``: mounts the detached mount FD at PATH.

No device file and no set-user-id file works in such a folder, and the kernel follows none of its symbolic links: what
an agent writes in one machine leads no reader in the other one astray.
"""

import ctypes
import errno
import os
import socket
import sys
import time

OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, OPENAT2 = 428, 429, 430, 431, 432, 437  # on every architecture
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
FSCONFIG_SET_STRING, FSCONFIG_CMD_CREATE = 1, 6
FSOPEN_CLOEXEC = FSMOUNT_CLOEXEC = OPEN_TREE_CLONE = 1
NOSUID, NODEV, NOSYMFOLLOW = 0x2, 0x4, 0x200000  # MOUNT_ATTR_...
RESOLVE_NO_SYMLINKS = 0x4
FROM_EMPTY_PATH, TO_EMPTY_PATH = 0x4, 0x40  # MOVE_MOUNT_...
INODES = 256  # per MiB: empty files take the kernel's memory
PATIENCE = 2.0  # seconds that a service may still use what the last episode left

_libc = ctypes.CDLL(None, use_errno=True)


def checked(name: str, result: int) -> int:
    """A system call's result. Raises OSError."""
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def call(name: str, number: int, *arguments: "int | bytes | None") -> int:
    """Make a system call. Raises OSError."""
    packed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return checked(name, _libc.syscall(ctypes.c_long(number), *packed))


def enter(pidfd: int) -> None:
    """Become root of a machine."""
    checked("setns", _libc.setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS))
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def open_folder(path: str) -> int:
    """A descriptor of the folder at a path that has no symbolic links."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, 0, RESOLVE_NO_SYMLINKS)
    return call(path, OPENAT2, AT_FDCWD, path.encode(), bytes(how), ctypes.sizeof(how))


def attach(tree: int, path: str) -> None:
    """Mount a detached mount at a path."""
    call("move_mount", MOVE_MOUNT, tree, b"", open_folder(path), b"", FROM_EMPTY_PATH | TO_EMPTY_PATH)


def make(path: str, size_mb: int) -> int:
    """Mount a new tmpfs at a path; gives a descriptor of a detached copy of the mount."""
    context = call("fsopen", FSOPEN, b"tmpfs", FSOPEN_CLOEXEC)
    options = {"size": f"{size_mb}m", "nr_inodes": f"{INODES * size_mb}", "mode": "755"}
    for key, value in options.items():
        call(f"fsconfig {key}", FSCONFIG, context, FSCONFIG_SET_STRING, key.encode(), value.encode(), 0)
    call("fsconfig", FSCONFIG, context, FSCONFIG_CMD_CREATE, None, None, 0)
    tree = call("fsmount", FSMOUNT, context, FSMOUNT_CLOEXEC, NOSUID | NODEV | NOSYMFOLLOW)
    attach(tree, path)
    return call("open_tree", OPEN_TREE, tree, b"", AT_EMPTY_PATH | OPEN_TREE_CLONE | os.O_CLOEXEC)


def unmount(path: str) -> None:
    """Unmount what is at a path, once nothing in the machine uses it."""
    folder, name = os.path.split(path)
    os.fchdir(open_folder(folder))
    end = time.monotonic() + PATIENCE
    while True:
        try:
            checked(path, _libc.umount2(name.encode(), 0))
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > end:
                raise
        time.sleep(0.01)


def main(pidfd: str, fd: str, operation: str, path: str, size_mb: str = "", state: str = "") -> int:
    """Do what the command line says."""
    try:
        enter(int(pidfd))
        if operation == "attach":
            attach(int(fd), path)
            return 0
        if state == "again":
            unmount(path)
        with socket.socket(fileno=int(fd)) as caller:
            socket.send_fds(caller, [b"1"], [make(path, int(size_mb))])
    except OSError as error:
        print(error.strerror, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
