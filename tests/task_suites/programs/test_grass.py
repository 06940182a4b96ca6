"""GRASS GIS in real sandboxes: its first screen, what its window tells, and agents that try to answer for it."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest
from paid_code import SEED, reward

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines import MachineConfig, create_machine
from deskgym.envs.observation.screen import Screen
from deskgym.envs.provision.layers import layer_paths
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs import grass
from deskgym.task_suites.programs.grass.checks import categories
from deskgym.task_suites.programs.grass.macros import command
from deskgym.task_suites.programs.grass.program import SESSION, WORLD, _workspace, open_

SITE = Path(grass.__file__).parent / "site" / "sitecustomize.py"

# what the window's part would tell, told by another process; ``told`` is its name in it
SERVE = """
import json, os, socket, subprocess, time
subprocess.run(["pkill", "-9", "-f", "wxgui.py"])
time.sleep(0.5)
server = socket.socket(socket.AF_UNIX)
server.bind("\\0deskgym-grass")
server.listen(8)
open("/home/user/serves", "w").close()
while True:
    peer, _ = server.accept()
    peer.sendall(json.dumps(told).encode())
    peer.close()
"""
FORGE = f"""
open("/home/user/forge.py", "w").write("told = " + repr(told) + chr(10) + {SERVE!r})
"""
TOLD = """told = {"location": "natural_earth_dataset", "mapset": "PERMANENT", "busy": False, "queued": 0, "layers": [],
    "region": {"center_easting": 0, "center_northing": 0}, "scale": 1, "status": params["mode"], "edited": None,
    "view": "2D view"}"""
EXTRACT = """
import subprocess
where = "continent='" + params["continent"] + "' and pop_est>" + str(int(params["people"]))
subprocess.run(["grass", "/home/user/grassdata/natural_earth_dataset/PERMANENT", "--exec", "v.extract",
                "input=countries", "output=" + params["name"], "where=" + where], check=True)
"""


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="grass/*", action="code", screen_size=(1280, 800)) as made:
        yield made


def test_categories_are_lists_of_numbers():
    assert categories("1,3-5, 7") == {1, 3, 4, 5, 7} and categories("") == set()
    for wrong in ("a", "1-", "1-9999999999", "-3"):
        with pytest.raises(CheckFailed, match="no list of categories"):
            categories(wrong)


def test_a_workspace_is_written_with_its_layers_from_the_top_on():
    text = _workspace(["d.vect map=a@P where='x<3'", "d.rast map=b@P"])
    assert text.index('name="a@P"') < text.index('name="b@P"') and "<value>x&lt;3</value>" in text


def test_a_module_that_fails_or_hangs_on_a_map_says_so():
    spec = importlib.util.spec_from_file_location("compare", SITE.with_name("compare.py"))
    compare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compare)
    compare.TIMEOUT = 0.3
    assert compare.answer({"session": "echo"}, "a 'b  c'") == "a b  c"
    assert compare.answer({"session": "ls"}, "/none").startswith("!")
    assert compare.answer({"session": "sleep"}, "9") == "!it took longer than 0.3 s"


def test_all_of_a_long_answer_is_compared():
    spec = importlib.util.spec_from_file_location("compare", SITE.with_name("compare.py"))
    compare = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compare)
    compare.LIMIT = 9
    one, other = (compare.answer({"session": "echo"}, text) for text in ("0123456789ab", "0123456789ac"))
    assert one.startswith("012345678 ... 12 characters, SHA-256 ") and one != other


@pytest.mark.parametrize("command", ["d.legend raster=a", "d.vect", "d.vect -c map=a", "rm -rf /"])
def test_a_layer_that_is_none_is_refused(command):
    with pytest.raises(SetupError, match="draws no layer; give a command such as"):
        _workspace([command])


@pytest.mark.parametrize(
    ("file", "source", "refused"),
    [
        ("/usr/lib/grass82/scripts/r.plane", "eval('1 + 1')", False),
        ("/usr/lib/grass82/gui/wxpython/core/menutree.py", "import sys; eval('sys.path')", False),
        ("/usr/lib/grass82/gui/wxpython/core/menutree.py", "import sys; eval('sys.exc_info()')", True),  # an entry's id
        ("/usr/lib/grass82/gui/wxpython/core/menutree.py", "import sys; eval('sys.__dict__')", True),
        ("/usr/lib/grass82/gui/wxpython/gmodeler/model.py", "eval('1 + 1')", True),  # a loop's condition
        ("/home/user/.grass8/addons/scripts/g.gui.evil.py", "1 + 1", True),
    ],
)
def test_no_code_but_grass_s_own_runs_in_its_window(file, source, refused):
    run = [sys.executable, "-c", f"exec(compile({source!r}, {file!r}, 'exec'))"]
    environment = {"PYTHONPATH": str(SITE.parent)}
    assert subprocess.run(run, env=environment, capture_output=True).returncode == 0
    done = subprocess.run(run, env=environment | {"DESKGYM_GRASS_SOCKET": f"test-{os.getpid()}"}, capture_output=True)
    assert bool(done.returncode) == refused
    assert (b"only GRASS's own code is run" in done.stderr) == refused


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"location": "mars"},
            "there is no location 'mars' in .*; legal are natural_earth_dataset, world_latlong_wgs84",
        ),
        ({"commands": ["g.region res=x"]}, "'g.region res=x' ended with 1"),
        (
            {"layers": ["d.vect map=rivers@PERMANENT"]},
            "there is no map rivers@PERMANENT; legal are cities@PERMANENT, countries@P",
        ),
    ],
)
def test_what_grass_cannot_open_is_told(asked, message):
    config = MachineConfig((1280, 800), memory_mb=2048, layers=layer_paths([WORLD]))
    with create_machine("sandbox", config) as machine, pytest.raises(SetupError, match=message):
        open_(Setup(machine), **asked)


@pytest.mark.sandbox
def test_the_first_screen_has_the_menus_the_map_and_the_layers():
    with gym.make("deskgym/Science-v0", task="grass/layers", observation=("a11y",), screen_size=(1280, 800)) as env:
        observation, _ = env.reset(seed=SEED)
        for expected in ("Raster", "Add vector map", "Zoom to computational region extent", "natural_earth_dataset"):
            assert expected in observation["a11y"]


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.parametrize("interface", ["any", "gui"])
def test_the_console_takes_commands_unless_it_is_closed(interface):
    task = {"any": "grass/layers", "gui": "gui/grass/layers"}[interface]
    with gym.make("deskgym/Science-v0", task=task, interface=interface, screen_size=(1280, 800)) as env:
        env.reset(seed=SEED)
        machine = env.unwrapped.machine
        for burst in command(Screen(machine), "g.region res=7"):
            for action in burst:
                env.step(action)
        told = machine.run([SESSION, "g.region", "-g"]).stdout.decode()
        assert ("ewres=7" in told) == (interface == "any")


@pytest.mark.sandbox
def test_the_command_line_earns_what_the_window_does(env):
    assert reward(env, "grass/extract", EXTRACT)[0] == 1


@pytest.mark.sandbox
def test_a_form_that_is_left_open_does_not_hide_the_maps(env):
    form = "import time; pyautogui.hotkey('ctrl', 'n'); time.sleep(1)"
    assert reward(env, "grass/extract", EXTRACT, form)[0] == 1


@pytest.mark.sandbox
def test_another_program_at_the_window_s_socket_is_not_believed(env):
    start = "import os, subprocess, time; subprocess.Popen(['python3', '/home/user/forge.py'], start_new_session=True)"
    start += "\nwhile not os.path.exists('/home/user/serves'): time.sleep(0.05)"
    paid, why = reward(env, "grass/status", f"{TOLD}\n{FORGE}\n{start}")
    assert paid == 0 and "no launched program 'session' runs" in why, why


@pytest.mark.sandbox
def test_a_program_that_the_window_started_is_not_believed_in_its_place(env):
    # typed in the console, it is a child of the window, and so one of the launched program's processes
    console = (
        "import os, time; pyautogui.click(1115, 748); time.sleep(1.5); pyautogui.click(1100, 700); time.sleep(1); "
    )
    console += "pyautogui.write('python3 /home/user/forge.py'); pyautogui.press('escape'); pyautogui.press('enter')"
    console += "\nwhile not os.path.exists('/home/user/serves'): time.sleep(0.05)"
    paid, why = reward(env, "grass/status", f"{TOLD}\n{FORGE}", console)
    assert paid == 0 and "answers python3" in why and "not session as it was launched" in why, why


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("import shutil; shutil.rmtree('/home/user/grassdata')", "cannot be read"),
        ("import shutil; shutil.rmtree(vectors)", "not found"),
        ("open('/home/user/grassdata/natural_earth_dataset/big', 'wb').truncate(80 << 20)", "cannot be read"),
        (
            "import os; os.symlink('/etc', vectors + '/' + params['name'])",
            "fails",
        ),
    ],
)
def test_maps_that_were_broken_earn_nothing(env, change, message):
    vectors = "vectors = '/home/user/grassdata/natural_earth_dataset/PERMANENT/vector'"
    paid, why = reward(env, "grass/extract", f"{vectors}\n{change}")
    assert paid == 0 and message in why, why


@pytest.mark.sandbox
def test_the_window_ended_by_the_agent_earns_nothing(env):
    paid, why = reward(env, "grass/status", "import subprocess; subprocess.run(['pkill', '-9', '-f', 'wxgui.py'])")
    assert paid == 0 and "GRASS does not answer" in why
