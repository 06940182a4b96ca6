"""docs/programs.md does what it says: its program is found, its task is proven in a sandbox, its example runs."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from deskgym.task_suites import load_suite

PAGE = (Path(__file__).parents[3] / "docs" / "programs.md").read_text()


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files of the page."""
    for name, text in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
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
def test_the_commands_of_the_page_work(here):
    commands = re.findall(r"^\$ deskgym (.*)$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        done = python(here, "-m", "deskgym.cli", *shlex.split(command))
        assert done.returncode == 0, done.stderr + done.stdout
    assert "1 of 1 tasks are as they must be" in done.stdout


@pytest.mark.sandbox
def test_the_python_of_the_page_runs(here):
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    done = python(here, "-c", code)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"mousepad/words#\d+ 1024\n", done.stdout)


def test_every_part_of_a_program_is_in_the_page():
    from dataclasses import fields

    from deskgym.task_suites.core.program import Program

    assert not [field.name for field in fields(Program) if f"`{field.name}`" not in PAGE and field.name != "title"]
