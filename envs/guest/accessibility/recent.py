"""What of the screen has changed of late, for programs whose accessible tree follows their pixels."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from deskgym.envs.guest.accessibility.node import Rect

FOLLOWS = 0.5
"""Seconds after a change of the pixels by which Chromium's tree has mostly followed."""
HEARD = 5.0
"""Seconds after a change for which an event tells that the tree may have followed only now: a busy machine's has."""
PATIENCE = 0.5
"""Damage is read again for an event once it is older by this part of its age: at 0.5, 0.75, 1.1, 1.7 s ..."""
_MOST = 16


@dataclass
class _Damage:
    rect: Rect
    at: float
    read: float
    unread: bool = True

    def due(self, now: float) -> bool:
        """Whether it is to be read; what must wait stays unread."""
        return self.unread and (now - self.at <= FOLLOWS or now - self.read >= PATIENCE * (self.read - self.at))


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
        covered = [damage for damage in self._damages if cover(damage.rect, rect) == rect]
        for damage in covered:
            self._damages.remove(damage)
        if len(self._damages) == _MOST:
            oldest = self._damages.popleft()
            self._damages[0].rect = cover(self._damages[0].rect, oldest.rect)
            self._damages[0].unread = True
        self._damages.append(_Damage(rect, now, now))

    def event(self, now: float) -> None:
        """Note that the program has sent an event."""
        for damage in self._damages:
            damage.unread = damage.unread or now - damage.at <= HEARD

    @property
    def unread(self) -> bool:
        """Whether there is something to read, now or later."""
        return any(damage.unread for damage in self._damages)

    def take(self, now: float) -> tuple[Rect, ...]:
        """What to read now; of what the tree may not have followed yet, the next call tells again."""
        due = [damage for damage in self._damages if damage.due(now)]
        for damage in due:
            damage.unread, damage.read = now - damage.at < FOLLOWS, now
        return tuple(dict.fromkeys(damage.rect for damage in due))


def cover(a: Rect, b: Rect) -> Rect:
    """The smallest rectangle that holds both."""
    x, y = min(a[0], b[0]), min(a[1], b[1])
    return x, y, max(a[0] + a[2], b[0] + b[2]) - x, max(a[1] + a[3], b[1] + b[3]) - y
