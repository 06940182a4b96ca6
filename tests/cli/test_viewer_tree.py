"""The tree of episodes that branch off one another: what is drawn, and that its lines lead to their episodes."""

import pytest
from fake_suite import FakeSource

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.viewer.page import summary_of, write_page
from deskgym.viewer.tree import STEP, tree_of
from deskgym.wrappers import Branching, RecordEpisode
from deskgym.wrappers.recording.recording import find_recordings

CLICK = {"action": "click", "x": 70, "y": 40}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """An episode of four steps, two that branch off after its first and second, one of the latter's, and another."""
    folder = tmp_path_factory.mktemp("tree")
    env = Branching(RecordEpisode(DesktopEnv(FakeSource(), machine="fake", screen_size=(160, 120)), folder))
    env.reset(seed=1)
    env.step(CLICK)
    first = env.save_state()
    env.step({"action": "type", "text": "a"})
    second = env.save_state()
    env.step({"action": "type", "text": "b"})
    env.step({"action": "done"})
    env.restore_state(second)
    env.step({"action": "type", "text": "c"})
    third = env.save_state()
    env.step({"action": "fail"})
    env.restore_state(first)
    for action in list(env.unwrapped.oracle()):
        *_, terminated, _, _ = env.step(action)
    assert terminated
    env.restore_state(third)
    env.step({"action": "done"})
    env.reset(seed=2)
    env.step({"action": "done"})
    env.close()
    return find_recordings(folder)


def test_each_branches_off_where_it_was_restored(recordings):
    tree = tree_of([summary_of(recording) for recording in recordings])
    lanes = {lane.number: lane for lane in tree.lanes}
    assert [lane.number for lane in tree.lanes] == [1, 2, 4, 3]  # the latest branches lie nearest; 5 is of another task
    assert [lanes[k].start - lanes[1].start for k in (1, 2, 3, 4)] == [0, 2 * STEP, STEP, 3 * STEP]
    assert [lanes[k].end - lanes[k].start for k in (1, 2, 4)] == [4 * STEP, 2 * STEP, STEP]
    assert lanes[3].outcome == "solved" and lanes[1].outcome == "failed"
    assert lanes[4].says.endswith("failed 0 after 4 steps, from episode 2 at its step 3")
    assert not lanes[1].fork and str(lanes[1].y) in lanes[2].fork


def summary(folder, branch=None, steps=2):
    return {"folder": folder, "branch": branch, "steps": steps, "outcome": "failed", "score": None, "task": "t"}


def test_without_branches_there_is_no_tree(recordings):
    assert tree_of([summary_of(recordings[0]), summary_of(recordings[4])]) is None
    assert tree_of([]) is None
    assert tree_of([summary("a", ("nowhere", 1)), summary("b", ("b", 1))]) is None
    assert tree_of([summary("a", ("b", 1)), summary("b", ("a", 1))]) is None  # in a circle


def test_a_long_chain_is_drawn():
    chain = [summary("0")] + [summary(str(k), (str(k - 1), k)) for k in range(1, 3000)]
    assert len(tree_of(chain).lanes) == 3000


def test_its_lines_lead_to_their_episodes(recordings, browser, axe, tmp_path):
    write_page(recordings, tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    lanes = browser.find_elements("css selector", "#tree a")
    assert len(lanes) == 4
    lanes[2].click()
    assert browser.execute_script("return location.hash") == "#4/1"
    browser.implicitly_wait(5)
    assert browser.find_element("css selector", '#tree a.on[data-number="4"]')
    assert browser.find_element("id", "where").text == "step 4 of 4"
    assert axe() == []


def test_the_list_counts_the_steps_before_a_branch_too(recordings, tmp_path):
    write_page(recordings, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert 'title="1 before it branched off">1 + ' in page and 'title="3 before it branched off">3 + 1<' in page
    assert ">None<" not in page
