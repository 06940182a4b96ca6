"""An Action as a member of the structured action space."""

import numpy as np
import pytest
from gymnasium import spaces

from deskgym.datasets.computer_actions import ActionStore, to_sample
from deskgym.envs.action.actions import Action
from deskgym.envs.action.spaces import ComputerActionSpace, action_from_sample
from deskgym.envs.errors import ActionError
from deskgym.envs.text_space import UnicodeText

SPACE = ComputerActionSpace((160, 120))


@pytest.mark.parametrize(
    "action",
    [
        Action("click", x=3, y=4),
        Action("click", x=3, y=4, button="right", clicks=2, keys=("ctrl",)),
        Action("drag", x=0, y=0, to_x=159, to_y=119, button="middle"),
        Action("scroll", x=1, y=2, dx=-3, dy=100),
        Action("type", text="naïve ☃\x00\n"),
        Action("press", keys=("ctrl", "shift", "s")),
        Action("press", keys=("enter",)),
        Action("hold", keys=("up",), seconds=0.5),
        Action("wait", seconds=0.25),
        Action("done"),
        Action("answer", text=""),
    ],
)
def test_the_sample_does_what_the_action_does(action):
    sample = to_sample(action)
    assert action_from_sample(sample).to_dict() == action.to_dict()
    assert SPACE.contains(sample)


def test_a_key_by_another_name_is_the_same_key():
    assert action_from_sample(to_sample(Action("press", keys=("control", "Return")))).keys == ("ctrl", "enter")


def test_the_order_of_modifiers_does_not_count():
    assert action_from_sample(to_sample(Action("press", keys=("shift", "ctrl", "s")))).keys == ("ctrl", "shift", "s")


@pytest.mark.parametrize(
    "action",
    [
        Action("press", keys=("ctrl",)),
        Action("press", keys=("a", "b")),
        Action("press", keys=("volumeup",)),
        Action("click", x=1, y=1, keys=("a",)),
        Action("click"),
    ],
)
def test_what_the_space_does_not_have_is_an_error(action):
    with pytest.raises(ActionError):
        to_sample(action)


def test_an_action_that_leaves_the_pointer_takes_its_place():
    store = ActionStore(SPACE, (160, 120))
    store.store(Action("drag", x=1, y=2, to_x=30, to_y=40))
    assert store.store({"action": "click"})["point"].tolist() == [30, 40]
    store.begin()
    with pytest.raises(ActionError, match="not known"):
        store.store(Action("click"))


def test_a_sample_is_kept_whole():
    SPACE.seed(1)
    sample = SPACE.sample()
    kept = ActionStore(SPACE, (160, 120)).store(sample)
    assert all(np.array_equal(kept[name], sample[name]) for name in sample)


@pytest.mark.parametrize("verb", ["wait", "hold"])
def test_a_wait_that_is_too_long_for_the_space_is_an_error(verb):
    keys = {"keys": ["up"]} if verb == "hold" else {}
    store = ActionStore(SPACE, (160, 120))
    assert SPACE.contains(store.store({"action": verb, "seconds": 1, **keys}))
    long = {"action": verb, "seconds": 5, **keys}
    sample = to_sample(Action.from_dict(long))
    for action in (long, Action.from_dict(long), sample):
        with pytest.raises(ActionError, match="at most 1 s; got .*5.0.*; wait several times"):
            store.store(action)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (SPACE, {"action": "click", "x": 160, "y": 0}),
        (SPACE, to_sample(Action("click", x=1, y=1)) | {"to": [0, 120]}),
        (UnicodeText(3), "DONE"),
        (spaces.Discrete(3), 3),
        (spaces.MultiDiscrete([3, 2]), [0, 2]),
    ],
)
def test_nothing_is_stored_outside_of_its_space(space, action):
    with pytest.raises(ActionError, match="off the screen|out of range"):
        ActionStore(space, (160, 120)).store(action)


@pytest.mark.parametrize(
    ("action", "same"),
    [
        ({"action_type": "CLICK", "x": 3, "y": 4, "num_clicks": 2}, Action("click", x=3, y=4, clicks=2)),
        ({"action_type": "SCROLL", "parameters": {"x": 3, "y": 4, "dx": 0, "dy": -2}}, Action("scroll", 3, 4, dy=2)),
        ({"action_type": "DONE"}, Action("done")),
    ],
)
def test_the_form_of_the_published_benchmarks_is_stored_too(action, same):
    kept = ActionStore(SPACE, (160, 120)).store(action)
    assert SPACE.contains(kept) and action_from_sample(kept).to_dict() == same.to_dict()


def test_every_form_tells_where_the_pointer_is():
    store = ActionStore(SPACE, (160, 120))
    store.store(Action("click", x=1, y=2))
    store.store(to_sample(Action("move", x=30, y=40)))
    assert store.store({"action": "click"})["point"].tolist() == [30, 40]
    store.store({"action_type": "MOVE_TO", "x": 50, "y": 60})
    assert store.store({"action_type": "CLICK"})["point"].tolist() == [50, 60]


def test_a_screen_action_is_not_of_another_frame():
    store = ActionStore(SPACE, (320, 240))
    assert store.store({"action": "click", "x": 5, "y": 6})["point"].tolist() == [5, 6]
    with pytest.raises(ActionError, match="pixels of the screen"):
        store.store(Action("click", x=5, y=6))


def test_other_spaces_take_their_own_members():
    assert ActionStore(UnicodeText(9), (160, 120)).store("DONE") == "DONE"
    with pytest.raises(ActionError, match="members of env.action_space"):
        ActionStore(UnicodeText(9), (160, 120)).store(Action("done"))
