"""The ladder of learning tasks: splits, vocabularies, and what three verbs can do on a real KAlgebra."""

from collections import Counter

import gymnasium as gym
import numpy as np
import pytest

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.task_suites import load_suite
from deskgym.task_suites.programs.kalgebra.gold import reference_curve
from deskgym.task_suites.programs.kalgebra.language.plots import displayed_curves

SCIENCE = load_suite("science")
LADDER = [task_id for task_id in SCIENCE.ids() if task_id.startswith("ladder/")]
DECIDES = {
    "ladder/1-tab": ("start", "to", "wording"),
    "ladder/2-variable": ("name", "value"),
    "ladder/3-plot": ("f", "a"),
    "ladder/4-plot-and-variable": ("name", "value", "f", "a"),
    "ladder/5-plot-variable-tab": ("name", "value", "f", "a", "to"),
}
STEPS = {
    "ladder/1-tab": "click done",
    "ladder/2-variable": "submit done",
    "ladder/3-plot": "click submit done",
    "ladder/4-plot-and-variable": "submit click submit done",
    "ladder/5-plot-variable-tab": "submit click submit click done",
}


def test_the_ladder_has_these_families():
    assert LADDER == sorted(DECIDES) and all(len(SCIENCE.get(family).wrong_attempts) >= 2 for family in LADDER)


@pytest.mark.parametrize("family", LADDER)
def test_the_splits_share_no_combination_and_no_instruction(family):
    template = SCIENCE.templates[family]
    combinations, instructions, count = {"train": set(), "test": set()}, {"train": set(), "test": set()}, Counter()
    for seed in range(1500):
        params = template.draw(seed)
        split = template.split(params)
        count[split] += 1
        combinations[split].add(str([params[name] for name in DECIDES[family]]))
        if family != "ladder/1-tab":  # there the same instruction stands for several starts
            instructions[split].add(template.instance(seed, params).instruction)
    assert not combinations["train"] & combinations["test"] and not instructions["train"] & instructions["test"]
    assert len(combinations["train"] | combinations["test"]) >= 60
    assert 0.2 < count["test"] / 1500 < 0.3


@pytest.mark.parametrize("family", LADDER)
@pytest.mark.parametrize("split", ["train", "test"])
def test_every_value_is_in_both_splits(family, split):
    template = SCIENCE.templates[family]
    seen = {name: set() for name in DECIDES[family] if name not in ("wording", "value")}
    for seed in range(1500):
        params = template.draw(seed)
        if template.split(params) == split:
            for name, values in seen.items():
                values.add(str(params[name]))
    counts = {"start": 4, "to": 3 if family.startswith("ladder/5") else 4, "name": 8, "f": 8, "a": 18}
    assert {name: len(values) for name, values in seen.items()} == {name: counts[name] for name in seen}


@pytest.mark.parametrize("family", LADDER[1:])
def test_one_word_is_right_and_the_words_alone_do_not_tell_which(family):
    for seed in range(100):
        task = SCIENCE.get(family, seed)
        assert len(set(task.vocabulary)) == len(task.vocabulary) in (6, 8)
        settings = [word.split(":=") for word in task.vocabulary if ":=" in word]
        assert set(Counter(name for name, _ in settings).values()) <= {2, 4}
        assert len(set(Counter(name for name, _ in settings).values())) <= 1  # both names stand with all values
        assert len(set(Counter(value for _, value in settings).values())) <= 1
        if "name" in task.params:
            assert task.vocabulary.count(f"{task.params['name']}:={task.params['value']}") == 1
        if "right" in task.params:
            gold = reference_curve(f"x->{task.params['right']}", seed)
            curves = [word for word in task.vocabulary if ":=" not in word]
            fits = [word for word in curves if any(map(gold.fits, displayed_curves(f"x->{word}", {})))]
            assert fits == [task.params["right"]]


@pytest.mark.parametrize("family", LADDER[1:])
def test_the_right_word_is_in_every_place_as_often(family):
    places = Counter()
    for seed in range(600):
        task = SCIENCE.get(family, seed)
        places[Vocabulary.of_task(task, [], 16).texts.index(task.vocabulary[0])] += 1
    expected = 600 / len(task.vocabulary)
    assert len(places) == len(task.vocabulary)
    assert all(0.65 * expected < count < 1.35 * expected for count in places.values())


@pytest.fixture(scope="module")
def env():
    made = gym.make(
        "deskgym/Science-v0",
        task="ladder/*",
        action="discrete",
        screen_size=(960, 600),
        max_elements=96,
        observation=["elements", "a11y", "vocabulary", "instruction"],
        discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0], "max_arguments": 16},
    )
    yield made.unwrapped
    made.close()


def play(env, script):
    """The verbs of a script and the last step."""
    verbs, last = [], None
    for action in script:
        verb, target, argument = action
        assert action in env.action_space
        assert all(
            part[k] for part, k in zip(np.split(env.action_masks(), [3, 99]), (verb, target, argument), strict=True)
        )
        last = env.step(action)
        assert "invalid_action" not in last[4]
        verbs.append(env.discrete.verbs[verb].name)
    return " ".join(verbs), last


@pytest.mark.sandbox
@pytest.mark.parametrize("family", LADDER)
def test_click_submit_done_are_enough(env, family):
    env.reset(seed=0, options={"task": family, "split": "test"})
    verbs, (_, reward, terminated, truncated, _) = play(env, env.oracle())
    assert (verbs, reward, terminated, truncated) == (STEPS[family], 1.0, True, False)
    env.reset(options={"task": env.task.id})
    last = list(env.task.wrong_attempts.values())[-1]  # all of them: deskgym verify
    _, (_, reward, terminated, _, info) = play(env, env.scripted(last(env.screen)))
    assert (reward, terminated, info["verdict"]["error"]) == (0.0, True, None)


@pytest.mark.sandbox
def test_plot_and_variable_may_be_done_in_any_order(env):
    env.reset(seed=0, options={"task": "ladder/4-plot-and-variable"})
    name = {e.name: k for k, e in enumerate(env.elements) if e.role == "page tab"}
    words = list(env.observer.vocabulary.texts)
    params = env.task.params

    def text():
        return next(k for k, e in enumerate(env.elements) if e.role == "text")

    env.step([0, name["2D Graph"], 0])
    env.step([1, text(), words.index(params["right"])])
    tabs = {e.name: k for k, e in enumerate(env.elements) if e.role == "page tab"}
    env.step([0, tabs["Calculator"], 0])
    env.step([1, text(), words.index(f"{params['name']}:={params['value']}")])
    _, reward, terminated, _, info = env.step([2, 0, 0])
    assert (reward, terminated) == (1.0, True), info["verdict"]
