"""RecordEpisode's folders as a dataset: the same as what a collector around it has seen."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

import deskgym  # noqa: F401
from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.datasets import EpisodeCollector, episodes_of, to_minari
from deskgym.task_suites import find_entry
from deskgym.wrappers import JointDiscrete, RecordEpisode
from deskgym.wrappers.recording.recording import RecordingError

PARTS = ("screenshot", "elements", "a11y", "terminal", "instruction", "feedback", "vocabulary")


@pytest.fixture(autouse=True)
def science_is_fake(request, monkeypatch):
    if "sandbox" not in request.keywords:
        monkeypatch.setitem(vars(find_entry("science")), "load", "fake_suite:suite")


def record(folder, action, *, agents=None, **options):
    options = {"machine": "fake", "screen_size": (160, 120), "max_elements": 8} | options
    env = gymnasium.make("deskgym/Science-v0", action=action, observation=PARTS, disable_env_checker=True, **options)
    env = EpisodeCollector(RecordEpisode(env, folder))
    for seed, agent in enumerate(agents or (OracleAgent(), RandomAgent(1))):
        run_episode(env, agent, seed=seed, options={"task": options.get("task", "fake/copy")})
    env.close()
    return env.episodes


def assert_seen(episodes, dataset, *, actions=True):
    for one, other in zip(episodes, episodes_of(dataset), strict=True):
        for name in ("seed", "options", "rewards", "terminated", "truncated", "meta"):
            assert getattr(one, name) == getattr(other, name), name
        for seen, back in zip(one.observations, other.observations, strict=True):
            assert seen.keys() == back.keys()
            assert all(np.array_equal(seen[part], back[part]) for part in seen)
        for info, back in zip(one.infos, other.infos, strict=True):
            assert {**info, "timing": 0} == {**back, "timing": 0}
            assert info["timing"].keys() <= back["timing"].keys()
        if actions:
            assert all(map(data_equivalence, one.actions, other.actions))


@pytest.mark.parametrize("action", ["computer", "code"])
def test_a_recording_holds_all_that_was_seen(action, tmp_path):
    episodes = record(tmp_path / "out", action)
    dataset = to_minari(tmp_path / "out", f"fake/{action}-v0", tmp_path / "data")
    assert_seen(episodes, dataset, actions=action == "code")
    if action == "computer":
        for one, other in zip(episodes, episodes_of(dataset), strict=True):
            assert [a["action"] for a in one.actions] == [a["action"] for a in other.actions]
            assert [a["text"] for a in one.actions] == [a["text"] for a in other.actions]
    assert dataset.env_spec.kwargs["action"] == action


def test_discrete_recordings(tmp_path):
    episodes = record(tmp_path / "out", "discrete", agents=(RandomAgent(0), RandomAgent(1)))
    assert_seen(episodes, to_minari([tmp_path / "out"], "fake/discrete-v0", tmp_path / "data"))


def test_only_solved_ones(tmp_path):
    record(tmp_path / "out", "code")
    dataset = to_minari(tmp_path / "out", "fake/code-v0", tmp_path / "data", solved=True)
    assert [episode.meta["success"] for episode in episodes_of(dataset)] == [True]


def test_one_that_was_cut_off_is_left_out(tmp_path):
    record(tmp_path / "out", "code")
    env = gymnasium.make(
        "deskgym/Science-v0", machine="fake", action="code", screen_size=(160, 120), max_elements=8, observation=PARTS
    )
    env = RecordEpisode(env, tmp_path / "cut")
    env.reset(seed=0)
    env.step("x = 1")
    env.close()
    with pytest.raises(RecordingError, match="none of the 1 recordings"):
        to_minari(tmp_path / "cut", "cut-v0", tmp_path / "data")
    assert to_minari([tmp_path / "out", tmp_path / "cut"], "all-v0", tmp_path / "data").total_episodes == 2


def test_different_envs_are_not_mixed(tmp_path):
    record(tmp_path / "a", "code")
    record(tmp_path / "b", "computer")
    with pytest.raises(RecordingError, match="one dataset is of one env"):
        to_minari([tmp_path / "a", tmp_path / "b"], "ab-v0", tmp_path / "data")


def test_wrappers_below_the_recorder_are_refused(tmp_path):
    env = gymnasium.make("deskgym/Science-v0", machine="fake", action="discrete", screen_size=(160, 120))
    env = RecordEpisode(JointDiscrete(env), tmp_path / "out")
    env.reset(seed=0)
    env.step(env.get_wrapper_attr("join")([11, 0, 0]))  # done
    env.close()
    with pytest.raises(RecordingError, match="around JointDiscrete"):
        to_minari(tmp_path / "out", "x-v0", tmp_path / "data")


def test_a_lost_frame_is_named(tmp_path):
    record(tmp_path / "out", "code")
    next((tmp_path / "out").glob("*/frames/00000*")).unlink()
    with pytest.raises(RecordingError, match="frame 0 of step 0 is lost"):
        to_minari(tmp_path / "out", "x-v0", tmp_path / "data")
    assert not (tmp_path / "data" / "x-v0").exists()


@pytest.mark.sandbox
def test_on_the_real_program(tmp_path):
    options = {"machine": "sandbox", "task": "ladder/1-tab", "screen_size": (960, 600), "max_elements": 96}
    episodes = record(tmp_path / "out", "computer", agents=(OracleAgent(),), **options)
    dataset = to_minari(tmp_path / "out", "kalgebra/tab-v0", tmp_path / "data")
    assert_seen(episodes, dataset)
    assert episodes[0].meta["success"]
