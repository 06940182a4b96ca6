"""A folder that a service and the desktop share: bounded, harmless to the service, and as new in every episode."""

import os
import signal
from collections import Counter
from dataclasses import replace

import pytest
from flow_service import DAGS, FLOWS, HERE, THERE, TRUTH

from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import CompanionKeeper

pytestmark = pytest.mark.sandbox
HEADLESS = MachineConfig(screen_size=None)


@pytest.fixture
def desktop(keeper):
    """A started machine with the service beside it."""
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [FLOWS], Counter())
        yield machine


def give(keeper, machine, specs=(FLOWS,)):
    """What a reset does."""
    stats = Counter()
    machine.restore(None)
    keeper.give(machine, specs, stats)
    return stats


def sh(machine, command, folder=HERE, user="agent"):
    """What a shell writes to both its outputs."""
    done = machine.run(["sh", "-c", f"({command}) 2>&1"], cwd=folder, user=user)
    return done.stdout.decode()


def listing(machine, folder=HERE):
    return sh(machine, "find . -printf '%P %y %m %U %s\\n' | sort", folder)


def test_what_either_side_writes_the_other_one_sees(desktop):
    companion = desktop.companions["flows"]
    assert sh(desktop, "cat first.py lib/help.py; echo new > mine.py; echo more >> first.py") == "first\nhelp\n"
    assert companion.get(f"{THERE}/mine.py") == b"new\n"
    assert companion.http("GET", "/first.py").text == "first\nmore\n"  # by its daemon too
    companion.put(f"{THERE}/back.csv", b"1,2\n")
    assert desktop.get(f"{HERE}/back.csv") == b"1,2\n"
    assert sh(desktop, "rm first.py back.csv; ls") == "lib\nmine.py\n" == sh(companion, "ls", THERE)
    assert sh(companion, "stat -c %u mine.py", THERE) == "1000\n"


def test_a_folder_of_another_owner_is_only_read(desktop):
    companion = desktop.companions["flows"]
    companion.run(["sh", "-c", "echo done > /opt/reports/result"], user="daemon")
    assert sh(desktop, "cat result; rm result; echo x > other", "/home/user/reports").count("Permission denied") == 2
    assert companion.get("/opt/reports/result") == b"done\n"


def test_its_size_and_its_number_of_files_are_limited(desktop):
    companion = desktop.companions["flows"]
    assert "No space left on device" in sh(desktop, "head -c 9000000 /dev/zero > large")
    assert "No space left on device" in sh(companion, "cp /etc/services other", THERE)
    assert "No space left on device" in sh(desktop, "rm large; seq 3000 | xargs touch")
    assert int(sh(desktop, "ls | wc -l")) < 1100
    assert sh(desktop, "echo fits > ../beside; cat ../beside") == "fits\n"


def test_no_devices_and_no_foreign_rights(desktop):
    companion = desktop.companions["flows"]
    as_root = "mknod null c 1 3; cp /usr/bin/id own-id; chown 0:0 own-id; chmod 6755 own-id"
    assert "mknod" in sh(desktop, as_root, user="guest")
    assert sh(companion, "./own-id -u", THERE) == "1000\n" == sh(desktop, "./own-id -u")
    assert "not permitted" in sh(desktop, "mount -o remount,suid .; umount . || echo not permitted", user="guest")
    assert "Permission denied" in sh(desktop, "chown 0 first.py || echo Permission denied")


@pytest.mark.parametrize("link", [f"ln -s {TRUTH} link", "ln -s first.py link", "rm -r lib; ln -s /var/lib lib"])
def test_symbolic_links_lead_nobody_astray(desktop, link):
    companion = desktop.companions["flows"]
    sh(desktop, link)
    name = "lib/truth" if "lib" in link.split()[-1] else "link"
    assert "Too many levels" in sh(companion, f"cat {name}; echo 0 > {name}", THERE, "guest")
    with pytest.raises(GuestCallError):
        companion.get(f"{THERE}/{name}")
    with pytest.raises(GuestCallError):
        companion.put(f"{THERE}/{name}", b"0")
    assert companion.http("GET", f"/{name}").status == 404
    assert companion.get(TRUTH) == b"42\n"


def test_every_episode_finds_it_as_new(keeper, desktop):
    companion = desktop.companions["flows"]
    new = listing(desktop)
    assert new.splitlines()[1:] == ["first.py f 644 1000 6", "lib d 755 1000 60", "lib/help.py f 644 1000 5"]
    deep = "for k in $(seq 400); do mkdir a-rather-long-name; cd a-rather-long-name; done"
    harms = [
        "rm -r first.py lib; mkfifo pipe; mkdir -p first.py/x; chmod 0 first.py; chmod 777 .; touch -d 2020-01-01 lib",
        "python3 -c 'import socket; socket.socket(1).bind(\"end\")'; ln -s / first; head -c 9999999 /dev/zero > full",
        f"{deep}; setsid sleep 1000 > /dev/null 2>&1 &",
    ]
    for harm in harms:
        sh(desktop, harm)
        assert listing(desktop) != new
        assert give(keeper, desktop) == {"companion_roll_backs": 1}
        assert listing(desktop) == new and listing(companion, THERE) == new
        assert companion.http("GET", "/first.py").text == "first\n"
    print("roll-back in ms:", companion.timing)
    assert sh(companion, f"grep -c ' {THERE} ' /proc/self/mountinfo", "/") == "1\n"


def test_a_companion_that_still_uses_the_last_episodes_folder_is_replaced(keeper, desktop):
    companion = desktop.companions["flows"]
    sh(companion, "setsid sleep 1000 > /dev/null 2>&1 &", THERE)
    sh(desktop, "echo old > first.py")
    assert give(keeper, desktop) == {"companion_repairs": 1, "companion_starts": 1}
    assert not companion.machine.alive and sh(desktop, "cat first.py") == "first\n"


def move_its_folder_away(companion):
    sh(companion, "mv flows elsewhere; mkdir -p flows/dags", "/opt", "guest")


def lead_it_elsewhere(companion):
    sh(companion, "mv flows elsewhere; mkdir -p own/dags; ln -s own flows", "/opt", "guest")


def kill_it(companion):
    os.kill(companion.machine.init_pid, signal.SIGKILL)


@pytest.mark.parametrize("harm", [move_its_folder_away, lead_it_elsewhere, kill_it])
def test_a_harmed_companion_is_replaced(keeper, desktop, harm):
    harm(desktop.companions["flows"])
    assert sh(desktop, "echo x > x; cat x") == "x\n"  # the desktop's side lives on
    assert give(keeper, desktop) == {"companion_repairs": 1, "companion_starts": 1}
    assert sh(desktop, "ls") == "first.py\nlib\n"


def test_a_desktop_that_needs_the_service_no_more_has_no_folder(keeper, desktop):
    give(keeper, desktop, [])
    assert desktop.run(["ls", HERE]).returncode != 0
    with SandboxMachine(HEADLESS) as other:
        stats = Counter()
        keeper.give(other, [FLOWS], stats)
        assert stats == {"companion_roll_backs": 1} and sh(other, "ls") == "first.py\nlib\n"
        sh(other, "echo x > x")
        with SandboxMachine(HEADLESS) as third:
            keeper.give(third, [FLOWS], Counter())
            assert sh(third, "ls") == "first.py\nlib\n"


def test_nothing_is_left_open(keeper, desktop):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        give(keeper, desktop)
    assert len(os.listdir("/proc/self/fd")) <= before


def test_what_cannot_be_is_said():
    for wrong, words in [
        ({"path": "/home/user/dags"}, "in a folder of the agent's"),
        ({"size_mb": 0}, "size_mb: legal is a whole number from 1 to 4096, got 0"),
    ]:
        with pytest.raises(ValueError, match=words):
            replace(DAGS, **wrong)
    with pytest.raises(ValueError, match="'dags'; legal are absolute ones"):
        replace(FLOWS, shared=(replace(DAGS, desktop_path="dags"),))
    with ProcessMachine(HEADLESS) as machine, pytest.raises(MachineError, match="no shared folders.*flows") as caught:
        CompanionKeeper(MachineBuilder("process")).give(machine, [FLOWS], Counter())
    assert caught.value.kind == "not_supported"


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (replace(DAGS, owner="nobody-such"), "nobody-such"),
        (replace(DAGS, desktop_path="/usr/dags"), "Permission denied"),
    ],
)
def test_a_folder_that_cannot_be_made_is_said(folder, words):
    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    with SandboxMachine(HEADLESS) as machine, pytest.raises(MachineError, match=words):
        keeper.give(machine, [replace(FLOWS, shared=(folder,))], Counter())
    assert not keeper._held


def test_what_it_holds_at_first_must_fit():
    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    large = ("sh", "-c", f"head -c 2000000 /dev/zero > {THERE}/large")
    with SandboxMachine(HEADLESS) as machine, pytest.raises(MachineError, match="No space left") as caught:
        keeper.give(machine, [replace(FLOWS, before=(large,), shared=(replace(DAGS, size_mb=1),))], Counter())
    assert caught.value.kind == "service_failed"
