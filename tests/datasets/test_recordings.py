"""RecordEpisode's folders as a dataset: the same as what a collector around it has seen."""

import json

import gymnasium
import numpy as np
import pytest
from fake_suite import CopyTask
from gymnasium.utils.env_checker import data_equivalence

import deskgym  # noqa: F401
from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.datasets import EpisodeCollector, episodes_of, to_minari
from deskgym.envs.errors import GuestLost
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.task_suites import find_entry
from deskgym.wrappers import JointDiscrete, RecordEpisode
from deskgym.wrappers.recording.recording import FORMAT, META, STEPS, RecordingError, write_json

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


def lost(display, request):
    raise GuestLost("the bus is gone", "accessibility_lost")


def broken(folder, monkeypatch):
    """A collector with an episode that the agent broke, one that the infrastructure did, and one without a verdict."""
    options = {"machine": "fake", "screen_size": (160, 120), "max_elements": 8, "observation": PARTS}
    env = EpisodeCollector(RecordEpisode(gymnasium.make("deskgym/Science-v0", **options), folder))
    for action in ({"action": "click", "x": 1, "y": 1}, {"action": "wait", "seconds": 0.1}):
        env.reset(seed=0)
        with monkeypatch.context() as patch:
            patch.setattr(type(env.desktop.machine.display), "carry_out", lost)
            assert env.step(action)[3]
    env.reset(seed=0)
    with monkeypatch.context() as patch:
        patch.setattr(CopyTask, "evaluate", lambda task, final: Verdict(0.0, error="the reference is gone"))
        assert env.step({"action": "done"})[4]["verdict"]["error"]
    env.close()
    return env.episodes


def test_what_the_agent_broke_counts_0_and_what_broke_by_itself_is_left_out(tmp_path, monkeypatch, caplog):
    episodes = broken(tmp_path / "out", monkeypatch)
    assert [(episode.meta["score"], episode.meta["success"], episode.rewards) for episode in episodes] == [
        (0.0, False, [0.0])
    ]
    assert episodes[0].infos[-1]["fault"]["cause"] == "agent"
    assert [record.getMessage().partition("left out: ")[2] for record in caplog.records] == [
        "fault: accessibility_lost: the bus is gone", "error: the reference is gone",
    ]  # fmt: skip
    assert_seen(episodes, to_minari(tmp_path / "out", "fake/broken-v0", tmp_path / "data"), actions=False)
    with pytest.raises(RecordingError, match="none of the 3 recordings in .* is solved"):
        to_minari(tmp_path / "out", "fake/solved-v0", tmp_path / "data", solved=True)


def test_a_conversation_is_refused(tmp_path):
    lines = [{"step": 0, "info": {}, "texts": {"instruction": "?"}, "timing": {}}]
    lines.append({"step": 1, "terminated": True, "info": {}, "timing": {}})
    write_json(tmp_path / META, {"format": FORMAT, "task": {"id": "penguins/ines/normal/t#0"}})
    (tmp_path / STEPS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(RecordingError, match="is a conversation about tables"):
        to_minari(tmp_path, "talk-v0", tmp_path / "data")


@pytest.mark.sandbox
def test_on_the_real_program(tmp_path):
    options = {"machine": "sandbox", "task": "ladder/1-tab", "screen_size": (960, 600), "max_elements": 96}
    episodes = record(tmp_path / "out", "computer", agents=(OracleAgent(),), **options)
    dataset = to_minari(tmp_path / "out", "kalgebra/tab-v0", tmp_path / "data")
    assert_seen(episodes, dataset)
    assert episodes[0].meta["success"]
