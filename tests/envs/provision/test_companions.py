"""Services in companions: reached from the desktop, out of the agent's reach, and as new in every episode."""

import copy
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from shop_service import DATABASE, PORT, SHOP

from deskgym.envs.errors import MachineError, ServiceError
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.fake.machine import FakeMachine
from deskgym.envs.machines.process.machine import ProcessMachine
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import IDLE, CompanionKeeper
from deskgym.envs.provision.services import Daemon, Files, Ready, Restore, ServiceSpec

pytestmark = pytest.mark.sandbox
HEADLESS = MachineConfig(screen_size=None)
SEEDED = [{"id": 1, "item": "tea"}, {"id": 2, "item": "salt"}]


@pytest.fixture
def desktop(keeper):
    """A started machine with a shop beside it."""
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [SHOP], Counter())
        yield machine


def fetch(machine, path="/", data=None, host="127.0.0.1", timeout=20.0):
    """What the desktop's agent gets from the shop."""
    code = (
        "import sys, urllib.request; print(urllib.request.urlopen("
        f"'http://{host}:{PORT}{path}', data={data!r}, timeout={timeout}).read().decode())"
    )
    done = machine.run(["python3", "-c", code], timeout=timeout + 5)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def until(condition, timeout=10.0):
    """Wait for what has no file descriptor to wait on."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"it did not come true within {timeout} s"
        time.sleep(0.01)


def give(keeper, machine, specs=(SHOP,)):
    """What a reset does."""
    stats = Counter()
    machine.restore(None)
    keeper.give(machine, specs, stats)
    return stats


# --- reached from the desktop


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_desktop_reaches_the_service(desktop, host):
    assert fetch(desktop, host=host) == '[[1, "tea"], [2, "salt"]]'
    fetch(desktop, data=b"coffee", host=host)
    assert desktop.companions["shop"].sql("SELECT item FROM orders WHERE id = ?", [3]) == [{"item": "coffee"}]


def test_large_bodies_and_many_connections_come_through(desktop):
    code = textwrap.dedent(f"""
        import hashlib, os, threading, urllib.request
        items = [os.urandom(1 << 19).hex() for _ in range(8)]
        def order(item):
            urllib.request.urlopen("http://127.0.0.1:{PORT}/", data=item.encode(), timeout=60).read()
        threads = [threading.Thread(target=order, args=(item,)) for item in items]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        found = urllib.request.urlopen("http://127.0.0.1:{PORT}/", timeout=60).read().decode()
        print(len(found), all(item in found for item in items))
        """)
    done = desktop.run(["python3", "-c", code], timeout=100)
    size, complete = done.stdout.split()
    assert int(size) > 8 << 20 and complete == b"True"


def test_a_flood_of_connections_does_not_use_up_the_guest(desktop):
    code = textwrap.dedent(f"""
        import resource, socket, time
        resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
        held, refused = [], 0
        for _ in range(1500):
            connection = socket.create_connection(("127.0.0.1", {PORT}), timeout=20)
            held.append(connection)
        time.sleep(1)
        for connection in held:
            connection.setblocking(False)
            try:
                refused += connection.recv(1) == b""
            except BlockingIOError:
                pass
            except ConnectionResetError:
                refused += 1
        print(refused)
        """)
    done = desktop.run(["python3", "-c", code], timeout=60)
    assert int(done.stdout) >= 1000, done.stderr
    assert desktop.run(["true"]).returncode == 0
    until(
        lambda: (
            desktop.run(
                ["python3", "-c", f"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}')"]
            ).returncode
            == 0
        )
    )


def test_only_the_services_ports_are_there(desktop):
    companion = desktop.companions["shop"]
    companion.run(["sh", "-c", "python3 -m http.server 9000 --bind 127.0.0.1 >/dev/null 2>&1 &"])
    done = desktop.run(["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 9000))"])
    assert b"Connection refused" in done.stderr
    assert b"shop.sqlite" not in desktop.run(["cat", "/proc/net/unix"]).stdout


# --- out of the agent's reach


def test_the_agent_has_no_file_process_or_secret_of_the_service(desktop):
    companion = desktop.companions["shop"]
    pid = companion.run(["pgrep", "-f", "server.py"]).stdout.decode().split()[0]
    token = companion.secrets["SHOP_TOKEN"]
    attempts = {
        "ls": ["ls", "-la", "/var/lib/shop"],
        "cat": ["cat", DATABASE],
        "find": ["sh", "-c", "find / -name 'shop*' -not -path '/usr/*' 2>/dev/null | grep ."],
        "pgrep": ["pgrep", "-f", "server.py"],
        "environ": ["sh", "-c", "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep SHOP_TOKEN"],
        "token": ["sh", "-c", "grep -rlFf - /proc/*/cmdline /proc/*/environ /tmp /home /run /etc /var 2>/dev/null"],
        "ptrace": ["python3", "-c", f"import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, {pid}, 0, 0) != 0)"],
        "guest": ["sh", "-c", "ls -la /proc/1/fd/"],
    }
    seen = {name: desktop.run(argv, stdin=token.encode()) for name, argv in attempts.items()}
    assert {name: done.stdout for name, done in seen.items() if done.returncode == 0} == {}
    desktop.run(["sh", "-c", "kill -9 -1; pkill -9 python3; true"])
    assert companion.http("GET", "/page").status == 200
    assert (
        b"403"
        in desktop.run(
            ["python3", "-c", f"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/admin', data=b'x')"]
        ).stderr
    )
    admin = companion.http("POST", "/admin", body="salt", headers={"Authorization": f"Bearer {token}"})
    assert admin.status == 201


def test_the_agent_cannot_take_the_port_for_itself(desktop):
    code = (
        "import socket; s = socket.socket(); s.setsockopt(1, 15, 1); s.setsockopt(1, 2, 1); "
        f"s.bind(('0.0.0.0', {PORT})); s.listen()"
    )
    assert b"Address already in use" in desktop.run(["python3", "-c", code]).stderr


# --- as new in every episode


def test_data_is_rolled_back_between_resets(keeper, desktop):
    companion = desktop.companions["shop"]
    times = []
    for _ in range(3):
        fetch(desktop, data=b"coffee")
        assert companion.sql("SELECT count(*) AS n FROM orders") == [{"n": 3}]
        assert companion.sql("SELECT * FROM orders", base=True) == SEEDED
        assert companion.get("/var/lib/shop/orders.log") == b"coffee\n"
        assert give(keeper, desktop) == {"companion_roll_backs": 1}
        assert desktop.companions["shop"] is companion
        assert companion.sql("SELECT * FROM orders") == SEEDED and companion.get("/var/lib/shop/orders.log") == b""
        assert fetch(desktop) == '[[1, "tea"], [2, "salt"]]'
        times.append(companion.timing)
    print("roll-back in ms:", times)
    assert min(sum(timing.values()) for timing in times) < 500  # 100 on an idle machine


def test_what_the_last_episode_asked_for_is_not_done_to_the_next_one(keeper, desktop):
    code = (
        "import socket; s = socket.create_connection(('127.0.0.1', 8080)); "
        "s.sendall(b'POST /late HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 4\\r\\n\\r\\nlate'); s.close()"
    )
    desktop.run(["python3", "-c", code])
    give(keeper, desktop)
    time.sleep(1.5)  # by now it would be there
    assert desktop.companions["shop"].sql("SELECT * FROM orders") == SEEDED


def test_a_service_may_stay_connected_to_itself(keeper):
    code = (
        "import socket, time; s = socket.create_server(('127.0.0.1', 8081)); "
        "c = socket.create_connection(('127.0.0.1', 8081)); a = s.accept(); s.listen(); time.sleep(1000)"
    )
    spec = ServiceSpec("selfish", (Daemon(("python3", "-c", code), Ready(port=8081)),), ports=(8081,))
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [spec], Counter())
        assert give(keeper, machine, [spec]) == {"companion_roll_backs": 1}


def test_a_database_with_a_write_ahead_log(keeper):
    log = ("python3", "-c", f"import sqlite3; sqlite3.connect('{DATABASE}').execute('PRAGMA journal_mode=WAL')")
    hold = (
        f"import sqlite3, time; c = sqlite3.connect('{DATABASE}'); c.execute('SELECT * FROM orders'); time.sleep(1000)"
    )
    holder = Daemon(("python3", "-c", hold), Ready(sql="SELECT 1"))
    spec = replace(SHOP, before=(*SHOP.before, log), daemons=(*SHOP.daemons, holder))
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [spec], Counter())
        companion = machine.companions["shop"]
        for _ in range(2):
            assert fetch(machine) == '[[1, "tea"], [2, "salt"]]'
            fetch(machine, data=b"coffee")
            assert companion.sql("SELECT count(*) AS n FROM orders") == [{"n": 3}]
            assert give(keeper, machine, [spec]) == {"companion_roll_backs": 1}


def kill_the_server(companion):
    companion.run(["pkill", "-9", "-f", "server.py"], user="guest")


def kill_the_guest(companion):
    os.kill(companion.machine.init_pid, signal.SIGKILL)


def change_what_is_watched(companion):
    companion.run(["sh", "-c", "echo '# changed' >> /var/lib/shop/server.py"])


def remove_the_database(companion):
    companion.run(["rm", DATABASE])


@pytest.mark.parametrize("harm", [kill_the_server, kill_the_guest, change_what_is_watched, remove_the_database])
def test_a_harmed_companion_is_replaced(keeper, desktop, harm):
    companion = desktop.companions["shop"]
    harm(companion)
    assert give(keeper, desktop) == {"companion_repairs": 1, "companion_starts": 1}
    assert desktop.companions["shop"] is not companion and not companion.machine.alive
    assert fetch(desktop) == '[[1, "tea"], [2, "salt"]]'


def test_a_service_that_works_on_and_on_for_the_last_episode_is_replaced(keeper, desktop):
    companion = desktop.companions["shop"]
    desktop.guest.launch(
        ["python3", "-c", f"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/slow?seconds=60')"]
    )
    until(lambda: companion.run(["test", "-e", "/tmp/slow"]).returncode == 0)
    desktop.restore(None)
    start, stats = time.monotonic(), Counter()
    keeper.give(desktop, [SHOP], stats)
    assert stats["companion_repairs"] == 1 and not companion.machine.alive
    assert time.monotonic() - start < 5  # 1.7 s on an idle machine


def test_what_a_daemon_keeps_in_memory_is_gone_where_it_is_restarted(keeper):
    code = (
        "import http.server as h\nseen = []\nclass Handler(h.BaseHTTPRequestHandler):\n def do_GET(self):\n"
        "  self.send_response(200); self.end_headers(); self.wfile.write(repr(seen).encode()); seen.append(1)\n"
        "  while self.path == '/endless': pass\n"
        "h.ThreadingHTTPServer(('127.0.0.1', 8080), Handler).serve_forever()"
    )
    waits = Daemon(("sleep", "1000"), Ready(command=("true",)))
    spec = ServiceSpec("memory", (Daemon(("python3", "-c", code), Ready(port=PORT), restart=True), waits), (PORT,))
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [spec], Counter())
        for _ in range(2):
            assert [fetch(machine), fetch(machine)] == ["[]", "[1]"]
            slow = f"import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/endless').read()"
            machine.guest.launch(["python3", "-c", slow])
            until(lambda: fetch(machine).count("1") > 2)
            kept = machine.companions["memory"].run(["pgrep", "sleep"]).stdout
            assert give(keeper, machine, [spec]) == {"companion_roll_backs": 1}
            assert machine.companions["memory"].run(["pgrep", "sleep"]).stdout == kept


def test_what_the_agents_code_has_left_running_and_lying_about_is_gone_before_data_is_rolled_back(keeper, desktop):
    notes = "/var/lib/shop/notes"
    made = ("install", "-d", "-m", "1777", notes)
    spec = replace(SHOP, agent_users=("games",), before=(*SHOP.before, made), data=(*SHOP.data, Files(notes)))
    assert give(keeper, desktop, [spec]) == {"companion_starts": 1}
    companion = desktop.companions["shop"]
    code = (
        "(setsid sh -c 'trap : TERM; while true; do echo x >> /tmp/beat; sleep 0.01; done' >/dev/null 2>&1 &); "
        "mkdir -p /tmp/a/b /dev/shm/c; touch /tmp/a/b/d /var/tmp/e; chmod 0 /tmp/a/b; ln -s /etc/passwd /tmp/f; "
        f"ipcmk --shmem 4096 --semaphore 1 --queue; touch /dev/mqueue/g {notes}/a; mkfifo {notes}/b"
    )
    assert companion.run(["sh", "-c", code], user="games").returncode == 0
    companion.run(["touch", "/tmp/kept"], user="agent")
    assert companion.run(["pgrep", "-U", "games"]).returncode == 0
    assert give(keeper, desktop, [spec]) == {"companion_roll_backs": 1}
    assert desktop.companions["shop"] is companion
    assert companion.run(["pgrep", "-U", "games"]).returncode == 1
    left = companion.run(["find", "/tmp", "/var/tmp", "/dev/shm", "-user", "games"], user="guest")
    assert left.stdout == b"" and companion.run(["ls", "/tmp/kept"]).returncode == 0
    assert companion.run(["sh", "-c", "ipcs; ls /dev/mqueue"], user="guest").stdout.count(b"games") == 0
    assert companion.run(["find", "/dev/mqueue", notes, "-user", "games"], user="guest").stdout == b""


def test_a_companion_whose_setup_failed_is_replaced(keeper, desktop):
    companion = desktop.companions["shop"]
    keeper.distrust(desktop)
    assert give(keeper, desktop) == {"companion_repairs": 1, "companion_starts": 1}
    assert not companion.machine.alive and desktop.companions["shop"].machine.alive


def test_a_folder_comes_back_with_owners_modes_and_links(keeper):
    build = (
        "mkdir -p /var/lib/site/a/b; cd /var/lib/site; echo one > a/one; echo two > a/b/two; chmod 640 a/one; "
        "ln -s one a/link; head -c 100000 /dev/urandom > large"
    )
    spec = ServiceSpec(
        "site",
        (Daemon(("sleep", "1000"), Ready(file="/var/lib/site")),),
        files=(("/var/lib/site/index", "hello"),),
        before=(("sh", "-c", build),),
        data=(Files("/var/lib/site"),),
    )
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [spec], Counter())
        companion = machine.companions["site"]
        companion.run(
            ["sh", "-c", "rm -r a/b; mkdir a/one.d; echo 0ne > a/one; chmod 600 large; rm a/link; ln -s two a/link; "
             "rm index; mkdir index; mkfifo pipe; echo new > new; touch -d 2020-01-01 a/one"],
            cwd="/var/lib/site",
        )  # fmt: skip
        assert give(keeper, machine, [spec]) == {"companion_roll_backs": 1}
        shown = companion.run(
            ["sh", "-c", "find . -not -type p -printf '%p %y %m %U %l\\n' | sort; cat a/one"], cwd="/var/lib/site"
        )
        assert shown.stdout.decode().split("\n") == [
            ". d 755 1000 ", "./a d 755 1000 ", "./a/b d 755 1000 ", "./a/b/two f 644 1000 ", "./a/link l 777 1000 one",
            "./a/one f 640 1000 ", "./index f 644 1000 ", "./large f 644 1000 ", "one", "",
        ]  # fmt: skip


def test_data_that_only_a_command_rolls_back(keeper):
    spec = ServiceSpec(
        "counter",
        (Daemon(("sh", "-c", "echo 0 > /tmp/count; exec sleep 1000"), Ready(file="/tmp/count")),),
        data=(Restore(("sh", "-c", "echo 0 > /tmp/count"), ("cat", "/tmp/count")),),
    )
    with SandboxMachine(HEADLESS) as machine:
        keeper.give(machine, [spec], Counter())
        companion = machine.companions["counter"]
        companion.put("/tmp/count", b"7")
        give(keeper, machine, [spec])
        assert machine.companions["counter"] is companion and companion.get("/tmp/count") == b"0\n"


# --- what hooks and evaluators do


def test_sql_reads_and_never_writes(desktop):
    companion = desktop.companions["shop"]
    rows = companion.sql("SELECT id, x'00ff' AS raw, NULL AS none, 1.5 AS real, item FROM orders LIMIT 1")
    assert rows == [{"id": 1, "raw": {"base64": "AP8="}, "none": None, "real": 1.5, "item": "tea"}]
    with pytest.raises(ServiceError, match="readonly"):
        companion.sql("DELETE FROM orders")
    with pytest.raises(ServiceError, match="no such table: nowhere"):
        companion.sql("SELECT * FROM nowhere")
    with pytest.raises(ServiceError, match=f"it has {DATABASE}"):
        companion.sql("SELECT 1", database="other")
    assert companion.sql("SELECT * FROM orders") == SEEDED


def test_statements_are_carried_out_all_or_none(keeper, desktop):
    companion = desktop.companions["shop"]
    companion.execute("INSERT INTO orders (item) VALUES ('soap'); DELETE FROM orders WHERE item = 'tea'")
    assert [row["item"] for row in companion.sql("SELECT item FROM orders")] == ["salt", "soap"]
    with pytest.raises(ServiceError, match="syntax error"):
        companion.execute("DELETE FROM orders; nonsense")
    assert companion.sql("SELECT count(*) AS n FROM orders") == [{"n": 2}]


def test_files_commands_and_users(desktop):
    companion = desktop.companions["shop"]
    companion.put("/var/lib/shop/new", b"content", mode=0o600)
    assert companion.get("/var/lib/shop/new") == b"content"
    assert companion.run(["id", "-un"]).stdout == b"user\n"
    assert companion.run(["id", "-un"], user="daemon").stdout == b"daemon\n"
    assert companion.run(["sh", "-c", "cat /var/lib/deskgym-base/*"]).returncode != 0
    assert companion.run(["cat", "/var/lib/shop/new"], user="daemon").returncode != 0


def test_a_service_that_is_down_says_its_last_words(keeper, desktop):
    companion = desktop.companions["shop"]
    with pytest.raises(ServiceError):
        companion.http("GET", "/crash")
    until(lambda: companion.machine.guest.call("companion_state")["ended"])
    with pytest.raises(ServiceError, match=r"(?s)ended with 3; .*the shop has burnt down"):
        companion.require_running()
    with pytest.raises(ServiceError, match=r"(?s)GET /page.*it is down: .*the shop has burnt down"):
        companion.http("GET", "/page")
    assert "the shop is open" in companion.log()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"daemons": (Daemon(("sh", "-c", "echo no room >&2; exit 4"), Ready(port=1)),)}, r"ended with 4; .*no room"),
        ({"daemons": (Daemon(("sleep", "99"), Ready(port=81, timeout=0.3)),)}, r"within 0.3 s: port 81: .*failed"),
        ({"daemons": (Daemon(("sleep", "99"), Ready(file="/x", timeout=0.3)),)}, "there is no /x"),
        ({"daemons": (Daemon(("sleep", "99"), Ready(command=("false",), timeout=0.3)),)}, "false ended with 1"),
        ({"daemons": (Daemon(("no-such-server",), Ready(port=80)),)}, "no-such-server"),
        ({"before": (("sh", "-c", "echo bad seed >&2; exit 2"),)}, "bad seed"),
        ({"user": "nobody-such"}, "there is no user 'nobody-such'"),
        ({"data": (Files("/var/lib/none"),)}, "there is no /var/lib/none"),
    ],
)
def test_a_service_that_does_not_start_says_why_and_leaves_nothing(changes, words):
    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    with SandboxMachine(HEADLESS) as machine, pytest.raises(MachineError, match=words) as caught:
        keeper.give(machine, [replace(SHOP, **changes)], Counter())
    assert caught.value.kind == "service_failed" and not keeper._held


# --- who has which


def test_each_desktop_has_its_own_and_those_of_stopped_ones_serve_again(keeper, desktop):
    first = desktop.companions["shop"]
    with SandboxMachine(HEADLESS) as other:
        keeper.give(other, [SHOP], Counter())
        second = other.companions["shop"]
        assert second is not first and second.secrets != first.secrets
        fetch(other, data=b"coffee")
        assert first.sql("SELECT * FROM orders") == SEEDED
    with SandboxMachine(HEADLESS) as third:
        stats = Counter()
        keeper.give(third, [SHOP], stats)
        assert third.companions["shop"] is second and stats == {"companion_roll_backs": 1}
        assert second.sql("SELECT * FROM orders") == SEEDED


def test_a_task_has_only_the_services_that_it_needs(keeper, desktop):
    give(keeper, desktop, [])
    assert desktop.companions == {}
    done = desktop.run(["python3", "-c", f"import socket; socket.create_connection(('127.0.0.1', {PORT}))"])
    assert b"Connection refused" in done.stderr


def test_idle_ones_are_few():
    keeper = CompanionKeeper(MachineBuilder("sandbox"))
    specs = [
        ServiceSpec(f"s{k}", (Daemon(("sleep", "1000"), Ready(file="/tmp")),), memory_mb=64) for k in range(IDLE + 2)
    ]
    with SandboxMachine(HEADLESS) as machine:
        for spec in specs:
            give(keeper, machine, [spec])
        names = [held.companion.spec.name for held in keeper._held]
        assert names == [f"s{k}" for k in range(1, IDLE + 2)]
        assert all(held.companion.machine.alive for held in keeper._held)
        machines = [held.companion.machine for held in keeper._held]
        keeper.close()
        assert not any(machine.alive for machine in machines)


def test_specifications_are_hashable_data():
    assert hash(SHOP) == hash(copy.deepcopy(SHOP)) and copy.deepcopy(SHOP) == SHOP
    for wrong, words in [
        ({"name": "My Shop"}, "'My Shop'"),
        ({"daemons": ()}, "no daemons"),
        ({"ports": (0,)}, r"ServiceSpec.ports\[0\]: legal is a whole number from 1 to 65535, got 0"),
        ({"ports": ("8080",)}, r"ports\[0\]: legal is a whole number from 1 to 65535, got '8080'"),
        ({"ports": 8080}, "ports: legal is a list of .*, got 8080"),
        ({"data": ("/x",)}, r"data\[0\]: legal is a Sqlite or a Postgresql or a Files or a Restore, got '/x'"),
        ({"secrets": ("a b",)}, "'a b'"),
        ({"watch": ("etc/x",)}, "'etc/x'"),
        ({"agent_users": ("agent",)}, "'agent' among its agent_users; legal are system users"),
        ({"agent_users": ("games",), "user": "games"}, "as games, one of agent_users, .* needs restart=True"),
    ]:
        with pytest.raises(ValueError, match=words):
            replace(SHOP, **wrong)
    assert hash(replace(SHOP, uncounted=["/poll"])) == hash(replace(SHOP, uncounted=("/poll",)))


def test_other_machines_say_that_they_have_none():
    with FakeMachine(HEADLESS) as machine, pytest.raises(MachineError, match="shop.*machine='sandbox'") as caught:
        CompanionKeeper(MachineBuilder("fake")).give(machine, [SHOP], Counter())
    assert caught.value.kind == "not_supported" and caught.value.lasting


def test_on_a_process_machine_a_service_runs_without_isolation(tmp_path):
    spec = ServiceSpec(
        "files",
        (Daemon(("python3", "-m", "http.server", "18999", "--bind", "127.0.0.1"), Ready(port=18999, http="/")),),
        ports=(18999,),
    )
    with ProcessMachine(HEADLESS) as machine:
        keeper = CompanionKeeper(MachineBuilder("process"))
        keeper.give(machine, [spec], Counter())
        done = machine.run(
            ["python3", "-c", "import urllib.request as u; print(u.urlopen('http://127.0.0.1:18999/').status)"]
        )
        assert done.stdout == b"200\n"
        keeper.close()


# --- nothing is left

PARENT = """
import sys
from collections import Counter
from shop_service import SHOP
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import CompanionKeeper
machine = SandboxMachine(MachineConfig(screen_size=None))
machine.start()
CompanionKeeper(MachineBuilder("sandbox")).give(machine, [SHOP], Counter())
print(machine.init_pid, machine.companions["shop"].machine.init_pid, flush=True)
sys.stdin.read()
"""


def test_a_killed_parent_leaves_nothing():
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 2
    ends = [os.pidfd_open(pid) for pid in pids]
    parent.kill()
    parent.communicate()
    for end in ends:
        assert select.select([end], [], [], 5.0)[0], "a machine outlives its parent by 5 s"
        os.close(end)
