"""Stellarium in real sandboxes: what its remote control tells, and agents that try to answer for it."""

import gymnasium as gym
import pytest
from paid_code import reward

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.errors import SetupError
from deskgym.envs.machines import MachineConfig, create_machine
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.stellarium import PROGRAM
from deskgym.task_suites.programs.stellarium.program import open_, settings
from deskgym.task_suites.programs.stellarium.state import _to_minute
from deskgym.task_suites.programs.toolkits.sky import agrees

POST = """
import urllib.parse, urllib.request
def post(path, **values):
    data = urllib.parse.urlencode(values).encode()
    assert urllib.request.urlopen(f"http://127.0.0.1:8090/api/{path}", data).status == 200
"""
FORGE = """
import json, subprocess, sys, time
open("/home/user/forge.py", "w").write('''
import http.server, json
told = json.load(open("/home/user/told.json"))
class Forged(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(told[self.path.split("?")[0]]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", 8090), Forged).serve_forever()
''')
import urllib.request
paths = ["/api/main/status", "/api/stelaction/list", "/api/stelproperty/list"]
told = {path: json.load(urllib.request.urlopen("http://127.0.0.1:8090" + path)) for path in paths}
name, region = params["to"]["place"].split(", ")
told[paths[0]]["location"].update(name=name, region=region)
subprocess.run(["pkill", "-9", "stellarium"])
time.sleep(1)
with open("/home/user/told.json", "w") as file:
    json.dump(told, file)
subprocess.Popen([sys.executable, "/home/user/forge.py"], start_new_session=True)
time.sleep(2)
assert json.load(urllib.request.urlopen("http://127.0.0.1:8090/api/main/status"))["location"]["name"] == name
"""


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="stellarium/*", action="code", screen_size=(1280, 800)) as made:
        yield made


def test_its_settings_are_the_defaults_with_ours_in_them():
    made = settings("[main]\nversion = 1\n[video]\nfullscreen = true\nother = 2\n[stars]\nflag_star_twinkle=true\n")
    assert made.count("fullscreen") == 1 and "[video]\nfullscreen=false" in made and "other = 2" in made
    assert "flag_star_twinkle=false" in made and made.endswith("[RemoteControl]\nautostart=true\nport=8090\n")


@pytest.mark.parametrize(
    ("text", "minute"),
    [("2024-12-31T23:59:30.000Z", "2025-01-01T00:00"), ("2024-01-15T21:00:29.000Z", "2024-01-15T21:00")],
)
def test_times_are_told_to_the_next_minute(text, minute):
    assert _to_minute(text) == minute


@pytest.mark.parametrize(
    ("got", "right", "kind", "said"),
    [
        ("ori", "Ori", "text", True),
        ("Orion", "Ori", "text", False),
        ("0:01", "23h59m", "clock", True),
        ("noon", "12h00m", "clock", False),
        ("-1.46 mag", "-1.45", "number", True),
        ("-1.5 or 2", "-1.5", "number", False),
    ],
)
def test_answers_agree_by_their_kind(got, right, kind, said):
    assert agrees(got, right, kind, {"clock": 2, "number": 0.05}.get(kind, 0), ["mag"]) == said


@pytest.mark.sandbox
def test_a_place_that_stellarium_does_not_know_is_an_error():
    needs = PROGRAM.needs
    config = MachineConfig((1280, 800), memory_mb=needs.memory_mb, glx=True)
    with create_machine("sandbox", config) as machine, pytest.raises(SetupError, match="'Atlantis, Nowhere'"):
        open_(Setup(machine), "Atlantis, Nowhere", "2024-01-15T22:00")


@pytest.mark.sandbox
def test_the_remote_control_earns_what_the_window_does(env):
    to = "post('location/setlocationfields', id=params['to']['place'])"
    assert reward(env, "stellarium/place", f"{POST}\n{to}")[0] == 1


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", ["latitude=-60", "longitude=10", "planet='Mars'"])
def test_the_name_of_a_place_is_not_enough(env, elsewhere):
    to = "post('location/setlocationfields', id=params['to']['place'])"
    paid, why = reward(env, "stellarium/place", f"{POST}\n{to}\npost('location/setlocationfields', {elsewhere})")
    assert paid == 0 and "'place': 'Tokyo, Eastern Asia'" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_program_that_takes_its_port_is_not_believed(env):
    paid, why = reward(env, "stellarium/place", FORGE)
    assert paid == 0 and "Stellarium does not answer" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_stellarium_that_was_ended_earns_nothing(env):
    paid, why = reward(env, "stellarium/find", "import subprocess; subprocess.run(['pkill', '-9', 'stellarium'])")
    assert paid == 0 and "Stellarium does not answer" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_an_object_that_is_looked_at_counts_however_it_got_there(env):
    script = 'core.selectObjectByName("{0}", true); core.moveToObject("{0}", 0);'
    told = f"post('scripts/direct', code={script!r}.format(params['object']))\nimport time; time.sleep(2)"
    paid, why = reward(env, "stellarium/find", f"{POST}\n{told}")
    assert paid == 1, why
