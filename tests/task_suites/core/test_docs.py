"""docs/tasks.md does what it says."""

import doctest
import re
from pathlib import Path

import pytest

from deskgym.envs.episode import TaskLike, TaskSource
from deskgym.task_suites.core.suite import TaskSuite

PAGE = (Path(__file__).parents[3] / "docs" / "tasks.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for k, block in enumerate(blocks("yaml")):
        path = tmp_path / "my_tasks" / f"{k}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "my_tasks"


def test_the_yaml_examples_are_tasks(folder: Path) -> None:
    suite = TaskSuite("docs", folder)
    assert isinstance(suite, TaskSource)
    assert suite.ids() == ["notes/biggest", "notes/total"]
    assert isinstance(suite.get("notes/biggest"), TaskLike)


def test_the_python_examples_run(folder: Path) -> None:
    for block in blocks("python"):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, {}, "tasks.md", "tasks.md", 0)
            assert doctest.DocTestRunner().run(test).failed == 0
        else:
            names: dict = {}
            exec(block, names)
            assert names["suite"].ids() == ["notes/biggest", "notes/total"]


def test_every_name_is_in_the_page() -> None:
    from deskgym.task_suites.core.registry import Registry

    registry = Registry()
    for name in [*registry.hooks, *registry.steps]:
        assert f"`{name}`" in PAGE, name


def test_every_name_of_a_program_in_the_page_is_registered() -> None:
    from deskgym.task_suites.core.discovery import program_names
    from deskgym.task_suites.core.registry import Registry

    registry = Registry().with_programs(program_names())
    known = {*registry.hooks, *registry.checks, *registry.steps, *registry.functions, *registry.readers}
    named = set(re.findall(rf"\b(?:{'|'.join(program_names())})\.\w+", PAGE))
    assert named and named <= known, named - known
