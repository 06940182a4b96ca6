"""``deskgym play``: what a person does on the page becomes actions, and nobody else reaches the page."""

import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing

import numpy as np
import pytest
from fake_suite import FakeSource

from deskgym.agents.person import Person
from deskgym.agents.rollout import rollout
from deskgym.cli.main import main
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.viewer.play_server import MOST, PlayServer

SIZE = (160, 120)


@pytest.fixture
def page():
    with closing(PlayServer()) as page:
        yield page


@pytest.fixture
def playing(page):
    """An episode that is played on the page: the list of its result, once it has one."""
    env = DesktopEnv(
        FakeSource(), machine="fake", screen_size=SIZE, observation=("screenshot", "instruction", "feedback"),
        invalid_action="feedback",
    )  # fmt: skip
    results = []

    def play():
        results.append(rollout(env, Person(page), seed=0))
        page.show(None, over=True, outcome=results[0].outcome, message="")

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    yield results
    thread.join(20)
    assert not thread.is_alive(), "the episode did not end"
    env.close()


def ask(page, path, body=None, **headers):
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(page.address + path, data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def until(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)
    return value


def state(page):
    return json.loads(ask(page, "state")[1])


def act(page, **action):
    status, body = ask(page, "act", action)
    assert status == 200
    return json.loads(body)


def test_an_episode_is_played_on_the_page_like_any_agent_s(page, playing):
    first = until(lambda: "step" in state(page) and state(page))
    assert first["step"] == 0 and first["instruction"] and first["of"] > 0 and not first["over"]
    assert ask(page, "picture")[1].startswith(b"\x89PNG")
    assert act(page, action="click", x=5, y=6)["step"] == 1
    said = act(page, action="clik", x=5)
    assert said["step"] == 2 and "unknown action 'clik'" in said["feedback"]
    act(page, action="done")
    last = until(lambda: state(page)["over"] and state(page))
    assert last["outcome"] in ("solved", "failed") and playing[0].steps == 3
    assert act(page, action="click", x=1, y=1)["version"] == last["version"], "nothing is done after the end"
    assert page.wait_seen(0)
    page.show(None, message="more")
    assert not page.wait_seen(0.05), "nobody has asked yet"


def test_what_is_done_before_the_desktop_is_there_does_not_wait_for_it(page):
    page.show(None, task="t", instruction="Do it.")
    act(page, action="done")
    assert page._actions.empty()


def test_nobody_else_reaches_the_page(page):
    page.show(np.zeros((3, 4, 3), np.uint8), step=0)
    host = page.address.split("/")[2]
    wrong = urllib.request.Request(f"http://{host}/other/state")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(wrong, timeout=20)
    assert ask(page, "state", Host="example.org")[0] == 403
    assert ask(page, "act", {"action": "done"}, Origin="http://example.org")[0] == 403
    assert ask(page, "../../../setup.cfg")[0] == 404
    assert ask(page, "act", b"x" * (MOST + 1))[0] == 413
    assert ask(page, "act", b"[1]")[0] == ask(page, "act", b"{")[0] == 400


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["table_analysis"], "has no screen"),
        (["science", "--action", "code"], "legal is computer"),
        (["science", "--observation", "elements"], "a person sees the screen"),
        (["science", "--port", "70000"], "--port 70000; legal are 1 to 65535"),
    ],
)
def test_what_cannot_be_played_is_said_before_anything_starts(arguments, said, capsys):
    assert main(["play", *arguments]) != 0
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_mouse_and_keys_in_a_browser_become_actions(page, browser, axe):
    from selenium import webdriver
    from selenium.webdriver.common.keys import Keys

    done = []

    def take():
        while True:
            done.append(dict(page.next()))
            page.show(np.full((300, 400, 3), len(done), np.uint8), step=len(done), over=len(done) == 7)

    threading.Thread(target=take, daemon=True).start()
    page.show(np.zeros((300, 400, 3), np.uint8), task="t", instruction="Do it.", step=0, of=9)
    browser.get(page.address)
    picture = until(lambda: browser.find_element("id", "picture"))
    until(lambda: picture.is_displayed() and picture.get_property("naturalWidth") == 400)
    assert axe() == []
    mouse = webdriver.ActionChains(browser, duration=0)
    mouse.move_to_element_with_offset(picture, -100, 50).click().perform()
    until(lambda: len(done) == 1)
    mouse.move_to_element_with_offset(picture, 0, 0).context_click().perform()
    until(lambda: len(done) == 2)
    mouse.send_keys("aB c").send_keys(Keys.ENTER).perform()
    until(lambda: len(done) == 4)
    mouse.key_down(Keys.CONTROL).send_keys("s").key_up(Keys.CONTROL).perform()
    until(lambda: len(done) == 5)
    mouse.move_to_element_with_offset(picture, -50, 0).click_and_hold().move_by_offset(80, 10).release().perform()
    until(lambda: len(done) == 6)
    browser.find_element("id", "answer").send_keys("42" + Keys.ENTER)
    until(lambda: len(done) == 7)
    click, menu, typed, enter, save, drag, answer = done
    assert (click["action"], click["button"]) == ("click", "left")
    assert abs(click["x"] - 100) < 4 and abs(click["y"] - 200) < 4
    assert (menu["action"], menu["button"]) == ("click", "right")
    assert typed == {"action": "type", "text": "aB c"} and enter == {"action": "press", "keys": ["enter"]}
    assert save == {"action": "press", "keys": ["ctrl", "s"]}
    assert drag["action"] == "drag" and abs(drag["to_x"] - drag["x"] - 80) < 4
    assert answer == {"action": "answer", "text": "42"}
    until(lambda: not browser.find_element("id", "end").is_displayed())
