"""What the guest is told on its command line."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class GuestConfig:
    """How this guest shall live in its machine.

    Attributes:
        uid: whom programs and the agent's code run as; None means the guest's own user (no isolation).
        gid: that user's group.
        home: home folder of the agent's user.
        state_dir: a folder that only the guest's own user may read: framebuffer, X cookie, settings.
        runtime_dir: XDG_RUNTIME_DIR of the agent's user.
        tmp_dir: TMPDIR of the agent's user.
        processes: RLIMIT_NPROC of the agent's user, or None to leave it. It counts per uid, so on a
            host's shared uid it would count the host's processes too.
        gvisor: the kernel is gVisor's, whose machine is saved and restored: no descriptor comes through the channel, a
            socket does not tell who is at its other end, and what was waited for must be asked for again.
        emulated: instructions are emulated: what programs draw with OpenGL takes a hundred times as long.
        sudo: programs may gain rights, so that sudo works; whoever has root in the machine can deceive its guest.
        marker: put into the environment of all that is started, so that the host can find what is left.
        remove: a folder that is removed at the end, for a host that is gone by then.
        attached: the desktop is there already and is not the guest's own.
        libraries: a folder of Python libraries for kernels, or None.
        locale: of the session, such as ``"en_US.UTF-8"``; None takes English in UTF-8, or C where there is none.
        locale_path: a folder with that locale, where the system does not have it.
        clock: when programs believe that the session began, in ISO 8601 (UTC without an offset), or None for the truth.
    """

    uid: int | None = None
    gid: int | None = None
    home: str = "/home/user"
    state_dir: str = "/run/deskgym"
    runtime_dir: str = "/run/user/1000"
    tmp_dir: str = "/tmp"
    processes: int | None = None
    gvisor: bool = False
    emulated: bool = False
    sudo: bool = False
    marker: str = ""
    remove: str | None = None
    attached: bool = False
    libraries: str | None = None
    locale: str | None = None
    locale_path: str | None = None
    clock: str | None = None

    @property
    def owner(self) -> tuple[int, int]:
        """Uid and gid that the agent's files belong to."""
        if self.uid is None:
            return os.getuid(), os.getgid()
        return self.uid, self.uid if self.gid is None else self.gid


@dataclass(frozen=True)
class Listening:
    """How an attached guest waits for hosts.

    Attributes:
        place: ``unix:/path`` or ``tcp:host:port``.
        token_file: a file with what a host must know; None where the socket's permissions do.
        remote: other hosts may reach it.
    """

    place: str
    token_file: str | None = None
    remote: bool = False


def parse_arguments(argv: Sequence[str]) -> tuple[argparse.Namespace, GuestConfig]:
    """The command line: where the control channel is, and the config."""
    parser = argparse.ArgumentParser(prog="deskgym.envs.guest", description="The guest of a deskgym machine.")
    channel = parser.add_mutually_exclusive_group(required=True)
    channel.add_argument("--fd", type=int, help="the control socket, inherited as this file descriptor")
    channel.add_argument("--port", help="the control channel as a character device (virtio-serial)")
    channel.add_argument("--listen", metavar="PLACE", help="wait for hosts at unix:/PATH or tcp:HOST:PORT")
    parser.add_argument(
        "--attach", dest="attached", action="store_true", help="serve the desktop at $DISPLAY instead of starting one"
    )
    parser.add_argument("--token-file", help="with --listen: the token that hosts must have; made if it is missing")
    parser.add_argument("--allow-remote", action="store_true", help="with --listen: other hosts may reach it")
    parser.add_argument("--uid", type=int, help="run programs as this user; default: as the guest's own")
    parser.add_argument("--gid", type=int, help="that user's group; default: the same number")
    parser.add_argument("--home", help="home folder of programs; default: an own one per session when attached")
    parser.add_argument("--state-dir", default=GuestConfig.state_dir)
    parser.add_argument("--runtime-dir", help="default: /run/user/UID")
    parser.add_argument("--tmp-dir", default=GuestConfig.tmp_dir)
    parser.add_argument("--processes", type=int, help="RLIMIT_NPROC of the agent's user")
    parser.add_argument("--gvisor", action="store_true", help="the kernel is gVisor's, and may be restored")
    parser.add_argument("--emulated", action="store_true", help="avoid OpenGL where programs can do without")
    parser.add_argument("--sudo", action="store_true", help="let programs gain rights")
    parser.add_argument("--marker", default="", help="value of DESKGYM_MACHINE in every environment")
    parser.add_argument("--remove", help="a folder to remove at the end")
    parser.add_argument("--libraries", metavar="DIR", help="Python libraries for kernels")
    parser.add_argument("--locale", help="of the session")
    parser.add_argument("--locale-path", metavar="DIR", help="where that locale is")
    parser.add_argument("--clock", metavar="TIME", help="when programs believe that the session began")
    options = parser.parse_args(argv)
    if options.attached != (options.listen is not None):
        parser.error("--attach and --listen go together")
    options.home = options.home or ("" if options.attached else GuestConfig.home)
    options.runtime_dir = options.runtime_dir or f"/run/user/{os.getuid() if options.uid is None else options.uid}"
    return options, GuestConfig(**{field.name: getattr(options, field.name) for field in fields(GuestConfig)})
