"""The README says what the registry and the command line say; the tutorial's task is proven."""

import json
import re
from pathlib import Path

import pytest

from deskgym.cli.main import COMMANDS, main
from deskgym.task_suites import load_suite
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.suites import ENTRIES

ROOT = Path(__file__).parents[1]


def test_the_table_of_suites_is_that_of_the_registry():
    row = r"^\| `(\w+)` \| `(deskgym/[\w-]+)` \| (.*) \| (\d+) \| (.*) \|$"
    rows = re.findall(row, (ROOT / "README.md").read_text(), re.M)
    programs = {name: shown for name, _, shown, *_ in rows}
    table = [(name, gym_id, count, importers) for name, gym_id, _, count, importers in rows]
    wanted = []
    for entry in ENTRIES:
        assert all(load_program(program).title in programs[entry.name] for program in entry.programs)
        importers = ", ".join(
            f"`{name}`" + ("" if place else ": not yet")
            for name, place in {**entry.importers, **entry.by_source}.items()
        )
        wanted.append((entry.name, entry.gym_id, str(len(load_suite(entry.name).ids())), importers))
    assert sorted(table) == sorted(wanted)


def test_every_command_is_in_the_list_of_commands():
    listed = set(re.findall(r"^deskgym (\w+)\b", (ROOT / "README.md").read_text(), re.M))
    assert listed >= set(COMMANDS)


@pytest.mark.parametrize("name", [entry.name for entry in ENTRIES])
def test_every_template_has_a_proof_in_the_repository(name):
    rows = map(json.loads, (ROOT / "task_suites" / name / "proofs.jsonl").read_text().splitlines())
    assert {row["task"] for row in rows if "task" in row} >= set(load_suite(name).ids())


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_task_of_the_tutorial_is_proven(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "tutorials" / "write_a_task.md").read_text()
    path, (task,) = tmp_path / "my_tasks/notes/sum.yaml", re.findall(r"^```yaml\n(.*?)\n```$", page, re.DOTALL | re.M)
    path.parent.mkdir(parents=True)
    path.write_text(task)
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "my_tasks", "--resets", "1"]) == 0, capsys.readouterr().out
    (code,) = re.findall(r"^```python\n(.*?)\n```$", page, re.DOTALL | re.M)
    exec(compile(code, "page", "exec"), {})
    assert capsys.readouterr().out.endswith("\n1.0\n")
