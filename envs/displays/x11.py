"""An X screen beside its guest: input and settling in the guest, frames from shared memory."""

from __future__ import annotations

import fcntl
import mmap
import os

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays import by_guest
from deskgym.envs.displays.base import Display, StepReport, StepRequest
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.x11.framebuffer import Layout, read_layout


class X11Display(Display):
    """A display whose X server is an Xvfb with its framebuffer in a file.

    Args:
        client: the guest that drives it.
        framebuffer: the file's descriptor; the display owns it from now on.
        size: width and height that it must have, in pixels.
        offset: where in the file the framebuffer begins, in bytes.
        mapped: look at the file's memory itself; else it is read for each frame, since the machine could cut it.

    Raises:
        MachineError: the file is not the framebuffer of such a screen, or it can be cut although it is mapped.
    """

    def __init__(
        self, client: GuestClient, framebuffer: int, size: tuple[int, int], offset: int = 0, *, mapped: bool = True
    ) -> None:
        self.size = size
        self._client = client
        self._fd = framebuffer
        try:
            self._frames: _Mapped | _Read = (_Mapped if mapped else _Read)(framebuffer, size, offset)
        except (OSError, ValueError) as error:
            os.close(framebuffer)
            raise MachineError(f"the framebuffer cannot be read: {error}", "display_lost") from error
        import cv2  # here, since it takes long to load

        self._convert = cv2.cvtColor
        self._code = cv2.COLOR_BGRA2RGB

    @classmethod
    def start(cls, client: GuestClient, size: tuple[int, int], glx: bool = False, timeout: float = 40.0) -> X11Display:
        """Start the guest's desktop and open its screen.

        Raises:
            MachineError: the desktop did not start.
        """
        try:
            answer, fd = client.call_with_fd("desktop", timeout, width=size[0], height=size[1], glx=glx)
        except GuestCallError as error:
            raise MachineError(f"the desktop did not start: {error}", "start_failed") from error
        if fd is None:
            raise MachineError("the guest sent no framebuffer", "start_failed")
        display = cls(client, fd, size)
        display.start_timing = {str(key): float(value) for key, value in client.typed(answer, "timing", dict).items()}
        return display

    start_timing: dict[str, float] = {}
    """Ms from the start until each part of the desktop was ready."""

    def capture(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The screen now; see ``Display.capture``.

        Raises:
            ValueError: ``out`` has another shape or dtype.
            MachineError: the display is closed, or the machine has cut its file.
        """
        width, height = self.size
        if self._fd < 0:
            raise MachineError("the display is closed", "display_lost")
        if out is None:
            out = np.empty((height, width, 3), np.uint8)
        elif out.shape != (height, width, 3) or out.dtype != np.uint8:
            raise ValueError(f"out is {out.dtype} {out.shape}; it must be uint8 {(height, width, 3)}")
        if out.flags.c_contiguous and out.flags.writeable:
            self._convert(self._frames.pixels, self._code, dst=out)
        else:
            out[...] = self._convert(self._frames.pixels, self._code)
        return out

    def carry_out(self, request: StepRequest) -> StepReport:
        """See ``Display.carry_out``.

        Raises:
            GuestLost: the guest, the X server or the code executor is gone.
            GuestCallError: an event or a request makes no sense.
        """
        return by_guest.carry_out(self._client, request)

    def release(self) -> None:
        """Let go of every key and button that is held, and switch Caps Lock off."""
        by_guest.release(self._client)

    def recover(self) -> None:
        """See ``Display.recover``."""
        by_guest.recover(self._client)

    def close(self) -> None:
        """Give the framebuffer back. Idempotent."""
        if self._fd >= 0:
            self._frames.close()
            os.close(self._fd)
            self._fd = -1


_HEADER = 1 << 16  # bytes at most before the pixels


class _Mapped:
    """A framebuffer that is looked at where it is."""

    def __init__(self, fd: int, size: tuple[int, int], offset: int) -> None:
        if _can_be_cut(fd):  # reading what was cut off ends this process
            raise ValueError("its file can be made shorter; it must be a memory file with F_SEAL_SHRINK")
        layout = _layout(fd, size, offset)
        self._memory = mmap.mmap(fd, layout.end, prot=mmap.PROT_READ, offset=offset)
        self.pixels = _view(self._memory, layout)

    def close(self) -> None:
        """Let go of the memory."""
        self.pixels = np.empty((0, 0, 4), np.uint8)
        self._memory.close()


class _Read:
    """A framebuffer that is read from its file for each frame."""

    def __init__(self, fd: int, size: tuple[int, int], offset: int) -> None:
        layout = _layout(fd, size, offset)
        if layout.end > size[0] * size[1] * 4 + _HEADER:
            raise ValueError(f"its header makes it {layout.end} bytes")
        self._fd, self._offset = fd, offset
        self._memory = bytearray(layout.end)
        self._pixels = _view(self._memory, layout)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The pixels now. Raises MachineError."""
        if os.preadv(self._fd, [self._memory], self._offset) < len(self._memory):
            raise MachineError("the framebuffer's file was cut", "display_lost")
        return self._pixels

    def close(self) -> None:
        """Nothing is held."""


def _layout(fd: int, size: tuple[int, int], offset: int) -> Layout:
    """Where the pixels of a screen of this size are in an XWD file. Raises ValueError, OSError."""
    layout = read_layout(fd, offset)
    if (layout.width, layout.height) != size:
        raise ValueError(f"it is {layout.width}x{layout.height}, not {size[0]}x{size[1]}")
    return layout


def _view(memory: mmap.mmap | bytearray, layout: Layout) -> NDArray[np.uint8]:
    """The pixels in a framebuffer's memory, BGRX uint8 (height, width, 4)."""
    height, width = layout.height, layout.width
    rows = np.frombuffer(memory, np.uint8, height * layout.line, layout.start).reshape(height, layout.line)
    return rows[:, : width * 4].reshape(height, width, 4)


def _can_be_cut(fd: int) -> bool:
    try:
        return not fcntl.fcntl(fd, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
    except OSError:  # no memory file
        return True
