import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.displays.x11 import X11Display
from deskgym.envs.errors import MachineError
from deskgym.envs.guest.step import CodeRequest


def test_the_frame_is_rgb_and_has_the_pointer(desktop):
    display = desktop.display
    display.perform([{"t": "move", "x": 1200, "y": 700}], SettlePolicy())
    before = display.capture()
    assert before.shape == (720, 1280, 3) and before.dtype == np.uint8
    assert before[300, 300].tolist() == [0x3B, 0x42, 0x52]
    display.perform([{"t": "move", "x": 400, "y": 300}], SettlePolicy())
    changed = np.argwhere((display.capture() != before).any(axis=2))
    assert len(changed) and any(abs(y - 300) < 30 and abs(x - 400) < 30 for y, x in changed)


def test_a_frame_is_written_where_it_shall_be(desktop):
    out = np.zeros((720, 1280, 3), np.uint8)
    assert desktop.display.capture(out) is out
    assert out[300, 300].tolist() == [0x3B, 0x42, 0x52]
    strided = np.zeros((2, 720, 1280, 4), np.uint8)[1, :, :, :3]
    assert desktop.display.capture(strided) is strided
    assert (strided == out).all()
    with pytest.raises(ValueError, match="must be uint8"):
        desktop.display.capture(np.zeros((10, 10, 3), np.uint8))


def test_damage_is_where_something_was_drawn(desktop):
    desktop.display.perform([], SettlePolicy())
    code = (
        "from Xlib import display\nd = display.Display(); s = d.screen()\n"
        "g = s.root.create_gc(foreground=0xff0000); s.root.fill_rectangle(g, 100, 50, 30, 20); d.sync()"
    )
    report = desktop.display.perform([], SettlePolicy(), code=CodeRequest(code))
    assert report.damage == (100, 50, 30, 20)
    assert desktop.display.capture()[55, 105].tolist() == [255, 0, 0]
    assert desktop.display.perform([], SettlePolicy()).damage is None


def test_waits_between_events_take_their_time(desktop):
    report = desktop.display.perform([{"t": "wait", "s": 0.2}])
    assert 195 < report.timing["input"] < 1000


@pytest.mark.parametrize("data", [b"", b"x" * 200, b"\0" * 100_000])
def test_a_file_that_is_no_framebuffer_is_refused(desktop, data):
    fd = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    os.write(fd, data)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    with pytest.raises(MachineError, match="screen dump"):
        X11Display(desktop.guest, fd, (1280, 720))


def test_a_framebuffer_that_can_be_cut_is_refused(desktop, tmp_path):
    whole = Path(f"{desktop.home.parent}/state/framebuffer/Xvfb_screen0")
    assert os.readlink(whole).startswith("/proc/self/fd/")  # only X and the guest have it
    fd = os.dup(desktop.display._fd)
    (tmp_path / "file").write_bytes(os.pread(fd, 1 << 24, 0))
    with pytest.raises(MachineError, match="made shorter"):
        X11Display(desktop.guest, os.open(tmp_path / "file", os.O_RDONLY), (1280, 720))
    with pytest.raises(MachineError, match="1280x720, not 640x480"):
        X11Display(desktop.guest, os.dup(fd), (640, 480))
    writable = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
    with pytest.raises(PermissionError):
        os.truncate(writable, 1000)
    os.close(writable)
    display = X11Display(desktop.guest, fd, (1280, 720))
    assert display.capture().shape == (720, 1280, 3)
    display.close()
    display.close()
    with pytest.raises(MachineError, match="closed"):
        display.capture()
