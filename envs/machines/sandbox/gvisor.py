"""A sandbox whose kernel is gVisor's: its snapshots keep running programs, without KVM."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.guest_runtime import build_guest_runtime
from deskgym.envs.machines.sandbox import checkpoints
from deskgym.envs.machines.sandbox.gvisor_spec import CONFIG, FRAMEBUFFER, SCREEN, inner_spec, outer_spec
from deskgym.envs.machines.sandbox.host import GVISOR, require_tools
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.machines.sandbox.snapshots import make_folder
from deskgym.envs.machines.sandbox.spec import Parts
from deskgym.envs.machines.sandbox.supervision import has_ended
from deskgym.envs.options import checked

if TYPE_CHECKING:
    from deskgym.envs.displays.base import Display
    from deskgym.envs.guest.client import GuestClient

SLOWNESS = 6.0
"""How many times longer programs take to start and to answer each other: every system call is two switches more."""
PLATFORMS = ("auto", "ptrace", "kvm", "systrap")
STARTING = 60.0  # seconds that a new desktop may take
DYING = 1.0  # seconds that a machine whose PID 1 was killed may take to end


class GvisorMachine(SandboxMachine):
    """A sandbox in which runsc, gVisor's kernel, runs all programs; a snapshot of it is a checkpoint of them all.

    runsc runs inside a container like every sandbox's, so that it sees the same files and has the same limits. It needs
    no KVM. What is written counts as memory. Services, shared folders and kept desktops are those of other sandboxes.
    What it costs is in ``docs/gvisor.md``.

    Args:
        config: what it may have.
        runtime: ``"runsc"``.
        platform: how system calls are intercepted: ``"ptrace"`` (everywhere), ``"kvm"``, ``"systrap"`` (runsc of 2023
            and later), or ``"auto"``, what runsc takes by itself.
        hide: see ``SandboxMachine``.

    Example:
        >>> with create_machine("sandbox", runtime="runsc") as machine:  # doctest: +SKIP
        ...     snapshot = machine.snapshot()
        ...     machine.restore(snapshot)  # its programs go on
    """

    can = Machine.can | {"programs", "kernels", "layers", "session"}
    rests = True

    @checked
    def __init__(
        self,
        config: MachineConfig | None = None,
        *,
        runtime: str = GVISOR,
        platform: str = "auto",
        hide: Sequence[str | Path] = (),
    ) -> None:
        super().__init__(config, runtime="runc", hide=hide)
        if runtime != GVISOR:
            raise ValueError(f"runtime={runtime!r}; a GvisorMachine's is {GVISOR!r}")
        if platform not in PLATFORMS:
            raise ValueError(f"platform={platform!r}; legal are {', '.join(map(repr, PLATFORMS))}")
        self._platform = "" if platform == "auto" else platform
        self.enforces = frozenset()  # what takes more memory or processes than there may be ends the machine
        self.slowness = SLOWNESS
        self._own: Path | None = None
        self._from: Path | None = None  # the checkpoint that it is started from
        self._resumed = False  # it was started from one
        self._screen = -1

    def snapshot(self) -> Snapshot:
        """Freeze memory, files and screen; see ``Machine.snapshot``. It ends, and goes on from the snapshot.

        It lasts until it is dropped or this process ends.
        """
        if not self.alive or self._own is None:
            raise self._broken()
        folder, self._own = self._own, None  # it is the snapshot's from here on
        snapshot = Snapshot(checkpoints.KIND, str(folder), self._prepared)
        try:
            checkpoints.take(self.init_pid, self._platform, folder, self._screen, self._about())
        except BaseException:
            checkpoints.remove(folder)
            if self._started is None or not has_ended(self._started.pidfd, DYING):
                self.stop()  # else it stays as it died: whose doing that was can still be told
            raise
        try:
            self.restore(snapshot)
        except BaseException:
            checkpoints.drop(snapshot)
            raise
        return snapshot

    @property
    def untouched(self) -> bool:
        """See ``Machine.untouched``."""
        return not self._resumed and super().untouched

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Return to the snapshot, its programs running, or to a fresh start; see ``Machine.restore``."""
        if snapshot is None:
            super().restore(None)
            return
        folder = checkpoints.folder_of(snapshot, self._about())
        self.stop()
        self._from, self._resumed = folder, True
        try:
            self._boot_or_stop(None, snapshot.layers)
        finally:
            self._from = None

    def drop(self, snapshot: Snapshot) -> None:
        """Delete a snapshot; see ``Machine.drop``. Machines that have gone on from it do without."""
        checkpoints.drop(snapshot)

    def stop(self) -> None:
        """End it; see ``Machine.stop``."""
        super().stop()
        self._resumed = False
        own, self._own = self._own, None
        screen, self._screen = self._screen, -1
        if screen >= 0:
            os.close(screen)
        if own is not None and os.getpid() == self._owner:
            checkpoints.remove(own)

    # --- internals

    def _about(self) -> dict[str, Any]:
        """What machines have in common that can go on from each other's checkpoints."""
        return {
            "runtime": _version(require_tools(GVISOR)),
            "guest": build_guest_runtime(self.config.plugins).name,
            "platform": self._platform,
            "screen": list(self.config.screen_size or ()),
            "config": repr(self.config),
            "hide": [str(path) for path in self._hide],
        }

    def _specify(self, parts: Parts) -> dict[str, Any]:
        assert self._supervisor is not None
        if self._platform == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise MachineError("platform='kvm' needs /dev/kvm, which is not here or not yours: leave platform out")
        self._own = make_folder(self._supervisor.scratch, parts.ids, "gvisor")
        (self._own / CONFIG).write_text(json.dumps(inner_spec(parts)))
        return outer_spec(parts, require_tools(GVISOR), self._platform, self._own, self._from)

    def _open_display(self, guest: GuestClient, size: tuple[int, int]) -> Display:
        from deskgym.envs.displays.x11 import X11Display

        timing: Mapping[str, float] = {}
        if not self._resumed:
            width, height = size
            answer = guest.call("desktop", STARTING, width=width, height=height, glx=self.config.glx)
            timing = guest.typed(answer, "timing", dict)
        path = f"/proc/{self.init_pid}/root{SCREEN}/{FRAMEBUFFER}"
        self._screen = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(self._screen).st_mode):
            raise MachineError("the framebuffer is no file", "display_lost")
        display = X11Display(guest, os.dup(self._screen), size, mapped=False)
        display.start_timing = {str(key): float(value) for key, value in timing.items()}
        return display


@cache
def _version(program: str) -> str:
    """What a runsc says of itself."""
    with suppress(OSError, subprocess.SubprocessError):
        return subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10.0).stdout.strip()
    return ""
