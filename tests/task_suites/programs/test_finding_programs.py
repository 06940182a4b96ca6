"""Programs: where they are found, what is said of one that is not well or not installed; suites as data."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import gymnasium as gym
import pytest

import deskgym
from deskgym.envs.errors import MachineError, TaskError
from deskgym.packages import groups, packages
from deskgym.task_suites import SUITES, find_entry, load_suite, suites
from deskgym.task_suites.core import discovery
from deskgym.task_suites.programs import Program, load_program, program_names

ROOT = Path(__file__).parents[3]
PROGRAM = """
from deskgym.task_suites.core.program import Program

def answer(of: str) -> str:
    return of

PROGRAM = Program(name={name!r}, title="It", packages=({package!r},), functions={{"{name}.answer": answer}})
"""
TASK = """
id: {name}/ask
title: T
instruction: Answer {{right}}.
difficulty: easy
end: answer
params:
  of: {{choice: [yes, no, maybe, often]}}
  right: {{{name}.answer: "{{of}}"}}
checks:
  - answer.text: "{{right}}"
oracle:
  - answer: "{{right}}"
wrong:
  other:
    - answer: another
"""


def write_program(folder, name="xquiz", package="bash"):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "__init__.py").write_text(PROGRAM.format(name=name, package=package))
    return folder


@pytest.fixture
def my_tasks(tmp_path):
    """A folder of a user's, with a task and its program."""
    folder = tmp_path / "my_tasks"
    write_program(folder / "programs")
    (folder / "ask.yaml").write_text(TASK.format(name="xquiz"))
    return folder


def test_ours_are_found_by_their_folders():
    assert "kalgebra" in program_names() and "toolkits" not in program_names()
    assert load_program("kalgebra") is load_program("kalgebra")
    with pytest.raises(TaskError, match="unknown program 'kalgebar'; did you mean 'kalgebra'"):
        load_program("kalgebar")


def test_one_is_found_in_a_folder_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("DESKGYM_PROGRAMS", f"/nowhere:{write_program(tmp_path)}")
    assert "xquiz" in program_names() and load_program("xquiz").packages == ("bash",)


def test_one_is_found_by_its_entry_point(monkeypatch):
    program = Program(name="elsewhere", title="Elsewhere")
    module = type(sys)("elsewhere_package")
    module.PROGRAM = program
    monkeypatch.setitem(sys.modules, "elsewhere_package", module)
    points = [EntryPoint("elsewhere", "elsewhere_package", "deskgym.programs")]
    monkeypatch.setattr(
        discovery, "entry_points", lambda group, name=None: [p for p in points if name in (None, p.name)]
    )
    assert "elsewhere" in program_names() and load_program("elsewhere") is program


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PROGRAM = 3", "has no PROGRAM = Program"),
        (PROGRAM.format(name="other", package="x"), "the program is named 'other'; legal is 'xquiz'"),
    ],
)
def test_what_is_no_program_is_said(tmp_path, text, message):
    write_program(tmp_path)
    (tmp_path / "xquiz" / "__init__.py").write_text(text)
    with pytest.raises(TaskError, match=message):
        load_program("xquiz", [tmp_path])


def test_a_name_that_deskgym_s_own_program_has_is_refused(tmp_path):
    write_program(tmp_path, "shop")
    with pytest.raises(TaskError, match=r"two programs are named 'shop': .*/shop and .*/shop; give yours another name"):
        load_program("shop", [tmp_path])


def test_names_that_are_not_the_programs_are_refused():
    with pytest.raises(ValueError, match="hooks 'open'; legal are names such as 'mine.open'"):
        Program(name="mine", title="Mine", hooks={"open": print})
    with pytest.raises(ValueError, match="small letters"):
        Program(name="My Program", title="Mine")


def test_packages_are_read_without_importing_and_are_those_of_the_programs():
    for name in program_names():
        assert groups()[name] == load_program(name).packages
    assert set(packages("suites")) == {p for entry in suites.ENTRIES for name in entry.programs for p in packages(name)}
    script = [sys.executable, "-S", "-I", str(ROOT / "deskgym" / "packages.py"), "core", "science"]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout.split() == packages(
        "core", "science"
    )


def test_a_users_folder_is_played_with_its_own_program(my_tasks):
    task = load_suite(str(my_tasks)).get("xquiz/ask", 4)
    assert task.needs.programs == ("xquiz",) and task.needs.packages == ("bash",)
    env = gym.make("deskgym/Science-v0", suite=str(my_tasks), machine="fake", screen_size=(64, 64), action="code")
    _, info = env.reset(seed=1)
    for action in env.unwrapped.oracle():
        *_, info = env.step(action)
    env.close()
    assert info["verdict"]["score"] == 1.0


def test_what_is_not_installed_is_said_before_a_machine_starts(my_tasks, capsys):
    from deskgym.cli import main

    (my_tasks / "programs" / "xquiz" / "__init__.py").write_text(
        PROGRAM.format(name="xquiz", package="no-such-package")
    )
    discovery._load.cache_clear()
    discovery._from_folder.cache_clear()
    sys.modules.pop("deskgym_program_xquiz", None)
    message = "uses xquiz, .*missing here: no-such-package. Install them: `deskgym install SUITE`"
    with pytest.raises(MachineError, match=message):
        gym.make("deskgym/Science-v0", suite=str(my_tasks))
    gym.make("deskgym/Science-v0", suite=str(my_tasks), machine="fake").close()
    assert main(["tasks", str(my_tasks), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["tasks"]
    assert not row["supported"] and "no-such-package" in row["reason"]
    assert main(["install", str(my_tasks), "--dry-run"]) == 0
    assert "no-such-package" in capsys.readouterr().out


def test_a_folder_is_what_its_files_say(tmp_path, my_tasks):
    assert find_entry(str(my_tasks)).gym_id == "deskgym/Science-v0"
    file = my_tasks / "ask.yaml"
    file.write_text(f"suite: bpm\n{file.read_text()}")
    assert find_entry(str(my_tasks)).gym_id == "deskgym/BPM-v0"
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "one.yaml").write_text("id: a/b\nturns: []\n")
    assert find_entry(str(tmp_path / "talks")).gym_id == "deskgym/TableAnalysis-v0"
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match="there is no task file in this folder"):
        load_suite(str(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("oracle:", "oracel:", r"ask\.yaml:\d+:\d+: unknown key 'oracel'.*did you mean 'oracle'"),
        ("oracle:", "note:", r"ask\.yaml:\d+:\d+: missing key 'oracle'"),
        ("oracle:", "{ oracle:", r"ask\.yaml:\d+:\d+: not YAML"),
        ("oracle:", "\toracle:", r"ask\.yaml:\d+:\d+: not YAML.*indent with blanks"),
        ("id:", "suite: scienc\nid:", "there is no task file.*or names a suite: data_engineering, science"),
    ],
)
def test_a_mistake_in_the_only_task_file_is_named(my_tasks, right, wrong, message):
    file = my_tasks / "ask.yaml"
    assert f"\n{right}" in f"\n{file.read_text()}"
    file.write_text(f"\n{file.read_text()}".replace(f"\n{right}", f"\n{wrong}", 1))
    with pytest.raises(TaskError, match=message):
        load_suite(str(my_tasks)).ids()


def test_options_are_those_of_the_suite():
    with pytest.raises(TaskError, match="episode='dialogue' is for table_analysis; 'science' has none"):
        load_suite("science", episode="dialogue")
    with pytest.raises(TaskError, match="episode='talk'; legal are 'turn' and 'dialogue'"):
        load_suite("table_analysis", episode="talk")
    with pytest.raises(TaskError, match="unknown option color='red'"):
        load_suite("science", color="red")


def test_the_registry_is_all_that_names_the_suites():
    assert SUITES == ("data_engineering", "science", "proving", "bpm", "procedures", "table_analysis")
    for entry in suites.ENTRIES:
        assert gym.spec(entry.gym_id).kwargs["suite"] == entry.name


ENTRY = """ENTRIES = (
    SuiteEntry(name="quizzes", gym_id="deskgym/Quizzes-v0", programs=("xquiz",), columns=(("hard", "difficulty"),)),
"""


@pytest.mark.slow
def test_a_new_suite_is_a_folder_and_one_entry_in_the_registry(tmp_path):
    """In a copy of the checkout: one file is edited, and the suite is everywhere."""
    copy = tmp_path / "checkout"
    for name in ("deskgym", "src", "envs", "wrappers", "task_suites", "agents", "benchmarks", "examples"):
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    write_program(copy / "task_suites" / "programs", package="xquiz-package")
    tasks = copy / "task_suites" / "quizzes" / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "ask.yaml").write_text(TASK.format(name="xquiz"))
    registry = copy / "task_suites" / "suites.py"
    registry.write_text(registry.read_text().replace("ENTRIES = (\n", ENTRY, 1))

    def run(*argv):
        environment = os.environ | {"PYTHONPATH": str(copy / "src")}
        done = subprocess.run(
            [sys.executable, *argv], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run(str(copy / "deskgym" / "packages.py"), "quizzes").split() == ["xquiz-package"]
    assert "quizzes" in run("-m", "deskgym.cli", "tasks")
    listed = run("-m", "deskgym.cli", "tasks", "quizzes")
    assert "hard" in listed and "xquiz/ask" in listed and "xquiz-package" in listed
    assert "xquiz-package" in run("-m", "deskgym.cli", "install", "quizzes", "--dry-run")
    played = run("-m", "deskgym.cli", "run", "quizzes", "--machine", "fake", "--screen", "64x64", "--json")
    assert json.loads(played)["mean_score"] == 1.0
    made = "import gymnasium, deskgym; e = gymnasium.make('deskgym/Quizzes-v0', machine='fake'); print(e.spec.id)"
    assert run("-c", made) == "deskgym/Quizzes-v0\n"
    assert deskgym.__version__ in run("-m", "deskgym.cli", "--version")
