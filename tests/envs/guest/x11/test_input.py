"""Typing, clicking and settling in a real editor."""

import shutil
import statistics
import time

import pytest

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.step import CodeRequest

pytestmark = pytest.mark.skipif(shutil.which("mousepad") is None, reason="mousepad is not installed")

SETTLE = SettlePolicy()
UNICODE = "Ünïcødé → 日本語 😀 € ABC !@#~^\nzweite\tZeile ß—“x”"


@pytest.fixture(scope="module")
def editor(desktop):
    window = desktop.guest.call(
        "launch", 40, argv=["mousepad"], wait={"window": {"class": "(?i)mousepad"}, "app": "mousepad"}
    )["window"]
    desktop.display.perform([], SettlePolicy(cap_ms=3000))
    return window


@pytest.fixture
def text(desktop, editor):
    """Clears the editor, and returns a function that reads what it holds."""

    def read():
        deadline = time.monotonic() + 5
        seen = None
        while time.monotonic() < deadline:  # until two looks agree
            answer = desktop.guest.call("elements", limit=500, deadline=2.0, fresh=True)
            now = [text for role, _, text, _ in answer["texts"] if role == "text"]
            if now and now == seen:
                return now[0]
            seen = now
        raise AssertionError(f"no text: {seen}")

    chord(desktop, "ctrl", "a")
    chord(desktop, "delete")
    return read


def chord(desktop, *keys):
    events = [{"t": "keydown", "k": key} for key in keys] + [{"t": "keyup", "k": key} for key in reversed(keys)]
    return desktop.display.perform(events, SETTLE)


def type_text(desktop, text):
    return desktop.display.perform([{"t": "type", "s": text}], SETTLE)


def test_any_text_can_be_typed(desktop, text):
    type_text(desktop, UNICODE)
    assert text() == UNICODE


def test_more_characters_than_there_are_spare_keys_can_be_typed(desktop, text):
    many = "".join(chr(0x4E00 + k) for k in range(400))
    type_text(desktop, many)
    assert text() == many
    chord(desktop, "ctrl", "a")
    type_text(desktop, UNICODE)
    assert text() == UNICODE


def test_code_types_any_text_too(desktop, text):
    code = (
        f"pyautogui.write({UNICODE!r}); pyautogui.press('enter'); pyautogui.hotkey('shift', 'a'); pyautogui.press('é')"
    )
    report = desktop.display.perform([], SETTLE, code=CodeRequest(code))
    assert report.code.stderr == ""
    assert text() == UNICODE + "\nAé"
    type_text(desktop, "日本ß")
    assert text() == UNICODE + "\nAé日本ß"


def test_controls_and_lone_surrogates_are_left_out(desktop, text):
    desktop.display.perform([{"t": "type", "s": "a\0b\x7fc\r\nd"}], SETTLE)
    assert text() == "abc\nd"


def test_caps_lock_does_not_change_what_is_typed(desktop, text):
    chord(desktop, "capslock")
    type_text(desktop, "aB1é")
    assert text() == "aB1é"
    desktop.display.release()
    chord(desktop, "x")
    assert text() == "aB1éx"


def test_held_keys_and_buttons_are_released(desktop, text):
    desktop.display.perform([{"t": "keydown", "k": "shift"}, {"t": "keydown", "k": "ctrl"}])
    assert desktop.guest.call("release") == {"keys": 2, "buttons": 0}
    desktop.display.perform([{"t": "move", "x": 5, "y": 5}, {"t": "down", "b": 1}])
    assert desktop.guest.call("release") == {"keys": 0, "buttons": 1}
    chord(desktop, "x")
    assert text() == "x"


@pytest.mark.parametrize(
    "event", [{"t": "fly"}, {"t": "keydown", "k": "nonsense"}, {"t": "down", "b": 99}, {"t": "move", "x": "a", "y": 1}]
)
def test_events_that_make_no_sense_are_errors(desktop, event):
    with pytest.raises(GuestCallError) as error:
        desktop.display.perform([event])
    assert error.value.kind == "ValueError"


def test_a_blinking_caret_does_not_hold_up_the_settling(desktop, editor, text):
    x, y = editor["x"] + 200, editor["y"] + 200
    steps = []
    for k in range(40):
        events = [{"t": "move", "x": x + k, "y": y}, {"t": "down", "b": 1}, {"t": "up", "b": 1}]
        if k % 2:
            events = [{"t": "keydown", "k": "a"}, {"t": "keyup", "k": "a"}]
        began = time.perf_counter()
        report = desktop.display.perform(events, SETTLE)
        desktop.display.capture()
        steps.append(time.perf_counter() - began)
        assert report.settled
        assert k % 2 == 0 or report.damage is not None
    assert statistics.median(steps) < 0.1, steps  # about 25 ms on an idle machine


def test_an_animation_is_learned(desktop):
    """A window that draws a small square 50 times a second does not keep the screen from settling."""
    code = (
        "import os, subprocess, sys\n"
        "draw = '''\n"
        "import time\n"
        "from Xlib import display, X\n"
        "d = display.Display(); s = d.screen()\n"
        "w = s.root.create_window(20, 20, 30, 30, 0, s.root_depth, override_redirect=True, background_pixel=255)\n"
        "w.map(); g = w.create_gc()\n"
        "for k in range(10**6):\n"
        "    g.change(foreground=k * 5 % 255); w.fill_rectangle(g, 0, 0, 30, 30); d.flush(); time.sleep(0.02)\n"
        "'''\n"
        "print(subprocess.Popen([sys.executable, '-c', draw], start_new_session=True).pid)\n"
    )
    pid = int(desktop.display.perform([], None, code=CodeRequest(code)).code.stdout)
    try:
        time.sleep(1.0)  # the time in which it is learned
        settled = []
        for _ in range(5):
            report = desktop.display.perform([{"t": "move", "x": 600, "y": 10}], SETTLE)
            settled.append((report.settled, report.timing["settle"]))
        assert all(ok for ok, _ in settled), settled
    finally:
        desktop.run(["kill", "-9", str(pid)])


def test_a_screen_that_never_rests_ends_at_the_cap(desktop):
    code = (
        "import subprocess, sys\n"
        "draw = '''\n"
        "from Xlib import display\n"
        "import time\n"
        "d = display.Display(); s = d.screen()\n"
        "w = s.root.create_window(0, 0, 900, 600, 0, s.root_depth, override_redirect=True, background_pixel=255)\n"
        "w.map(); g = w.create_gc()\n"
        "for k in range(10**6):\n"
        "    g.change(foreground=k * 5 % 255); w.fill_rectangle(g, 0, 0, 900, 600); d.sync(); time.sleep(0.005)\n"
        "'''\n"
        "print(subprocess.Popen([sys.executable, '-c', draw], start_new_session=True).pid)\n"
    )
    pid = int(desktop.display.perform([], None, code=CodeRequest(code)).code.stdout)
    try:
        assert desktop.guest.call("wait_change", timeout=5.0) == {"changed": True}
        time.sleep(0.5)
        report = desktop.display.perform([], SettlePolicy(quiet_ms=100, cap_ms=200))
        assert not report.settled and 190 < report.timing["settle"] < 400
    finally:
        desktop.run(["kill", "-9", str(pid)])
