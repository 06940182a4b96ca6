"""Where a window goes that shares the screen with another one."""

from __future__ import annotations

from typing import Literal

Half = Literal["", "left", "right", "top", "bottom"]
TITLE = 20  # pixels of the window manager's title bar and lower edge
EDGE = 8


def half_of(size: tuple[int, int], half: Half) -> tuple[int, int, int, int] | None:
    """Place and size of a window's content in one half of the screen, its title bar in sight; None for all of it.

    Args:
        size: of the screen, in pixels.
        half: which half; "" for all of it.
    """
    if not half:
        return None
    width, height = (size[0] // 2, size[1]) if half in ("left", "right") else (size[0], size[1] // 2)
    x, y = (width if half == "right" else 0), (height if half == "bottom" else 0)
    return x, y + TITLE, width - EDGE, height - TITLE - EDGE
