"""A launched program's own channel: its socket, its port or its name on the session bus, for hooks and readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.envs.machines.base import Machine

GRACE = 10.0


class ProgramChannel:
    """Asks a program that a hook has launched, and nobody else.

    The agent can take the program's port, socket or name over. The guest looks up which process answers; where it is
    none of the program's, is traced, has become another program, or may have loaded code of the agent's, every method
    raises GuestCallError of the kind ``"ForeignPeer"``. What the program's own process is made to say (by a script that
    the agent runs in it) is not seen through.

    Args:
        machine: where it runs.
        launched: the name that it was launched under, or of one of its processes, such as ``"kstars"``.
    """

    def __init__(self, machine: Machine, launched: str) -> None:
        self._machine, self._launched = machine, launched

    @property
    def processes(self) -> list[int]:
        """Its processes; none when it has ended."""
        return list(self._machine.guest.call("launched", name=self._launched)["pids"])

    def unix(
        self, path: str, data: bytes, *, until: bytes | None = None, timeout: float = 5.0, first: bool = False
    ) -> bytes:
        """What it answers to ``data`` at a Unix socket: up to and with ``until``, or to the end of the stream.

        Args:
            path: of the socket; a null character in front makes it an abstract name, which no file stands for.
            data: what is sent.
            until: what the answer ends with.
            timeout: seconds.
            first: the process that was launched must answer, and none that it started.

        Raises:
            GuestCallError: nobody answers (``"FileNotFoundError"``, ``"ConnectionRefusedError"``, ``"TimeoutError"``),
                somebody else does (``"ForeignPeer"``), or the program has ended (``"LookupError"``).
        """
        return bytes(self._ask("ask_socket", timeout, path=path, data=data, until=until, first=first))

    def tcp(self, port: int, data: bytes, *, until: bytes | None = None, timeout: float = 5.0) -> bytes:
        """The same at a port of 127.0.0.1."""
        return bytes(self._ask("ask_socket", timeout, port=port, data=data, until=until))

    def http(self, port: int, path: str, *, body: bytes | None = None, timeout: float = 5.0) -> tuple[int, bytes]:
        """Status and body of the answer to a GET, or to a POST where there is a ``body``.

        Raises:
            GuestCallError: as for ``unix``.
            ValueError: the answer is no HTTP.
        """
        lines = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.0", f"Host: 127.0.0.1:{port}", "Connection: close"]
        lines += [] if body is None else [f"Content-Length: {len(body)}"]
        answer = self._ask(
            "ask_socket",
            timeout,
            port=port,
            data="\r\n".join([*lines, "", ""]).encode() + (body or b""),
            half_close=False,
        )
        head, _, content = answer.partition(b"\r\n\r\n")
        try:
            return int(head.split(None, 2)[1]), content
        except (IndexError, ValueError):
            raise ValueError(f"{self._launched} answers no HTTP at port {port}: {answer[:100]!r}") from None

    def dbus(
        self, name: str, path: str, interface: str, member: str, signature: str = "", arguments: Sequence[Any] = (),
        *, timeout: float = 5.0,
    ) -> list[Any]:  # fmt: skip
        """The values that a method on the session bus answers. Raises GuestCallError as for ``unix``."""
        answer = self._ask(
            "ask_bus", timeout, name=name, path=path, interface=interface, member=member, signature=signature,
            arguments=list(arguments),
        )  # fmt: skip
        return list(answer)

    def _ask(self, method: str, timeout: float, **params: Any) -> Any:
        answer = self._machine.guest.call(method, timeout + GRACE, launched=self._launched, timeout=timeout, **params)
        return answer["answer"]
