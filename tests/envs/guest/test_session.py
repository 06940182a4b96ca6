"""What programs find in their session, whatever the host has: locale, clock and fonts, in a real sandbox."""

import pytest

from deskgym.benchmarks.page_settle import CHROMIUM
from deskgym.envs.errors import MachineError
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.locales import build_locale
from deskgym.envs.needs import Needs
from deskgym.envs.provision.builder import MachineBuilder

pytestmark = pytest.mark.sandbox
SHOW = "import locale, time; locale.setlocale(locale.LC_ALL, ''); print(time.strftime('%A'), f'{1234.5:n}')"


def test_a_session_has_the_locale_and_the_clock_that_were_asked_for():
    config = MachineConfig(screen_size=None, locale="de_DE.UTF-8", clock="2024-05-01T09:00")
    with create_machine("sandbox", config) as machine:
        assert machine.run(["python3", "-c", SHOW]).stdout.decode().split() == ["Mittwoch", "1.234,5"]
        assert machine.run(["date", "-u", "+%F %H:%M"]).stdout in (b"2024-05-01 09:00\n", b"2024-05-01 09:01\n")
        waits = "import time; a = time.monotonic(); time.sleep(0.2); print(0.2 <= time.monotonic() - a < 5)"
        assert machine.run(["python3", "-c", waits]).stdout == b"True\n"


def test_english_in_utf_8():
    with create_machine("sandbox", MachineConfig(screen_size=None, locale="en_US.UTF-8")) as machine:
        assert machine.run(["python3", "-c", SHOW]).stdout.decode().split()[1] == "1,234.5"
        assert machine.run(["locale", "charmap"]).stdout == b"UTF-8\n"


def test_tasks_that_need_them_get_machines_of_their_own():
    config = MachineBuilder("sandbox").config(Needs(locale="en_US.UTF-8", clock="2024-05-01"))
    assert (config.locale, config.clock) == ("en_US.UTF-8", "2024-05-01") and config != MachineConfig()
    with pytest.raises(MachineError, match="needs clock='2024-05-01', which machine='fake' cannot set: use"):
        MachineBuilder("fake").config(Needs(clock="2024-05-01"))
    with pytest.raises(MachineError, match="no locale 'xx_YY.UTF-8'"):
        build_locale("xx_YY.UTF-8")


def test_chromium_lives_with_another_clock():
    config = MachineConfig((1280, 720), memory_mb=3072, clock="2024-05-01T09:00")
    with create_machine("sandbox", config) as machine:
        page = "data:text/html,<script>setTimeout(() => document.title = new Date().getFullYear(), 300)</script>"
        machine.guest.launch([*CHROMIUM, page], wait={"window": {"title": "^2024"}}, timeout=60)


def test_programs_see_the_same_fonts_on_every_host():
    with create_machine("sandbox", MachineConfig((640, 480))) as machine:
        seen = machine.run(["fc-list", ":", "file"]).stdout.decode().split()
        folders = {path.rstrip(":").rpartition("/")[0] for path in seen}
        assert "/usr/share/fonts/truetype/dejavu" in folders
        assert folders <= {f"/usr/share/fonts/truetype/{name}" for name in ("dejavu", "openoffice", "libreoffice")}
        for family in ("sans-serif", "Arial", "Liberation Sans", "Noto Sans"):
            assert "DejaVu Sans" in machine.run(["fc-match", family]).stdout.decode()
        machine.put("/home/user/.fonts/own.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf")
        assert "/home/user/.fonts/own.ttf" in machine.run(["fc-list", ":", "file"]).stdout.decode()
