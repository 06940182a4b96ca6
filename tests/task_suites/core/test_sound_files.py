"""A task file is looked through once; after that it is read, until it or the code changes. Nothing else changes."""

import shutil

import pytest
import yaml
from test_schema import GOOD

from deskgym.task_suites import SUITES, find_entry, load_suite
from deskgym.task_suites.core import schema, schema_yaml, sound_files
from deskgym.task_suites.core.registry import Registry
from deskgym.task_suites.core.schema import load_folders
from deskgym.task_suites.core.schema_yaml import Document, TaskFileError

DESKTOPS = [name for name in SUITES if find_entry(name).display]


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """The files that were looked through; all in ``tmp_path / "ours"`` count as ours."""
    names = []
    run = schema._Checker.run
    monkeypatch.setattr(schema._Checker, "run", lambda self: (names.append(self._document.file), run(self)))
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(sound_files, "_kept", lambda: kept)
    monkeypatch.setattr(sound_files, "_PACKAGE", tmp_path / "ours")
    return names


def write(folder, text=GOOD):
    folder.mkdir(exist_ok=True)
    (folder / "a.yaml").write_text(text)
    return [folder]


def test_ours_are_looked_through_until_they_are_found_well(tmp_path, checked):
    folders = write(tmp_path / "ours")
    first = load_folders(folders, Registry())
    again = load_folders(folders, Registry())
    assert len(checked) == 1 and first == again


def test_what_changes_is_looked_through_again(tmp_path, checked):
    folders = write(tmp_path / "ours")
    load_folders(folders, Registry())
    write(tmp_path / "ours", GOOD.replace("out {a} +", "out {a}{a} +"))
    load_folders(folders, Registry())
    (tmp_path / "ours" / "beside.txt").write_text("x")  # a task file may name it
    load_folders(folders, Registry())
    load_folders(folders, Registry().with_programs(["calc"]))
    assert len(checked) == 4


def test_mistakes_are_said_each_time(tmp_path, checked):
    folders = write(tmp_path / "ours", GOOD.replace("{a} +", "{b2} +"))
    for _ in range(2):
        with pytest.raises(TaskFileError, match="b2"):
            load_folders(folders, Registry())
    assert len(checked) == 2


def test_those_of_users_and_of_other_functions_are_always_looked_through(tmp_path, checked, monkeypatch):
    for _ in range(2):
        load_folders(write(tmp_path / "mine"), Registry())
        load_folders(write(tmp_path / "ours"), Registry().extended(functions={"own": lambda text: text}))
    monkeypatch.setenv(sound_files.FOLDERS, str(tmp_path))
    load_folders(write(tmp_path / "ours"), Registry())
    assert len(checked) == 5


def test_without_a_cache_they_are_looked_through(tmp_path, checked, monkeypatch):
    monkeypatch.setattr(sound_files, "_kept", lambda: None)
    for _ in range(2):
        load_folders(write(tmp_path / "ours"), Registry())
    shutil.rmtree(tmp_path / "kept")
    monkeypatch.setattr(sound_files, "_kept", lambda: tmp_path / "kept")  # somebody has cleared it
    load_folders(write(tmp_path / "ours"), Registry())
    assert len(checked) == 3


def test_another_state_of_the_code_has_another_folder(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "tasks").mkdir(parents=True)
    (package / "code.py").write_text("1")
    monkeypatch.setattr(sound_files, "_PACKAGE", package)
    monkeypatch.setattr(sound_files, "cache_folder", lambda: tmp_path)
    kept = sound_files._kept.__wrapped__
    first = kept()
    (package / "tasks" / "a.yaml").write_text("x")
    assert kept() == first
    (package / "code.py").write_text("23")
    assert kept() != first and first.is_dir(), "it may be that of a program which runs now"


@pytest.mark.parametrize("suite", DESKTOPS)
def test_what_is_drawn_is_the_same_without_what_is_derived(suite):
    for template in load_suite(suite).templates.values():
        for seed in (0, 1, 77):
            key = f"{template.id}#{seed}"
            full, drawn = (template.parameters.draw(key, drawn_only=only) for only in (False, True))
            assert {name: full[name] for name in drawn} == drawn and set(template.parameters.drawn) <= set(drawn)
            assert template.split_of_seed(seed) == template.split(full)


@pytest.mark.parametrize("suite", DESKTOPS)
def test_both_readers_of_yaml_read_the_same(suite, monkeypatch):
    files = [path for folder in load_suite(suite).folders for path in sorted(folder.rglob("*.yaml"))]
    assert yaml.__with_libyaml__ and len(files) > 50
    quick = [Document.read(path) for path in files]
    monkeypatch.setattr(schema_yaml.yaml, "__with_libyaml__", False)
    assert quick == [Document.read(path) for path in files]
