"""Spider2-V's tasks as a source of environments: ids, splits, reasons, instructions."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deskgym.cli.main import main
from deskgym.envs.errors import TaskError
from deskgym.task_suites import load_suite
from deskgym.task_suites.core.verify.ledger import Ledger, Proof, ledger_path
from deskgym.task_suites.importers.spider2v import config_schema, getter_schema, metric_schema
from deskgym.task_suites.importers.spider2v.outside import missing_files, outside_needs
from deskgym.task_suites.importers.spider2v.record import Comparison, Getter, Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.tasks import reasons

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


def test_each_given_task_that_does_not_run_names_what_its_program_lacks(upstream):
    source = source_of(upstream)
    for record in source.collection.tasks:
        needs = " ".join(reason for reason in reasons(record) if reason.startswith("needs "))
        assert ("account" in needs or "ServiceNow" in needs) == ("account" in record.tags), record.id
        if record.app not in ("excel", "dbt", "jupyter", "superset", "airflow", "dagster"):
            assert needs, record.id
    assert not any(reasons(record) for record in source.collection.tasks if record.app == "excel")


def used(kind, name):
    """A task whose files have this step, getter or metric function."""
    comparison = Comparison("compare_table", Getter("vm_file", {"path": "/home/user/a"}))
    record = UpstreamTask(
        id="excel/T", app="excel", file=Path("T.json"), variant="abstract", counterpart="excel/U",
        instruction="Do it.", comparisons=(comparison,),
    )  # fmt: skip
    if kind == "setup step":
        return replace(record, config=(Step(name, {}),))
    changed = {"metric": name} if kind == "metric" else {"result": Getter(name, {})}
    return replace(record, comparisons=(replace(comparison, **changed),))


@pytest.mark.parametrize(
    ("kind", "schema", "count", "run"),
    [
        ("setup step", config_schema.STEPS, 39, 6),
        ("getter", getter_schema.RESULTS, 29, 7),
        ("metric", metric_schema.METRICS, 25, 25),
    ],
)
def test_each_type_is_run_or_named_as_lacking(kind, schema, count, run):
    told = {name: f"no {kind} {name!r}" in reasons(used(kind, name)) for name in schema}
    assert (len(told), len(told) - sum(told.values())) == (count, run), told


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
    told = source.describe(DBT)["reasons"]
    assert told[:2] == [
        "needs a Snowflake account",
        "its file evaluation_examples/examples/bigquery/x/names.zip is not in this copy (upstream's own snapshot does "
        "not have it)",
    ]
    assert {"no setup step 'snowflake_login'", "no getter 'snowflake_worksheet_sql'"} <= set(told[2:])
    with pytest.raises(
        TaskError, match="task 'dbt/aaaa1111' cannot run here: needs a Snowflake account; its file .*; no"
    ):
        source.get(DBT)


def test_a_proof_depends_on_a_tasks_files_and_on_its_apps_code(files, written):
    for task_id in (EXCEL, EXCEL_TWIN):
        files[task_id]["config"] = files[task_id]["config"][:1]
    root = written(files)
    before = source_of(root).proof_inputs(EXCEL).read()
    assert before.file == source_of(root).proof_inputs(EXCEL).file
    apps = {key.partition(":")[0] for key in before.reached if ".spider2v.apps." in key}
    assert [name.rpartition(".")[2] for name in apps] == ["excel"]
    (root / "evaluation_examples/examples" / EXCEL / "gold.xlsx").write_bytes(b"another")
    after = source_of(root).proof_inputs(EXCEL)
    assert after.file != before.file and after.code == before.code


def test_proofs_of_given_tasks_are_kept_beside_the_importer():
    assert ledger_path("data_engineering", "spider2v").parts[-3:] == ("importers", "spider2v", "proofs.jsonl")
    proofs = Ledger(ledger_path("data_engineering", "spider2v")).proofs
    assert all((proof.oracle, proof.noop) == (1, 0) for proof in proofs.values())


def test_the_command_counts_what_is_proven(files, written, capsys, monkeypatch):
    root = written(files)
    kept = Ledger(root / "proofs.jsonl")
    inputs = source_of(root).proof_inputs(DBT).read()
    symbols = "".join(sorted(inputs.symbols))
    proof = Proof(
        inputs.file, inputs.result, inputs.code, symbols, "", 1.0, 0.0, wrong=2, resets=1, seed=0, date="2026-11-23",
        deskgym="0.1",
    )  # fmt: skip
    kept.keep(DBT, proof)
    kept.keep(TWIN, replace(proof, file="changed"))
    monkeypatch.setattr("deskgym.task_suites.core.verify.ledger.ledger_path", lambda suite, source=None: kept.path)
    assert main(["tasks", "data_engineering", "--source", "spider2v", "--path", str(root), "--json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["tasks"]}
    assert [rows[task_id]["proven"] for task_id in (DBT, TWIN, EXCEL)] == [True, False, False]
