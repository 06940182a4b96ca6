"""Frames out of QEMU, for ``frame_latency``: its own VNC server, its monitor's screendump, and our way.

QEMU's own two need no operating system in it: a boot sector sets the graphics card's mode, and what is painted is
written to the card's memory with QEMU's debugger interface. No guest takes the processor from them, so this is the best
that they can do. Our way, the framebuffer in memory that host and guest share, is measured on a real QemuMachine.
"""

from __future__ import annotations

import random
import socket
import struct
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deskgym.benchmarks.frame_sources import Source
from deskgym.envs.displays.base import CodeRequest
from deskgym.envs.displays.vnc.display import VncDisplay
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.qemu.host import find_qemu
from deskgym.envs.machines.qemu.machine import QemuMachine
from deskgym.envs.machines.qemu.run import Run

WAIT = 20.0  # seconds
_INDEX, _DATA = 0x1CE, 0x1CF  # ports of the card's "VBE DISPI" registers, docs/specs/standard-vga in QEMU
_ENABLE = 0x41  # on, with a linear framebuffer


def boot_sector(size: tuple[int, int]) -> bytes:
    """512 bytes of real mode code that set a mode of 32 bits per pixel and halt."""
    code = b"\xfa"  # cli
    for register, value in ((4, 0), (1, size[0]), (2, size[1]), (3, 32), (4, _ENABLE)):
        for port, number in ((_INDEX, register), (_DATA, value)):  # mov dx, port; mov ax, number; out dx, ax
            code += b"\xba" + struct.pack("<H", port) + b"\xb8" + struct.pack("<H", number) + b"\xef"
    code += b"\xf4\xeb\xfd"  # hlt, for ever
    return code.ljust(510, b"\0") + b"\x55\xaa"


class Debugger:
    """Writes to a QEMU's memory, over the protocol of GDB's remote targets."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(WAIT)
        self._file = sock.makefile("rwb")
        self._ask(b"Qqemu.PhyMemMode:1")

    def write(self, address: int, data: bytes) -> None:
        """Write at a physical address; returns when it is written."""
        for offset in range(0, len(data), 1024):
            piece = data[offset : offset + 1024]
            self._ask(b"M%x,%x:%s" % (address + offset, len(piece), piece.hex().encode()))

    def _ask(self, packet: bytes) -> None:
        self._file.write(b"$%s#%02x" % (packet, sum(packet) % 256))
        self._file.flush()
        answer = b""
        while answer != b"OK":  # or that the processor stands still, which it does from the connection on
            if answer and not answer.startswith(b"T"):
                raise SystemExit(f"QEMU's debugger interface answered {answer!r} to {packet[:40]!r}")
            answer = self._packet()

    def _packet(self) -> bytes:
        while (sign := self._file.read(1)) != b"$":
            if not sign:
                raise SystemExit("QEMU's debugger interface has closed")
        packet = bytearray()
        while (byte := self._file.read(1)) != b"#":
            packet += byte
        self._file.read(2)  # its sum
        self._file.write(b"+")
        self._file.flush()
        return bytes(packet)


class Card:
    """A QEMU without an operating system, whose graphics card shows what is painted from here.

    Args:
        size: width and height of its screen.
        stack: what ends it goes there.
    """

    def __init__(self, size: tuple[int, int], stack: ExitStack) -> None:
        self.size = size
        self.folder = Path(tempfile.mkdtemp(prefix="deskgym-bench-"))  # QEMU's keeper removes it
        sector = self.folder / "sector"
        sector.write_bytes(boot_sector(size))
        control, their_control = socket.socketpair()
        debugger, their_debugger = socket.socketpair()
        with their_control, their_debugger:
            fds = (their_control.fileno(), their_debugger.fileno())
            command = [
                find_qemu(), "-nodefaults", "-no-user-config", "-display", "none", "-machine", "pc", "-m", "64M",
                "-accel", "tcg", "-device", "VGA,id=card,vgamem_mb=32", "-vnc", f"unix:{self.folder}/rfb",
                "-drive", f"file={sector},if=floppy,format=raw,read-only=on",
                "-chardev", f"socket,id=control,fd={fds[0]}", "-mon", "chardev=control,mode=control",
                "-chardev", f"socket,id=debugger,fd={fds[1]}", "-gdb", "chardev:debugger",
            ]  # fmt: skip
            run = Run(command, self.folder, self.folder / "rfb", fds)
        stack.callback(run.stop)
        run.connect(control, lambda why: None)
        self.control = run.control
        end = time.monotonic() + WAIT
        while (frame := self.dump()).shape[:2] != (
            size[1],
            size[0],
        ) or frame.any():  # what is shown before is not black
            if time.monotonic() > end:
                raise SystemExit("QEMU's graphics card did not get its mode")
            time.sleep(0.05)
        self._memory = self._find_memory()
        self.control.execute("stop")  # while the processor runs, all that the debugger can say is "stop"
        self._debugger = Debugger(debugger)
        drawn = random.Random(0)
        for _ in range(400):
            self.fill(drawn.randrange(size[0] - 150), drawn.randrange(size[1] - 12), 150, 12)

    def _find_memory(self) -> int:
        for bus in self.control.execute("query-pci"):
            for device in bus["devices"]:
                if device["qdev_id"] == "card":
                    return int(next(region["address"] for region in device["regions"] if region["bar"] == 0))
        raise SystemExit("QEMU has no graphics card")

    def fill(self, left: int, top: int, width: int, height: int) -> None:
        """Paint a rectangle in a random colour."""
        line = random.randbytes(3) + b"\0"
        for row in range(top, top + height):
            self._debugger.write(self._memory + (row * self.size[0] + left) * 4, line * width)

    def dump(self) -> NDArray[np.uint8]:
        """What QMP's ``screendump`` gives: uint8 (height, width, 3)."""
        path = self.folder / "frame.ppm"
        self.control.execute("screendump", filename=str(path))
        data = path.read_bytes()
        kind, size, depth, pixels = data.split(b"\n", 3)
        if (kind, depth) != (b"P6", b"255"):
            raise SystemExit(f"QEMU's screendump begins with {data[:20]!r}")
        width, height = map(int, size.split())
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


class QemuVnc(Source):
    """The VNC server that is in QEMU, raw pixels.

    It looks at its card's memory every 30 ms after input, and ever more rarely when nothing happens.
    """

    pointer = False
    late = True

    def open(self, size: tuple[int, int]) -> None:  # noqa: D102
        self._card = Card(size, self.stack)
        self.display = self._vnc = VncDisplay(f"{self._card.folder}/rfb", size=size)
        self.stack.callback(self._vnc.close)

    def act(self) -> None:  # noqa: D102
        self._vnc.perform([{"t": "move", "x": random.randrange(100), "y": 0}])

    def full(self) -> None:  # noqa: D102
        self._vnc._connection.ask(incremental=False)
        super().full()

    def draw(self, x: int, y: int) -> None:  # noqa: D102
        self._card.fill(x, y, 20, 20)


class QemuScreendump(Source):
    """QMP's screendump: QEMU writes a file, and we read it."""

    pointer = False

    def open(self, size: tuple[int, int]) -> None:  # noqa: D102
        self._card = Card(size, self.stack)

    def frame(self) -> NDArray[np.uint8]:  # noqa: D102
        return self._card.dump()

    def draw(self, x: int, y: int) -> None:  # noqa: D102
        self._card.fill(x, y, 20, 20)


PAINT = """
import random, Xlib.display
x = Xlib.display.Display()
root = x.screen().root
def fill(left, top, width, height):
    context = root.create_gc(foreground=random.randrange(1 << 24))
    root.fill_rectangle(context, left, top, width, height)
    context.free()
"""


class QemuMemory(Source):
    """Our machine: the framebuffer of the Xvfb in it is in memory that we share with it."""

    def open(self, size: tuple[int, int]) -> None:  # noqa: D102
        machine = self.stack.enter_context(QemuMachine(MachineConfig(screen_size=size), accel="tcg"))
        self.display = machine.display
        self._paint(f"for n in range(400): fill(random.randrange({size[0]}), random.randrange({size[1]}), 150, 12)")

    def draw(self, x: int, y: int) -> None:  # noqa: D102
        self._paint(f"fill({x}, {y}, 20, 20)")

    def _paint(self, what: str) -> None:
        self.display.perform(code=CodeRequest(f"{PAINT}\n{what}\nx.sync()", output_limit=4096))
