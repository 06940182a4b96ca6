"""Which machines of this user run now, and how somebody who wants to look at their screens gets there.

Each machine with a screen has one small file in ``runtime_folder()/live`` while it runs. Whoever reads them ignores,
and removes, what a killed process has left.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import psutil

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.sandbox.host import runtime_folder

if TYPE_CHECKING:
    from deskgym.envs.machines.base import Machine

FOLDER = "live"
WAYS = ("init", "authority", "unix", "address")


@dataclass(frozen=True)
class LiveMachine:
    """A machine that runs now.

    Attributes:
        name: unique on this host, such as ``"sandbox-4711-3"``: its kind, its owner and a count.
        kind: as in ``gym.make(..., machine=...)``.
        owner: pid of the process that it belongs to.
        owner_start: when that process was started, in clock ticks after the boot: a pid alone can be another's.
        size: width and height of its screen, in pixels.
        since: when it was started, in seconds since 1970.
        reach: how to reach its screen; one of

            - ``{"init": pid, "start": ticks}``: a sandbox, by its PID 1 as the host sees it;
            - ``{"authority": path}``: an X server of this host, by its Xauthority file;
            - ``{"unix": path}``: a Unix socket that speaks RFB, for any number of connections;
            - ``{"address": "host:port"}``: the same by TCP.
        task: id of the task that is worked on, or "" where nobody has said it.
    """

    name: str
    kind: str
    owner: int
    owner_start: int
    size: tuple[int, int]
    since: float
    reach: Mapping[str, Any]
    task: str = ""

    @property
    def alive(self) -> bool:
        """Whether its owner lives, and its PID 1 where that is known."""
        if start_time(self.owner) != self.owner_start:
            return False
        return "init" not in self.reach or start_time(self.reach["init"]) == self.reach.get("start")

    @property
    def job(self) -> int:
        """The process group of its owner: a command started in a terminal, with all of its workers."""
        try:
            return os.getpgid(self.owner)
        except OSError:
            return self.owner  # it has ended

    def is_of(self, pid: int) -> bool:
        """Whether it belongs to a process: to that itself, or to one that it has started, as vectors' workers are."""
        with suppress(psutil.Error):
            return pid == self.owner or pid in (parent.pid for parent in psutil.Process(self.owner).parents())
        return False

    @classmethod
    def from_json(cls, text: str) -> LiveMachine:
        """From a file's text.

        Raises:
            ValueError: it is not such a text.
        """
        try:
            data = json.loads(text)
            width, height = data.pop("size")
            machine = cls(size=(int(width), int(height)), **data)
            if not isinstance(machine.reach, dict) or not set(WAYS) & set(machine.reach):
                raise ValueError(f"reach is {machine.reach!r}; it needs one of {', '.join(WAYS)}")
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"no running machine's record: {error}") from error
        return machine


_published: WeakKeyDictionary[Machine, tuple[Path, LiveMachine]] = WeakKeyDictionary()
_numbers = count(1)


def publish(machine: Machine, **reach: Any) -> None:
    """Say that a machine has started; does nothing for one without a screen, and never fails a start.

    Args:
        machine: it runs.
        reach: one of the ways of ``LiveMachine.reach``, such as ``unix="/run/machine/view.sock"``.

    Raises:
        ValueError: there is no such way.
    """
    if len(reach) != 1 or not set(reach) <= set(WAYS):
        raise ValueError(f"reach is {reach!r}; legal is one of {', '.join(WAYS)}")
    if machine.config.screen_size is None:
        return
    withdraw(machine)
    owner = os.getpid()
    with suppress(OSError, MachineError):
        if "init" in reach:
            reach["start"] = start_time(reach["init"])
        name = f"{machine.kind}-{owner}-{next(_numbers)}"
        size = machine.config.screen_size
        entry = LiveMachine(name, machine.kind, owner, _own_start(owner), size, time.time(), reach)
        path = _folder(owner) / f"{owner}.{name}.json"
        _published[machine] = path, entry
        _write(path, entry)


def describe(machine: Machine, task: str) -> None:
    """Say which task is worked on in a machine. Does nothing for one that was not published by this process."""
    path, entry = _published.get(machine, (None, None))
    if path is not None and entry is not None and entry.owner == os.getpid():
        entry = replace(entry, task=task)
        _published[machine] = path, entry
        with suppress(OSError):
            _write(path, entry)


def withdraw(machine: Machine) -> None:
    """Say that a machine is gone. Idempotent; does nothing in a fork of the process that published it."""
    path, entry = _published.pop(machine, (None, None))
    if path is not None and entry is not None and entry.owner == os.getpid():
        with suppress(OSError):
            path.unlink()


def running() -> list[LiveMachine]:
    """This user's machines that run now and have a screen, the oldest first."""
    found = {}
    for folder in _folders():
        for path in folder.glob("*.json"):
            try:
                machine = LiveMachine.from_json(path.read_text())
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                machine = None
            if machine is not None and machine.alive:
                found[machine.name] = machine
            elif machine is None or start_time(machine.owner) != machine.owner_start:
                with suppress(OSError):
                    path.unlink()  # else its owner removes it
    return sorted(found.values(), key=lambda machine: machine.since)


def start_time(pid: int) -> int:
    """When a process was started, in clock ticks after the boot; 0 if there is none, or it is dead and not reaped."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


@cache
def _own_start(pid: int) -> int:
    return start_time(pid)


@cache
def _folder(owner: int) -> Path:
    """Where this process's files are; clears it of those of dead processes, once."""
    folder = runtime_folder() / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    for name in os.listdir(folder):
        pid = name.partition(".")[0]
        if not os.path.exists(f"/proc/{pid}"):
            with suppress(OSError):
                (folder / name).unlink()
    return folder


def _folders() -> list[Path]:
    """All folders where processes of this user may have put theirs: each was started in an environment of its own."""
    uid = os.geteuid()
    bases = {runtime_folder(), Path(tempfile.gettempdir()) / f"deskgym-{uid}", Path(f"/tmp/deskgym-{uid}")}
    bases.add(Path("/run/deskgym") if uid == 0 else Path(f"/run/user/{uid}/deskgym"))
    found = []
    for base in bases:
        with suppress(OSError):
            if base.lstat().st_uid == uid and (base / FOLDER).lstat().st_uid == uid:
                found.append(base / FOLDER)
    return found


def _write(path: Path, entry: LiveMachine) -> None:
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(entry)))
    new.replace(path)
