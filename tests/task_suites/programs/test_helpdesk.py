"""The helpdesk in a real sandbox: its first screen, a task, and an agent that tries to forge the result."""

import re
from collections import Counter

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites import load_suite
from deskgym.task_suites.programs.helpdesk import company, functions
from deskgym.task_suites.programs.helpdesk.service import UPLOADS

FORGE = """
import glob, os, re, socket, urllib.error, urllib.request
for path in ("/var/lib/deskgym-postgresql/data", "/opt/deskgym/helpdesk", "/var/lib/deskgym-helpdesk"):
    print("file", path, os.path.exists(path))
print("secret", any(b"HELPDESK_SECRET" in open(p, "rb").read() for p in glob.glob("/proc/[0-9]*/environ")
                    if os.access(p, os.R_OK)))
print("server", any(b"postgres" in open(p, "rb").read() or b"waitress" in open(p, "rb").read()
                    for p in glob.glob("/proc/[0-9]*/cmdline")))
try:
    socket.create_connection(("127.0.0.1", 5432), 2); print("database True")
except OSError:
    print("database False")
def status(path, data=None):
    try:
        return urllib.request.urlopen("http://127.0.0.1:8000" + path, data, 10).status
    except urllib.error.HTTPError as error:
        return error.code
lines = "".join(open(p).read() for p in glob.glob("/proc/[0-9]*/cmdline"))
token = re.search("/enter/([0-9a-f]+)/", lines)[1]
print("persona", status(f"/enter/{token}/"), status("/enter/" + "0" * 32 + "/"))
print("admin", status("/admin/"), status("/admin/login/"), status("/api/tickets/"))
print("login", status("/login/", b"username=jonas&password=jonas"))
"""
LOG_IN = """
import html, http.cookiejar, re, urllib.parse, urllib.request
root, jar = "http://127.0.0.1:8000", http.cookiejar.CookieJar()
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
text = browser.open(root + "/enter/known/?to={page}", timeout=30).read().decode()
"""
POST = (
    LOG_IN
    + """
form = text[text.index('action="{action}"'):]
hidden = '<input type=.hidden. name=.([a-z_]+). value="([^"]*)"'
fields = dict(re.findall(hidden, form[:form.index("</form>")]))
fields = {{name: html.unescape(value) for name, value in fields.items()}} | {fields}
data = urllib.parse.urlencode(fields).encode()
print("status", browser.open(urllib.request.Request(root + "{action}", data), timeout=30).status)
"""
)
WHERE = """
import urllib.request
request = urllib.request.Request("http://127.0.0.1:8000/tickets/7/", headers={{"Cookie": "sessionid={session}"}})
print(urllib.request.urlopen(request, timeout=30).url)
"""


def token_for_maya(env, name="known"):
    """What the agent gets by taking Chromium's session: a login of the persona."""
    env.unwrapped.machine.companions["helpdesk"].put(f"{UPLOADS}/token-{name}", b"maya", owner="guest")


def test_the_company_is_the_same_for_everybody():
    assert company.tickets() == company.tickets()
    closed = next(entry for entry in company.tickets() if entry["closed"])
    assert functions.ticket(closed["number"])["title"] == closed["title"]
    counts = [functions.open_count([q], p, 1234) for q in company.SUBJECTS for p in functions.PRIORITIES.values()]
    assert sum(counts) == sum(not entry["closed"] for entry in company.tickets())


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/BPM-v0", task="helpdesk/assign", action="code", screen_size=(1280, 720))
    yield env
    env.close()


@pytest.mark.sandbox
def test_the_first_screen_and_the_oracle(env):
    env.reset(seed=1)
    screen = env.unwrapped.screen
    assert screen.find(role="document web", name="*helpdesk*")
    assert not screen.find_all(role="dialog") and not screen.find_all(role="alert")
    for action in env.unwrapped.oracle():
        *_, terminated, _, info = env.step(action)
    assert terminated and info["verdict"]["score"] == 1


@pytest.mark.sandbox
def test_an_agent_cannot_forge_the_result(env):
    env.reset(seed=1)
    observation, *_ = env.step(FORGE)
    said = dict(line.split(" ", 1) for line in observation["feedback"].splitlines() if not line.startswith("file"))
    files = [line for line in observation["feedback"].splitlines() if line.startswith("file")]
    assert len(files) == 3 and all(line.endswith("False") for line in files)
    assert said["secret"] == said["server"] == said["database"] == "False"
    assert said["persona"] == "403 403" and said["admin"] == "404 404 404" and said["login"] == "403"
    assert env.step("DONE")[4]["verdict"]["score"] == 0


@pytest.mark.sandbox
@pytest.mark.parametrize("how", ["on its page", "in bulk", "wrong"])
def test_what_maya_posts_herself_is_judged_by_what_it_changes(env, how):
    env.reset(seed=1)
    token_for_maya(env)
    n, to = env.unwrapped.task.params["n"], env.unwrapped.task.params["to"]["id"]
    page, action, fields = f"/tickets/{n}/", f"/tickets/{n}/update/", {"owner": 1 if how == "wrong" else to}
    if how == "in bulk":
        page, action, fields = "/tickets/", "/tickets/update/", {"ticket_id": n, "action": f"assign_{to}"}
    observation, *_ = env.step(POST.format(page=page, action=action, fields=fields))
    assert observation["feedback"].strip() == "status 200"
    verdict = env.step("DONE")[4]["verdict"]
    assert verdict["score"] == (how != "wrong"), verdict


@pytest.mark.sandbox
def test_no_login_outlives_its_episode(env):
    env.reset(seed=1)
    token_for_maya(env)
    token_for_maya(env, "unused")
    login = LOG_IN.format(page="/tickets/7/") + "print(next(c.value for c in jar if c.name == 'sessionid'))"
    session = env.step(login)[0]["feedback"].strip()
    assert env.step(WHERE.format(session=session))[0]["feedback"].strip().endswith("/tickets/7/")
    companion = env.unwrapped.machine.companions["helpdesk"]
    env.reset(seed=1)
    assert env.unwrapped.machine.companions["helpdesk"] is companion
    assert "/login/" in env.step(WHERE.format(session=session))[0]["feedback"]
    assert "403" in env.step(LOG_IN.format(page="/").replace("known", "unused"))[0]["feedback"]


@pytest.mark.sandbox
def test_the_tickets_are_there_before_the_first_observation(env):
    for seed in range(3):
        env.reset(seed=seed)
        assert env.unwrapped.screen.find_all(role="check box")


@pytest.mark.sandbox
def test_the_number_that_is_asked_for_is_that_of_the_database(env):
    for seed in range(3):
        env.reset(seed=seed, options={"task": "helpdesk/count"})
        params = env.unwrapped.task.params
        queues, priority = params["queues"], [*functions.PRIORITIES.values()].index(params["priority"]) + 1
        rows = env.unwrapped.machine.companions["helpdesk"].sql(
            f"SELECT count(*) AS n FROM helpdesk_ticket t JOIN helpdesk_queue q ON q.id = queue_id "
            f"WHERE q.title IN {tuple(queues)} AND priority = {priority} AND status <> 4"
        )
        assert rows == [{"n": params["number"]}]


def test_no_guess_is_right_often_and_no_instruction_tells_that_it_is_infeasible():
    suite = load_suite("bpm")
    numbers = Counter(suite.get("helpdesk/count", seed).params["number"] for seed in range(300))
    assert max(numbers.values()) < 300 * 0.15
    for seed in range(100):
        feasible, infeasible = (suite.get(f"helpdesk/{name}", seed) for name in ("assign", "infeasible"))
        assert re.sub(r"ticket .*", "", feasible.instruction) == re.sub(r"ticket .*", "", infeasible.instruction)
        number, title = re.search(r'ticket (\d+), "(.*)", to [A-Z]', infeasible.instruction).groups()
        assert functions.ticket(int(number))["title"] == title
