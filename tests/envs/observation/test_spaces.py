"""Spaces are sampleable, flatten and share memory without losing a character."""

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.action.actions import VERBS, Action
from deskgym.envs.action.spaces import ComputerActionSpace, action_from_sample
from deskgym.envs.errors import ActionError
from deskgym.envs.observation.spaces import OBSERVATIONS, desktop_spaces, observation_space
from deskgym.envs.text_space import UnicodeText

TEXT = st.text(st.characters(), max_size=50)


@given(TEXT)
def test_text_survives_flattening_and_shared_memory(text):
    space = UnicodeText(50)
    assert text in space
    flat = spaces.flatten(space, text)
    assert flat in spaces.flatten_space(space)
    assert spaces.unflatten(space, flat) == text
    memory = create_shared_memory(space, 2)
    write_to_shared_memory(space, 1, text, memory)
    assert read_from_shared_memory(space, memory, 2) == ("", text)


def test_text_samples_are_members_and_differ_by_seed():
    space = UnicodeText(5)
    samples = [space.sample() for _ in range(200)]
    assert all(sample in space for sample in samples)
    assert len(set(samples)) > 50
    space.seed(3)
    first = [space.sample() for _ in range(5)]
    space.seed(3)
    assert first == [space.sample() for _ in range(5)]


@pytest.mark.parametrize("stranger", [5, None, b"bytes", "x" * 6, ["a"]])
def test_text_rejects(stranger):
    assert stranger not in UnicodeText(5)


def test_text_masks_are_refused():
    with pytest.raises(ValueError, match="mask"):
        UnicodeText(5).sample(mask=(None, None))


def test_text_batches():
    space = UnicodeText(8)
    batch = batch_space(space, 2)
    both = concatenate(space, ["ä", "b"], create_empty_array(space, 2))
    assert both in batch and tuple(both) == ("ä", "b")


def test_garbled_codes_end_a_text():
    assert UnicodeText(4).decode(np.array([98, 0x7FFFFFFF, 98, 98], np.int32)) == "a"


@pytest.mark.parametrize("part", OBSERVATIONS)
def test_each_observation_part_can_be_sampled(part):
    space = observation_space([part], desktop_spaces((320, 200), 16))
    assert space.sample() in space


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["pixels"], "unknown observation 'pixels'"),
        (["a11y", "a11y"], "named twice"),
        ([], "one or more"),
        ("screenshot", "legal is a list"),
    ],
)
def test_wrong_observations(names, message):
    with pytest.raises(ValueError, match=message):
        observation_space(names, desktop_spaces((9, 9), 16))


def test_every_sampled_action_is_legal_and_round_trips():
    space = ComputerActionSpace((640, 480), seed=1)
    seen = set()
    for _ in range(500):
        sample = space.sample()
        assert sample in space
        action = action_from_sample(sample).check((640, 480))
        assert Action.from_dict(action.to_dict()) == action
        action.events()
        seen.add(action.verb)
    assert seen == set(VERBS)


def test_a_sample_with_a_missing_part_says_so():
    sample = ComputerActionSpace((640, 480), seed=1).sample()
    del sample["point"]
    with pytest.raises(ActionError, match="not a member of the computer action space .KeyError: 'point'"):
        action_from_sample(sample)
