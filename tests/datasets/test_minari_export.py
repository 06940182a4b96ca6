"""Episodes to Minari and back, on the fake machine and on a real one."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import gymnasium
import minari
import numpy as np
import pytest
from fake_suite import FakeSource

import deskgym  # noqa: F401
from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.datasets import EpisodeCollector, datasets_in, episodes_of, load_dataset, write_dataset
from deskgym.datasets.episode_files import EpisodeFileError, EpisodeFiles, read_episode, write_episode
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.wrappers import JointDiscrete

PARTS = ("screenshot", "elements", "a11y", "instruction", "feedback")


def same(a, b):
    """Equal values of equal types, arrays of equal dtype."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | np.generic):
        return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b)
    return type(a) is type(b) and a == b


def assert_same(episodes, others):
    for one, other in zip(episodes, others, strict=True):
        for name in vars(one):
            assert same(getattr(one, name), getattr(other, name)), name


def fake_env(action="computer", **options):
    return DesktopEnv(
        FakeSource(),
        machine="fake",
        screen_size=(160, 120),
        observation=PARTS,
        action=action,
        max_elements=8,
        **options,
    )


@pytest.fixture(params=["computer", "code", "discrete", "joint"])
def collected(request):
    """Three episodes: an oracle's or a random agent's, a random agent's, and one of samples of the action space."""
    form = request.param
    env = fake_env("discrete" if form == "joint" else form)
    env = EpisodeCollector(JointDiscrete(env) if form == "joint" else env)
    run_episode(env, OracleAgent() if form in ("computer", "code") else RandomAgent(), seed=1)
    run_episode(env, RandomAgent(3), seed=2**40, options={"task": "fake/copy", "split": None})
    env.action_space.seed(0)
    env.reset()
    for _ in range(200):
        with suppress(ActionError):  # the fake machine has no such key
            *_, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                break
    assert len(env.episodes) == 3
    yield env
    env.close()


def test_what_comes_back_is_what_was_seen(collected, tmp_path):
    dataset = collected.save(tmp_path, "fake/copy-v0")
    assert_same(collected.episodes, episodes_of(dataset))
    assert dataset.observation_space == collected.observation_space
    assert dataset.action_space == collected.action_space


def test_an_episode_file_is_exact_too(collected, tmp_path):
    for k, episode in enumerate(collected.episodes):
        write_episode(tmp_path / f"{k}.episode", episode)
    assert_same(collected.episodes, EpisodeFiles(sorted(tmp_path.iterdir())))


@pytest.mark.parametrize("text", ["", "😀 ☃ naïve", "a\x00b\x00", "\ud800 alone", "\x1a0000", "\t\r\n", "x" * 60000])
def test_any_text_comes_back(text, tmp_path):
    env = EpisodeCollector(fake_env("code"))
    env.reset(seed=0)
    env.episodes = []
    env.step(f"# {text}")
    env.step("DONE")
    episode = env.episodes[0]
    for observation in episode.observations:
        observation["feedback"] = text
    (back,) = episodes_of(env.save(tmp_path, "text-v0"))
    assert back.actions == [f"# {text}", "DONE"]
    assert [o["feedback"] for o in back.observations] == [text] * 3
    env.close()


def test_minari_alone_reads_it(collected, tmp_path):
    collected.save(tmp_path, "fake/copy-v0", description="d")
    code = (
        "import minari, sys; d = minari.load_dataset('fake/copy-v0'); e = d[0]; "
        "print(d.total_episodes, e.observations['screenshot'].shape[1:], e.infos['task'][0].decode()[:9], "
        "'deskgym' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MINARI_DATASETS_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{len(collected.episodes)} (120, 160, 3) fake/copy False\n"


def test_screenshots_are_compressed_and_the_rest_is_left_to_minari(collected, tmp_path):
    import h5py

    dataset = collected.save(tmp_path, "fake/copy-v0")
    with h5py.File(dataset.storage.data_path / "main_data.hdf5") as file:
        frames = file["episode_0/observations/screenshot"]
        assert frames.compression == "gzip" and frames.id.get_storage_size() < frames.nbytes / 4


def test_seed_options_and_task_are_minaris_metadata(tmp_path):
    env = EpisodeCollector(fake_env())
    run_episode(env, OracleAgent(), seed=5, options={"task": "fake/copy#7", "split": None})
    dataset = env.save(tmp_path, "fake/copy-v0")
    (about,) = dataset.storage.get_episode_metadata([0])
    assert (about["seed"], about["options"], about["task"]) == (5, {"task": "fake/copy#7"}, "fake/copy#7")
    (episode,) = episodes_of(dataset)
    assert episode.options == {"task": "fake/copy#7", "split": None}
    assert episode.meta["success"] is True and episode.meta["params"] == {"number": 107}
    assert episode.infos[-1]["verdict"]["score"] == 1.0 and "verdict" not in episode.infos[0]
    env.close()


def test_filtered_episodes_are_read_alone(tmp_path):
    env = EpisodeCollector(fake_env())
    for seed, agent in enumerate((OracleAgent(), RandomAgent(), OracleAgent())):
        run_episode(env, agent, seed=seed)
    dataset = env.save(tmp_path, "fake/copy-v0")
    solved = dataset.filter_episodes(lambda data: data.rewards[-1] == 1)
    assert [episode.seed for episode in episodes_of(solved)] == [0, 2]
    env.close()


def test_an_episode_that_is_cut_off_does_not_count():
    env = EpisodeCollector(fake_env())
    env.reset(seed=0)
    env.step(Action("click", x=1, y=1))
    env.reset(seed=1)
    env.step(Action("done"))
    assert [episode.seed for episode in env.episodes] == [1] and len(env.episodes[0]) == 1
    env.close()


def test_an_action_that_cannot_be_kept_is_not_done():
    env = EpisodeCollector(fake_env())
    env.reset(seed=0)
    with pytest.raises(ActionError):
        env.step(Action("press", keys=("ctrl",)))
    assert env.unwrapped.episodes.steps == 0 and env.refused == Action("press", keys=("ctrl",))
    env.close()


def test_what_the_collector_keeps_is_in_the_action_space():
    env = EpisodeCollector(fake_env())
    env.reset(seed=0)
    for bad, why in (({"action_type": "WAIT"}, "at most 1 s"), ({"action": "click"}, "give x and y")):
        with pytest.raises(ActionError, match=why):
            env.step(bad)
    env.step({"action_type": "CLICK", "parameters": {"x": 5, "y": 6}})
    env.step({"action": "click"})
    env.step({"action_type": "DONE"})
    assert all(map(env.action_space.contains, env.episodes[0].actions))
    assert [action["point"].tolist() for action in env.episodes[0].actions] == [[5, 6], [5, 6], [0, 0]]
    env.close()


def test_the_users_own_datasets_are_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MINARI_DATASETS_PATH", raising=False)
    env = EpisodeCollector(fake_env())
    run_episode(env, OracleAgent(), seed=0)
    env.save(tmp_path / "out", "fake/copy-v0")
    assert not (tmp_path / "home").exists() and "MINARI_DATASETS_PATH" not in os.environ
    with datasets_in(tmp_path / "out"):
        assert list(minari.list_local_datasets()) == ["fake/copy-v0"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["fake"]
    env.close()


def test_errors_say_what_is_legal(tmp_path):
    env = EpisodeCollector(fake_env())
    with pytest.raises(ValueError, match="no episodes"):
        env.save(tmp_path, "a-v0")
    run_episode(env, OracleAgent(), seed=0)
    for bad in ("a", "a b-v0", "-v", "../a-v0", "/a-v0", "a-vx", ""):
        with pytest.raises(ValueError, match=r"[dD]ataset [iI][dD]"):
            env.save(tmp_path, bad)
    env.save(tmp_path, "a-v0")
    with pytest.raises(ValueError, match="is there already"):
        env.save(tmp_path, "a-v0")
    assert env.save(tmp_path, "a-v0", replace=True).total_episodes == 1
    with pytest.raises(FileNotFoundError, match="did you mean 'a-v0'"):
        load_dataset(tmp_path, "a-v1")
    with pytest.raises(FileNotFoundError, match="none"):
        load_dataset(tmp_path / "nowhere")
    env.close()


def test_a_write_that_fails_leaves_the_old_dataset(tmp_path):
    env = EpisodeCollector(fake_env())
    run_episode(env, OracleAgent(), seed=0)
    env.save(tmp_path, "a-v0")
    run_episode(env, OracleAgent(), seed=1)
    env.episodes[1].observations[0] = {}
    with pytest.raises(KeyError):
        env.save(tmp_path, "a-v0", replace=True)
    assert load_dataset(tmp_path).total_episodes == 1
    assert not list(tmp_path.glob(".*"))
    env.close()


def test_a_file_that_is_no_episode_is_named(tmp_path):
    path = tmp_path / "x.episode"
    path.write_bytes(b"nonsense")
    with pytest.raises(EpisodeFileError, match="x.episode is not an episode"):
        read_episode(path)


@pytest.mark.sandbox
@pytest.mark.parametrize("action", ["computer", "discrete"])
def test_on_the_real_program(action, tmp_path):
    env = gymnasium.make(
        "deskgym/Science-v0", task="ladder/1-tab", action=action, screen_size=(960, 600), max_elements=96,
        observation=("screenshot", "elements", "a11y", "instruction", "vocabulary"),
    )  # fmt: skip
    env = EpisodeCollector(JointDiscrete(env) if action == "discrete" else env)
    agent = RandomAgent() if action == "discrete" else OracleAgent()
    run_episode(env, agent, seed=0)
    dataset = write_dataset(tmp_path, "kalgebra/tab-v0", env.episodes, env.env, algorithm_name="oracle")
    assert_same(env.episodes, episodes_of(dataset))
    assert env.episodes[0].observations[0]["screenshot"].std() > 1
    again = dataset.recover_environment()
    assert again.observation_space == env.observation_space and again.action_space == env.action_space
    observation, _ = again.reset(seed=0)
    assert observation["instruction"] == env.episodes[0].observations[0]["instruction"]
    again.close()
    env.close()


def test_nothing_of_minari_is_imported_before_it_is_used():
    code = "import sys, deskgym.datasets, deskgym.cli.main; print('minari' in sys.modules, 'h5py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert done.stdout == "False False\n"
