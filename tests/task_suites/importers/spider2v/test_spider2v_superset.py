"""Spider2-V's tasks of Superset: which run here, the data that stands for a missing file, and one in a real sandbox."""

import shutil

import pytest

from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.spider2v.apps.superset import data
from deskgym.task_suites.importers.spider2v.tasks import convert, has_oracle, reasons

TASK = "superset/fc08281a"


def test_own_data_is_made_of_the_csv_files_of_other_tasks(tmp_path):
    assert data.sources(tmp_path) == []
    for name, text in (
        ("a/tutorial_flights.csv", '"Department","Cost","Travel Date"\n"O\'Hara",81.5,2011-02-10\n'),
        ("b/video_game_sales.csv", "rank,name,year,na_sales\n1,Wii,2006,41.49\n2,Old,N/A,\n"),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    lines = data.script(tmp_path).splitlines()
    assert lines[0] == 'CREATE TABLE flights ("Department" text, "Cost" double precision, "Travel Date" timestamp);'
    assert lines[1] == "INSERT INTO flights VALUES ('O''Hara', 81.5, '2011-02-10');"
    assert "INSERT INTO games VALUES (1, 'Wii', 2006, 41.49);" in lines
    assert "INSERT INTO game VALUES (1, 'Wii', '2006-01-01', 41.49);" in lines
    assert "INSERT INTO game VALUES (2, 'Old', NULL, NULL);" in lines


def test_all_given_tasks_of_superset_run_and_say_where_data_is_own(upstream):
    tasks = [task for task in spider2v.load(upstream).tasks if task.app == "superset"]
    assert len(tasks) == 26
    assert [task.id for task in tasks if reasons(task) or not has_oracle(task, "corrected")] == []
    notes = [convert(task, "paper").evaluator.notes for task in tasks]
    assert sum(any(note.startswith("own data") for note in each) for each in notes) == 14


def test_without_the_csv_files_a_task_says_that_its_file_is_missing(upstream, tmp_path):
    examples = tmp_path / "evaluation_examples/examples/superset"
    examples.mkdir(parents=True)
    for folder in (upstream / "evaluation_examples/examples/superset").iterdir():
        if not list(folder.glob("*.csv")):
            shutil.copytree(folder, examples / folder.name)
    (reason,) = reasons(spider2v.load(tmp_path)[TASK])
    assert reason == "its file all_databases.sql is not in this copy, nor are the CSV files that stand for it"


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_chart_is_deleted(solved):
    verdict = solved(TASK)
    assert verdict["score"] == 1, verdict
