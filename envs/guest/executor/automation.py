"""pyautogui as code actions find it: no pauses, no fail-safe, any Unicode, and a connection of its own when used."""

from __future__ import annotations

import os
import sys
import types
from typing import Any


def load() -> Any:
    """Import pyautogui and fit it; the X connection that the import makes is closed again."""
    hidden = ("mouseinfo", "tkinter", "Tkinter")  # mouseinfo ends the interpreter when there is no tkinter
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]
    screen = _lazy_pyscreeze()
    try:
        import pyautogui
        from pyautogui import _pyautogui_x11 as platform
    finally:
        for name in hidden:
            del sys.modules[name]
        sys.modules.pop("pyscreeze", None)
    pyautogui.PAUSE = 0
    pyautogui.FAILSAFE = False
    pyautogui.DARWIN_CATCH_UP_TIME = 0
    pyautogui.screenshot = screen.screenshot
    platform._display.close()
    platform._display = LazyDisplay(platform)
    platform._mouse_is_swapped_setting = False  # else it asks dconf
    _fit_keys(platform)
    return pyautogui


class LazyDisplay:
    """Stands for the X connection until it is used: a fork that needs none makes none."""

    def __init__(self, platform: Any) -> None:
        self._platform = platform
        self._real: Any = None

    def __getattr__(self, name: str) -> Any:
        if self._real is None:  # one call of ours may ask for several attributes before it sees the real one
            from deskgym.envs.guest.x11.connection import connect

            self._real = self._platform._display = connect(os.environ["DISPLAY"])
        return getattr(self._real, name)


def _fit_keys(platform: Any) -> None:
    """Let ``write``, ``press`` and ``hotkey`` take any character, and every key name of ours."""
    from Xlib import X
    from Xlib.ext.xtest import fake_input

    from deskgym.envs.guest.x11.keyboard import typeable
    from deskgym.envs.guest.x11.keymap import Keymap
    from deskgym.envs.guest.x11.keys import keysym

    own_down, own_up = platform._keyDown, platform._keyUp
    known = platform.keyboardMapping
    known["<"] = None  # pyautogui presses Shift with a key that has it without, and so types ">": ours knows better
    keymap: Keymap | None = None

    def find(key: Any) -> tuple[int, bool] | None:
        nonlocal keymap
        if not isinstance(key, str) or known.get(key) or (len(key) == 1 and not typeable(key)):
            return None
        symbol = keysym(key)
        if not symbol:
            return None
        if keymap is None:
            keymap = Keymap(platform._display)
        missing = keymap.missing([symbol])
        if missing:
            if keymap.full(1):
                import time

                time.sleep(0.1)  # rare: more than a hundred different foreign characters in one action
            keymap.assign(missing)
        return keymap.lookup(symbol)

    def key_down(key: Any) -> None:
        found = find(key)
        if found is None:
            own_down(key)
            return
        code, shifted = found
        if shifted:
            fake_input(platform._display, X.KeyPress, known["shift"])
        fake_input(platform._display, X.KeyPress, code)
        if shifted:
            fake_input(platform._display, X.KeyRelease, known["shift"])
        platform._display.sync()

    def key_up(key: Any) -> None:
        found = find(key)
        if found is None:
            own_up(key)
            return
        fake_input(platform._display, X.KeyRelease, found[0])
        platform._display.sync()

    platform._keyDown, platform._keyUp = key_down, key_up


def _lazy_pyscreeze() -> types.ModuleType:
    """A stand-in for pyscreeze, which loads numpy, OpenCV and Pillow: the real one is loaded when it is needed."""
    module = types.ModuleType("pyscreeze")

    class ImageNotFoundException(Exception):
        pass

    def later(name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(_real_pyscreeze(), name)(*args, **kwargs)

        call.__name__ = name
        return call

    for name in (
        "center", "pixel", "pixelMatchesColor", "locate", "locateAll", "locateAllOnScreen", "locateCenterOnScreen",
        "locateOnScreen", "locateOnWindow", "showRegionOnScreen",
    ):  # fmt: skip
        setattr(module, name, later(name))
    module.__dict__.update(screenshot=screenshot, ImageNotFoundException=ImageNotFoundException)
    module.__dict__.update(USE_IMAGE_NOT_FOUND_EXCEPTION=True, __version__="0")
    sys.modules["pyscreeze"] = module
    return module


def _real_pyscreeze() -> Any:
    import pyautogui

    stand_in = pyautogui.pyscreeze
    sys.modules.pop("pyscreeze", None)
    import pyscreeze  # type: ignore[import-untyped,unused-ignore]

    pyscreeze.screenshot = screenshot
    pyscreeze.USE_IMAGE_NOT_FOUND_EXCEPTION = stand_in.USE_IMAGE_NOT_FOUND_EXCEPTION
    stand_in.ImageNotFoundException = pyscreeze.ImageNotFoundException
    return pyscreeze


def screenshot(imageFilename: str | None = None, region: Any = None, **ignored: Any) -> Any:
    """The screen as a Pillow image, or the part (x, y, width, height) of it; saved if a file name is given."""
    from PIL import Image
    from pyautogui import _pyautogui_x11 as platform
    from Xlib import X

    screen = platform._display.screen()
    x, y, width, height = region or (0, 0, screen.width_in_pixels, screen.height_in_pixels)
    raw = screen.root.get_image(int(x), int(y), int(width), int(height), X.ZPixmap, 0xFFFFFFFF)
    image = Image.frombytes("RGB", (int(width), int(height)), raw.data, "raw", "BGRX")
    if imageFilename is not None:
        image.save(imageFilename)
    return image
