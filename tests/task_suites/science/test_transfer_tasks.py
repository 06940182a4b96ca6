"""The small tasks of several programs that examples/transfer.py learns from: splits, vocabularies, three verbs."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.task_suites import load_suite

SCIENCE = load_suite("science")
DECIDES = {"transfer/coqide-define": ("name", "value"), "transfer/kstars-find": ("object",),
           "transfer/pymol-color": ("color",)}  # fmt: skip
STEPS = {"transfer/coqide-define": "submit click done", "transfer/kstars-find": "click submit done",
         "transfer/pymol-color": "submit done"}  # fmt: skip


def test_there_are_these():
    assert [task for task in SCIENCE.ids() if task.startswith("transfer/")] == sorted(DECIDES)


@pytest.mark.parametrize("family", sorted(DECIDES))
def test_what_is_held_out_is_in_no_training(family):
    template, seen = SCIENCE.templates[family], {"train": set(), "test": set()}
    for seed in range(600):
        params = template.draw(seed)
        seen[template.split(params)].add(tuple(str(params[name]) for name in DECIDES[family]))
    assert not seen["train"] & seen["test"] and len(seen["test"]) >= 3


@pytest.mark.parametrize("family", sorted(DECIDES))
def test_the_place_of_a_word_does_not_tell_which_is_right(family):
    tasks = [SCIENCE.get(family, seed) for seed in range(200)]
    places = {Vocabulary.of_task(task, [], 16).texts.index(task.vocabulary[0]) for task in tasks}
    assert places == set(range(len(tasks[0].vocabulary)))
    assert all(len(set(task.vocabulary)) == len(task.vocabulary) for task in tasks)


@pytest.mark.sandbox
@pytest.mark.parametrize("family", sorted(DECIDES))
def test_click_submit_and_done_are_enough(family):
    env = gym.make(
        "deskgym/Science-v0",
        task=family,
        action="discrete",
        screen_size=(960, 600),
        max_elements=96,
        observation=["elements", "instruction"],
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
    ).unwrapped
    try:
        env.reset(seed=0, options={"split": "test"})
        verbs = []
        for action in env.oracle():
            _, reward, terminated, _, info = env.step(action)
            assert "invalid_action" not in info
            verbs.append(env.discrete.verbs[action[0]].name)
        assert (" ".join(verbs), reward, terminated) == (STEPS[family], 1.0, True), info["verdict"]
    finally:
        env.close()
