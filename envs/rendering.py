"""How environments are shown: their render modes, and the window of ``render_mode="human"``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.extras import command_for

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}
"""What Gymnasium reads of an environment. ``"human"`` is listed where it was asked for only: checkers try all that is
listed, and most machines that train have no display."""


class Window:
    """A window on the user's own display; the first frame opens it. A process has one: SDL has no more.

    Raises:
        ValueError: pygame is not installed, or there is no display; the message says what to do.
    """

    def __init__(self) -> None:
        try:
            os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
            import pygame
        except ImportError:
            raise ValueError(f"render_mode='human' needs pygame: {command_for('human')}") from None
        self._pygame: Any = pygame
        self._open()

    def show(self, frame: NDArray[np.uint8]) -> None:
        """Show a frame, uint8 (height, width, 3) RGB."""
        display = self._open()
        height, width, _ = frame.shape
        surface = display.get_surface()
        if surface is None or surface.get_size() != (width, height):
            display.set_caption("deskgym")
            surface = display.set_mode((width, height))
        self._pygame.event.pump()  # else the window counts as hung
        self._pygame.surfarray.blit_array(surface, frame.swapaxes(0, 1))
        display.flip()

    def close(self) -> None:
        """Close it; ``show`` opens it again. Idempotent."""
        self._pygame.display.quit()

    def _open(self) -> Any:
        display = self._pygame.display
        try:
            if not display.get_init():
                display.init()
            if display.get_driver() in ("offscreen", "dummy") and "SDL_VIDEODRIVER" not in os.environ:
                display.quit()  # SDL takes what nobody sees where there is nothing else
                raise self._pygame.error("SDL finds none")
        except self._pygame.error as error:
            where = " and ".join(f"{name}={os.environ.get(name)!r}" for name in ("DISPLAY", "WAYLAND_DISPLAY"))
            raise ValueError(
                f"render_mode='human' needs a display for its window, and {where} give none ({error}); legal without "
                "one are None and 'rgb_array', and `deskgym view --live` shows running machines in a browser"
            ) from None
        return display
