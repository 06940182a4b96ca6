"""Spider2-V's tasks as a source of environments: ids, splits, reasons, instructions."""

import json
import pickle

import numpy as np
import pytest

from deskgym.cli.main import main
from deskgym.envs.errors import TaskError
from deskgym.task_suites import load_suite
from deskgym.task_suites.importers.spider2v.outside import missing_files, outside_needs

DBT, TWIN, EXCEL, EXCEL_TWIN = "dbt/aaaa1111", "dbt/bbbb2222", "excel/cccc3333", "excel/dddd4444"
LISTS = {
    "test_all": {"dbt": ["aaaa1111", "bbbb2222"], "excel": ["cccc3333", "dddd4444"]},
    "test_abstract": {"dbt": ["aaaa1111"], "excel": ["cccc3333"]},
    "test_one": {"dbt": []},
}


def source_of(root, **options):
    return load_suite("data_engineering", source="spider2v", source_path=str(root), **options)


def test_ids_and_splits(files, written):
    files[EXCEL_TWIN]["action_number"] = 0
    source = source_of(written(files, **LISTS))
    with pytest.warns(UserWarning, match="1 of Spider2-V's tasks have mistakes and cannot be run: excel/dddd4444/"):
        assert source.ids() == [DBT, TWIN, EXCEL, EXCEL_TWIN]
    assert source.ids("test_abstract") == [DBT, EXCEL] and source.ids("test_one") == []
    with pytest.raises(TaskError, match="none of Spider2-V's lists; legal are 'test_all', 'test_abstract' or"):
        source.ids("train")
    assert pickle.loads(pickle.dumps(source)).path == source.path


def test_a_mistake_of_a_list_is_no_tasks(files, written):
    source = source_of(written(files, test_all={"word": []}))
    with pytest.warns(UserWarning, match="a file of Spider2-V has mistakes: test_all.json:1: word: must be an app"):
        assert source.ids() == [DBT, TWIN, EXCEL, EXCEL_TWIN]


def test_draws_stay_in_their_split(files, written):
    source = source_of(written(files, **LISTS))
    with pytest.raises(TaskError, match="task 'dbt/bbbb2222' is not in split='test_abstract'"):
        source.draw(np.random.default_rng(0), TWIN, "test_abstract")
    with pytest.raises(TaskError, match="no task of it is in split='test_one'"):
        source.draw(np.random.default_rng(0), None, "test_one")
    with pytest.raises(TaskError, match="unknown task 'word/\\*'"):
        source.draw(np.random.default_rng(0), "word/*")


@pytest.mark.parametrize(("instruction", "lines"), [(None, 1), ("abstract", 1), ("verbose", 5)])
def test_instructions(files, written, instruction, lines):
    source = source_of(written(files), instruction=instruction)
    assert len(source.describe(DBT)["instruction"].splitlines()) == lines
    assert len(source.describe(TWIN)["instruction"].splitlines()) == (5 if instruction is None else lines)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instruction": "long"}, "legal are 'abstract' and 'verbose'"),
        ({"context_format": "pdf"}, "legal are 'txt' and 'md' and 'html'"),
        ({"episode": "dialogue"}, "is for table_analysis; 'spider2v' has none"),
    ],
)
def test_options(files, written, options, message):
    with pytest.raises(TaskError, match=message):
        source_of(written(files), **options)


def test_options_of_the_source_are_not_our_own_tasks():
    with pytest.raises(TaskError, match="context_format='md' is for source='spider2v'; 'data_engineering' has none"):
        load_suite("data_engineering", context_format="md")


def test_what_tasks_need_from_outside(files, copy_of):
    for task_id in (DBT, TWIN):
        files[task_id]["tags"].append("account")
        files[task_id]["config"] += [
            {"type": "snowflake_login", "parameters": {}},
            {
                "type": "googledrive_login",
                "parameters": {"settings_file": "evaluation_examples/settings/google/s.json"},
            },
        ]
    source = "evaluation_examples/examples/superset/all_databases.sql"
    for task_id in (EXCEL, EXCEL_TWIN):
        files[task_id]["config"][0]["parameters"]["src"] = source
    collection = copy_of(files)
    assert outside_needs(collection[DBT]) == ["a Snowflake account", "a Google account", "a Google Cloud account"]
    assert outside_needs(collection[EXCEL]) == []
    (reason,) = missing_files(collection[EXCEL])
    assert reason == f"its file {source} is not in this copy (upstream's own snapshot does not have it)"


def test_every_given_account_task_needs_one(upstream):
    for record in source_of(upstream).collection.tasks:
        assert bool(outside_needs(record)) == ("account" in record.tags or record.app in ("airbyte", "metabase"))


def test_the_command_lists_tasks_by_app(files, written, capsys):
    files[TWIN]["action_number"] = 0
    root = written(files, **LISTS)
    arguments = ["tasks", "data_engineering", "--source", "spider2v", "--path", str(root)]
    assert main([*arguments, "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}
    assert rows[EXCEL]["category"] == ["traditional_data_processing"] and rows[EXCEL]["interface"] == ["gui"]
    assert not rows[TWIN]["supported"] and "action_number: must be at least 1" in rows[TWIN]["reason"]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    (line,) = [line.split() for line in shown.splitlines() if line.split()[:1] == ["dbt"]]
    assert line[:3] == ["dbt", "2", "1"]


def test_a_task_is_told_with_all_that_it_lacks(files, written):
    for task_id in (DBT, TWIN):
        files[task_id]["config"].append({"type": "snowflake_login", "parameters": {}})
        files[task_id]["evaluator"]["result"] = {"type": "snowflake_worksheet_sql"}
        files[task_id]["config"][0]["parameters"]["src"] = "evaluation_examples/examples/bigquery/x/names.zip"
    source = source_of(written(files))
    reasons = source.describe(DBT)["reasons"]
    assert reasons[:2] == [
        "needs a Snowflake account",
        "its file evaluation_examples/examples/bigquery/x/names.zip is not in this copy (upstream's own snapshot does "
        "not have it)",
    ]
    assert {"no setup step 'snowflake_login'", "no getter 'snowflake_worksheet_sql'"} <= set(reasons[2:])
    with pytest.raises(
        TaskError, match="task 'dbt/aaaa1111' cannot run here: needs a Snowflake account; its file .*; no"
    ):
        source.get(DBT)
