"""docs/programs.md and docs/services.md do what they say: programs are found, tasks are proven, examples run."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deskgym.task_suites import load_suite

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "programs.md").read_text()
SERVICES = (DOCS / "services.md").read_text()


@pytest.fixture
def page():
    """The page that a test is about, unless it names another one."""
    return PAGE


@pytest.fixture
def here(tmp_path, monkeypatch, page):
    """A folder with the files of the page."""
    for name, text in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(here, *argv):
    environment = os.environ | {"PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, *argv], cwd=here, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_program_and_its_task_are_found(here):
    suite = load_suite("my_tasks")
    assert suite.ids() == ["mousepad/words"]
    task = suite.get("mousepad/words", seed=3)
    assert (task.needs.memory_mb, task.needs.disk_mb, task.needs.packages) == (1024, 600, ("mousepad",))


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "page",
    [pytest.param(PAGE, id="programs"), pytest.param(SERVICES, id="services", marks=pytest.mark.slow)],
)
def test_the_commands_of_the_page_work(here, page):
    commands = re.findall(r"^\$ deskgym (.*)$", page, re.MULTILINE)
    assert commands[-1].startswith("verify ")
    for command in commands:
        done = python(here, "-m", "deskgym.cli", *shlex.split(command))
        assert done.returncode == 0, done.stderr + done.stdout
    assert "1 of 1 tasks are as they must be" in done.stdout


@pytest.mark.sandbox
def test_the_python_of_the_page_runs(here):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    done = python(here, "-c", code)
    assert done.returncode == 0, done.stderr
    first, *elements = done.stdout.splitlines()
    assert re.fullmatch(r"mousepad/words#\d+ 1024", first)
    assert any("\tframe\t" in line and "Mousepad" in line for line in elements)


def test_the_services_of_the_page_are_legal():
    result = doctest.testfile(str(DOCS / "services.md"), module_relative=False)
    assert result.attempted > 0 and result.failed == 0


def test_every_part_of_a_program_is_in_the_page():
    from dataclasses import fields

    from deskgym.task_suites.core.program import Program

    assert not [field.name for field in fields(Program) if f"`{field.name}`" not in PAGE and field.name != "title"]
