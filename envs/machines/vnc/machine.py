"""Any desktop by its VNC address, with our guest in it or without."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Sequence

from deskgym.envs.displays.vnc.address import VncAddress
from deskgym.envs.displays.vnc.display import POINTERS, VncDisplay, check_password
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.places import Place
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.live import registry as live
from deskgym.envs.options import checked

STOP_TIMEOUT = 5.0
"""Seconds that the guest may take to end what was started through it; it ends the rest when the connection ends."""

RESET_TIMEOUT = 300.0
"""Seconds that the reset command may take."""


class VncMachine(Machine):
    """A desktop that somebody else starts and stops: this connects to it and disconnects.

    A guest in it (``python -m deskgym.envs.guest --attach --listen ...``) ends, with each connection, all that was
    started through it, and gives each connection a new home folder. Everything else stays as it is, unless ``reset``
    brings it back. Without a guest there are the screen, keyboard and mouse, and nothing more.

    Args:
        config: its ``screen_size`` must be the desktop's; None connects to the guest only.
        address: ``"host:DISPLAY"``, ``"host::PORT"`` or the path of a Unix socket.
        password: VNC's; ``"env:NAME"`` takes it from an environment variable when it connects.
        guest: ``"unix:/path"`` or ``"tcp:host:port"``, or None where there is none.
        token: what the guest's ``--token-file`` holds, or ``"env:NAME"``.
        reset: a command of this host that brings the desktop back to its first state, run by ``restore``.
        pointer: see ``VncDisplay``.
        timeout: seconds for connecting, and for each answer of the VNC server.

    Raises:
        ValueError: an argument is not legal.
    """

    kind = "vnc"

    @checked
    def __init__(
        self,
        config: MachineConfig | None = None,
        *,
        address: str | None = None,
        password: str | None = None,
        guest: str | None = None,
        token: str | None = None,
        reset: Sequence[str] | None = None,
        pointer: str = "auto",
        timeout: float = 10.0,
    ) -> None:
        super().__init__(config)
        if address is None:
            raise ValueError("a vnc machine takes machine_options={'address': 'host:DISPLAY'}: where its desktop is")
        VncAddress.parse(address)
        if password is not None and not _is_variable(password):
            check_password(password)
        if pointer not in POINTERS:
            raise ValueError(f"pointer={pointer!r}; legal are {', '.join(POINTERS)}")
        if not timeout > 0:
            raise ValueError(f"timeout={timeout!r}; legal are seconds above 0")
        if isinstance(reset, str) or (reset is not None and not (reset and all(isinstance(a, str) for a in reset))):
            raise ValueError(f"reset={reset!r}; legal is a list of a program and its arguments")
        if guest is None and self.config.screen_size is None:
            raise ValueError("a vnc machine without a screen_size and without a guest has nothing to connect to")
        self._place = None if guest is None else Place.parse(guest)
        self.can = frozenset() if guest is None else frozenset({"commands"})
        self._address, self._password, self._token = address, password, token
        self._reset, self._pointer, self._timeout = reset, pointer, timeout
        self._client: GuestClient | None = None
        self._display: VncDisplay | None = None
        self._owner = os.getpid()

    def start(self) -> None:
        """Connect to guest and screen; see ``Machine.start``. Does nothing while it is alive.

        Raises:
            MachineError: one of them cannot be had; see ``VncConnection``. ``no_guest``, ``guest_refused`` and
                ``guest_busy`` are the guest's.
        """
        if self.alive:
            return
        self.stop()
        self._owner = os.getpid()
        try:
            password = _value(self._password, "password")
            check_password(password)
            if self._place is not None:
                self._client = attach(self._place, _value(self._token, "token"), self._timeout)
            size = self.config.screen_size
            if size is not None:
                # the screen first: a wrong size is the likelier mistake
                display = self._display = VncDisplay(
                    self._address, password, size, guest=self._client, pointer=self._pointer, timeout=self._timeout
                )
                if self._client is not None:
                    _start_desktop(self._client, display.size)
        except BaseException:
            self.stop()
            raise
        address = VncAddress.parse(self._address)
        reach = {"unix": address.host} if address.port is None else {"address": f"{address.host}:{address.port}"}
        live.publish(self, **reach)

    def stop(self) -> None:
        """Let go of what is held, end what was started through the guest, and disconnect; see ``Machine.stop``.

        In a fork of the process that connected, it lets go of the connections and leaves them alone.
        """
        live.withdraw(self)
        display, client = self._display, self._client
        self._display = self._client = None
        if os.getpid() != self._owner:
            return
        if display is not None:
            display.close()
        if client is not None:
            if client.lost is None:
                with contextlib.suppress(GuestCallError, MachineError):
                    client.call("end_others", STOP_TIMEOUT, keep=[])
            client.close()

    @property
    def alive(self) -> bool:
        """Whether it is connected; see ``Machine.alive``."""
        if (self._display is None and self._client is None) or os.getpid() != self._owner:
            return False
        parts = [part.lost for part in (self._display, self._client) if part is not None]
        return parts == [None] * len(parts)

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Disconnect, run the ``reset`` command if there is one, and connect anew.

        Without that command nothing is restored but what the guest's new session brings: programs started through the
        guest are ended, and the home folder is new.

        Raises:
            ValueError: a snapshot is given: there are none.
            MachineError: the command failed (``reset_failed``), or the desktop cannot be had.
        """
        if snapshot is not None:
            raise ValueError(f"{snapshot} is not a {self.kind} machine's snapshot: it has none")
        self.stop()
        if self._reset is not None:
            _run_reset(self._reset)
        self.start()

    def snapshot(self) -> Snapshot:
        """See ``Machine.snapshot``: a desktop of somebody else's cannot be frozen. Raises MachineError."""
        raise MachineError(
            "a vnc machine has no snapshots: take machine='qemu' for those, or give a 'reset' command", "unsupported"
        )

    def drop(self, snapshot: Snapshot) -> None:
        """See ``Machine.drop``: there is nothing to delete."""

    @property
    def guest(self) -> GuestClient:
        """See ``Machine.guest``."""
        if self._place is None:
            raise MachineError(
                "this takes a guest in the desktop behind VNC, and there is none: start one there (python -m "
                "deskgym.envs.guest --attach --listen ...) and give its address: machine_options={'guest': ...}",
                "no_guest",
            )
        if self._client is None:
            raise MachineError("the machine is not started", "not_started")
        return self._client

    @property
    def display(self) -> VncDisplay:
        """See ``Machine.display``."""
        if self._display is None:
            raise MachineError("the machine has no display, or is not started", "not_started")
        return self._display


def attach(place: Place, token: str | None = None, timeout: float = 10.0) -> GuestClient:
    """A connection to an attached guest.

    Raises:
        MachineError: there is none (``no_guest``), it does not answer (``guest_lost``), it wants another token
            (``guest_refused``), or it serves another host (``guest_busy``).
    """
    try:
        client = GuestClient(place.connect(timeout))
    except OSError as error:
        raise MachineError(
            f"no guest can be reached at {place}: {error}; is 'python -m deskgym.envs.guest --attach --listen {place}' "
            "running in the desktop?",
            "no_guest",
        ) from error
    try:
        client.call("attach", timeout, token=token)
        client.hello(timeout)
    except GuestCallError as error:
        client.close()
        raise MachineError(f"the guest at {place} refuses us: {error}", f"guest_{error.kind}") from error
    except GuestLost as error:
        client.close()
        raise GuestLost(f"the guest at {place} is of no use: {error}") from error
    except BaseException:
        client.close()
        raise
    return client


def _start_desktop(client: GuestClient, size: tuple[int, int]) -> None:
    try:
        client.call("desktop", 40.0, width=size[0], height=size[1])
    except GuestCallError as error:
        raise MachineError(f"the guest cannot attach to its desktop: {error}", "start_failed") from error


def _run_reset(argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=RESET_TIMEOUT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"the reset command failed: {error}", "reset_failed") from error
    if done.returncode:
        words = done.stdout.decode("utf-8", "replace").strip()[-1000:]
        raise MachineError(
            f"the reset command {argv[0]} failed with {done.returncode}: {words or 'it said nothing'}", "reset_failed"
        )


def _is_variable(value: str) -> bool:
    return isinstance(value, str) and value.startswith("env:")


def _value(given: str | None, what: str) -> str | None:
    """The text itself, or that of the environment variable which it names."""
    if given is None or not _is_variable(given):
        return given
    value = os.environ.get(given[4:])
    if not value:
        raise MachineError(
            f"the {what} shall be in the environment variable {given[4:]}, which is not set", "no_password"
        )
    return value
