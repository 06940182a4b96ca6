"""Starts Xvfb, with its framebuffer in a file and an access cookie."""

from __future__ import annotations

import fcntl
import os
import socket
import struct

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.processes import Reaper
from deskgym.envs.guest.services import Service, first_line

COOKIE = b"MIT-MAGIC-COOKIE-1"
_FAMILY_LOCAL, _FAMILY_WILD = 256, 65535


class XServer:
    """An X server of our own.

    Attributes:
        display: its name, such as ``":0"``, once it is ready.
        authority: the file with the cookie, readable for the agent.
        framebuffer: the file with its screen, in XWD format: a memory file that nobody can cut, since whoever maps a
            file that is cut later dies of it; or in a virtual machine one on the device that the host reads.
    """

    def __init__(self, config: GuestConfig, reaper: Reaper, size: tuple[int, int], glx: bool) -> None:
        self.display = ""
        self.authority = os.path.join(config.runtime_dir, "Xauthority")
        folder = os.path.join(config.state_dir, "framebuffer")
        self.framebuffer = os.path.join(folder, "Xvfb_screen0")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._memory = -1
        if os.path.ismount(folder):
            fd = os.open(self.framebuffer, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            _reserve(fd, size)
            os.close(fd)
        else:
            self._memory = _sealed(size)
            name, self.framebuffer = self.framebuffer, f"/proc/self/fd/{self._memory}"
            os.symlink(self.framebuffer, name)
        self._config, self._cookie = config, os.urandom(16)
        own_copy = os.path.join(config.state_dir, "server-cookie")
        self._write(own_copy, "0", mode=0o600, owner=None)
        ready_read, ready_write = os.pipe()
        os.set_blocking(ready_read, False)
        self._ready = ready_read
        width, height = size
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": config.state_dir, "LANG": "C.UTF-8"}
        if config.marker:
            env["DESKGYM_MACHINE"] = config.marker
        try:
            self.service = Service.start(
                config,
                reaper,
                [
                    "Xvfb", "-displayfd", str(ready_write), "-fbdir", folder, "-auth", own_copy, "-noreset",
                    "-nolisten", "tcp", "-screen", "0", f"{width}x{height}x24", "-dpi", "96", "-s", "0",
                    "+extension", "XTEST", "+extension", "DAMAGE", "+extension" if glx else "-extension", "GLX",
                ],
                env=env,
                user="guest",
                pass_fds=[ready_write] if self._memory < 0 else [ready_write, self._memory],
            )  # fmt: skip
        finally:
            os.close(ready_write)

    async def ready(self, deadline: float) -> None:
        """Wait until it accepts connections. Raises StartFailed."""
        number = await first_line(self.service, self._ready, deadline)
        self.display = f":{int(number)}"
        if self._memory >= 0:
            reading = os.open(self.framebuffer, os.O_RDONLY | os.O_CLOEXEC)
            os.dup2(reading, self._memory, inheritable=False)  # from here on only X may write
            os.close(reading)
        self._write(self.authority, number, mode=0o600, owner=self._config.owner)

    def _write(self, path: str, number: str, mode: int, owner: tuple[int, int] | None) -> None:
        """An Xauthority file: this machine's name, and for a hostname that changes later any name at all."""
        data = b""
        for family, address in ((_FAMILY_LOCAL, socket.gethostname().encode()), (_FAMILY_WILD, b"")):
            data += struct.pack(">H", family)
            for part in (address, number.encode(), COOKIE, self._cookie):
                data += struct.pack(">H", len(part)) + part
        temporary = path + ".new"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
        with open(fd, "wb") as file:
            file.write(data)
            if owner is not None and self._config.uid is not None:
                os.fchown(fd, *owner)
        os.replace(temporary, path)


def _reserve(fd: int, size: tuple[int, int]) -> None:
    """Make the framebuffer's file as large as it will be, so that it lies in one piece where it lies on a device."""
    width, height = size
    os.posix_fallocate(fd, 0, width * height * 4 + 4096)


def _sealed(size: tuple[int, int]) -> int:
    """A memory file for the framebuffer that nobody can make shorter."""
    fd = os.memfd_create("framebuffer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.fchmod(fd, 0o600)
    _reserve(fd, size)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd
