"""Packages are installed while another program uses apt: the real apt-get, on folders of its own, with real locks."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from deskgym import apt

ROOT = Path(__file__).parents[1]
LOCKS = ("lists/lock", "dpkg/lock-frontend", "cache/archives/lock")

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="needs apt-get")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """What apt-get works on: one source with one package, nothing installed; its dpkg does nothing."""
    for name in ("lists", "cache", "dpkg", "etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d", "source"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "dpkg/status").touch()
    archive = b"not opened: its dpkg is /bin/true"
    (tmp_path / "source/toy.deb").write_bytes(archive)
    (tmp_path / "source/Packages").write_text(
        "Package: toy\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: toy\nFilename: ./toy.deb\n"
        f"Size: {len(archive)}\nSHA256: {hashlib.sha256(archive).hexdigest()}\n"
    )
    (tmp_path / "etc/sources.list").write_text(f"deb [trusted=yes] copy:{tmp_path}/source ./\n")
    config = tmp_path / "apt.conf"
    settings = {
        "Dir::State": tmp_path, "Dir::State::lists": tmp_path / "lists", "Dir::State::status": tmp_path / "dpkg/status",
        "Dir::Cache": tmp_path / "cache", "Dir::Etc": tmp_path / "etc", "Dir::Log": tmp_path,
        "Dir::Bin::dpkg": "/bin/true", "APT::Sandbox::User": "root",
    }  # fmt: skip
    config.write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    monkeypatch.setenv("APT_CONFIG", str(config))
    monkeypatch.setattr(apt.os, "geteuid", lambda: 0)  # the folders are ours: no sudo
    return tmp_path


HOLDER = """
import fcntl, os, sys, time
os.makedirs(os.path.dirname(sys.argv[1]), exist_ok=True)
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder():
    """Starts another process that holds a lock until it is killed."""
    started = []

    def hold(path):
        command = [sys.executable, "-c", HOLDER, str(path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        assert started[-1].stdout.readline() == b"held\n"
        return started[-1]

    yield hold
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_that_another_program_holds_is_waited_for(folders, holder, capsys, lock):
    other = holder(folders / lock)
    threading.Timer(1.5, other.kill).start()
    start = time.monotonic()
    apt.install(["toy"])
    said = capsys.readouterr().err
    assert time.monotonic() - start > 1.4 and (folders / "cache/archives/toy_1_all.deb").exists()
    assert said.count("\n") == 1 and f"Could not get lock {folders / lock}" in said and str(other.pid) in said


def test_a_lock_that_is_not_given_back_is_an_error_that_names_its_holder(folders, holder):
    other = holder(folders / LOCKS[0])
    with pytest.raises(apt.AptError, match=rf"has used apt for 0.5 s: Could not get lock .*process {other.pid} "):
        apt.install(["toy"], wait=0.5)


def test_what_fails_is_said_in_apts_words(folders):
    with pytest.raises(apt.AptError, match="install -y .*nonesuch failed with status 100: E: Unable to locate package"):
        apt.install(["nonesuch"])


def test_a_script_of_a_package_may_print_and_what_it_says_is_told_where_it_fails(folders):
    dpkg, ran = folders / "dpkg.sh", folders / "ran"
    say = 'echo "what it prints" || exit 3; echo "why it fails" >&2'
    dpkg.write_text(f"#!/bin/sh\ncase $* in *--configure*) {say}; touch {ran};; *) exit 0;; esac\n")
    dpkg.chmod(0o755)
    with (folders / "apt.conf").open("a") as config:
        config.write(f'Dir::Bin::dpkg "{dpkg}";\n')
    apt.install(["toy"])
    assert ran.exists()
    with dpkg.open("a") as script:
        script.write('echo "dpkg: error processing package toy (--configure):" >&2; exit 1\n')
    with pytest.raises(apt.AptError, match="what it prints; why it fails; dpkg: error processing package toy"):
        apt.install(["toy"])


def test_as_a_script_it_installs_nothing_where_nothing_is_missing(tmp_path):
    script = [sys.executable, "-S", "-I", str(ROOT / "deskgym/apt.py")]
    done = subprocess.run([*script, "core"], capture_output=True, text=True, env=os.environ | {"PATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # there is no dpkg to ask
    done = subprocess.run([*script, "nonesuch"], capture_output=True, text=True)
    assert done.returncode == 1
