"""The helpdesk in a real sandbox: its first screen, a task, and an agent that tries to forge the result."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.helpdesk import company, functions

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
token = re.search("/enter/maya/([0-9a-f]+)/", lines)[1]
print("persona", status(f"/enter/jonas/{token}/"), status("/enter/jonas/" + "0" * 64 + "/"))
print("admin", status("/admin/"), status("/admin/login/"), status("/api/tickets/"))
print("login", status("/login/", b"username=jonas&password=jonas"))
"""
POST = """
import glob, html, http.cookiejar, re, urllib.parse, urllib.request
lines = "".join(open(p).read() for p in glob.glob("/proc/[0-9]*/cmdline"))
token = re.search("/enter/maya/([0-9a-f]+)/", lines)[1]
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
page, root = "/tickets/{n}/", "http://127.0.0.1:8000"
text = browser.open(f"{{root}}/enter/maya/{{token}}/?to={{page}}", timeout=30).read().decode()
form = text[text.index(f'action="{{page}}update/"'):]
fields = dict(re.findall('<input type="hidden" name="([a-z_]+)" value="([^"]*)"', form[:form.index("</form>")]))
fields = {{name: html.unescape(value) for name, value in fields.items()}} | {{"owner": {owner}}}
data = urllib.parse.urlencode(fields).encode()
print("status", browser.open(urllib.request.Request(f"{{root}}{{page}}update/", data), timeout=30).status)
"""


def test_the_company_is_the_same_for_everybody():
    assert company.tickets() == company.tickets()
    closed = next(entry for entry in company.tickets() if entry["closed"])
    assert functions.ticket(closed["number"])["title"] == closed["title"]
    counts = [functions.open_count(q, p) for q in company.SUBJECTS for p in functions.PRIORITIES.values()]
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
@pytest.mark.parametrize("right", [True, False])
def test_what_maya_posts_herself_is_judged_by_what_it_changes(env, right):
    env.reset(seed=1)
    params = env.unwrapped.task.params
    observation, *_ = env.step(POST.format(n=params["n"], owner=params["to"]["id"] if right else 1))
    assert observation["feedback"].strip() == "status 200"
    verdict = env.step("DONE")[4]["verdict"]
    assert verdict["score"] == right, verdict
