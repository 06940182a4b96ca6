"""KStars in real sandboxes: its first screen, what its reader tells, and agents that try to answer for it."""

from datetime import datetime

import gymnasium as gym
import pytest
from paid_code import SEED, reward

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.kstars.state import rounded
from deskgym.task_suites.programs.toolkits.sky import apart, minutes

FORGED = """
import subprocess, sys, time
code = '''
import gi
gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib
import xml.etree.ElementTree as ET
XML = "<node><interface name='org.kde.kstars'><method name='location'><arg type='s' direction='out'/></method>" \\
      "<method name='getObservingWishListObjectNames'><arg type='s' direction='out'/></method></interface></node>"
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
def answer(connection, sender, path, interface, method, arguments, invocation):
    invocation.return_value(GLib.Variant("(s)", (WHAT,)))
bus.register_object("/KStars", Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0], answer, None, None)
Gio.bus_own_name_on_connection(bus, "org.kde.kstars", Gio.BusNameOwnerFlags.REPLACE, None, None)
GLib.MainLoop().run()
'''.replace("WHAT", repr(what))
subprocess.run(["pkill", "-9", "kstars"])
time.sleep(0.5)
subprocess.Popen(["/usr/bin/python3", "-c", code], start_new_session=True)
time.sleep(1)
"""


def call(member: str, *arguments: str) -> str:
    """Code that calls a method of KStars' on the session bus, as the agent may."""
    words = ["gdbus", "call", "--session", "-d", "org.kde.kstars", "-o", "/KStars", "-m", f"org.kde.kstars.{member}"]
    return f"import subprocess; subprocess.run({[*words, *arguments]!r}, check=True)"


@pytest.fixture(scope="module")
def env():
    with gym.make("deskgym/Science-v0", task="kstars/*", action="code", screen_size=(1280, 800)) as made:
        yield made


def test_angles_times_and_clocks():
    assert apart(10, 89, 190, 89) == pytest.approx(2)
    assert apart(359, 0, 1, 0) == pytest.approx(2)
    assert rounded(datetime(2024, 2, 29, 21, 57, 31)) == "2024-02-29T22:00"
    assert [minutes(text) for text in ("22:45", "10:45 pm", "12:05 AM", "9h05m", "soon")] == [1365, 1365, 5, 545, None]


@pytest.mark.sandbox
def test_the_first_screen_has_the_sky_of_the_place_and_the_tools():
    with gym.make("deskgym/Science-v0", task="kstars/find", observation=("a11y",), screen_size=(1280, 800)) as env:
        observation, _ = env.reset(seed=SEED)
        assert "Find Object" in observation["a11y"] and "Welcome to KStars" in observation["a11y"]


@pytest.mark.sandbox
def test_a_city_set_over_the_bus_counts_as_well(env):
    go = "import subprocess; subprocess.run(['gdbus', 'call', '--session', '-d', 'org.kde.kstars', '-o', '/KStars', "
    go += "'-m', 'org.kde.kstars.setGeoLocation', params['to']['city'], '', params['to']['country']], check=True)"
    assert reward(env, "kstars/place", go)[0] == 1


@pytest.mark.sandbox
@pytest.mark.slow
def test_an_object_that_is_centred_counts_wherever_the_pointer_is(env):
    centre = "import subprocess, time\nsubprocess.run(['gdbus', 'call', '--session', '-d', 'org.kde.kstars', '-o', "
    centre += "'/KStars', '-m', 'org.kde.kstars.lookTowards', params['object']], check=True); time.sleep(1)"
    for where in ("pyautogui.moveTo(640, 400)", "pyautogui.moveTo(640, 427)", "pyautogui.moveTo(700, 430)", ""):
        paid, why = reward(env, "kstars/find", centre, f"{where}\nimport time; time.sleep(1.5)")
        assert paid == 1, why


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_program_of_the_same_name_is_not_believed(env):
    what = """what = '{"name": "%s", "country": "%s", "province": "", "tz": 0}' % (params["to"]["city"], "Norway")"""
    paid, why = reward(env, "kstars/place", f"{what}\n{FORGED}")
    assert paid == 0 and "KStars" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_the_map_must_look_there_whatever_the_settings_file_says(env):
    change = (
        "text = open('/home/user/.config/kstarsrc').read()\n"
        "open('/home/user/.config/kstarsrc', 'w').write(text + '\\nFocusObject=' + params['object'] + '\\n')"
    )
    paid, why = reward(env, "kstars/find", change)
    assert paid == 0 and "from" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_dialog_in_front_of_the_map_does_not_let_an_old_pointer_count(env):
    paid, why = reward(env, "kstars/find", "pyautogui.hotkey('ctrl', 's')")
    assert paid == 0 and "in front of it" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_kstars_ended_by_the_agent_earns_nothing(env):
    for task in ("kstars/place", "kstars/find", "kstars/projection"):
        paid, why = reward(env, task, "import subprocess; subprocess.run(['pkill', '-9', 'kstars'])")
        assert paid == 0 and "KStars has ended" in why


@pytest.mark.sandbox
@pytest.mark.slow
def test_kstars_started_anew_is_not_the_one_that_is_asked(env):
    again = "import subprocess, time; subprocess.run(['pkill', '-9', 'kstars']); time.sleep(1)\n"
    again += "subprocess.Popen(['kstars', '--paused'], start_new_session=True); time.sleep(8)\n"
    paid, why = reward(env, "kstars/place", again)
    assert paid == 0 and "KStars has ended" in why
