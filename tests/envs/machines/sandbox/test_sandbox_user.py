"""An ordinary user's sandboxes pass what root's pass: this starts the same tests as a user made for it."""

import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import deskgym

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]
TESTS = Path(__file__).parents[3]
SYSTEM_PYTHON = "/usr/bin/python3"
ALWAYS = (
    "machines/test_conformance.py",
    "machines/sandbox/test_sandbox_boundary.py",
    "machines/sandbox/test_program_isolation.py",
    "provision/test_companions.py",
)
SAMPLED = (
    "machines/sandbox/test_sandbox_death.py",
    "machines/live/test_live.py",
    "machines/image/test_image_build.py",
    "provision/test_companion_postgresql.py",
    "provision/test_shared_folders.py",
    "provision/test_layers.py",
    "provision/test_tool_environments.py",
)


def system_python_is_like_ours():
    """Compiled libraries of our environment load in the system's Python."""
    code = "import sys; print(*sys.version_info[:2], sep='.')"
    try:
        version = subprocess.run([SYSTEM_PYTHON, "-c", code], capture_output=True, text=True).stdout.strip()
    except OSError:
        return False
    return version == ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def user():
    """A user with subordinate ids, for the length of a test."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a user; the other tests run as an ordinary one then")
    if not (shutil.which("useradd") and shutil.which("newuidmap") and system_python_is_like_ours()):
        pytest.skip("needs useradd, newuidmap (package uidmap), and /usr/bin/python3 of our own version")
    name = f"dgtest{secrets.token_hex(3)}"
    subprocess.run(["useradd", "-m", "-s", "/bin/sh", name], check=True)
    try:
        yield name
    finally:
        subprocess.run(["userdel", "-r", name], check=True, capture_output=True)


@pytest.mark.parametrize("file", [*ALWAYS, *SAMPLED])
def test_as_an_ordinary_user(user, file, sampled):
    if file not in ALWAYS and file not in sampled(SAMPLED):
        pytest.skip("not in this run's sample")
    home = Path("/home", user)
    source = home / "source"
    shutil.copytree(
        Path(deskgym.__file__).parent, source / "deskgym", ignore=shutil.ignore_patterns("__pycache__", ".git")
    )
    shutil.copytree(TESTS, source / "tests")
    libraries = [entry for entry in sys.path if entry.endswith("site-packages")]
    subprocess.run(["chmod", "-R", "a+rX", str(source)], check=True)
    done = subprocess.run(
        [str(shutil.which("runuser")), "-u", user, "--", SYSTEM_PYTHON, "-m", "pytest", "-q",
         "-p", "no:cacheprovider", "-rs", f"tests/envs/{file}",
         "-o", "markers=sandbox\nslow\nqemu"],
        cwd=source,
        env={
            "PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join([str(source), *libraries]),
        },
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout and "no sandbox here" not in done.stdout, done.stdout[-2000:]
    shown = subprocess.run(["ps", "-u", user, "-o", "stat=,args="], capture_output=True, text=True).stdout
    left = [line for line in shown.splitlines() if not line.startswith("Z")]  # what PID 1 has yet to reap
    assert not left, f"processes of {user} are left: {left}"
