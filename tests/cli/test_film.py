"""Films of episodes: what was done is seen and said, the end tells the reward, and nothing half-written stays."""

import numpy as np
import pytest
from fake_suite import FakeSource
from PIL import Image

from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.viewer.film import write_film
from deskgym.wrappers import RecordEpisode
from deskgym.wrappers.recording.recording import find_recordings


@pytest.fixture
def recorded(tmp_path):
    parts = ("screenshot", "elements", "instruction", "feedback")
    env = RecordEpisode(
        DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 241), observation=parts), tmp_path / "rec"
    )
    run_episode(env, OracleAgent(), seed=3)
    env.close()
    return tmp_path / "rec"


def pictures(path):
    """Frames as arrays, and their milliseconds."""
    with Image.open(path) as film:
        found = []
        for k in range(film.n_frames):
            film.seek(k)
            found.append((np.asarray(film.convert("RGB")), film.info["duration"]))
        return found


def test_a_gif_shows_each_action_where_it_was_done(recorded, cli):
    status, out, err = cli("view", str(recorded), "--gif", "--pace", "0.5")
    assert status == 0 and "episode.gif" in out, err
    (episode,) = find_recordings(recorded)
    shown = pictures(recorded / "episode.gif")
    assert shown[0][0].shape == (240 + 58, 320, 3)
    assert sum(ms for _, ms in shown) == pytest.approx((2 * 2.5 + len(episode.steps) - 1) * 500, abs=20)
    red = [np.argwhere((picture[..., 0] > 200) & (picture[..., 1] < 90)) for picture, _ in shown]
    assert len(red[0]) == 0 and len(red[1]) > 20
    assert np.abs(red[1].mean(0)[::-1] - (20, 30)).max() < 3  # the oracle's click
    assert [path.name for path in recorded.iterdir() if ".part" in path.name] == []


def test_an_mp4_holds_the_same(recorded, cli, tmp_path):
    av = pytest.importorskip("av")
    status, _, err = cli("view", str(recorded), "--mp4", "--out", str(tmp_path / "new" / "film.mp4"))
    assert status == 0, err
    with av.open(str(tmp_path / "new" / "film.mp4")) as film:
        frames = [frame.to_ndarray(format="rgb24") for frame in film.decode(video=0)]
        assert film.duration / 1e6 == pytest.approx(2 * 2.5 + len(find_recordings(recorded)[0].steps) - 1, abs=0.3)
    assert frames[0].shape == (298, 320, 3) and len(frames) >= 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gif", "--out", "film.mp4"), "does not end as --gif"),
        (("--pace", "1"), "--pace goes with --gif or --mp4"),
        (("--gif", "--pace", "0"), "from 0.05 to 60 s"),
        (("--gif", "--port", "1"), "--port does not go with a folder"),
    ],
)
def test_what_is_not_legal_says_what_is(recorded, cli, arguments, message):
    status, _, err = cli("view", str(recorded), *arguments)
    assert status != 0 and message in err


def test_live_machines_make_no_film(cli):
    status, _, err = cli("view", "--live", "--gif")
    assert status != 0 and "--gif does not go with --live" in err


def test_a_film_is_of_one_episode(recorded, cli):
    env = RecordEpisode(DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 241)), recorded)
    run_episode(env, RandomAgent(), seed=3)
    env.close()
    status, _, err = cli("view", str(recorded), "--gif")
    assert status != 0 and "a film is of one episode" in err and "has 2:" in err
    with pytest.raises(ValueError, match=r"ends in \.gif or \.mp4"):
        write_film(find_recordings(recorded)[0], recorded / "film.webm")
