"""VncDisplay on real servers: Xvnc with a window that writes down its input, and QEMU's own."""

import struct
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from vnc_desktops import VncDesktop, need, wait_for

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.displays.vnc.display import VncDisplay
from deskgym.envs.displays.vnc.input import VncInput
from deskgym.envs.displays.vnc.protocol import FrameClient
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.guest.step import CodeRequest, ElementsRequest

SIZE = (640, 400)
LISTENER = """
import sys
from Xlib import X, XK, display
d = display.Display()
root = d.screen().root
w = root.create_window(100, 100, 300, 200, 0, d.screen().root_depth, background_pixel=0xffffff, event_mask=
    X.KeyPressMask | X.KeyReleaseMask | X.ButtonPressMask | X.ButtonReleaseMask | X.ExposureMask)
w.change_attributes(override_redirect=True)
w.map()
d.sync()
w.set_input_focus(X.RevertToParent, X.CurrentTime)
gc = w.create_gc(foreground=0xff0000)
while True:
    e = d.next_event()
    if e.type == X.Expose:
        print("ready", flush=True)
    elif e.type == X.MappingNotify:
        d.refresh_keyboard_mapping(e)
    elif e.type in (X.KeyPress, X.KeyRelease):
        level = bool(e.state & X.ShiftMask) ^ bool(e.state & X.LockMask)
        symbol = d.keycode_to_keysym(e.detail, level) or d.keycode_to_keysym(e.detail, 0)
        print("key", "down" if e.type == X.KeyPress else "up", hex(symbol), flush=True)
        if e.type == X.KeyPress and symbol == XK.XK_p:
            w.fill_rectangle(gc, 20, 10, 30, 40)
            d.sync()
    else:
        print("button", "down" if e.type == X.ButtonPress else "up", e.detail, e.root_x, e.root_y, flush=True)
"""


class Listener:
    """A window that writes down its input."""

    def __init__(self, desktop):
        self._desktop = desktop
        self._process = desktop.start([sys.executable, "-u", "-c", LISTENER])
        wait_for(lambda: "ready" in self.lines(), "the window")
        self._seen = len(self.lines())

    def lines(self):
        return self._desktop.log(self._process).splitlines()

    def news(self, count):
        """The next lines, when there are so many, without those of Shift."""

        def new():
            return [line for line in self.lines()[self._seen :] if not line.endswith(("0xffe1", "0xffe5"))]

        wait_for(lambda: len(new()) >= count, f"{count} lines", 5.0)
        found = new()
        self._seen = len(self.lines())
        return found


@pytest.fixture(scope="module")
def desktop():
    with VncDesktop(SIZE) as desktop:
        yield desktop


@pytest.fixture(scope="module")
def listener(desktop):
    return Listener(desktop)


@pytest.fixture
def display(desktop, listener):
    display = VncDisplay(desktop.address, size=SIZE)
    yield display
    display.close()


def test_a_frame_has_what_is_there(display):
    display.perform([{"t": "move", "x": 600, "y": 390}], SettlePolicy())
    frame = display.capture()
    assert frame.shape == (400, 640, 3) and frame.dtype == np.uint8
    assert (frame[110:290, 110:390].min(), frame[:90].max()) == (255, 0)
    out = np.zeros((400, 640, 3), np.uint8)
    assert display.capture(out) is out and (out == frame).all()
    strided = np.zeros((2, 400, 640, 4), np.uint8)[1, :, :, :3]
    assert display.capture(strided) is strided and (strided == frame).all()
    with pytest.raises(ValueError, match="must be uint8"):
        display.capture(np.zeros((10, 10, 3), np.uint8))


@pytest.mark.parametrize("pointer", ["server", "client"])
def test_the_pointer_is_in_it(desktop, listener, pointer):
    display = VncDisplay(desktop.address, pointer=pointer)
    frames = []
    for x, y in ((10, 390), (600, 20), (639, 399)):
        display.perform([{"t": "move", "x": x, "y": y}], SettlePolicy())
        frames.append(display.capture())
    display.close()
    changed = np.argwhere((frames[0] != frames[1]).any(axis=2))
    near = [(abs(changed - place).max(axis=1) < 30).sum() for place in ((390, 10), (20, 600))]
    assert min(near) > 5 and sum(near) == len(changed)
    assert (frames[0] != frames[2]).any()


def test_damage_and_settling(display):
    display.perform([{"t": "move", "x": 600, "y": 20}], SettlePolicy())
    assert display.perform([], SettlePolicy()).damage is None
    report = display.perform([{"t": "keydown", "k": "p"}, {"t": "keyup", "k": "p"}], SettlePolicy())
    assert (report.settled, report.damage) == (True, (120, 110, 30, 40))
    assert set(report.timing) == {"input", "settle"} and 10 < report.timing["settle"] < 400
    assert display.capture()[115, 125].tolist() == [255, 0, 0]
    again = display.perform([{"t": "keydown", "k": "p"}, {"t": "keyup", "k": "p"}], SettlePolicy())
    assert again.damage is None  # painted anew, and as before


def test_the_cap_ends_the_wait(display, desktop):
    code = (
        "import itertools, time; from Xlib import display; d = display.Display(); r = d.screen().root\n"
        "c = [r.create_gc(foreground=n * 77 % 256) for n in range(256)]\n"
        "for n in itertools.count(): r.fill_rectangle(c[n % 256], 450, 0, 180, 90); d.sync(); time.sleep(0.005)"
    )
    painter = desktop.start([sys.executable, "-c", code])
    try:
        wait_for(lambda: display.capture()[50, 500].any(), "the painting")
        policy = SettlePolicy(quiet_ms=30, cap_ms=150)
        reports = [display.perform([{"t": "move", "x": n, "y": 1}], policy) for n in range(5)]
        capped = [report.timing["settle"] for report in reports if not report.settled]
        assert capped and all(140 < took < 1000 for took in capped), reports  # a busy host may let the painter pause
    finally:
        painter.terminate()
        painter.wait()


def test_keys_arrive_and_are_released(display, listener):
    listener.news(0)
    display.perform([{"t": "keydown", "k": "ctrl"}, {"t": "keydown", "k": "f5"}, {"t": "keydown", "k": "enter"}])
    assert listener.news(3) == ["key down 0xffe3", "key down 0xffc2", "key down 0xff0d"]
    display.release()
    assert sorted(listener.news(3)) == ["key up 0xff0d", "key up 0xffc2", "key up 0xffe3"]
    display.perform([{"t": "keydown", "k": "alt"}])
    display.close()
    assert listener.news(2) == ["key down 0xffe9", "key up 0xffe9"]


@pytest.mark.parametrize("caps", [False, True])
def test_any_text_arrives(display, listener, caps):
    listener.news(0)
    if caps:
        display.perform([{"t": "keydown", "k": "capslock"}, {"t": "keyup", "k": "capslock"}])
    text = 'aZ9 ~!|"<?é€λЖ漢😀\t\n'
    display.perform([{"t": "type", "s": text}], SettlePolicy())
    down = [line.split()[2] for line in listener.news(2 * len(text)) if line.startswith("key down")]
    known = {0xFF0D: "\n", 0xFF09: "\t", 0x20AC: "€", 0x7EB: "λ", 0x6F6: "Ж"}
    typed = "".join(known.get(n := int(symbol, 16)) or chr(n & 0xFFFFFF) for symbol in down)
    assert typed == text
    display.release()


def test_buttons_and_the_wheel_arrive(display, listener):
    listener.news(0)
    display.perform([{"t": "move", "x": 200, "y": 150}] + [{"t": t, "b": b} for b in (1, 2, 3) for t in ("down", "up")])
    assert listener.news(6) == [f"button {t} {b} 200 150" for b in (1, 2, 3) for t in ("down", "up")]
    display.perform([{"t": "scroll", "dx": 1, "dy": -2}])
    assert [line.split()[1:3] for line in listener.news(6)] == [[t, b] for b in "447" for t in ("down", "up")]
    display.perform([{"t": "down", "b": 1}])
    display.release()
    assert listener.news(2) == ["button down 1 200 150", "button up 1 200 150"]


def test_the_eighth_button_is_a_bit_too():
    """As far as RFB goes; TigerVNC 1.12 knows seven."""
    client = FrameClient("none", None, None)
    client.screen_size = SIZE
    sent = bytearray()
    client.transport = SimpleNamespace(write=sent.extend)
    keys = VncInput(client, lambda seconds: None)
    for event in ({"t": "move", "x": -5, "y": 9999}, {"t": "down", "b": 8}, {"t": "up", "b": 8}):
        keys.check([event])
        keys.send(event)
    assert list(struct.iter_unpack("!BBHH", sent)) == [(5, mask, 0, 399) for mask in (0, 128, 0)]


@pytest.mark.parametrize(
    "event",
    [{}, {"t": "jump"}, {"t": "move", "x": 1}, {"t": "down", "b": 0}, {"t": "down", "b": 10},
     {"t": "keydown", "k": "no"}, {"t": "keydown", "k": 5}, {"t": "type", "s": b"x"}, {"t": "wait"},
     {"t": "scroll", "dx": "x"}],
)  # fmt: skip
def test_an_event_without_sense_does_nothing(display, listener, event):
    listener.news(0)
    with pytest.raises(GuestCallError, match="makes no sense"):
        display.perform([{"t": "keydown", "k": "a"}, event])
    display.perform([{"t": "keydown", "k": "b"}, {"t": "keyup", "k": "b"}])
    assert listener.news(2) == ["key down 0x62", "key up 0x62"]


def test_what_takes_a_guest_says_so(display):
    for request in ({"code": CodeRequest("")}, {"elements": ElementsRequest()}):
        with pytest.raises(MachineError, match="takes a guest") as error:
            display.perform([], **request)
        assert error.value.kind == "no_guest"
    with pytest.raises(MachineError, match="button 9"):
        display.perform([{"t": "down", "b": 9}])
    assert display.perform([], code=None).code is None


def test_a_screen_that_changes_its_size():
    need("xrandr")
    with VncDesktop((640, 480), manager=False) as desktop:
        display = VncDisplay(desktop.address)
        desktop.start(["xrandr", "-s", "800x600"]).wait()
        with pytest.raises(MachineError, match="has become 800x600, and 640x480") as error:
            wait_for(
                lambda: display.perform([{"t": "move", "x": 1, "y": 1}], SettlePolicy()) and None, "the change", 5.0
            )
        assert error.value.kind == "display_changed"


def test_qemus_own_server(tmp_path):
    need("qemu-system-x86_64")
    path = tmp_path / "vnc"
    machine = subprocess.Popen(
        ["qemu-system-x86_64", "-nodefaults", "-accel", "tcg", "-m", "32", "-vga", "std", "-vnc", f"unix:{path}"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_for(lambda: path.exists() or machine.poll() is not None, "QEMU")
        display = wait_for(lambda: _with_bios_text(str(path)), "the BIOS's text")
        width, height = display.size
        assert display.name.startswith("QEMU") and display.capture().shape == (height, width, 3)
        assert display.perform([{"t": "move", "x": 5, "y": 5}], SettlePolicy()).settled
        display.close()
    finally:
        machine.kill()
        machine.wait()


def _with_bios_text(path):
    """A connection once there is a text; the BIOS sets other modes before that."""
    display = None
    try:
        display = VncDisplay(path)
        display.perform([{"t": "keydown", "k": "a"}, {"t": "keyup", "k": "a"}], SettlePolicy())
        if (display.capture() > 100).sum() > 300:
            return display
    except MachineError as error:
        assert error.kind == "display_changed", error
    if display is not None:
        display.close()
    return None
