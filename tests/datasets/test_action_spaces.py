"""Spaces and their values in Minari's form."""

import subprocess
import sys

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given
from hypothesis import strategies as st
from minari.serialization import deserialize_space, serialize_space

from deskgym.datasets.spaces import cast, from_columns, storable_text, stored_text, to_columns
from deskgym.envs.action.spaces import ComputerActionSpace
from deskgym.envs.observation.spaces import desktop_spaces, observation_space
from deskgym.envs.text_space import UnicodeText


@pytest.mark.parametrize(
    "space",
    [
        UnicodeText(100),
        ComputerActionSpace((160, 120)),
        observation_space(("screenshot", "elements", "a11y", "instruction"), desktop_spaces((64, 64), 4)),
        spaces.Tuple((UnicodeText(3), spaces.Discrete(4, start=1), spaces.MultiBinary(3))),
        spaces.Text(5, charset="abc"),
    ],
)
def test_a_space_comes_back_equal(space):
    assert deserialize_space(serialize_space(space)) == space


def test_any_text_is_in_the_space_that_comes_back():
    space = deserialize_space(serialize_space(UnicodeText(20)))
    assert "☃ 😀 \ud800" in space and "" in space and "x" * 21 not in space


def test_the_space_loads_without_deskgym_too():
    code = "import sys; from minari.serialization import deserialize_space as d; print(type(d(sys.stdin.read())))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=serialize_space(UnicodeText(20)), capture_output=True, text=True, check=True
    )
    assert done.stdout == "<class 'gymnasium.spaces.text.Text'>\n"


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_stored(text):
    stored = storable_text(text)
    assert stored_text(stored) == text
    assert "\x00" not in stored and stored.encode("utf-8").decode("utf-8") == stored


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30))
def test_usual_text_is_stored_as_it_is(text):
    assert storable_text(text) == text


def test_what_looks_like_an_escape_is_kept():
    assert stored_text(storable_text("\x1a0000 and \x1a")) == "\x1a0000 and \x1a"


def test_columns_are_undone():
    space = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (2, 3), np.uint8),
            "pair": spaces.Tuple((UnicodeText(9), spaces.Discrete(4, start=1))),
            "bits": spaces.MultiBinary(3),
        }
    )
    space.seed(0)
    values = [space.sample() for _ in range(5)]
    back = from_columns(space, to_columns(space, values), 5)
    for value, got in zip(values, back, strict=True):
        assert data_equivalence(cast(space, value), got)


def test_a_cast_is_a_copy_of_the_spaces_type():
    space = spaces.Box(0, 9, (3,), np.int32)
    value = np.arange(3, dtype=np.int32)
    copy = cast(space, value)
    value[0] = 7
    assert copy.tolist() == [0, 1, 2] and cast(space, [1, 2, 3]).dtype == np.int32


@pytest.mark.parametrize(
    "space, value",
    [
        (spaces.Box(0, 9, (3,), np.int32), [1, 2]),
        (spaces.Discrete(3), "one"),
        (UnicodeText(3), 5),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"b": 1}),
        (spaces.Tuple((spaces.Discrete(2),)), (1, 2)),
    ],
)
def test_what_does_not_fit_is_an_error(space, value):
    with pytest.raises(ValueError, match="not "):
        cast(space, value)
