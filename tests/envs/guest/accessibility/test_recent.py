"""What is read again because a tree may follow its program's pixels late."""

from deskgym.envs.guest.accessibility.recent import FOLLOWS, HEARD, RecentDamage

LEFT, RIGHT = (0, 0, 10, 10), (90, 0, 10, 10)


def test_damage_is_read_until_the_tree_has_followed() -> None:
    recent = RecentDamage()
    assert recent.take(0.0) == ()
    recent.add(LEFT, 0.0)
    assert recent.take(0.0) == (LEFT,)
    recent.add(RIGHT, FOLLOWS / 2)
    assert recent.take(FOLLOWS / 2) == (LEFT, RIGHT)
    assert recent.take(FOLLOWS) == (LEFT, RIGHT)  # the last time for the left one
    assert recent.take(FOLLOWS * 2) == (RIGHT,)
    assert recent.take(FOLLOWS * 2) == ()


def test_an_event_has_damage_read_once_more_for_a_while() -> None:
    recent = RecentDamage()
    recent.add(LEFT, 0.0)
    assert recent.take(FOLLOWS) == (LEFT,)
    recent.event(HEARD)
    assert recent.take(HEARD) == (LEFT,)
    assert recent.take(HEARD) == ()
    recent.event(HEARD + 0.1)
    assert recent.take(HEARD + 0.1) == ()


def test_many_events_have_old_damage_read_less_and_less_often() -> None:
    recent = RecentDamage()
    recent.add(LEFT, 0.0)
    read = []
    for step in range(48):
        now = step / 8
        recent.event(now)
        if recent.take(now):
            read.append(now)
    assert read == [0, 0.125, 0.25, 0.375, 0.5, 0.75, 1.125, 1.75, 2.625, 4]
    assert recent.take(10.0) == (LEFT,)  # what is put off is not forgotten


def test_much_damage_is_kept_as_less() -> None:
    recent = RecentDamage()
    for number in range(100):
        recent.add((number, 0, 1, 1), 0.0)
    assert len(recent._damages) <= 16
    rects = recent.take(0.0)
    assert {x for left, _, width, _ in rects for x in range(left, left + width)} == set(range(100))


def test_damage_that_covers_an_earlier_one_is_kept_alone() -> None:
    recent = RecentDamage()
    recent.add(LEFT, 0.0)
    recent.add(LEFT, 0.1)
    recent.add((0, 0, 20, 20), 0.2)
    assert recent.take(0.2) == ((0, 0, 20, 20),)
