"""RegionOfInterest: a part of the screen as the whole picture, fixed or following what happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from deskgym.envs.errors import near
from deskgym.envs.guest.protocol import STATE_BITS
from deskgym.envs.options import checked_after
from deskgym.wrappers.action.coordinates import Frame, FramedActions

FOLLOWS = ("window", "focus", "pointer")
Box = tuple[int, int, int, int]


class RegionOfInterest(FramedActions):
    """Crops the screenshot to a box, and takes computer and code actions in pixels of the crop.

    The extents in ``elements``, ``a11y`` (not as XML), ``marks`` and ``mark_boxes`` are in the same pixels, and still
    tell of what lies outside, with numbers that are negative or too large. An action that points outside is illegal.
    The region that the last observation shows, and the next action is in, is ``info["region"]``: [x, y, width, height]
    in screen pixels.

    ``follow`` moves the box, which stays within the screen and keeps its size, so that the space stays right:

    - ``"window"``: its upper left corner is that of the active window;
    - ``"focus"``: it is centred on the element with the keyboard focus;
    - ``"pointer"``: it is centred on where an action put the pointer last (not for code actions).

    It stays where it is while there is nothing to follow. Put it inside of wrappers that scale the picture.

    Args:
        env: with a ``screenshot`` of the whole screen.
        box: x, y, width, height in screen pixels; with ``follow``, where it is at first.
        follow: None, or one of ``FOLLOWS``.

    Raises:
        ValueError: an argument is not legal, or what is inside does not show the whole screen.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = gym.make("deskgym/Science-v0")  # doctest: +SKIP
        >>> env = RegionOfInterest(env, (0, 0, 900, 500), follow="window")  # doctest: +SKIP
    """

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], box: Sequence[int], follow: str | None = None) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, box=box, follow=follow)
        super().__init__(env)
        size = self.desktop.screen_size
        if self.require("screenshot").shape != (size[1], size[0], 3) or _has_frame(env):
            raise ValueError("RegionOfInterest needs the whole screen: put it inside of what scales or crops")
        if follow is not None and follow not in FOLLOWS:
            legal = ", ".join(map(repr, FOLLOWS))
            raise ValueError(f"follow={follow!r}; legal are None, {legal}{near(follow, FOLLOWS)}")
        if follow == "pointer" and self.desktop.actions.name == "code":
            raise ValueError("follow='pointer' cannot see where a program leaves the pointer; use 'focus' or 'window'")
        if follow in ("window", "focus"):
            self.desktop.observer.reads_elements = True
        self.follow = follow
        self.start = self.region = _box(box, size)
        self.set_frame(Frame(self.start[2:], self.start))
        parts = self.parts()
        parts["screenshot"] = spaces.Box(0, 255, (self.start[3], self.start[2], 3), np.uint8)
        self.observation_space = spaces.Dict(parts)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset, and crop."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.region = self.start
        return self._crop(observation, info)

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step with an action in pixels of the region, follow, and crop."""
        observation, reward, terminated, truncated, info = super().step(action)
        observation, info = self._crop(observation, info)
        return observation, reward, terminated, truncated, info

    def _crop(self, observation: dict[str, Any], info: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        if "fault" not in info:
            self.region = self._target()
            self.frame = Frame(self.region[2:], self.region)
        x, y, width, height = self.region
        changed = {"screenshot": observation["screenshot"][y : y + height, x : x + width].copy()}
        assert self.frame is not None  # __init__ has set one
        changed |= self.frame.elements(observation, self.parts())
        return {**observation, **changed}, {**info, "region": list(self.region)}

    def _target(self) -> Box:
        """The region for the screen as it is now."""
        if self.follow == "pointer":
            return self._around(self._pointer())
        rows = self.desktop.elements.rows
        if self.follow == "window":
            active = rows[_has(rows, "active")]
            return self._at(*active[0, :2].tolist()) if len(active) else self.region
        if self.follow == "focus":
            focused = rows[_has(rows, "focused")]
            if len(focused):  # containers may say so too: what is edited counts first, then what is smallest
                order = np.lexsort((focused[:, 2].astype(np.int64) * focused[:, 3], ~_has(focused, "editable")))
                x, y, width, height = focused[order[0], :4].tolist()
                return self._around((x + width // 2, y + height // 2))
        return self.region

    def _pointer(self) -> tuple[int, int] | None:
        found = None
        for action in self.desktop.performed:
            if not isinstance(action, str):
                for x, y in ((action.x, action.y), (action.to_x, action.to_y)):
                    found = (x, y) if x is not None and y is not None else found
        return found

    def _around(self, point: tuple[int, int] | None) -> Box:
        if point is None:
            return self.region
        return self._at(point[0] - self.region[2] // 2, point[1] - self.region[3] // 2)

    def _at(self, x: int, y: int) -> Box:
        """The region with its corner there, or as near as the screen allows."""
        (width, height), (screen_width, screen_height) = self.region[2:], self.desktop.screen_size
        return max(0, min(x, screen_width - width)), max(0, min(y, screen_height - height)), width, height


def _has(rows: np.ndarray[Any, np.dtype[np.int32]], state: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return np.asarray(rows[:, 5] >> STATE_BITS.index(state) & 1, bool)


def _has_frame(env: gymnasium.Env[Any, Any]) -> bool:
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, FramedActions) and env.frame is not None:
            return True
        env = env.env
    return False


def _box(box: Sequence[int], size: tuple[int, int]) -> Box:
    try:
        x, y, width, height = (int(number) for number in box)
    except (TypeError, ValueError) as error:
        raise ValueError(f"box={box!r}; legal is (x, y, width, height) in pixels") from error
    if not (0 <= x and 0 <= y and width >= 1 and height >= 1 and x + width <= size[0] and y + height <= size[1]):
        raise ValueError(f"box={box!r} (x, y, width, height) is not within the screen of {size[0]}x{size[1]} pixels")
    return x, y, width, height
