"""Tries in a user namespace of its own what a sandbox needs; called by ``doctor.py`` through ``userns.py``.

Standard library only. Raises OSError with what failed.
"""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_REC_PRIVATE = 0x4000 | 0x40000

_libc = ctypes.CDLL(None, use_errno=True)


def check(status: int, what: str) -> None:
    """Raise the last error unless ``status`` is 0."""
    if status != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(kind: str, target: str, options: str = "") -> None:
    """Mount a file system of this kind."""
    check(_libc.mount(kind.encode(), target.encode(), kind.encode(), 0, options.encode()), f"mount {kind}")


def overlay() -> None:
    """Mount an overlay of /usr with its upper layer on a tmpfs."""
    mount("tmpfs", "/tmp")
    for name in ("upper", "work", "merged"):
        os.mkdir(f"/tmp/{name}")
    mount("overlay", "/tmp/merged", "userxattr,lowerdir=/usr,upperdir=/tmp/upper,workdir=/tmp/work")
    os.mkdir("/tmp/merged/deskgym-probe")


def proc() -> None:
    """Mount a proc of a new pid namespace, as a child of it must."""
    check(_libc.unshare(CLONE_NEWPID), "unshare(CLONE_NEWPID)")
    pid = os.fork()
    if pid == 0:
        try:
            mount("proc", "/proc")
            os._exit(0)
        except OSError as error:
            os.write(2, str(error).encode())
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        raise OSError("it cannot be mounted")


def main(argv: "list[str]") -> int:
    """Probe ``nothing``, ``overlay`` or ``proc``."""
    check(_libc.unshare(CLONE_NEWNS), "unshare(CLONE_NEWNS)")
    check(_libc.mount(None, b"/", None, MS_REC_PRIVATE, None), "make mounts private")
    {"nothing": lambda: None, "overlay": overlay, "proc": proc}[argv[0]]()
    return 0
