"""Which sources a function depends on, and what of them counts."""

import subprocess
import sys

import pytest

from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify import sources
from deskgym.task_suites.core.verify.sources import closure, digest_of_sources


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A user's package of three modules: ``checks`` imports ``maths`` in a function and ``words`` for types only."""
    folder = tmp_path / f"frotz_{tmp_path.name}"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "maths.py").write_text('"""Maths."""\n\n\ndef double(n):\n    return 2 * n\n')
    (folder / "words.py").write_text("WORDS = ()\n")
    (folder / "by_name.py").write_text("N = 1\n")
    (folder / "checks.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from . import words\n\n\n"
        f"def check(final):\n    from .maths import double\n\n    return load('{folder.name}.by_name:N') == double(1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for cached in (sources.module_path, sources._imports, sources._significant, sources._data_of):
        cached.cache_clear()


def digest(folder):
    for cached in (sources.module_path, sources._imports, sources._significant, sources._data_of):
        cached.cache_clear()
    return digest_of_sources(closure([f"{folder.name}.checks"]))


def test_imports_are_followed_where_they_stand_and_not_for_types(package):
    name = package.name
    assert closure([f"{name}.checks"]) == [f"{name}.by_name", f"{name}.checks", f"{name}.maths"]


def test_a_change_of_code_counts_and_one_of_words_does_not(package):
    before = digest(package)
    maths = package / "maths.py"
    maths.write_text('"""Other words."""\n\n# a comment\ndef double(n):\n    """Twice."""\n    return 2 * n  # two\n')
    assert digest(package) == before
    (package / "words.py").write_text("WORDS = (1,)\n")
    assert digest(package) == before
    maths.write_text("def double(n):\n    return 2 * n + 1\n")
    assert digest(package) != before


def test_a_text_keeps_its_blank_lines_and_what_looks_like_a_comment(package):
    maths = package / "maths.py"
    maths.write_text('TEXT = """a\n\n# b\n"""\n')
    before = digest(package)
    maths.write_text('TEXT = """a\n# b\n"""\n')
    assert digest(package) != before
    maths.write_text('TEXT = """a\n\n# c\n"""\n')
    assert digest(package) != before


def test_data_files_beside_a_module_count_and_tasks_and_the_ledger_do_not(package):
    before = digest(package)
    for name in (
        "tasks/one.yaml", "proofs.jsonl", "__pycache__/maths.pyc", "site/__pycache__/script.pyc",
        "suite/proofs.jsonl", "suite/tasks/one.yaml",
    ):  # fmt: skip
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("new")
    assert digest(package) == before
    seen = {before}
    for name in ("words.yaml", "tables/start.sql", "site/script.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        for text in ("new", "other"):
            (package / name).write_text(text)
            seen.add(digest(package))
    assert len(seen) == 7


def test_a_task_depends_on_its_program_and_on_no_other_room():
    suite = load_suite("science")
    modules = suite.proof_inputs("kalgebra/save-script").modules
    assert "deskgym.task_suites.programs.kalgebra.checks" in modules
    assert "deskgym.envs.evaluation.checks.file" in modules
    rooms = ("deskgym.envs.evaluation", "deskgym.task_suites.core", "deskgym.task_suites.hooks")
    others = {name for name in modules if not name.startswith(rooms)}
    assert {name.split(".")[3] for name in others} <= {"kalgebra", "toolkits"}
    assert "deskgym.task_suites.core.registry" not in modules
    assert "deskgym.envs.evaluation.checks.file" not in suite.proof_inputs("kalgebra/plot-2d").modules


@pytest.mark.parametrize("module", ["provision.companion_keeper", "provision.companions", "provision.postgresql",
                                    "provision.services", "guest.companion.data", "guest.companion.link"])  # fmt: skip
def test_what_rolls_services_back_counts_for_tasks_with_services_alone(monkeypatch, module):
    tasks = {"bpm": "helpdesk/assign", "science": "kalgebra/tab", "data_engineering": "calc/sort"}
    modules = {suite: load_suite(suite).proof_inputs(task).modules for suite, task in tasks.items()}
    before = {suite: digest_of_sources(names) for suite, names in modules.items()}
    path, real = sources.module_path(f"deskgym.envs.{module}"), sources._significant
    monkeypatch.setattr(sources, "_significant", lambda given: real(given) + "changed" * (given == path))
    assert {suite for suite, names in modules.items() if digest_of_sources(names) != before[suite]} == {"bpm"}


def test_digests_are_the_same_in_another_process(package):
    code = "from deskgym.task_suites import load_suite; i = load_suite('science').proof_inputs('kalgebra/tab')"
    command = [sys.executable, "-c", f"{code}; print(i.file, i.code)"]
    runs = {
        subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=package, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    own = load_suite("science").proof_inputs("kalgebra/tab")
    assert runs == {f"{own.file} {own.code}\n"}
