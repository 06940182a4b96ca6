"""DownscaleScreenshot: a smaller picture, whose pixels actions can name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import gymnasium
import numpy as np
from gymnasium import spaces

from deskgym.envs.errors import near
from deskgym.envs.options import checked_after
from deskgym.wrappers.action.coordinates import Frame, FramedActions, inner_size

INTERPOLATIONS = {
    "area": cv2.INTER_AREA,
    "nearest": cv2.INTER_NEAREST,
    "linear": cv2.INTER_LINEAR,
    "cubic": cv2.INTER_CUBIC,
    "lanczos": cv2.INTER_LANCZOS4,
}
"""OpenCV's ways to resize; ``area`` averages, so that thin lines stay visible."""


class DownscaleScreenshot(FramedActions):
    """Makes the screenshot smaller, and takes actions in the pixels of the small picture.

    Models and networks see at most some pixels: Spider2-V and the published computer-use tools scale to about 1280x800,
    networks to 84x84 and the like. ``render()`` stays as large as the screen. How coordinates are rounded is told in
    ``deskgym.wrappers.action.coordinates_guest``.

    Args:
        env: with a ``screenshot`` in its observation, uint8 (height, width, 3).
        size: width and height of the small picture in pixels.
        scale: the same as a share of the large one, above 0 and at most 1; 0.5 if neither is given.
        interpolation: one of ``INTERPOLATIONS``.
        scale_actions: whether the points of computer and code actions are pixels of the small picture; else they stay
            as they are inside.
        scale_elements: whether ``elements``, ``a11y`` (not as XML), ``marks`` and ``mark_boxes`` give extents in the
            small picture's pixels.

    Raises:
        ValueError: there is no screenshot, an argument is not legal, or what is inside gives normalised coordinates.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0")  # doctest: +SKIP
        >>> env = DownscaleScreenshot(env, size=(960, 540))  # doctest: +SKIP
        >>> env.reset()[0]["screenshot"].shape  # doctest: +SKIP
        (540, 960, 3)
    """

    @checked_after
    def __init__(
        self,
        env: gymnasium.Env[dict[str, Any], Any],
        size: Sequence[int] | None = None,
        scale: float | None = None,
        interpolation: str = "area",
        scale_actions: bool = True,
        scale_elements: bool = True,
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(
            self,
            size=size,
            scale=scale,
            interpolation=interpolation,
            scale_actions=scale_actions,
            scale_elements=scale_elements,
        )
        super().__init__(env)
        space = self.require("screenshot")
        if len(space.shape or ()) != 3:
            raise ValueError(f"DownscaleScreenshot needs one picture (height, width, 3); what is inside gives {space}")
        height, width = space.shape[:2]  # type: ignore[index]
        self.size = _size((width, height), size, scale)
        if interpolation not in INTERPOLATIONS:
            legal = ", ".join(INTERPOLATIONS)
            raise ValueError(f"interpolation={interpolation!r}; legal are {legal}{near(interpolation, INTERPOLATIONS)}")
        self.interpolation = INTERPOLATIONS[interpolation]
        parts = self.parts()
        parts["screenshot"] = spaces.Box(0, 255, (self.size[1], self.size[0], 3), np.uint8)
        self.observation_space = spaces.Dict(parts)
        self._picture = Frame(self.size, (0, 0, width, height))
        self.scale_elements = scale_elements
        if scale_actions:
            self.set_frame(Frame(self.size, (0, 0, *inner_size(env))))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset, and make the picture small."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._small(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step with an action in the small picture's pixels, and make the picture small."""
        observation, reward, terminated, truncated, info = super().step(action)
        return self._small(observation), reward, terminated, truncated, info

    def _small(self, observation: dict[str, Any]) -> dict[str, Any]:
        picture = np.ascontiguousarray(observation["screenshot"])
        changed: dict[str, Any] = {"screenshot": cv2.resize(picture, self.size, interpolation=self.interpolation)}
        if self.scale_elements:
            changed |= self._picture.elements(observation, self.parts())
        return {**observation, **changed}


def _size(inner: tuple[int, int], size: Sequence[int] | None, scale: float | None) -> tuple[int, int]:
    """The small picture's width and height, of either argument."""
    if size is not None and scale is not None:
        raise ValueError(f"got size={size!r} and scale={scale!r}; give one of them")
    if size is None:
        scale = 0.5 if scale is None else scale
        if not 0 < scale <= 1:
            raise ValueError(f"scale={scale!r}; legal is a number above 0 and at most 1")
        return max(1, round(inner[0] * scale)), max(1, round(inner[1] * scale))
    try:
        width, height = (int(number) for number in size)
    except (TypeError, ValueError) as error:
        raise ValueError(f"size={size!r}; legal is (width, height) in pixels") from error
    if not (1 <= width <= inner[0] and 1 <= height <= inner[1]):
        raise ValueError(f"size={size!r}; legal are 1 to {inner[0]} by 1 to {inner[1]} pixels, the picture inside")
    return width, height
