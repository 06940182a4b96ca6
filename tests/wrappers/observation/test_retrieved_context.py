"""RetrievedContext: the documents that fit the task are in every observation of its episode."""

import pytest
from fake_desktops import keeps_the_contract
from fake_suite import FakeSource

import deskgym  # noqa: F401  (registers the ids)
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.retrieval import Store
from deskgym.wrappers import RetrievedContext


@pytest.fixture
def store(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        for k in range(3):
            text = f"# Page {k} of {name}\n\n" + " ".join(f"answer word{k} {name}" for _ in range(20))
            (tmp_path / name / f"{k}.md").write_text(text)
    return str(Store.build(tmp_path / "store", {name: tmp_path / name for name in ("first", "second")}).path)


OPTIONS = {"machine": "fake", "screen_size": (160, 120), "action": "code"}


def make(store, **arguments):
    return RetrievedContext(DesktopEnv(FakeSource(), **OPTIONS), store, **arguments)


def test_every_observation_has_what_fits(store):
    env = make(store, top_k=2)
    observation, info = env.reset(seed=1)
    assert observation["context"].startswith("Documentation Source:\n")
    assert len(info["retrieved"]) == 2
    assert observation["context"].count("Documentation Title:") == 2
    assert env.step("WAIT 0")[0]["context"] == observation["context"]
    assert observation in env.observation_space
    env.close()


def test_of_the_programs_asked_for_only(store):
    env = make(store, programs=["second"])
    assert {found["program"] for found in env.reset(seed=1)[1]["retrieved"]} == {"second"}
    env.close()


def test_a_long_text_is_cut_and_says_so(store):
    env = make(store, max_length=200)
    context = env.reset(seed=1)[0]["context"]
    assert len(context) <= 200
    assert "characters left out" in context
    env.close()


def test_it_keeps_the_contract(store):
    keeps_the_contract(lambda env: RetrievedContext(env, store))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"top_k": 0}, "top_k=0"),
        ({"programs": ["third"]}, "has no documents of 'third'; it has first, second"),
        ({"max_length": 0}, "max_length=0"),
    ],
)
def test_bad_arguments(store, arguments, says):
    with pytest.raises(ValueError, match=says):
        make(store, **arguments)


def test_no_store(tmp_path):
    with pytest.raises(ValueError, match="no store of documents .*; make one with `deskgym documents build`"):
        make(str(tmp_path / "nothing"))
