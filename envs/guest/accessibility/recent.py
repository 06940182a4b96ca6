"""What of the screen has changed of late, for programs whose accessible tree follows their pixels."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from deskgym.envs.guest.accessibility.node import Rect

FOLLOWS = 0.5
"""Seconds after a change of the pixels by which Chromium's tree has mostly followed."""
HEARD = 5.0
"""Seconds after a change for which an event tells that the tree may have followed only now: a busy machine's has."""
_MOST = 16


@dataclass
class _Damage:
    rect: Rect
    at: float
    unread: bool = True


class RecentDamage:
    """Damage that is read again until the tree has followed.

    Chromium draws first; its accessible tree follows some time later, and it sends no event where it only says that an
    element is elsewhere, has another name or is shown. What was read right after the damage may hence be old.
    """

    def __init__(self) -> None:
        self._damages: deque[_Damage] = deque(maxlen=_MOST)

    def add(self, rect: Rect, now: float) -> None:
        """Note that the screen has changed there."""
        while self._damages and now - self._damages[0].at > HEARD and not self._damages[0].unread:
            self._damages.popleft()
        if len(self._damages) == _MOST:
            oldest = self._damages.popleft()
            self._damages[0].rect = cover(self._damages[0].rect, oldest.rect)
            self._damages[0].unread = True
        self._damages.append(_Damage(rect, now))

    def event(self, now: float) -> None:
        """Note that the program has sent an event."""
        for damage in self._damages:
            damage.unread = damage.unread or now - damage.at <= HEARD

    def take(self, now: float) -> Rect | None:
        """The area to read now; of what the tree may not have followed yet, the next call tells again."""
        area: Rect | None = None
        for damage in self._damages:
            if damage.unread:
                area = damage.rect if area is None else cover(area, damage.rect)
                damage.unread = now - damage.at < FOLLOWS
        return area


def cover(a: Rect, b: Rect) -> Rect:
    """The smallest rectangle that holds both."""
    x, y = min(a[0], b[0]), min(a[1], b[1])
    return x, y, max(a[0] + a[2], b[0] + b[2]) - x, max(a[1] + a[3], b[1] + b[3]) - y
