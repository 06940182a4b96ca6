import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from deskgym.task_suites import find_entry

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def science_is_fake(monkeypatch):
    """``science`` is a suite of a task on the fake machine."""
    monkeypatch.setitem(vars(find_entry("science")), "load", "fake_suite:suite")


@pytest.fixture
def science_has_bad_tasks(monkeypatch, science_is_fake):
    import fake_suite

    monkeypatch.setattr(fake_suite, "suite", fake_suite.whole_suite)


@pytest.fixture
def browser():
    """Chromium without a screen, driven by Selenium."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium or its driver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1000,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


@pytest.fixture
def axe(browser):
    """What axe-core has against the page that the browser shows, of what is serious or critical."""

    def run():
        rules = files("axe_playwright_python").joinpath("axe.min.js")
        browser.execute_script(rules.read_text("utf-8"))
        found = browser.execute_async_script("axe.run().then(arguments[0])")
        assert len(found["passes"]) > 10
        serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
        return [(each["id"], each["nodes"][0]["html"][:200]) for each in serious]

    return run


@pytest.fixture
def cli(capsys):
    """Runs a command: exit status, stdout, stderr."""
    from deskgym.cli import main

    def run(*argv):
        try:
            status = main(list(argv))
        except SystemExit as error:
            status = error.code
        out, err = capsys.readouterr()
        return status, out, err

    return run
