"""A page that is loading has not settled: a real browser on a slow site, in a real sandbox."""

import time

import pytest

from deskgym.benchmarks import slow_site
from deskgym.benchmarks.page_settle import Browsing
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.guest.requests import Requests, is_document

needs_browser = pytest.mark.sandbox


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({b"sec-fetch-dest": b"document"}, True),
        ({b"sec-fetch-dest": b"iframe"}, True),
        ({b"accept": b"text/html,*/*"}, True),
        ({b"accept": b"text/html,*/*", b"sec-fetch-dest": b"empty"}, False),
        ({b"sec-fetch-dest": b"style"}, False),
        ({}, False),
    ],
)
def test_a_request_s_headers_say_whether_it_is_for_a_page(headers, expected):
    assert is_document(headers) is expected


def test_documents_count_whenever_they_began_and_the_rest_only_after_the_action():
    requests = Requests()
    page, part = requests.begin(True), requests.begin(False)
    now = time.monotonic()
    assert requests.in_flight(0, 5, 5) == 2
    assert requests.in_flight(now, 5, 5) == 1
    assert requests.in_flight(0, 0, 5) == 1
    requests.end(page)
    assert requests.in_flight(now, 5, 5) == 0 and requests.last_end >= now
    requests.end(page)
    requests.end(part)
    assert requests.in_flight(0, 5, 5) == 0


@pytest.fixture(scope="module")
def browsing():
    with Browsing(longest=2.0) as browsing:
        yield browsing


@needs_browser
def test_a_step_returns_when_the_new_page_is_there(browsing):
    for place in (slow_site.LINK, slow_site.FORM) * 3:
        browsing.page += 1
        report, _ = browsing.click(place, SettlePolicy())
        assert report.settled and not report.loading
        assert browsing.shows(browsing.page)


@needs_browser
def test_the_cap_ends_the_wait_and_says_loading(browsing):
    while browsing.takes(browsing.page + 1) < 0.8:
        browsing.page += 1
        browsing.click(slow_site.LINK, SettlePolicy())
    browsing.page += 1
    report, took = browsing.click(slow_site.LINK, SettlePolicy(page_cap_ms=300))
    assert report.loading and not report.settled and took < 0.8
    assert not browsing.shows(browsing.page)
    assert browsing.machine.display.perform([{"t": "wait", "s": 0.0}], SettlePolicy()).settled
    assert browsing.shows(browsing.page)  # a page counts though it was asked for before the action


@needs_browser
def test_without_pages_a_step_does_not_wait(browsing):
    while browsing.takes(browsing.page + 1) < 0.8:
        browsing.page += 1
        browsing.click(slow_site.LINK, SettlePolicy())
    browsing.page += 1
    report, took = browsing.click(slow_site.LINK, SettlePolicy(page_cap_ms=0))
    assert took < 0.6 and not report.loading and not browsing.shows(browsing.page)


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["poll", "events", "spinner"])
def test_what_a_page_goes_on_doing_does_not_hold_steps_up(kind):
    with Browsing(longest=0.3, kind=kind) as browsing:
        browsing.page += 1
        browsing.click(slow_site.LINK, SettlePolicy())
        assert browsing.shows(browsing.page)
        browsing.click(slow_site.BLANK, SettlePolicy())
        took = min(browsing.click(slow_site.BLANK, SettlePolicy())[1] for _ in range(3))
        assert took < 0.6
