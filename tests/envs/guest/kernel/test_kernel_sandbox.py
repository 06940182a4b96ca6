"""Kernels in a real sandbox and a real virtual machine: what they keep and give, and that nothing of them stays."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.guest.kernel.cleanup import PLACES
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.kernels import LIBRARIES, Kernel, KernelLimits
from deskgym.envs.machines.userns import id_map

SANDBOX = pytest.param("sandbox", marks=pytest.mark.sandbox)
QEMU = pytest.param("qemu", marks=[pytest.mark.slow, pytest.mark.qemu])


@pytest.fixture(scope="module", params=[SANDBOX, QEMU])
def machine(request):
    options = {}
    if request.param == "qemu":
        options["accel"] = "tcg"
    with create_machine(request.param, MachineConfig(screen_size=None, libraries=LIBRARIES), **options) as machine:
        yield machine


@pytest.fixture
def kernel(machine):
    kernel = Kernel(machine)
    kernel.open({"t.csv": b"a,b\n1,2\n3,4\n"}, ["import pandas as pd", "t = pd.read_csv('t.csv')"])
    yield kernel
    machine.restore(None)


def process_of(machine):
    """The host's process that the machine is."""
    return machine.pid if machine.kind == "qemu" else machine.init_pid


def test_cells_keep_their_variables_and_echo_the_last_expression(kernel):
    assert kernel.run("x = int(t['a'].sum())").stdout == ""
    assert kernel.run("x + 1").stdout == "5\n"
    assert kernel.run("x + 1", echo=False).stdout == ""


def test_an_error_is_told_with_its_line(kernel):
    execution = kernel.run("y = 1\nt['nowhere']")
    assert execution.status == "error"
    assert "line 2" in execution.trace
    assert "KeyError: 'nowhere'" in execution.trace
    assert kernel.run("y").stdout == "1\n"


def test_first_cells_that_fail_are_an_error_with_the_traceback(machine):
    with pytest.raises(GuestCallError, match="NameError.*undefined_thing"):
        Kernel(machine).open({}, ["undefined_thing"])


def test_a_restore_takes_the_session_and_keeps_the_machine(machine, kernel):
    kernel.run("x = 1")
    pid = process_of(machine)
    machine.restore(None)
    assert process_of(machine) == pid
    kernel.open()
    assert "NameError" in kernel.run("x").trace


def test_a_machine_that_was_used_otherwise_starts_anew(machine, kernel):
    assert machine.untouched
    machine.run(["true"])
    assert not machine.untouched
    pid = process_of(machine)
    machine.restore(None)
    assert process_of(machine) != pid


KEYS = {"add_key": 248, "keyctl": 250, "search": 10, "user_keyring": -4}
"""Numbers of system calls on x86-64, and of linux/keyctl.h."""
LEAVE = """
import ctypes, os, subprocess
for place in {places!r}:
    try:
        open(f"{{place}}/left", "w").write("x")
        os.makedirs(f"{{place}}/folder/deep")
        os.chmod(f"{{place}}/folder", 0)
    except OSError as error:
        print(place, error)
libc = ctypes.CDLL(None)
print(libc.shmget(4711, 4096, 0o1666) >= 0, libc.semget(4712, 1, 0o1666) >= 0, libc.msgget(4713, 0o1666) >= 0)
libc.mq_open(b"/left", os.O_CREAT | os.O_RDWR, 0o666, None)
libc.syscall({add_key}, b"user", b"left", b"x", 1, {user_keyring})
child = subprocess.Popen(["setsid", "sleep", "1000"])
if os.fork() == 0:
    os.setsid()
    libc.prctl(4, 0)  # not dumpable: its folder in /proc is root's then
    while True:
        libc.pause()
"""
LOOK = """
import ctypes, errno, os
print([p for p in {places!r} if os.path.lexists(f"{{p}}/left") or os.path.lexists(f"{{p}}/folder")])
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(4711, 4096, 0o666), libc.semget(4712, 1, 0o666), libc.msgget(4713, 0o666))
print(libc.mq_open(b"/left", os.O_RDWR), ctypes.get_errno() == errno.ENOENT)
print(libc.syscall({keyctl}, {search}, {user_keyring}, b"user", b"left", 0))
others = []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        if f"Uid:\\t{{os.getuid()}}\\t" in open(f"/proc/{{name}}/status").read():
            others.append(name)
print(others)
"""


def test_nothing_of_a_session_is_left(machine, kernel):
    names = {"places": ("/tmp", "/var/tmp", "/dev/shm"), **KEYS}
    assert kernel.run(LEAVE.format(**names)).stdout == "True True True\n"
    machine.restore(None)
    kernel.open()
    assert kernel.run(LOOK.format(**names)).stdout == "[]\n-1 -1 -1\n-1 True\n-1\n[]\n"


def test_the_agent_can_write_only_where_it_is_cleared(kernel):
    find = (
        "import os, subprocess, tempfile\n"
        "def opens(path):\n"
        "    try:\n"
        "        if os.path.isdir(path):\n"
        "            tempfile.TemporaryFile(dir=path).close()\n"
        "        else:\n"
        "            open(path, 'ab').close()\n"
        "    except OSError:\n"
        "        return False\n"
        "    return True\n"
        "own = os.getcwd()\n"
        "found = subprocess.run(['find', '/', '(', '-path', '/proc', '-o', '-path', '/sys', '-o', '-path', own, ')',"
        " '-prune', '-o', '(', '-type', 'd', '-o', '-type', 'f', ')', '-writable', '-print'],"
        " capture_output=True, text=True).stdout.split()\n"
        "print(*filter(opens, found))"  # nobody may write to what belongs to nobody, whatever its mode says
    )
    execution = kernel.run(find, timeout=120.0)
    found = set(execution.stdout.split())
    assert {"/tmp", "/dev/shm"} <= found
    cleared = {*PLACES, "/run/lock"}
    found -= {f"/dev/{name}" for name in ("full", "null", "random", "tty", "urandom", "zero")}
    assert {place for place in found if not any(place == c or place.startswith(c + "/") for c in cleared)} == set()


@pytest.mark.sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write below /opt")
def test_what_is_written_to_open_folders_of_the_host_is_gone_in_the_next_session():
    shared = Path(tempfile.mkdtemp(prefix="deskgym-test-", dir="/opt"))
    try:
        (shared / "file").write_text("the host's")
        for path, mode in ((shared, 0o777), (shared / "file", 0o666)):
            os.chown(path, *id_map().root)  # an ordinary user's own files are root's in its machines
            path.chmod(mode)
        with create_machine("sandbox", MachineConfig(screen_size=None)) as machine:
            kernel = Kernel(machine)
            for attempt in (f"open('{shared}/new', 'w').write('x')", f"open('{shared}/file', 'a').write('x')"):
                kernel.open()
                look = f"import os; print(os.listdir('{shared}'), open('{shared}/file').read())"
                assert kernel.run(look).stdout == "['file'] the host's\n"
                assert kernel.run(attempt).status == "ok"
                pid = machine.init_pid
                machine.restore(None)
                assert machine.init_pid != pid
        assert (shared / "file").read_text() == "the host's" and len(list(shared.iterdir())) == 1
    finally:
        shutil.rmtree(shared)


def test_a_picture_is_of_the_current_figure(kernel):
    assert kernel.picture() is None
    kernel.run("import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(figsize=(3, 2))\naxes.bar([1, 2], [3, 4])")
    picture = kernel.picture()
    assert picture.shape == (600, 800, 3)
    assert len({tuple(pixel) for pixel in picture[::10, ::10].reshape(-1, 3)}) > 2
    assert kernel.run("figure.get_size_inches().tolist()").stdout == "[3.0, 2.0]\n"
    kernel.run("axes.bar([1, 2], [9, 1], color='k')")
    assert (kernel.picture() != picture).any()


def test_files_go_in_and_out_but_not_elsewhere(kernel):
    kernel.put("folder/data.txt", b"hello")
    assert kernel.run("open('folder/data.txt').read()").stdout == "hello\n"
    kernel.run(
        "open('out.txt', 'w').write('42')\nimport os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/etc', 'etc')"
    )
    assert kernel.get("out.txt") == b"42"
    for name in ("link", "etc/passwd", "missing", "folder"):
        with pytest.raises(GuestCallError):
            kernel.get(name)
    for name in ("../x", "/etc/x"):
        with pytest.raises(GuestCallError, match="below"):
            kernel.put(name, b"")
    kernel.put("etc/own", b"x")  # the link is replaced, not followed
    assert kernel.run("os.path.exists('/etc/own'), os.path.islink('etc')").stdout == "(False, False)\n"


def test_limits_of_memory_and_of_files(machine):
    kernel = Kernel(machine, KernelLimits(memory_mb=512, disk_mb=1))
    kernel.open()
    assert "MemoryError" in kernel.run("x = bytearray(1 << 30)").trace
    assert "File too large" in kernel.run("open('big', 'wb').write(b'x' * (1 << 21))").trace


def test_what_else_is_asked_is_an_error_not_the_end(kernel):
    with pytest.raises(GuestCallError, match="KeyError"):
        kernel._ask({"op": "nonsense"}, None)
    assert kernel.run("1").stdout == "1\n"


def test_without_a_kernel_there_is_a_clear_error(machine):
    machine.restore(None)
    with pytest.raises(GuestCallError, match="there is no kernel: open one"):
        Kernel(machine).run("1")


TALK = """
import msgpack, os, stat, struct
sockets = [fd for fd in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{fd}")]
sockets = [fd for fd in sockets if stat.S_ISSOCK(os.fstat(fd).st_mode)]
body = msgpack.packb({"status": "ok", "trace": ""})
os.write(sockets[0], 2 * (struct.pack(">I", len(body)) + body))
"""


def test_a_kernel_that_speaks_unasked_is_not_listened_to(kernel):
    assert kernel.run(TALK).status == "ok"
    assert kernel.run("1").status == "died"
    with pytest.raises(GuestCallError, match="there is no kernel"):
        kernel.run("1")
    kernel.open()
    assert kernel.run("1").stdout == "1\n"
