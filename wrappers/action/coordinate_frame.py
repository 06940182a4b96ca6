"""CoordinateFrame: actions in normalised coordinates, or in the pixels of the picture that a model sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium

from deskgym.envs.options import checked_after
from deskgym.wrappers.action.coordinates import Frame, FramedActions, Kind, inner_size

_NORMALISED: dict[str, tuple[tuple[int, int], Kind]] = {
    "unit": ((1, 1), "unit"),
    "thousand": ((1000, 1000), "thousand"),
}


class CoordinateFrame(FramedActions):
    """Takes the points of computer and code actions in another frame; the observation stays.

    ===============  ===================  ====================================  ========================================
    frame            numbers              ``point`` and ``to`` of a sample      as in
    ===============  ===================  ====================================  ========================================
    ``"pixels"``     of what is inside    MultiDiscrete int32 (2,)
    ``"unit"``       0 to 1               Box float32 (2,)                      ScienceBoard's relative coordinates
    ``"thousand"``   0 to 1000            MultiDiscrete([1001, 1001]) int32     UI-TARS, Gemini
    (W, H)           pixels of a picture  MultiDiscrete([W, H]) int32           models that were shown a W x H picture
    ===============  ===================  ====================================  ========================================

    JSON actions may have fractions in each. A number outside is an illegal action. How coordinates are rounded is told
    in ``deskgym.wrappers.action.coordinates_guest``. In a code action pyautogui takes and gives (``position``,
    ``size``) the frame's numbers, as with ScienceBoard's ``relative.py``; distances and the numbers of loops and sums
    come out right, since the functions are fitted and the text is not.

    Put it outside of wrappers that change the picture.

    Args:
        env: with computer or code actions; discrete actions have no points, and pass.
        frame: as above.

    Raises:
        ValueError: the frame is not legal, or what is inside gives normalised coordinates already.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = CoordinateFrame(gym.make("deskgym/Science-v0"), "thousand")  # doctest: +SKIP
        >>> env.step({"action": "click", "x": 500, "y": 500})  # doctest: +SKIP
    """

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], frame: str | Sequence[int] = "unit") -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, frame=frame)
        super().__init__(env)
        inner = inner_size(env)
        self.set_frame(_frame(frame, inner))


def _frame(frame: str | Sequence[int], inner: tuple[int, int]) -> Frame:
    legal = "'pixels', 'unit', 'thousand', or (width, height) of a picture in pixels"
    box = (0, 0, *inner)
    if isinstance(frame, str):
        if frame == "pixels":
            return Frame(inner, box)
        if frame not in _NORMALISED:
            raise ValueError(f"frame={frame!r}; legal is {legal}")
        size, kind = _NORMALISED[frame]
        return Frame(size, box, kind)
    try:
        width, height = (int(number) for number in frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"frame={frame!r}; legal is {legal}") from error
    if not (1 <= width <= 100_000 and 1 <= height <= 100_000):
        raise ValueError(f"frame={frame!r}; legal is a width and a height from 1 to 100000")
    return Frame((width, height), box)
