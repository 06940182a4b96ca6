"""What is read again because a tree may follow its program's pixels late."""

from deskgym.envs.guest.accessibility.recent import FOLLOWS, HEARD, RecentDamage

LEFT, RIGHT = (0, 0, 10, 10), (90, 0, 10, 10)


def test_damage_is_read_until_the_tree_has_followed() -> None:
    recent = RecentDamage()
    assert recent.take(0.0) is None
    recent.add(LEFT, 0.0)
    assert recent.take(0.0) == LEFT
    recent.add(RIGHT, FOLLOWS / 2)
    assert recent.take(FOLLOWS / 2) == (0, 0, 100, 10)
    assert recent.take(FOLLOWS) == (0, 0, 100, 10)  # the last time for the left one
    assert recent.take(FOLLOWS * 2) == RIGHT
    assert recent.take(FOLLOWS * 2) is None


def test_an_event_has_damage_read_once_more_for_a_while() -> None:
    recent = RecentDamage()
    recent.add(LEFT, 0.0)
    assert recent.take(FOLLOWS) == LEFT
    recent.event(HEARD)
    assert recent.take(HEARD) == LEFT
    assert recent.take(HEARD) is None
    recent.event(HEARD + 0.1)
    assert recent.take(HEARD + 0.1) is None


def test_much_damage_is_kept_as_less() -> None:
    recent = RecentDamage()
    for number in range(100):
        recent.add((number, 0, 1, 1), 0.0)
    assert len(recent._damages) <= 16
    assert recent.take(0.0) == (0, 0, 100, 1)
