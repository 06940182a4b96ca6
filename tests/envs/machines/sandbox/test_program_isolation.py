"""The agent's code, the programs that are judged and the desktop's services run as one user, each out of reach."""

import os

import pytest

from deskgym.envs.guest.step import CodeRequest
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def box():
    with SandboxMachine(MachineConfig(screen_size=(640, 400))) as machine:
        if "program_isolation" not in machine.enforces:
            pytest.skip("this kernel has no Landlock")
        yield machine


TOUCH = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def touched(pid):
    found = []
    word = ctypes.create_string_buffer(8)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(word), 8)
    try:
        at = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
        remote = (ctypes.c_void_p * 2)(at, 8)
        if libc.process_vm_readv(pid, vector, 1, remote, 1, 0) >= 0: found.append("process_vm_readv")
    except OSError: pass
    try: open(f"/proc/{pid}/mem", "r+b").close(); found.append("mem")
    except OSError: pass
    for name in ("fd/0", "exe", "cwd", "root"):
        try: os.stat(f"/proc/{pid}/{name}"); found.append(name)
        except OSError: pass
    pidfd = os.pidfd_open(pid)
    if libc.syscall(438, pidfd, 0, 0) >= 0: found.append("pidfd_getfd")
    os.close(pidfd)
    if libc.ptrace(16, pid, None, None) == 0:  # PTRACE_ATTACH
        found.append("ptrace")
        os.waitpid(pid, 0)
        libc.ptrace(17, pid, None, None)
    return found
for pid in sys.argv[1:]:
    print(open(f"/proc/{pid}/comm").read().strip(), *touched(int(pid)))
"""
"""All that a process may do to another's memory, descriptors and folders, tried on the processes named."""
SERVICES = ("Xvfb", "dbus-daemon", "at-spi-bus-laun", "at-spi2-registr", "openbox")


def others(box):
    """Each process of the machine but the guest, by name."""
    listed = box.run(
        ["sh", "-c", "for p in /proc/[0-9]*; do echo ${p#/proc/} $(cat $p/comm); done"], user="guest"
    ).stdout.decode()
    return [line.split(" ", 1) for line in listed.splitlines() if not line.startswith("1 ")]


def act(box, text):
    done = box.display.perform(code=CodeRequest(text, 20.0)).code
    assert done.status == 0, done
    return done.stdout


@pytest.mark.parametrize("by", ["a code action", "a command", "a launched program"])
def test_nobody_touches_a_program_or_a_service_that_is_not_its_own(box, by):
    box.guest.launch(["sleep", "1000"])
    box.guest.launch(["mousepad"], wait={"window": {"class": "(?i)mousepad"}}, timeout=60)
    victims = [pid for pid, name in others(box) if name in (*SERVICES, "sleep", "mousepad")]
    try:
        assert len(victims) == len(SERVICES) + 3  # there are two buses
        script = f"import sys; sys.argv = [''] + {victims}\n{TOUCH}"
        if by == "a code action":
            said = act(box, script)
        elif by == "a command":
            said = box.run(["python3", "-c", script]).stdout.decode()
        else:
            box.put("/tmp/touch.py", script.encode())
            tell = "python3 /tmp/touch.py > /tmp/said.new; mv /tmp/said.new /tmp/said"
            box.guest.launch(["sh", "-c", tell], wait={"file": "/tmp/said"})
            said = box.get("/tmp/said").decode()
            box.run(["rm", "/tmp/said"])
        assert sorted(said.splitlines()) == sorted(name for pid, name in others(box) if pid in victims), said
    finally:
        box.guest.call("end_others", keep=[])


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="processes are made undumpable on x86_64 only")
@pytest.mark.parametrize("wait", [{"file": "/tmp/up"}, None], ids=["awaited", "not awaited"])
def test_what_a_program_starts_does_not_touch_it(wait):
    """A program opens a link with what the home folder names, and so runs the agent's code as its child."""
    with SandboxMachine(MachineConfig(screen_size=(640, 400))) as box:
        if "program_isolation" not in box.enforces:
            pytest.skip("this kernel has no Landlock")
        box.put("/tmp/touch.py", TOUCH.encode())
        serve = "touch /tmp/up; until [ -e /tmp/go ]; do sleep 0.05; done; python3 /tmp/touch.py $$ > /tmp/heard 2>&1; "
        box.guest.launch(["sh", "-c", f"{serve} sleep 1000"], wait=wait)
        act(box, "import os; os.system('touch /tmp/go; until grep -q . /tmp/heard; do sleep 0.05; done')")
        assert box.get("/tmp/heard") == b"sh\n"
        box.guest.call("end_others", keep=[])
        assert "sleep" not in [name for _, name in others(box)]


def test_a_process_of_the_agents_that_hides_from_debuggers_is_ended_too(box):
    hide = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0); open('/tmp/hidden', 'w').close(); time.sleep(1000)"
    act(
        box,
        f"import subprocess, os, time; subprocess.Popen(['python3', '-c', {hide!r}])\n"
        "while not os.path.exists('/tmp/hidden'): time.sleep(0.02)",
    )
    assert "python3" in [name for _, name in others(box)]
    box.guest.call("end_others")
    assert "python3" not in [name for _, name in others(box)]


def test_what_the_agent_starts_itself_it_may_trace(box):
    mine = "import subprocess; child = subprocess.Popen(['sleep', '1000'])\n"
    traced = TOUCH.replace("sys.argv[1:]", "[str(child.pid)]")
    assert "ptrace" in act(box, mine + traced + "open('/tmp/child', 'w').write(str(child.pid))")
    assert "ptrace" in act(box, TOUCH.replace("sys.argv[1:]", "[open('/tmp/child').read()]"))  # a later action
    assert "ptrace" in box.run(["python3", "-c", mine + traced]).stdout.decode()
    box.guest.call("end_others", keep=[])


def test_files_are_still_renamed_and_linked_from_folder_to_folder(box):
    moved = (
        "import os; os.makedirs('/tmp/a/b', exist_ok=True); os.makedirs('/tmp/c', exist_ok=True); "
        "open('/tmp/a/b/f', 'w').close(); os.rename('/tmp/a/b', '/tmp/c/d'); os.link('/tmp/c/d/f', '/tmp/a/g'); "
        "print(os.path.exists('/tmp/c/d/f') and os.path.exists('/tmp/a/g'))"
    )
    assert act(box, moved) == "True\n"
    assert box.run(["python3", "-c", moved.replace("/tmp/", "/home/user/")]).stdout == b"True\n"


FORGE = """
import os, sys
from gi.repository import Gio, GLib
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
agent, asker = (
    Gio.DBusConnection.new_for_address_sync(os.environ[sys.argv[1]], flags, None, None) for _ in range(2)
)
heard = []
asker.add_filter(lambda connection, message, incoming: (incoming and heard.append(message.get_sender()), message)[1])
reply = Gio.DBusMessage()
reply.set_message_type(Gio.DBusMessageType.METHOD_RETURN)
reply.set_reply_serial(77)
reply.set_destination(asker.get_unique_name())
agent.send_message(reply, 0)
for member, arguments in (
    ("UpdateActivationEnvironment", GLib.Variant("(a{ss})", ({"LD_PRELOAD": "/tmp/own.so"},))),
    ("StartServiceByName", GLib.Variant("(su)", ("org.own", 0))),
):
    try: agent.call_sync(*BUS, member, arguments, None, 0, 5000, None); print("could", member)
    except GLib.Error as error: print(Gio.DBusError.get_remote_error(error).rpartition(".")[2])
asker.call_sync(*BUS, "GetId", None, None, 0, 5000, None)  # what was sent to it before has come
print("forged" if agent.get_unique_name() in heard else "not heard")
"""


@pytest.mark.parametrize("bus", ["DBUS_SESSION_BUS_ADDRESS", "AT_SPI_BUS_ADDRESS"])
def test_nobody_answers_for_others_on_a_bus_or_runs_code_beside_it(box, bus):
    for folder in ("/home/user/.local/share", "/run/user/1000"):
        box.put(f"{folder}/dbus-1/services/own.service", b"[D-BUS Service]\nName=org.own\nExec=/bin/sleep 1000\n")
    said = box.run(["/usr/bin/python3", "-c", FORGE, bus])
    assert said.stdout.decode().split("\n") == ["AccessDenied", "ServiceUnknown", "not heard", ""], said
