"""The pages in a browser: the list of episodes, play, the filmstrip, a conversation; and what axe says of them."""

import time

import pytest
from fake_suite import FakeSource

from deskgym.agents import OracleAgent, RandomAgent, run_episode
from deskgym.datasets.task_results import task_results
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.viewer.page import write_page, write_pair
from deskgym.viewer.report import write_report
from deskgym.wrappers import RecordEpisode
from deskgym.wrappers.recording.recording import find_recordings

PARTS = ("screenshot", "elements", "instruction", "feedback")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """One solved, one failed, one that nobody ended."""
    folder = tmp_path_factory.mktemp("rec")
    env = RecordEpisode(DesktopEnv(FakeSource(), machine="fake", screen_size=(320, 240), observation=PARTS), folder)
    for agent in (OracleAgent(), RandomAgent()):
        run_episode(env, agent, seed=3)
    env.reset(seed=4)
    env.step({"action": "type", "text": "def f():\n    return 'a'"})
    env.close()
    return find_recordings(folder)


@pytest.fixture
def page(recordings, browser, tmp_path):
    write_page(recordings, tmp_path / "page.html")
    browser.get((tmp_path / "page.html").as_uri())
    until(lambda: browser.find_element("id", "where").text.startswith("step 1 of"))
    return browser


def until(holds, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def seen(browser):
    return [
        row.text.split("\n")[0] for row in browser.find_elements("css selector", "#list tbody tr") if row.is_displayed()
    ]


def outcomes(browser):
    return [text.split()[1] for text in seen(browser)]


def test_episodes_are_found_sorted_and_filtered(page):
    assert outcomes(page) == ["solved", "failed", "unfinished"]
    search = page.find_element("id", "search")
    search.send_keys("FAKE before the episode")  # words of the task and of the reason
    assert outcomes(page) == ["unfinished"] and page.find_element("id", "found").text == "1 of 3 episodes"
    search.clear()
    search.send_keys("no such")
    assert outcomes(page) == []
    search.clear()
    search.send_keys(" ")
    for chip in page.find_elements("css selector", "button[data-outcome]")[:2]:
        chip.click()
    assert outcomes(page) == ["solved", "failed"]
    reward = page.find_element("xpath", "//thead//button[.='reward']")
    reward.click()
    assert outcomes(page) == ["failed", "solved"]
    reward.click()
    assert outcomes(page) == ["solved", "failed"]
    assert reward.find_element("xpath", "..").get_attribute("aria-sort") == "descending"
    page.find_element("tag name", "body").send_keys("]")
    until(lambda: page.execute_script("return location.hash") == "#2")
    until(lambda: "failed" in page.find_element("tag name", "h1").text)


def test_play_goes_to_the_end_and_stops(page):
    page.execute_script("document.getElementById('speed').value = '4'")
    play = page.find_element("id", "play")
    play.click()
    assert play.text == "pause"
    until(lambda: page.find_element("id", "where").text == "end")
    until(lambda: play.text == "play")
    page.find_elements("css selector", "#actions button")[1].click()
    assert page.find_element("id", "where").text == "step 2 of 3"
    assert page.find_elements("css selector", "#strip button")[1].get_attribute("aria-current") == "step"
    page.find_elements("css selector", "#strip button")[0].click()
    assert page.find_element("id", "where").text == "step 1 of 3"


def test_the_filmstrip_and_the_stage_show_the_screen(page):
    colors = (
        "const canvas = document.querySelectorAll('#strip canvas, #frame')[arguments[0]];"
        "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "return new Set(Array.from({length: data.length / 4}, (_, k) => data.slice(4 * k, 4 * k + 4).join())).size"
    )
    for number in range(4):  # the stage, and three steps' screens
        until(lambda number=number: page.execute_script(colors, number) > 1)
    assert not page.find_element("id", "missing").is_displayed()
    assert page.get_log("browser") == []


def test_code_has_colours(page):
    page.get(page.current_url.partition("#")[0] + "#1/3")
    until(lambda: page.find_element("id", "where").text.startswith("step 3"))
    assert [each.text for each in page.find_elements("css selector", "#step pre .string")][:1] == ['"action"']


def test_a_page_is_as_it_was_asked_for_by_its_address(page):
    page.get(page.current_url.partition("#")[0] + "#2/5/after/elements")
    until(lambda: page.find_element("id", "where").text.startswith("step 5 of"))
    assert page.find_element("id", "after").is_selected() and page.find_element("id", "boxes").is_selected()


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("kind", ["page", "pair", "report"])
def test_axe_has_no_serious_complaint(kind, width, recordings, browser, axe, tmp_path):
    out = tmp_path / "index.html"
    if kind == "page":
        write_page(recordings, out)
    elif kind == "pair":
        write_pair(*recordings[:2], out)
    else:
        write_report(recordings, task_results(recordings), [], None, tmp_path)
    browser.set_window_size(width, 900)
    browser.get(out.as_uri())
    time.sleep(0.5)
    assert axe() == []
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
