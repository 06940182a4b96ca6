"""Many episodes at once: order, results, what breaks, stopping, and going on after a kill."""

import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from fake_suite import FakeSource

from deskgym.agents import OracleAgent
from deskgym.agents.rollouts import Planned, Player, played, result_of, rollouts
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import RunOver, TaskError
from deskgym.wrappers.recording.record_episode import RecordEpisode
from deskgym.wrappers.recording.recording import find_recordings

PLAN = [Planned("fake/copy", seed) for seed in range(6)]


def player(folder=None, names=("fake/copy",), agent=OracleAgent):
    env = DesktopEnv(FakeSource(names), machine="fake", screen_size=(160, 120))
    return Player(RecordEpisode(env, folder) if folder else env, lambda seed: agent())


@pytest.mark.parametrize("parallel", [1, 3, 20])
def test_each_episode_is_played_once(parallel):
    found = list(rollouts(PLAN, player, parallel=parallel))
    assert sorted(each for each, _ in found) == PLAN
    assert {result.outcome for _, result in found} == {"solved"}
    assert all(result.seed == each.seed for each, result in found)


def test_what_breaks_is_one_result_and_the_others_go_on():
    names = ("fake/copy", "fake/broken")
    plan = [Planned("fake/broken", 0), *PLAN[:3]]
    outcomes = {each: result.outcome for each, result in rollouts(plan, lambda: player(names=names), parallel=2)}
    assert outcomes[plan[0]] == "fault" and all(outcomes[each] == "solved" for each in PLAN[:3])


def test_an_unknown_task_ends_the_run():
    with pytest.raises(TaskError, match="did you mean 'fake/copy'"):
        list(rollouts([Planned("fake/cpy", 0), *PLAN], player, parallel=2))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("player")]


class Spent(OracleAgent):
    """Has no budget left."""

    def act(self, observation):
        raise RunOver("the budget is spent")


def test_a_spent_budget_ends_the_run_and_says_so():
    with pytest.raises(RunOver, match="the budget is spent"):
        list(rollouts(PLAN, lambda: player(agent=Spent), parallel=3))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("player")]


def test_leaving_early_ends_all_players():
    found = rollouts(PLAN * 50, player, parallel=3)
    next(found)
    found.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("player")]


def test_what_was_recorded_is_not_played_again(tmp_path):
    list(rollouts(PLAN[:4], lambda: player(tmp_path), parallel=2))
    (cut,) = [each.folder for each in find_recordings(tmp_path) if each.meta["seed"] == 2]
    (cut / "verdict.json").unlink()  # as one that was killed before its end
    before = dict(played(tmp_path))
    assert set(before) == {PLAN[0], PLAN[1], PLAN[3]}
    assert result_of(PLAN[0], before[PLAN[0]]).outcome == "solved"
    assert played(tmp_path / "nothing") == []


SCRIPT = textwrap.dedent("""
    import sys
    sys.path[:0] = {paths!r}
    from test_rollouts import PLAN, player
    from deskgym.agents.rollouts import played, rollouts
    before = dict(played(__import__("pathlib").Path({folder!r})))
    for each, result in rollouts([p for p in PLAN * 1 if p not in before], lambda: player({folder!r}), parallel=2):
        print(each.seed, flush=True)
""")


def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path):
    here = Path(__file__).parent
    folder = str(tmp_path / "run")
    script = SCRIPT.format(paths=[str(here), str(here.parent / "cli")], folder=folder)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()  # one has ended; the others are on their way, or not begun
    process.kill()
    process.wait()
    time.sleep(0.2)
    first = {each for each, _ in played(Path(folder))}
    assert 1 <= len(first) <= len(PLAN)
    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL, timeout=120)
    ended = [each for each, _ in played(Path(folder))]
    assert sorted(ended) == PLAN  # none is lost, and none was played to its end twice
