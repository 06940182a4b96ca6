"""What the sandbox keeps from the agent: each test is an attempt. docs/reference/sandbox_boundary.md lists them."""

import ctypes
import os
import resource
import socket
from pathlib import Path

import pytest

from deskgym.envs.errors import GuestCallError
from deskgym.envs.machines import guest_runtime
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def box():
    with SandboxMachine(MachineConfig(screen_size=(640, 400), disk_mb=256)) as machine:
        yield machine


def sh(box, script, **options):
    return box.run(["sh", "-c", script], **options)


def python(box, code, **options):
    return box.run(["python3", "-c", code], **options)


# --- the host's files


@pytest.mark.parametrize(
    "folder", ["/root", "/srv", "/mnt", "/media", "/var/log", "/var/mail", "/var/spool", "/etc/ssh"]
)
@pytest.mark.parametrize("user", ["agent", "guest"])
def test_folders_of_the_host_are_empty(box, folder, user):
    assert sh(box, f"ls -A {folder}", user=user).stdout == b""


def test_homes_and_work_folders_are_not_there(box):
    assert sh(box, "ls /home").stdout == b"user\n"
    top = set(sh(box, "ls /").stdout.decode().split())
    own = {"bin", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt", "opt", "proc", "root"}
    assert top <= own | {"run", "sbin", "srv", "sys", "tmp", "usr", "var"}
    for path in (Path.cwd(), Path.home(), Path(__file__)):
        if not str(path).startswith(("/usr", "/opt", "/etc")):
            assert sh(box, f"ls -d {path}/* || ls {path}", user="guest").stdout == b""


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/subuid", "/etc/fstab", "/etc/environment"]
)
@pytest.mark.parametrize("user", ["agent", "guest"])
def test_secrets_in_etc_are_not_there(box, path, user):
    assert box.run(["cat", path], user=user).stdout == b""


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to write a file that only root may read")
@pytest.mark.parametrize("user", ["agent", "guest"])
def test_files_that_only_the_hosts_root_may_read_are_unreadable(user):
    secret = Path("/etc/deskgym-test-secret")
    secret.touch(mode=0o600)
    try:
        secret.write_text("secret")
        with SandboxMachine(MachineConfig(screen_size=None)) as machine:
            done = machine.run(["cat", str(secret)], user=user)
            assert done.returncode != 0 and done.stdout == b"", done
    finally:
        secret.unlink()


def test_the_hosts_name_users_and_machine_id_are_hidden(box):
    assert box.run(["hostname"]).stdout == b"desktop\n"
    assert box.get("/etc/machine-id").decode() != Path("/etc/machine-id").read_text()
    users = [line.split(":") for line in box.get("/etc/passwd").decode().splitlines()]
    assert [user[0] for user in users if 1000 <= int(user[2]) < 65534] == ["user"]


def test_hidden_paths_are_hidden():
    with SandboxMachine(MachineConfig(screen_size=None), hide=["/usr/share/doc", "/etc/hosts"]) as machine:
        assert sh(machine, "ls -A /usr/share/doc; cat /etc/hosts").stdout == b""
        assert sh(machine, "umount /usr/share/doc", user="guest").returncode != 0
    with pytest.raises(ValueError, match="cannot do without"):
        SandboxMachine(MachineConfig(screen_size=None), hide=["/usr"]).start()


def test_the_hosts_mount_points_do_not_lead_out(box):
    assert sh(box, "ls /proc/1/root/; cat /proc/1/environ; ls /proc/1/cwd/").stdout == b""
    assert sh(box, "ls /.layers; cat /.layers/etc/upper/*").stdout == b""


# --- golds and evaluators


def test_no_copy_of_deskgym_but_the_guest_can_be_read(box):
    found = sh(
        box,
        "find / -xdev -name 'deskgym*' -not -path '/proc/*' 2>/dev/null; find /usr /opt /etc -name deskgym 2>/dev/null",
    )
    places = {line for line in found.stdout.decode().split() if line != "/opt/deskgym"}
    assert all(path.startswith(("/opt/deskgym/guest/", "/run/deskgym")) for path in places), places
    tree = sh(box, "cd /opt/deskgym/guest/deskgym; find . -name '*.py' | sort").stdout.decode().split()
    assert tree and all(name.startswith(("./envs/guest/", "./__init__", "./envs/__init__")) for name in tree)
    done = python(box, "import deskgym.task_suites, sys; print(deskgym.__path__)")
    assert b"ModuleNotFoundError" in done.stderr


def test_a_copy_in_the_hosts_python_is_covered(monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("root is needed to install a copy")
    package = Path("/opt/deskgym-test/lib/python3.11/site-packages/deskgym")
    package.mkdir(parents=True)
    (package / "gold.txt").write_text("42")
    try:
        from deskgym.envs.machines.sandbox import masks as sandbox_masks

        sandbox_masks._copies_of_deskgym.cache_clear()
        with SandboxMachine(MachineConfig(screen_size=None)) as machine:
            for user in ("agent", "guest"):
                assert sh(machine, f"cat {package}/* ; ls -A {package}", user=user).stdout == b""
    finally:
        (package / "gold.txt").unlink()
        for folder in (package, *package.parents[:4]):
            folder.rmdir()
        sandbox_masks._copies_of_deskgym.cache_clear()


def test_the_interpreters_site_packages_are_hidden(box):
    interpreter = guest_runtime.find_interpreter()
    for folder in interpreter.masked:
        assert sh(box, f"ls -A {folder}", user="guest").stdout == b""


# --- the host's processes and network


def test_the_hosts_processes_are_not_there(box):
    shown = [int(pid) for pid in sh(box, "ls /proc").stdout.decode().split() if pid.isdigit()]
    assert 1 in shown and len(shown) < 40
    assert sh(box, f"kill -0 {os.getpid()} 2>/dev/null || grep -q x /proc/{os.getpid()}/comm").returncode != 0


def test_the_hosts_network_is_not_there(box):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = python(box, f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
        assert b"ConnectionRefusedError" in done.stderr
    done = python(box, "import socket; socket.create_connection(('1.1.1.1', 53), 2)")
    assert b"unreachable" in done.stderr.lower()
    assert sh(box, "ls /sys/class/net").stdout == b"lo\n"
    raw = python(box, "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)")
    assert b"Address family not supported" in raw.stderr


def test_abstract_sockets_of_host_and_other_sandboxes_are_out_of_reach(box):
    name = f"\0deskgym-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        assert b"ConnectionRefusedError" in python(box, code).stderr
    hold = f"import signal, socket; s = socket.socket(socket.AF_UNIX); s.bind({name!r}); s.listen()"
    with SandboxMachine(MachineConfig(screen_size=None)) as other:
        hold += "; open('/tmp/up', 'w').close(); signal.pause()"
        other.guest.launch(["python3", "-c", hold], wait={"file": "/tmp/up"}, timeout=60)
        assert python(other, code).returncode == 0
        assert b"ConnectionRefusedError" in python(box, code).stderr


def test_shared_memory_and_queues_are_its_own(box):
    Path("/dev/shm/deskgym-test").write_text("secret")
    try:
        assert b"deskgym-test" not in sh(box, "ls /dev/shm /dev/mqueue; ipcs").stdout
    finally:
        Path("/dev/shm/deskgym-test").unlink()


# --- the guest


def test_the_guest_cannot_be_killed_stopped_or_traced(box):
    sh(box, "for pid in /proc/[0-9]*; do p=${pid#/proc/}; [ $p != $$ ] && kill -9 $p; done; kill -STOP 1; kill -9 -1")
    assert box.alive and box.run(["true"]).returncode == 0
    attach = (
        "import ctypes; libc = ctypes.CDLL(None, use_errno=True); print(libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"
    )
    assert python(box, attach).stdout == b"-1 1\n"
    for name in ("mem", "environ", "maps", "fd", "root", "cwd"):
        assert sh(box, f"cat /proc/1/{name} || ls /proc/1/{name}/").stdout == b""


@pytest.mark.parametrize("folder", ["/opt/deskgym/guest", "/opt/deskgym/guest/deskgym/envs/guest", "the interpreter"])
@pytest.mark.parametrize("user", ["agent", "guest"])
def test_the_guests_code_cannot_be_changed(box, folder, user):
    if folder == "the interpreter":
        if not guest_runtime.find_interpreter().prefix:
            pytest.skip("it is the one in /usr, which belongs to nobody inside")
        folder = "/opt/deskgym/python"
    assert sh(box, f"touch {folder}/new || echo x >> {folder}/boot.py", user=user).returncode != 0
    assert sh(box, f"mv {folder} {folder}2 || rm -r {folder}", user=user).returncode != 0


def test_the_screen_cannot_be_changed_behind_the_guests_back(box):
    done = sh(box, "cat /run/deskgym/* ; ls /run/deskgym")
    assert done.stdout == b""
    assert box.display.capture().shape == (400, 640, 3)


# --- more rights


def test_setuid_programs_give_nothing(box):
    for program in ("su", "sudo", "mount", "passwd", "newuidmap", "pkexec"):
        assert b"uid=0" not in sh(box, f"{program} -c id 2>&1 || {program} id", stdin=b"\n").stdout
    assert sh(box, "grep -h NoNewPrivs /proc/self/status").stdout.split()[-1] == b"1"
    caps = sh(box, "grep -hE 'Cap(Eff|Prm|Inh|Amb)' /proc/self/status").stdout.split()[1::2]
    assert caps == [b"0" * 16] * 4


@pytest.mark.parametrize(
    "command",
    [
        "mount -t tmpfs none /mnt", "mount --bind /proc /mnt", "umount /sys", "umount -l /opt/deskgym/guest",
        "unshare -U true", "unshare -Ur mount -t tmpfs none /tmp", "unshare -n true", "nsenter -t 1 -m true",
        "chroot / true", "mknod /tmp/sda b 8 0", "mknod /tmp/mem c 1 1", "hostname hacked", "insmod x.ko", "reboot -f",
        "sysctl -w kernel.core_pattern=x", "dmesg", "date -s 2000-01-01", "modprobe loop",
    ],
)  # fmt: skip
def test_privileged_calls_are_refused(box, command):
    assert sh(box, f"PATH=$PATH:/usr/sbin {command}").returncode != 0
    user_guest = sh(box, f"PATH=$PATH:/usr/sbin {command}", user="guest")
    assert user_guest.returncode != 0 or command == "chroot / true", user_guest
    assert box.alive


@pytest.mark.parametrize(
    ("name", "number"),
    [("add_key", 248), ("keyctl", 250), ("bpf", 321), ("perf_event_open", 298), ("userfaultfd", 323),
     ("io_uring_setup", 425)],
)  # fmt: skip
def test_system_calls_that_ways_out_begin_with_are_refused(box, name, number):
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86_64")
    code = f"import ctypes as c; libc = c.CDLL(None, use_errno=True); libc.syscall({number}, 0, 0, 0, 0, 0)"
    code += "; print(c.get_errno())"
    assert python(box, code).stdout == b"1\n"


def test_only_sockets_that_programs_need_can_be_made(box):
    code = """
import socket
made = set()
for family in range(64):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            made.add(family)
        except OSError:
            pass
import ctypes as c
libc = c.CDLL(None, use_errno=True)
vsock = [libc.syscall(41, c.c_long(family), 1, 0) for family in (40, 40 + (1 << 32))]
print(sorted(made), vsock if c.sizeof(c.c_long) == 8 else [-1, -1])
"""
    if os.uname().machine != "x86_64":
        code = code.replace("syscall(41", "syscall(198")
    families = [socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK]
    assert python(box, code).stdout.decode() == f"{[int(family) for family in families]} [-1, -1]\n"


ATTRIBUTES = """
import ctypes as c, os, struct
open("/tmp/listed", "w").close()
errors = []
entry = b"".join(struct.pack("=HHI", tag, 7, 2**32 - 1) for tag in (1, 4, 32))
for name, value in (("user.x", b"1"), ("system.posix_acl_access", struct.pack("=I", 2) + entry)):
    for target in ("/tmp/listed", os.open("/tmp/listed", os.O_RDWR)):
        try:
            os.setxattr(target, name, value)
        except OSError as error:
            errors.append(error.errno)
libc = c.CDLL(None, use_errno=True)
value = c.create_string_buffer(b"1")
how = struct.pack("=QII", c.addressof(value), 1, 0)
libc.syscall(463, -100, b"/tmp/listed", 0, b"user.x", how, len(how))
print(errors, c.get_errno(), os.listxattr("/tmp/listed"))
"""


def test_no_attributes_of_files_fill_the_kernels_memory(box):
    assert python(box, ATTRIBUTES).stdout == b"[95, 95, 95, 95] 38 []\n"
    copied = sh(box, "cd /tmp; cp -a listed copied && tar --xattrs --acls -c listed | (mkdir -p un && tar -x -C un)")
    assert copied.returncode == 0, copied


@pytest.mark.parametrize("number", [1024, 1024 + (1 << 32), 1040])
def test_nobody_is_kept_waiting_by_a_lease(box, number):
    code = (
        "import ctypes as c, os; libc = c.CDLL(None, use_errno=True); "
        "fd = os.open('/tmp/leased', os.O_RDWR | os.O_CREAT); "
        f"print(libc.fcntl(fd, c.c_long({number}), c.c_long(1)), c.get_errno(), libc.fcntl(fd, 3, 0) >= 0)"
    )
    assert python(box, code).stdout == b"-1 1 True\n"


def test_the_kernel_cannot_be_configured(box):
    for user in ("agent", "guest"):
        written = sh(
            box,
            "find /proc/sys /sys -type f -writable 2>/dev/null |"
            " while read f; do (echo 1 > $f) 2>/dev/null && echo $f; done",
            user=user,
        )
        assert written.stdout == b""
        for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/sys/power/state", "/proc/1/oom_score_adj"):
            assert sh(box, f"echo 1 > {path}").returncode != 0


def test_there_are_only_harmless_devices(box):
    shown = set(sh(box, "find /dev -type b -o -type c").stdout.decode().split())
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/ptmx", "console"}
    assert shown <= {f"/dev/{name}" for name in harmless}
    assert sh(box, "cat /proc/kcore | head -c 1").stdout == b""


# --- using everything up (see conformance for memory, disk and processes one by one)


def test_the_disk_can_be_filled_and_the_machine_lives(box):
    for place in ("/home/user", "/tmp", "/var/tmp", "/dev/shm", "/run/user/1000"):
        sh(
            box,
            f"head -c 1G /dev/zero > {place}/full; i=0; while [ $i -lt 200 ] && touch {place}/f$i; do i=$((i+1)); done",
        )
    used = sh(box, "du -sm /home /tmp /var/tmp /dev/shm /run 2>/dev/null | awk '{s+=$1} END {print s}'", user="guest")
    assert int(used.stdout) <= 256 + 256 + 128 + 8
    assert box.alive and box.display.capture() is not None
    sh(box, "rm -f /home/user/f* /tmp/f* /var/tmp/f* /dev/shm/f* /run/user/1000/f*")
    box.put("/home/user/again", bytes(1 << 20))


def test_fork_bomb_and_memory_hog_at_once():
    with SandboxMachine(MachineConfig(screen_size=None, memory_mb=512, processes=100)) as machine:
        bomb = "b() { b | b & }; b; head -c 2G /dev/zero | tail -c 2G | wc -c"
        machine.run(["bash", "-c", bomb], timeout=3)
        assert machine.alive and sh(machine, "echo still", user="guest").stdout == b"still\n"
        machine.restore(None)
        assert machine.run(["true"]).returncode == 0


HOLD = """
import ctypes as c, os, signal
libc = c.CDLL(None, use_errno=True)
held = 0
while libc.inotify_init1(0) >= 0:
    held += 1
groups = libc.fanotify_init(0x200, 0)
queues = [libc.mq_open(b"/queue%d" % i, os.O_CREAT | os.O_RDWR, 0o600, None) for i in range(64)]
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
sent = 0
while not libc.sigqueue(os.getpid(), 40, None):
    sent += 1
with open("/tmp/counts", "w") as file:
    print(held, groups, sum(queue >= 0 for queue in queues), sent, file=file)
os.rename("/tmp/counts", "/tmp/held")
signal.pause()
"""


def test_no_machine_takes_what_the_kernel_counts_for_the_hosts_user(box):
    libc = ctypes.CDLL(None, use_errno=True)

    def free():
        fds = []
        while (fd := libc.inotify_init1(0)) >= 0:
            fds.append(fd)
        for fd in fds:
            os.close(fd)
        return len(fds)

    box.guest.launch(["python3", "-c", HOLD], wait={"file": "/tmp/held"}, timeout=60)
    try:
        assert free() >= 8  # not all of them: other machines run meanwhile
        instances, group, open_queues, signals = map(int, box.get("/tmp/held").split())
    finally:
        box.guest.call("end_others", keep=[])
    most = int(Path("/proc/sys/user/max_inotify_instances").read_text()) // 4
    queues = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
    assert 8 <= instances <= min(64, most) and group == -1
    assert 1 <= open_queues and (queues < 0 or open_queues * 10 * 8192 <= queues / 2)
    assert 64 <= signals <= 4096


def test_its_limits_cannot_be_raised(box):
    for user in ("agent", "guest"):
        raised = sh(box, "for name in /proc/sys/user/*; do echo 100000 > $name; done; ulimit -i 1000000", user=user)
        assert raised.returncode != 0
    assert int(sh(box, "cat /proc/sys/user/max_inotify_instances").stdout) <= 64


def test_shared_memory_is_memory():
    code = "import mmap; m = mmap.mmap(-1, 900 << 20)\nfor at in range(0, 900 << 20, 4096): m[at] = 1\nwhile True: pass"
    with SandboxMachine(MachineConfig(screen_size=None, memory_mb=512)) as machine:
        done = python(machine, code, timeout=30)
        assert done.returncode == -9 and not done.timed_out, done
        assert machine.alive and sh(machine, "echo still").stdout == b"still\n"


def test_low_ports_are_the_agents_too(box):
    assert python(box, "import socket; socket.create_server(('127.0.0.1', 80))").returncode == 0


def test_a_put_does_not_follow_the_agents_links_out_of_its_rights(box):
    box.run(["ln", "-s", "/etc/passwd", "/home/user/trap"])
    with pytest.raises(GuestCallError):
        box.put("/home/user/trap", b"root::0:0::/:/bin/sh\n")
    assert b"root::0" not in box.get("/etc/passwd")
