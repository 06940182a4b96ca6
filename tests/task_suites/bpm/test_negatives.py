"""Wrong demonstrations: the very ones that were published, and what is left of a recording."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.task_suites.bpm.negatives import KINDS, Negative, negatives

PUBLISHED = {  # of WONDERBREAD's demo_2_config: ids are places in the recording, twice a state's number
    ("0 @ 2023-12-25-15-10-58", 10): ([8, 16, 12], [(14, 16), (6, 8), (10, 12)], [(2, 12), (6, 10), (8, 2)]),
    ("179 @ 2023-12-28-11-13-06", 8): ([12, 6, 2], [(6, 8), (4, 6), (0, 2)], [(6, 8), (10, 12), (8, 4)]),
    ("350 @ 2024-01-04-18-16-40", 6): ([6, 8, 2], [(0, 2), (2, 4), (4, 6)], [(0, 2), (2, 6), (4, 6)]),
}
EVENTS = ["s0", "a0", "s1", "a1", "s2", "a2", "s3", "a3", "s4"]


@pytest.mark.parametrize(("name", "states"), PUBLISHED)
def test_the_published_ones_are_drawn(name, states):
    ends, skips, swaps = PUBLISHED[name, states]
    right = [("truncate", (end,)) for end in ends] + [("skip", s) for s in skips] + [("shuffle", s) for s in swaps]
    assert [(each.kind, tuple(2 * state for state in each.states)) for each in negatives(name, states)] == right


@pytest.mark.parametrize("states", range(5))
def test_a_short_recording_has_none(states):
    assert negatives("a", states) == []


@pytest.mark.parametrize(
    ("kind", "states", "left"),
    [
        ("truncate", (3,), EVENTS[:5]),
        ("truncate", (1,), ["s0"]),
        ("skip", (1, 2), ["s0", "a2", "s3", "a3", "s4"]),
        ("skip", (0, 1), ["a1", "s2", "a2", "s3", "a3", "s4"]),
        ("skip", (3, 4), ["s0", "a0", "s1", "a1", "s2"]),
        ("shuffle", (0, 2), ["s2", "a2", "s1", "a1", "s0", "a0", "s3", "a3", "s4"]),
        ("shuffle", (3, 1), ["s0", "a0", "s3", "a3", "s2", "a2", "s1", "a1", "s4"]),
    ],
)
def test_what_is_left_of_a_recording(kind, states, left):
    assert Negative(kind, states).of(EVENTS) == left


@given(st.text(min_size=1, max_size=20), st.integers(5, 60))
def test_each_is_wrong_in_a_way_of_its_own(name, states):
    events = list(range(2 * states - 1))
    found = negatives(name, states)
    assert [each.kind for each in found] == [kind for kind in KINDS for _ in range(3)]
    for each in found:
        wrong = each.of(events)
        assert wrong != events and set(wrong) <= set(events) and len(set(wrong)) == len(wrong)
        assert (len(wrong) == len(events)) == (each.kind == "shuffle")


@pytest.mark.parametrize(("events", "states"), [(EVENTS[:-1], (1,)), (EVENTS, (5,)), ([], (0,))])
def test_what_is_no_recording_is_refused(events, states):
    with pytest.raises(ValueError, match="legal are state, action, ..., state, with each state that is changed"):
        Negative("truncate", states).of(events)
