"""Chromium is driven while a desktop is set up, keeps what was done, and is not controlled afterwards."""

import importlib.util
import shutil

import pytest
from shop_service import PORT

from deskgym.envs.errors import SetupError
from deskgym.task_suites.hooks.browser import browser

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("playwright") is None, reason="Playwright is not installed"),
]
PROFILE = "/home/user/profile"
SHOP_URL = f"http://127.0.0.1:{PORT}"


def orders(setup):
    return [row["item"] for row in setup.companion("shop").sql("SELECT item FROM orders")]


def test_what_it_does_reaches_the_service_and_the_profile(setup):
    login = [
        {"goto": f"{SHOP_URL}/form"},
        {"fill": {"selector": "#item", "value": "coffee"}},
        {"click": "text=Order"},
        {"wait_for_url": "**/page?thanks"},
    ]
    browser(setup, PROFILE, login)
    assert orders(setup)[-1] == "item=coffee"
    browser(
        setup, PROFILE, [{"goto": f"{SHOP_URL}/cookies"}, {"wait_for_selector": "text=visits=1"}]
    )  # a session cookie
    left = setup.machine.run(["sh", "-c", "pgrep -af remote-debuggin[g]; ls /home/user/profile/DevToolsActivePort"])
    assert left.stdout == b""


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            [{"goto": f"{SHOP_URL}/form"}, {"click": "text=Nowhere"}],
            r"(?s)step 2 of 2, click: .*Nowhere.*page is .*/form",
        ),
        ([{"goto": "http://127.0.0.1:81/"}], r"step 1 of 1, goto: .*ERR_CONNECTION_REFUSED"),
        ([{"evaluate": "1"}], "unknown step of the browser 'evaluate'"),
        ([{"fill": {"selektor": "#item"}}], "step 1 of 1, fill: .*selektor"),
    ],
)
def test_what_goes_wrong_is_said(setup, steps, words):
    with pytest.raises(SetupError, match=words):
        browser(setup, PROFILE, steps, timeout=20)
    assert setup.machine.run(["pgrep", "-f", "remote-debugging"]).stdout == b""


def test_a_browser_that_does_not_start_says_its_last_words(setup):
    with pytest.raises(SetupError, match="the browser ended; its last words: no screen"):
        browser(setup, PROFILE, [], command=["sh", "-c", "echo no screen; exit 1", "chromium"])
    with pytest.raises(SetupError, match="is not below /home/user"):
        browser(setup, "/etc/profile", [])
