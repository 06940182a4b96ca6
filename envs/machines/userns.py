"""Runs something in a user namespace in which the machines' root is root.

A machine's files belong to ids that the host's user cannot write as. This maps them in, for root and for an ordinary
user (through ``newuidmap`` of the package ``uidmap``) alike, so that snapshots can be unpacked and deleted.

It is also a script, so that a big multi-threaded process never forks for it, and so that the supervisor can use it:
``python -IS userns.py MAP call FILE ARGUMENT...`` calls ``main([ARGUMENT...])`` of a Python file. The file uses the
standard library only, and imports all that it needs at its top: afterwards the interpreter may be out of reach.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import asdict, dataclass

CLONE_NEWUSER = 0x10000000
DEFAULT_BASE = 0x7000_0000
"""First host id for root's machines where /etc/subuid gives root none: outside of all that distributions hand out."""
COUNT = 65536
NEEDED = 2000  # ids: the agent is 1000, and system users lie below it


@dataclass(frozen=True)
class IdRange:
    """``count`` ids from ``inside`` on are those from ``outside`` on."""

    inside: int
    outside: int
    count: int


@dataclass(frozen=True)
class IdMap:
    """Which host ids a machine's ids are."""

    uids: tuple[IdRange, ...]
    gids: tuple[IdRange, ...]

    def to_json(self) -> str:
        """As text, for the command line of this script."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> IdMap:
        """From ``to_json``."""
        data = json.loads(text)
        return cls(*(tuple(IdRange(**part) for part in data[key]) for key in ("uids", "gids")))

    @property
    def root(self) -> tuple[int, int]:
        """Host uid and gid of the machines' root."""
        return self.uids[0].outside, self.gids[0].outside


class NoIdsError(RuntimeError):
    """This user has no ids to give to machines; the message says how to get some."""


def id_map() -> IdMap:
    """The map for machines of this process's user.

    Root: 65,536 ids of its own from /etc/subuid, or a default high range. Ordinary user: the machines' root is the
    user, all others come from the user's ranges in /etc/subuid and /etc/subgid.

    Raises:
        NoIdsError: there are too few ids.
    """
    if os.geteuid() == 0:
        return IdMap(_roots_ids("uid"), _roots_ids("gid"))
    return IdMap(_users_ids("uid"), _users_ids("gid"))


def subordinate_ids(kind: str) -> tuple[int, int] | None:
    """First id and count of the first large enough range of this user in /etc/sub``kind``."""
    import pwd

    names = {str(os.geteuid())}
    try:
        names.add(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        pass
    try:
        with open(f"/etc/sub{kind}") as file:
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, rest = line.partition(":")
        if name in names and (found := re.fullmatch(r"(\d+):(\d+)", rest)) and int(found[2]) >= NEEDED:
            return int(found[1]), int(found[2])
    return None


def _roots_ids(kind: str) -> tuple[IdRange, ...]:
    own = subordinate_ids(kind)
    if own is not None and own[1] >= COUNT:
        return (IdRange(0, own[0], COUNT),)
    with open(f"/proc/self/{kind}_map") as file:
        here = [tuple(map(int, line.split())) for line in file]
    if any(first <= DEFAULT_BASE and first + count >= DEFAULT_BASE + COUNT for first, _, count in here):
        return (IdRange(0, DEFAULT_BASE, COUNT),)
    first, _, count = max(here, key=lambda entry: entry[2])  # root of a user namespace: take the upper half of its ids
    if count // 2 < NEEDED:
        raise NoIdsError(f"root of this user namespace has {count} ids, too few to give a machine its own")
    return (IdRange(0, first + count - count // 2, min(count // 2, COUNT)),)


def _users_ids(kind: str) -> tuple[IdRange, ...]:
    found = subordinate_ids(kind)
    own = os.geteuid() if kind == "uid" else os.getegid()
    if found is None:
        import pwd

        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            user = str(os.geteuid())
        raise NoIdsError(
            f"user {user} has no range of ids in /etc/sub{kind}: "
            f"`sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}`"
        )
    return (IdRange(0, own, 1), IdRange(1, found[0], min(found[1], COUNT)))


def call_mapped(
    ids: IdMap, file: str, arguments: list[str], *, stdin: int | None = None, timeout: float = 120.0
) -> None:
    """Call ``main(arguments)`` of a Python file as root of a user namespace with these ids.

    Raises:
        RuntimeError: it failed; the message has the end of what it printed.
        subprocess.TimeoutExpired: it ran longer than ``timeout`` seconds and was killed.
    """
    done = subprocess.run(
        [*command(ids), file, *arguments],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        capture_output=True,
        timeout=timeout,
    )
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(f"{os.path.basename(file)} {arguments[0]}: {' | '.join(lines[-3:])}")


def command(ids: IdMap) -> list[str]:
    """The command line of this script, up to the file to call."""
    return [sys.executable, "-I", "-S", __file__, ids.to_json()]


def _unshare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"unshare(CLONE_NEWUSER): {os.strerror(error)}")


def _write_maps(pid: int, ids: IdMap) -> None:
    for kind, ranges in (("uid", ids.uids), ("gid", ids.gids)):
        if os.geteuid() == 0:
            with open(f"/proc/{pid}/{kind}_map", "w") as file:
                file.write("".join(f"{r.inside} {r.outside} {r.count}\n" for r in ranges))
        else:
            numbers = [str(n) for r in ranges for n in (r.inside, r.outside, r.count)]
            tool = f"new{kind}map"
            done = subprocess.run([tool, str(pid), *numbers], capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{tool} failed: {done.stderr.strip() or f'status {done.returncode}'}")


def _main(argv: list[str]) -> int:
    ids, file, arguments = IdMap.from_json(argv[0]), argv[1], argv[2:]
    main = runpy.run_path(file)["main"]
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            _unshare()
            os.close(go_write)
            os.write(ready_write, b"1")
            os.close(ready_read)
            if os.read(go_read, 1):
                os.setgroups([])
                os.setresgid(0, 0, 0)
                os.setresuid(0, 0, 0)
                status = main(arguments)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)
    os.close(ready_write)
    if os.read(ready_read, 1):
        try:
            _write_maps(pid, ids)
            os.write(go_write, b"1")
        except (OSError, RuntimeError) as error:
            print(error, file=sys.stderr)
    os.close(go_write)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
