"""The sandbox beyond what every machine must do: restores, limits by other means, runtimes, and its errors."""

import gc
import os
import pickle
import select
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import conformance, userns
from deskgym.envs.machines.base import MachineConfig, Snapshot
from deskgym.envs.machines.sandbox import host as sandbox_host
from deskgym.envs.machines.sandbox import host_setup, snapshots
from deskgym.envs.machines.sandbox import machine as sandbox
from deskgym.envs.machines.sandbox.limits import find_limits
from deskgym.envs.machines.sandbox.machine import SandboxMachine

pytestmark = pytest.mark.sandbox
HEADLESS = MachineConfig(screen_size=None)


@pytest.fixture
def fresh_host():
    """What the process knows of its host is found out anew, before and after."""
    host_setup.find_setup.cache_clear()
    yield
    host_setup.find_setup.cache_clear()


@pytest.mark.parametrize(
    "check", [conformance.memory_is_limited, conformance.processes_are_limited, conformance.commands]
)
def test_limits_without_control_groups(fresh_host, monkeypatch, check):
    without = replace(find_limits(), cgroups=None)
    monkeypatch.setattr(host_setup, "find_limits", lambda: without)
    conformance.run_check(check, SandboxMachine)


@pytest.mark.parametrize("check", [conformance.snapshots, conformance.files])
def test_layers_in_a_folder_where_no_tmpfs_will_do(fresh_host, monkeypatch, check):
    monkeypatch.setattr(snapshots, "tmpfs_has_user_attributes", lambda: False)
    conformance.run_check(check, SandboxMachine)
    left = list((sandbox_host.cache_folder() / "scratch").glob(f"{os.getpid()}-*/layers-*"))
    assert not left


def test_crun_runs_it_or_says_why_not():
    if sandbox_host.find_tool("crun") is None:
        pytest.skip("crun is not installed")
    machine = SandboxMachine(HEADLESS, runtime="crun")
    try:
        machine.start()
    except MachineError as error:
        assert error.kind == "start_failed" and "cgroup" in str(error)
    else:
        assert machine.run(["id", "-un"]).stdout == b"user\n"
    finally:
        machine.stop()


def test_a_missing_runtime_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("deskgym.envs.machines.sandbox.host.find_tool", lambda name: None if name == "runc" else name)
    with pytest.raises(MachineError, match="apt-get install runc") as caught:
        sandbox_host.require_tools("runc")
    assert caught.value.kind == "not_installed"


def test_an_unknown_runtime_says_which_there_are():
    with pytest.raises(MachineError, match="'runcs'.*known to work are runc, crun, runsc; did you mean 'run") as caught:
        SandboxMachine(HEADLESS, runtime="runcs").start()
    assert caught.value.kind == "not_installed"


def test_missing_ids_say_how_to_get_them(fresh_host, monkeypatch):
    def none():
        raise userns.NoIdsError("user x has no range of ids in /etc/subuid: `sudo usermod ...`")

    monkeypatch.setattr("deskgym.envs.machines.sandbox.host.id_map", none)
    with pytest.raises(MachineError, match="usermod") as caught:
        SandboxMachine(HEADLESS).start()
    assert caught.value.kind == "not_allowed"


def test_the_runtimes_own_message_comes_through(monkeypatch):
    spec = sandbox.build_spec

    def broken(parts):
        return {**spec(parts), "process": {**spec(parts)["process"], "cwd": "relative"}}

    monkeypatch.setattr(sandbox, "build_spec", broken)
    machine = SandboxMachine(HEADLESS)
    with pytest.raises(MachineError, match="absolute path") as caught:
        machine.start()
    assert caught.value.kind == "start_failed" and not machine.alive
    monkeypatch.undo()
    with machine:
        assert machine.run(["true"]).returncode == 0


def test_a_guest_that_dies_at_once_is_quoted(monkeypatch):
    spec = sandbox.build_spec

    def broken(parts):
        arguments = [parts.interpreter.path, "-IS", "-c", "raise SystemExit('no guest today')"]
        return {**spec(parts), "process": {**spec(parts)["process"], "args": arguments}}

    monkeypatch.setattr(sandbox, "build_spec", broken)
    with pytest.raises(MachineError, match="no guest today") as caught:
        SandboxMachine(HEADLESS).start()
    assert caught.value.kind == "start_failed"


def test_the_log_cannot_be_filled(headless):
    noise = "import os\nfor _ in range(1000):\n try: os.write(1, b'x' * 1000)\n except OSError: break"
    headless.run(["python3", "-c", noise])
    assert len(headless.log()) <= 1 << 16


def test_a_start_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(sandbox, "START_TIMEOUT", 0.001)
    machine = SandboxMachine(HEADLESS)
    with pytest.raises(MachineError, match="did not start it within") as caught:
        machine.start()
    assert caught.value.kind == "supervisor_lost" and not machine.alive
    monkeypatch.undo()
    with machine:
        assert sorted(path.name for path in (machine._supervisor.folder / "runtime").iterdir()) == [machine._name]


def test_a_forgotten_machine_is_stopped():
    machine = SandboxMachine(HEADLESS)
    machine.start()
    pidfd = os.dup(machine._started.pidfd)
    with pytest.warns(ResourceWarning, match="never stopped"):
        del machine
        gc.collect()
    assert select.select([pidfd], [], [], 5)[0]
    os.close(pidfd)


def test_several_threads_start_machines_at_once():
    machines = [SandboxMachine(HEADLESS) for _ in range(4)]
    threads = [threading.Thread(target=machine.start) for machine in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        assert all(machine.alive for machine in machines)
        assert len({machine._started.pid for machine in machines}) == 4
        assert len({machine._supervisor for machine in machines}) == 1
    finally:
        for machine in machines:
            machine.stop()


def test_several_processes_build_the_cache_at_once(tmp_path):
    if os.geteuid() == 0:
        tmp_path = Path("/var/tmp/deskgym-test-cache")
        tmp_path.mkdir()
    code = (
        "from deskgym.envs.machines.base import MachineConfig\n"
        "from deskgym.envs.machines.sandbox.machine import SandboxMachine\n"
        "with SandboxMachine(MachineConfig(screen_size=None)) as m: print(m.run(['id', '-un']).stdout)"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    try:
        for process in processes:
            out, errors = process.communicate(timeout=60)
            assert out == "b'user\\n'\n", errors
        names = sorted(path.name.partition("-")[0] for path in (tmp_path / "deskgym").iterdir())
        assert names in (["guest", "rootfs"], ["guest", "rootfs", "scratch"])
    finally:
        ids = userns.id_map()
        userns.call_mapped(ids, snapshots.LAYERS_SCRIPT, ["remove", str(tmp_path / "deskgym")])
        subprocess.run(["rm", "-rf", str(tmp_path / "deskgym")], check=True)
        if os.geteuid() == 0:
            tmp_path.rmdir()


def test_snapshots_keep_owners_modes_and_holes(headless):
    script = (
        "cd; echo a > file; chmod 4711 file; mkdir -m 1770 folder; ln file hard; truncate -s 100M holes; mkfifo pipe;"
        "touch -d 2001-02-03 old"
    )
    assert headless.run(["sh", "-c", script]).returncode == 0
    headless.run(["sh", "-c", "echo root > /opt/roots; chmod 600 /opt/roots"], user="guest")
    snapshot = headless.snapshot()
    headless.restore(snapshot)
    shown = headless.run(["sh", "-c", "cd; stat -c '%n %a %U %h %F' file folder pipe; stat -c '%Y' old; du -m holes"])
    file, folder, pipe, old, holes = shown.stdout.decode().splitlines()
    assert file == "file 4711 user 2 regular file" and folder.startswith("folder 1770 user ")
    assert pipe == "pipe 644 user 1 fifo" and old == "981158400" and holes == "0\tholes"
    assert headless.run(["cat", "/opt/roots"]).returncode != 0
    assert headless.run(["cat", "/opt/roots"], user="guest").stdout == b"root\n"
    headless.drop(snapshot)


def test_deleted_files_of_the_host_stay_deleted(headless):
    """In folders that are the machine's own; others belong to nobody inside and cannot be changed."""
    name = next(path.name for path in Path("/etc").iterdir() if path.is_file() and path.stat().st_mode & 4)
    gone = f"rm /etc/{name} && ! test -e /etc/{name}"
    assert headless.run(["sh", "-c", gone], user="guest").returncode == 0
    assert (
        headless.run(["sh", "-c", "mkdir /usr/deskgym-test && touch /usr/deskgym-test/x"], user="guest").returncode == 0
    )
    for _ in range(2):  # the second snapshot is merged with the first
        snapshot = headless.snapshot()
        headless.restore(snapshot)
        assert headless.run(["sh", "-c", f"test -e /etc/{name}"]).returncode == 1
        assert headless.run(["ls", "/usr/deskgym-test"]).stdout == b"x\n"
        headless.drop(snapshot)
    headless.restore(None)
    assert headless.run(["sh", "-c", f"test -e /etc/{name} && ! test -e /usr/deskgym-test"]).returncode == 0


def test_links_do_not_lead_a_snapshot_out_of_its_folder(headless, tmp_path):
    """An agent's links and names reach no file of the host, while it is taken or when it is merged."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    tmp_path.chmod(0o777)
    headless.run(["sh", "-c", f"cd; ln -s / up; ln -s {tmp_path} out; mkdir -p a/b; ln -s ../../../../.. a/b/c"])
    first = headless.snapshot()
    headless.restore(first)
    headless.run(
        ["sh", "-c", "cd; rm out; mkdir out; echo x > out/victim; rm up; mkdir -p up/etc; echo x > up/etc/passwd"]
    )
    second = headless.snapshot()
    assert victim.read_text() == "untouched"
    headless.restore(second)
    assert headless.get("/home/user/out/victim") == b"x\n"
    assert Path("/etc/passwd").read_text() != "x\n"
    headless.stop()
    for snapshot in (first, second):
        headless.drop(snapshot)
        assert not Path(snapshot.path).exists()


def test_a_failed_snapshot_is_an_error_and_leaves_nothing(headless, monkeypatch):
    before = list(headless._supervisor.scratch.glob("snapshot-*"))
    monkeypatch.setattr(snapshots, "LAYERS", ("usr", "nothing"))
    with pytest.raises(MachineError) as caught:
        headless.snapshot()
    assert caught.value.kind == "snapshot_failed"
    assert list(headless._supervisor.scratch.glob("snapshot-*")) == before and headless.alive


def test_a_snapshot_that_is_dropped_while_in_use_goes_when_its_machine_goes(headless):
    headless.put("/home/user/one", b"1")
    first = headless.snapshot()
    headless.restore(first)
    headless.drop(first)
    with pytest.raises(ValueError, match="dropped"):
        headless.restore(first)
    headless.put("/home/user/two", b"2")
    second = headless.snapshot()
    headless.restore(second)
    assert headless.get("/home/user/one") == b"1" and headless.get("/home/user/two") == b"2"
    assert not Path(first.path).exists()
    headless.drop(second)
    headless.start()
    assert Path(second.path).exists()
    headless.stop()
    assert not Path(second.path).exists()
    headless.start()
    assert headless.run(["ls", "/home/user"]).stdout == b""


def test_drop_deletes_only_snapshots(headless, tmp_path):
    (tmp_path / "file").touch()
    headless.drop(Snapshot("sandbox", str(tmp_path)))
    headless.drop(Snapshot("fake", str(tmp_path)))
    assert (tmp_path / "file").exists()


def test_an_unstarted_machine_pickles():
    machine = pickle.loads(pickle.dumps(SandboxMachine(HEADLESS, hide=["/usr/share/doc"])))
    assert machine.config == HEADLESS and not machine.alive


def test_no_display_without_a_screen(headless):
    with pytest.raises(MachineError, match="no screen"):
        _ = headless.display
