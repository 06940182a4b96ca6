"""An Action as a member of the structured action space."""

import numpy as np
import pytest

from deskgym.datasets.computer_actions import ActionStore, to_sample
from deskgym.envs.actions import Action
from deskgym.envs.errors import ActionError
from deskgym.envs.spaces import ComputerActionSpace, UnicodeText, action_from_sample

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


def test_a_screen_action_is_not_of_another_frame():
    store = ActionStore(SPACE, (320, 240))
    assert store.store({"action": "click", "x": 5, "y": 6})["point"].tolist() == [5, 6]
    with pytest.raises(ActionError, match="pixels of the screen"):
        store.store(Action("click", x=5, y=6))


def test_other_spaces_take_their_own_members():
    assert ActionStore(UnicodeText(9), (160, 120)).store("DONE") == "DONE"
    with pytest.raises(ActionError, match="members of env.action_space"):
        ActionStore(UnicodeText(9), (160, 120)).store(Action("done"))
