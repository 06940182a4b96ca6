"""The company's applications in a real sandbox: an agent finds no truth to forge, and no login outlives its episode."""

import re
import runpy
from pathlib import Path

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites import load_suite
from deskgym.task_suites.programs import load_program, toolkits
from deskgym.task_suites.programs.company import entities
from deskgym.task_suites.programs.company.django_sites import COMMON_SETTINGS
from deskgym.task_suites.programs.company.program import TITLES
from deskgym.task_suites.programs.erp import functions as erp
from deskgym.task_suites.programs.forum import functions as forum
from deskgym.task_suites.programs.helpdesk import company as helpdesk
from deskgym.task_suites.programs.mail import functions as mail
from deskgym.task_suites.programs.shop import functions as shop
from deskgym.task_suites.programs.tracker import functions as tracker
from deskgym.task_suites.programs.website import content
from deskgym.task_suites.programs.website import functions as website

PROGRAMS = Path(toolkits.__file__).parents[1]
DJANGO = ("shop", "forum", "website")
SHARED = re.compile(r'^globals\(\)\.update\(kept_in_files\("(\w+)"\)\)$', re.MULTILINE)
SAME = (
    ("shop/note", "shop/infeasible"), ("shop/price", "shop/infeasible_price"), ("forum/reply", "forum/infeasible"),
    ("tracker/comment", "tracker/infeasible"), ("website/remove", "website/infeasible"),
    ("erp/confirm", "erp/infeasible"), ("mail/reply", "mail/infeasible"),
)  # fmt: skip
TASKS = {
    "shop": "shop/status", "forum": "forum/reply", "tracker": "tracker/comment", "website": "website/retitle",
    "erp": "erp/cancel", "mail": "mail/flag",
}  # fmt: skip
FORGE = """
import glob, os, re, urllib.error, urllib.request
for path in ("/var/lib/deskgym-{name}", "/opt/deskgym/{name}", "/opt/deskgym/env/{name}"):
    print("file", os.path.exists(path))
lines = "".join(open(p).read() for p in glob.glob("/proc/[0-9]*/cmdline"))
print("server", any(word in lines for word in ("waitress", "aiosmtpd", "dovecot")))
open_to_all = [p for p in glob.glob("/proc/[0-9]*/environ") if os.access(p, os.R_OK)]
print("secret", any(b"_SECRET" in open(p, "rb").read() for p in open_to_all))
def status(path):
    try:
        return urllib.request.urlopen("http://127.0.0.1:{port}" + path, None, 20).status
    except urllib.error.HTTPError as error:
        return error.code
token = re.search("/enter/([0-9a-f]+)/", lines)[1]
print("door", status("/enter/" + token + "/"), status("/enter/" + "0" * 32 + "/"), status("/enter/../"))
"""
LOG_IN = """
import http.cookiejar, urllib.request
jar = http.cookiejar.CookieJar()
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
page = browser.open("http://127.0.0.1:{port}/enter/known/?to={page}", timeout=30).read().decode()
print("Maya" in page or "maya" in page, ";".join(c.name + "=" + c.value for c in jar))
"""
AGAIN = """
import urllib.error, urllib.request
headers = {{"Cookie": {cookie!r}, "Content-Type": "application/json"}}
request = urllib.request.Request("http://127.0.0.1:{port}{page}", {body!r}, headers)
try:
    page = urllib.request.urlopen(request, timeout=30).read().decode()
except urllib.error.HTTPError as error:
    page = str(error)
print("Maya" in page or "maya" in page)
"""
PAGES = {
    "shop": "/dashboard/", "forum": "/user/", "tracker": "/about", "website": "/admin/", "erp": "/erp/rpc/",
    "mail": "/?_task=mail",
}  # fmt: skip
BODIES = {"erp": b'{"id": 1, "method": "model.res.user.get_preferences", "params": [false, {}]}'}


def service(name):
    return load_program(name).needs.services[0]


@pytest.fixture(params=TASKS, scope="module")
def name(request):
    return request.param


@pytest.fixture(scope="module")
def env(name):
    env = gym.make("deskgym/BPM-v0", task=TASKS[name], action="code", screen_size=(1280, 720))
    yield env
    env.close()


def test_the_company_is_one_and_the_same_for_everybody():
    assert list(entities.EMPLOYEES) == list(helpdesk.AGENTS)
    assert [entry["email"].partition("@")[0] for entry in entities.customers()][:12] == list(helpdesk.CUSTOMERS)
    assert entities.EPOCH == helpdesk.EPOCH
    for made in (entities.customers, entities.products, entities.orders, entities.reviews, entities.topics):
        assert made() == made()


def test_what_tasks_ask_fits_the_data():
    orders, prices = entities.orders(), {entry["number"]: entry["price"] for entry in entities.products()}
    bill = sum(prices[which] * count for which, count in orders[2]["lines"]) + orders[2]["shipping"]
    assert shop.order(3)["total"] == f"{bill / 100:.2f}"
    bills = [shop.bill(buyer, status, 17) for buyer in range(1, 41) for status in entities.STATUSES]
    assert sum(entry["count"] for entry in bills) == len(orders)
    assert forum.topic(2)["first"] == forum.posts(1) + 1
    counts = [
        tracker.open_count(part, what, 5) for part in tracker.issues.COMPONENTS for what in tracker.issues.PRIORITIES
    ]
    assert sum(counts) == len(tracker.issues.tickets())
    assert len({website.page(number)["path"] for number in range(1, 49)}) == 48
    inbox = mail.letters.inbox()
    assert sum(mail.of_sender(number)["count"] for number in range(1, 7)) == 14
    assert len({letter["subject"] for letter in inbox}) == len(inbox)
    about = next(letter for letter in inbox if letter["kind"] == "order")
    assert shop.order(mail.letter(about["number"])["place"])["email"] == about["address"]
    states = ("Draft", "Quotation", "Cancelled")
    assert sum(erp.count(state, 0, 5) for state in states) == len(erp.trade.sales())
    live = [number for number in range(8, 56) if (number**2 // 3 + 3) % 3]
    assert sum(website.live_count(section, 3) for section in content.SECTIONS) == len(live)


def test_ports_and_cookies_are_each_application_s_own(monkeypatch):
    services = {name: service(name) for name in TITLES}
    assert len({port for spec in services.values() for port in spec.ports}) == len(services)
    settings = runpy.run_path(str(COMMON_SETTINGS))
    cookies = set()
    for name in DJANGO:
        (shared,) = SHARED.findall((PROGRAMS / name / "site" / f"{name}_settings.py").read_text())
        monkeypatch.setenv(f"{name.upper()}_SECRET", f"key of {name}")
        own = settings["kept_in_files"](shared)
        data = {item.path for item in service(name).data}
        assert own["SECRET_KEY"] == f"key of {name}"
        assert data == {own["DATABASES"]["default"]["NAME"], own["SESSION_FILE_PATH"]}
        cookies |= {own["SESSION_COOKIE_NAME"], own["CSRF_COOKIE_NAME"]}
    assert len(cookies) == 2 * len(DJANGO)


def test_a_site_has_its_own_context_processors_beside_the_usual_ones():
    templates = runpy.run_path(str(COMMON_SETTINGS))["templates"]
    (usual,), (more,), (loaded,) = templates(), templates("a.b"), templates(loaders=["c.d"])
    assert usual["APP_DIRS"] and len(usual["OPTIONS"]["context_processors"]) == 3
    assert more["OPTIONS"]["context_processors"] == [*usual["OPTIONS"]["context_processors"], "a.b"]
    assert not loaded["APP_DIRS"] and loaded["OPTIONS"]["loaders"] == ["c.d"]  # Django refuses both together


@pytest.mark.parametrize(("feasible", "infeasible"), SAME)
def test_no_instruction_tells_that_it_is_infeasible(feasible, infeasible):
    suite = load_suite("bpm")
    one, other = (suite.templates[name].file.instruction for name in (feasible, infeasible))
    assert one == other


@pytest.mark.sandbox
def test_an_agent_finds_neither_data_nor_secrets_nor_an_open_door(env, name):
    env.reset(seed=1)
    said = env.step(FORGE.format(name=name, port=service(name).ports[0]))[0]["feedback"].split("\n")
    assert [line for line in said if line.startswith("file")] == ["file False"] * 3
    assert "server False" in said and "secret False" in said
    assert any(line.startswith("door 403 403 4") for line in said), said
    assert env.step("DONE")[4]["verdict"]["score"] == 0


@pytest.mark.sandbox
def test_no_login_of_an_application_outlives_its_episode(env, name):
    env.reset(seed=1)
    spec, companion = service(name), env.unwrapped.machine.companions[name]
    folder, port = next(item.path for item in spec.data if item.path.endswith("episode")), spec.ports[0]
    companion.put(f"{folder}/token-known", b"maya", owner="guest", mode=0o644)
    known, _, cookie = env.step(LOG_IN.format(port=port, page=PAGES[name]))[0]["feedback"].strip().partition(" ")
    assert known == "True" and cookie
    again = AGAIN.format(port=port, page=PAGES[name], cookie=cookie, body=BODIES.get(name))
    assert env.step(again)[0]["feedback"].strip() == "True"
    env.reset(seed=1)
    assert env.unwrapped.machine.companions[name] is companion
    assert env.step(again)[0]["feedback"].strip() != "True"
