"""Kernels of a machine, seen from the host: cells that keep their variables, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.guest.protocol import unpack

if TYPE_CHECKING:
    from deskgym.envs.guest.client import GuestClient
    from deskgym.envs.machines.base import Machine

LOADING = 60.0  # seconds for the libraries to load, once per machine
GRACE = 15.0
FORGETTING = 5.0
COPYING = 45.0
LIBRARIES = ("pandas", "matplotlib", "seaborn", "scikit-learn", "scikit-image")
"""Distributions that kernels usually have, with all that they need."""
PICTURE = 800, 600
"""Width and height of a kernel's pictures in pixels, as the paper compares plots."""


@dataclass(frozen=True)
class KernelLimits:
    """What a kernel may use.

    Attributes:
        memory_mb: memory of each of its processes, in MiB.
        disk_mb: size of each file that it writes, in MiB; its folder has 128 MiB in a sandbox.
        timeout: seconds of a cell.
        output: characters kept of what a cell prints, and of its errors.
    """

    memory_mb: int = 2048
    disk_mb: int = 64
    timeout: float = 30.0
    output: int = 16384


@dataclass(frozen=True)
class Execution:
    """How a cell ended.

    Attributes:
        status: ``"ok"``, ``"error"``, ``"timeout"`` (interrupted; the kernel lives) or ``"died"`` (the kernel is gone).
        stdout: what it printed, cut.
        stderr: the same for standard error.
        trace: the traceback of an error.
        late: it ran past its time limit.
        truncated: something was cut.
    """

    status: str
    stdout: str = ""
    stderr: str = ""
    trace: str = ""
    late: bool = False
    truncated: bool = False


class Kernel:
    """The kernel of a machine: one at a time. What it leaves behind is removed: see ``Machine.untouched``.

    Args:
        machine: started. Another handle on the same machine is a handle on the same kernel.
        limits: what a session may use.
    """

    def __init__(self, machine: Machine, limits: KernelLimits | None = None) -> None:
        self._machine, self.limits = machine, limits or KernelLimits()

    def open(
        self,
        files: Mapping[str, bytes] | None = None,
        cells: Sequence[str] = (),
        *,
        preload: Sequence[str] = (),
        timeout: float = 60.0,
    ) -> list[float]:
        """Open a session; the one before ends.

        Args:
            files: of its working folder, by name.
            cells: are run first, their output dropped.
            preload: modules that are loaded before, once per machine; pandas, matplotlib and the machine's plugins
                always are.
            timeout: seconds for all these cells together.

        Returns:
            How many ms each of the cells took.

        Raises:
            GuestCallError: a cell failed; the message has its traceback.
            MachineError: the machine broke.
        """
        answer = self._machine.guest.call(
            "kernel_open",
            LOADING + timeout + 2 * GRACE,
            files=dict(files or {}),
            cells=list(cells),
            preload_also=[*self._machine.config.plugins, *preload],
            memory_mb=self.limits.memory_mb,
            disk_mb=self.limits.disk_mb,
            timeout=timeout,
            deadline=LOADING,
        )
        return [float(ms) for ms in answer.get("ms", ())]

    def run(self, text: str, *, timeout: float | None = None, echo: bool = True) -> Execution:
        """Run a cell; the value of a last expression is printed."""
        seconds = self.limits.timeout if timeout is None else timeout
        answer = self._machine.guest.call(
            "kernel_run", seconds + GRACE, text=text, seconds=seconds, output_limit=self.limits.output, echo=echo
        )
        try:
            status, out, err, trace = (str(answer[name]) for name in ("status", "stdout", "stderr", "trace"))
            return Execution(status, out, err, trace, bool(answer["late"]), bool(answer["truncated"]))
        except KeyError as error:
            raise GuestLost(f"the guest's answer has no {error}", "guest_garbled") from error

    def call(
        self, function: str, arguments: Mapping[str, Any], *, variables: bool = False, timeout: float | None = None
    ) -> Any:
        """Call a function of one of the machine's plugins in the kernel.

        Args:
            function: such as ``"my_suite.guest.readers:rows_of"``.
            arguments: by name: bytes and JSON-like data.
            variables: the kernel's variables, a dict, are its first argument.
            timeout: seconds; those of a cell if None.

        Returns:
            What it returned: bytes or JSON-like data.

        Raises:
            GuestCallError: it raised, or the kernel died of it.
        """
        request = {"op": "call", "function": function, "arguments": dict(arguments), "variables": variables}
        answer = self._ask(request, timeout)
        return unpack(answer["value"]) if isinstance(answer.get("value"), bytes) else answer.get("data")

    def take(self, function: str, arguments: Mapping[str, Any], *, timeout: float | None = None) -> bytes:
        """Bytes that a plugin's function makes of the kernel's variables; for kernels that the agent's code runs in.

        That code may have changed the function: the bytes are the agent's word, and are not unpacked here.

        Raises:
            GuestCallError: it raised, or the kernel died of it.
        """
        return self._data(
            {"op": "call", "function": function, "arguments": dict(arguments), "variables": True}, timeout
        )

    def forget(self, names: Sequence[str]) -> None:
        """Delete variables, and let go of all open figures."""
        self._ask({"op": "forget", "names": list(names)}, FORGETTING)

    def picture(self, aside: bool = False) -> NDArray[np.uint8] | None:
        """The current figure: uint8 (600, 800, 3) RGB; None where there is none.

        Args:
            aside: it is drawn in a child of the kernel, so that drawing changes nothing; None where that fails.

        Raises:
            GuestCallError: it could not be drawn.
        """
        data = self._data({"op": "snapshot" if aside else "picture"}, None)
        if len(data) != PICTURE[0] * PICTURE[1] * 3:
            return None
        return np.frombuffer(data, np.uint8).reshape(PICTURE[1], PICTURE[0], 3)

    def put(self, name: str, data: bytes) -> None:
        """Write a file into the kernel's working folder."""
        self._machine.guest.call("kernel_put", 30.0, name=name, data=data)

    def get(self, name: str, *, limit: int = 8 << 20) -> bytes:
        """Read a regular file of the kernel's working folder.

        Raises:
            GuestCallError: it is not there, no regular file, or larger than ``limit`` bytes.
        """
        data = self._machine.guest.call("kernel_get", 30.0, name=name, limit=limit).get("data")
        return data if isinstance(data, bytes) else b""

    def hold(self) -> int:
        """Keep the session as it is now, while it goes on; gives a number for ``resume`` and ``release``.

        Variables, figures, random numbers and the working folder are kept.

        Raises:
            GuestCallError: it has what cannot be copied, such as threads, other processes or open files; it goes on.
        """
        return int(self._machine.guest.call("kernel_hold", COPYING)["number"])

    def resume(self, number: int) -> None:
        """Go on from what is held, which stays held; the present session ends.

        Raises:
            GuestCallError: it is not held (any more).
        """
        self._machine.guest.call("kernel_resume", COPYING, number=number)

    def release(self, number: int) -> None:
        """Let go of what is held. Idempotent."""
        self._machine.guest.call("kernel_release", COPYING, number=number)

    def close(self) -> None:
        """End the session and all that is held, and remove all that they left. Idempotent.

        Raises:
            GuestCallError: something could not be removed: the machine must be restored.
        """
        self._machine.guest.call("kernel_close", 30.0)

    def _data(self, request: dict[str, Any], timeout: float | None) -> bytes:
        data = self._ask(request, timeout).get("data")
        return data if isinstance(data, bytes) else b""

    def _ask(self, request: dict[str, Any], timeout: float | None) -> dict[str, Any]:
        seconds = self.limits.timeout if timeout is None else timeout
        return self._machine.guest.call("kernel_ask", seconds + GRACE, request=request, timeout=seconds)


def warm_kernels(guest: GuestClient, plugins: Sequence[str]) -> bool:
    """Load what kernels use and these plugins ahead; whether the machine has the config's libraries.

    Raises:
        MachineError: they did not load in time.
    """
    try:
        return bool(
            guest.call("kernel_warm", LOADING + GRACE, preload_also=list(plugins), deadline=LOADING).get("libraries")
        )
    except GuestCallError as error:
        raise MachineError(f"the libraries of kernels were not loaded: {error}", "start_failed") from error


def close_kernels(guest: GuestClient) -> bool:
    """End a machine's kernel, if it has one; whether the machine is as it was before it."""
    try:
        guest.call("kernel_close", 30.0)
    except (GuestCallError, GuestLost):
        return False
    return True
