"""The ways to get frames that ``frame_latency`` compares, and a program that paints."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays.base import CodeRequest, Display
from deskgym.envs.displays.vnc.display import VncDisplay
from deskgym.envs.machines import MachineConfig, create_machine
from deskgym.envs.machines.qemu.machine import QemuMachine

SMALL = 40  # pixels around the pointer in which a small change may be


PAINTER = """
import random, sys
import Xlib.display
x = Xlib.display.Display()
root, drawn = x.screen().root, random.Random(0)
def fill(left, top, width, height):
    context = root.create_gc(foreground=drawn.randrange(1 << 24))
    root.fill_rectangle(context, left, top, width, height)
    context.free()
font = x.open_font("cursor")
root.change_attributes(cursor=font.create_glyph_cursor(font, 68, 69, (0, 0, 0), (65535, 65535, 65535)))
size = root.get_geometry()
for n in range(400):
    fill(drawn.randrange(size.width), drawn.randrange(size.height), 150, 12)
x.sync()
print(flush=True)
for line in sys.stdin:
    fill(*map(int, line.split()), 20, 20)
    x.sync()
    print(flush=True)
"""


class Painter:
    """A program that paints: a scene at first, and then what it is told to."""

    def __init__(self, display: str, authority: str = "") -> None:
        env = {**os.environ, "DISPLAY": display, "XAUTHORITY": authority}
        self._process = subprocess.Popen(
            [sys.executable, "-c", PAINTER], env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._painted()

    def _painted(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def paint(self, x: int, y: int) -> None:
        """Paint a small thing; returns when the screen has it."""
        assert self._process.stdin is not None
        print(x, y, file=self._process.stdin, flush=True)
        self._painted()

    def close(self) -> None:
        """End it."""
        self._process.communicate()


class Source(ABC):
    """A way to get frames. Another one is one more class in ``frame_latency.SOURCES``."""

    display: Display
    painter: Painter

    def __init__(self) -> None:
        self.stack = ExitStack()

    @abstractmethod
    def open(self, size: tuple[int, int]) -> None:
        """Start it with a screen of this size; what ends it may go on the ``stack``."""

    def close(self) -> None:
        """End it, also where it was opened in part only."""
        self.stack.close()

    def frame(self) -> NDArray[np.uint8]:
        """The screen now: uint8 (height, width, 3)."""
        return self.display.capture()

    def full(self) -> None:
        """Get a whole frame, whatever is known of the last one."""
        self.frame()

    def move(self, x: int, y: int) -> None:
        """Move the pointer."""
        self.display.perform([{"t": "move", "x": x, "y": y}])

    def draw(self, x: int, y: int) -> None:
        """Have a program paint."""
        self.painter.paint(x, y)

    def changed(self, change: Callable[[int, int], None]) -> float:
        """Change something small, and return the ms that the frame takes that shows it."""
        before = self.frame()
        height, width, _ = before.shape
        x, y = random.randrange(SMALL, width - SMALL), random.randrange(SMALL, height - SMALL)
        place = (slice(y - SMALL, y + SMALL), slice(x - SMALL, x + SMALL))
        change(x, y)
        began = time.perf_counter()
        frame = self.frame()
        took = (time.perf_counter() - began) * 1000
        if np.array_equal(before[place], frame[place]):
            raise SystemExit(f"the frame of {type(self).__name__} is older than the change before it")
        return took


class SharedMemory(Source):
    """Xvfb's framebuffer beside it, as the sandbox and the process machine have it."""

    def open(self, size: tuple[int, int]) -> None:  # noqa: D102
        machine = self.stack.enter_context(create_machine("process", MachineConfig(screen_size=size)))
        self.display = machine.display
        where = machine.run(["sh", "-c", "echo $DISPLAY $XAUTHORITY"]).stdout.decode()
        self.painter = Painter(*where.split())
        self.stack.callback(self.painter.close)


class Xvnc(Source):
    """TigerVNC's server on a Unix socket, raw pixels."""

    encoding: str | None = None

    def open(self, size: tuple[int, int]) -> None:  # noqa: D102
        folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="deskgym-bench-"))
        read, write = os.pipe()
        server = subprocess.Popen(
            [
                "Xvnc", "-displayfd", str(write), "-geometry", f"{size[0]}x{size[1]}", "-depth", "24",
                "-nolisten", "tcp", "-rfbunixpath", f"{folder}/rfb", "-SecurityTypes", "None",
            ],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.stack.callback(server.wait)
        self.stack.callback(server.terminate)
        os.close(write)
        with os.fdopen(read) as file:
            self.painter = Painter(f":{int(file.readline())}")
        self.stack.callback(self.painter.close)
        self.display = self._vnc = VncDisplay(f"{folder}/rfb", size=size)
        self.stack.callback(self._vnc.close)
        if self.encoding is not None:
            from vncdotool.const import Encoding  # type: ignore[import-untyped]

            self._vnc._client.take_encodings([Encoding[self.encoding]])

    def full(self) -> None:  # noqa: D102
        self._vnc._connection.ask(incremental=False)
        super().full()


class XvncHextile(Xvnc):
    """The same in Hextile, which vncdotool decodes in Python."""

    encoding = "HEXTILE"


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
