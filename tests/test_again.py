"""A test that fails in CI runs once more, alone: real runs of pytest over small test files."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FLAKY = """\
from pathlib import Path

def test_{name}():
    mark = Path(__file__).with_suffix(".mark")
    first = not mark.exists()
    mark.touch()
    assert not first, "a slow moment"
"""
BROKEN = "def test_broken():\n    assert 1 == 2\n"
SKIPPED = """\
import pytest

@pytest.mark.parametrize("why", ["no sandbox here", "not in this run's sample"])
def test_skipped(why):
    pytest.skip(why)
"""


@pytest.fixture
def ran(tmp_path):
    """Runs pytest over files: exit status, output, and the names that it logged as flaky."""
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)

    def run(files, ci="true", options=()):
        for name, text in files.items():
            (tmp_path / f"test_{name}.py").write_text(text)
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        env |= {"CI": ci, "DESKGYM_FLAKY_LOG": str(tmp_path / "flaky.log"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, "."]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        log = tmp_path / "flaky.log"
        return done.returncode, done.stdout, log.read_text().split() if log.exists() else []

    return run


def test_what_passes_alone_is_flaky_and_the_run_is_green(ran):
    status, out, log = ran({"one": FLAKY.format(name="one"), "good": "def test_good(): pass\n"})
    assert status == 0
    assert "flaky: failed, and passed" in out and "a slow moment" in out
    assert (
        "1 flaky" in out.splitlines()[-1]
        and "1 passed" in out.splitlines()[-1]
        and "failed" not in out.splitlines()[-1]
    )
    assert log == ["test_one.py::test_one"]


def test_what_fails_beside_others_runs_again_under_its_own_name(ran):
    files = {"one": FLAKY.format(name="one"), "broken": "import pytest\n@pytest.mark.parametrize('a', ['x@y'])\n"}
    files["broken"] += "def test_broken(a):\n    assert 1 == 2\n"
    status, out, log = ran(files, options=("-p", "xdist", "-n", "2", "--dist", "loadgroup"))
    assert status == 1 and log == ["test_one.py::test_one"]
    assert "1 failed" in out.splitlines()[-1] and "1 flaky" in out.splitlines()[-1]


def test_what_fails_twice_has_failed(ran):
    status, out, log = ran({"one": FLAKY.format(name="one"), "broken": BROKEN})
    assert status == 1 and log == ["test_one.py::test_one"]
    assert "1 failed" in out.splitlines()[-1] and "1 flaky" in out.splitlines()[-1]


def test_what_is_skipped_for_want_of_something_has_failed(ran):
    status, out, log = ran({"skipped": SKIPPED})
    assert status == 1 and log == [] and "1 failed, 1 skipped" in out.splitlines()[-1]
    assert "no sandbox here: in CI nothing may be missing" in out


def test_a_file_that_is_skipped_for_want_of_a_library_has_failed(ran):
    status, out, log = ran({"skipped": "import pytest\npytest.importorskip('no_such_library')\n"})
    assert status not in (0, 5) and "could not import 'no_such_library'" in out


def test_more_than_three_are_too_many(ran):
    status, out, log = ran({name: FLAKY.format(name=name) for name in ("a", "b", "c", "d")})
    assert status == 1 and len(log) == 4
    assert "4 tests are flaky; at most 3 may be" in out


def test_without_ci_nothing_runs_again(ran):
    status, out, log = ran({"one": FLAKY.format(name="one")}, ci="")
    assert status == 1 and log == [] and "flaky" not in out
