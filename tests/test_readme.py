"""The README's Python, and that of some of docs, run as written."""

import json
import re
import warnings
from pathlib import Path

import gymnasium as gym
import pytest

from deskgym.cli.main import COMMANDS, main
from deskgym.task_suites import load_suite
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.suites import ENTRIES

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md", "docs/wrappers.md", "docs/agents.md", "docs/company.md", "docs/procedures.md", "docs/science.md",
    "docs/table_analysis.md", "docs/tutorials/train_a_policy.md",
)  # fmt: skip
"""Whose Python runs as it stands; that of the other pages has tests of its own, or needs what a user has."""
BLOCKS = [
    pytest.param(code, id=f"{page}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)\n```$", (ROOT / page).read_text(), re.DOTALL | re.M))
]


def test_there_is_python_to_run():
    assert len(BLOCKS) >= 3


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
    ledger = (ROOT / "task_suites" / name / "proofs.jsonl").read_text()
    assert {json.loads(line)["task"] for line in ledger.splitlines()} >= set(load_suite(name).ids())


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


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize("code", BLOCKS)
def test_a_block_runs(code):
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(code, "README", "exec"), names)
        finally:
            for value in names.values():
                if isinstance(value, gym.Env):
                    value.close()
    if "oracle()" in code:
        assert names["reward"] == 1.0
