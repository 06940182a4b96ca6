"""What is loaded from files of our own: both shapes of everything, twins, lists, documents, ids."""

from pathlib import Path

import pytest

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers.spider2v.config_schema import ACTIONS, STEPS, read_steps
from deskgym.task_suites.importers.spider2v.getter_schema import RESULTS, read_getter
from deskgym.task_suites.importers.spider2v.metric_schema import METRICS
from deskgym.task_suites.importers.spider2v.record import Getter, Step
from deskgym.task_suites.importers.spider2v.task_file import TaskFile

DBT, TWIN, EXCEL, EXCEL_TWIN = "dbt/aaaa1111", "dbt/bbbb2222", "excel/cccc3333", "excel/dddd4444"

SNOWFLAKE = "evaluation_examples/settings/snowflake/settings.json"
USED_STEPS = (
    "airbyte_webui_init", "astro_refresh_page", "astro_webui_init", "bigquery_init", "bigquery_login",
    "copyfile_from_host_to_guest", "dagster_webui_init", "dbt_cloud_init", "dbt_cloud_webui_login", "execute",
    "google_chrome_browser", "googledrive_init", "googledrive_login", "hasura_login", "launch", "metabase_webui_init",
    "open", "script_and_execute", "snowflake_delete_filter", "snowflake_delete_folder", "snowflake_init",
    "snowflake_login", "snowflake_write_sqls_in_new_worksheet", "superset_webui_init", "workarena_task_init",
    "workarena_unique_fields",
)  # fmt: skip
"""The 26 types of upstream's ``config``."""
USED_AFTERWARDS = ("sleep", "execute", "activate_window", "copyfile_from_host_to_guest", "script_and_execute")

#: Steps, actions and getters that none of the given files has, as upstream's code takes them.
UNSEEN_STEPS = [
    {"type": "bigquery_login", "parameters": {"project_index": 0, "ws": ""}},
    {"type": "dagster_webui_init", "parameters": {"actions": [
        {"type": "materialize_assets", "timeout": 120000},
        {"type": "execute_js", "script_path": "evaluation_examples/examples/dbt/aaaa1111/eval.sh"},
        {"type": "delete_environment_variables"},
    ]}},
    {"type": "dbt_cloud_webui_login", "parameters": {"settings_file": SNOWFLAKE, "goto_page": "cli_setup"}},
    {"type": "metabase_webui_init", "parameters": {"actions": [{"type": "setup", "config": {"add_data": {
        "type": "PostgreSQL", "display_name": "a", "host": "localhost", "port": "5432", "db_name": "b",
        "db_user": "c", "db_password": "",
    }}}]}},
    {"type": "snowflake_delete_filter", "parameters": {"listening_port": 9222, "filter_name": ":title"}},
    {"type": "snowflake_init", "parameters": {"settings_file": SNOWFLAKE, "actions": [
        {"type": "delete_user", "username": ["A", "B"]},
        {"type": "execute_script", "sql_command": ["SELECT 1", "SELECT 2"], "query_ids_path": "ids.txt"},
    ]}},
    {"type": "launch", "parameters": {"command": "gnome-terminal", "shell": True}},
    {"type": "download", "parameters": {"files": [{"url": "https://example.org/a", "path": "/home/user/a"}]}},
]  # fmt: skip
UNSEEN_GETTERS = [
    {"type": "airbyte_localhost_page"},
    {"type": "snowflake_function_result", "settings_file": SNOWFLAKE, "database": "a", "table": "b", "function": "f"},
    {"type": "snowflake_log_message", "settings_file": SNOWFLAKE, "database": "a", "table": "b", "logger": "l"},
    {"type": "snowflake_user_info", "settings_file": SNOWFLAKE, "username": "a"},
    {"type": "snowflake_worksheet_sql_result", "worksheet": "w", "database": "a", "schema": "s", "dest": "a.csv"},
    {"type": "superset_localhost_page", "url": "http://localhost:8088", "title": "Superset"},
    {"type": "vm_command_line", "command": ["cat", "/home/user/a"], "shell": False},
    {"type": "vm_file", "path": ["/home/user/a", "/home/user/b"], "dest": ["a", "b"], "multi": True, "gives": [0, 1]},
    {"type": "active_url_from_accessTree", "config": {"goto_prefix": "https://x/"}},
]


def test_the_schema_has_all_that_upstream_uses():
    assert len(USED_STEPS) == 26 and {*USED_STEPS, *USED_AFTERWARDS} <= set(STEPS)
    assert (len(METRICS), len(RESULTS)) == (25, 29)
    assert {kind for metric in METRICS.values() for kind in metric.expected} == {
        "rule",
        "local_file",
        "vm_file",
        "list",
    }
    assert set(ACTIONS) <= set(STEPS)


@pytest.fixture
def read(files, written):
    """Reads a part of a task file; any mistake of it fails the test."""
    root = written(files) / "evaluation_examples"

    def part(reader, data):
        file = TaskFile(root / "examples" / DBT / "aaaa1111.json", "x.json", root)
        file.data = data
        found = reader(file.root())
        assert [str(problem) for problem in file.problems] == []
        return found

    return part


@pytest.mark.parametrize("step", UNSEEN_STEPS, ids=lambda step: step["type"])
def test_steps_of_no_given_file(read, step):
    (found,) = read(lambda fields: read_steps(fields, "config"), {"config": [step]})
    assert found.type == step["type"] and set(step["parameters"]) <= set(found.parameters)


@pytest.mark.parametrize("getter", UNSEEN_GETTERS, ids=lambda getter: getter["type"])
def test_getters_of_no_given_file(read, getter):
    found = read(lambda fields: read_getter(fields, RESULTS, "getter"), getter)
    assert found.type == getter["type"] and set(found.fields) == set(getter) - {"type"}


def test_one_function(files, copy_of):
    files[DBT]["config"].append(
        {"type": "dbt_cloud_init", "parameters": {"setting_file": SNOWFLAKE, "actions": [{"type": "create_project"}]}}
    )
    files[TWIN]["config"].append(files[DBT]["config"][-1])
    task = copy_of(files)[DBT]
    copied, browser, cloud = task.config
    script = task.folder / "eval.sh"
    assert (copied["src"], copied["dest"], copied["json_encode"]) == (script, "/home/user/init.sh", False)
    assert (browser["urls"], browser["debugging_port"]) == (("https://www.bing.com/",), 1337)
    assert (cloud["settings_file"].name, cloud["actions"]) == ("settings.json", (Step("create_project", {}),))
    (comparison,) = task.comparisons
    assert comparison.metric == "check_include_exclude" and comparison.result["src"] == script
    assert comparison.expected == Getter("rule", {"rules": {"include": ["succeed"], "exclude": ["failed"]}})
    assert (task.conjunction, task.postconfig) == ("and", (Step("sleep", {"seconds": 0.5}),))
    assert not task.missing  # the settings of an account are in nobody's copy


def test_a_list_of_functions(files, copy_of):
    task = copy_of(files)[EXCEL]
    table, exists = task.comparisons
    assert table.expected["path"] == task.folder / "gold.xlsx"
    assert [rule["type"] for rule in table.options["rules"]] == ["sheet_data", "chart", "check_cell"]
    assert (exists.metric, exists.expected, exists.options) == ("check_file_existence", None, {})
    assert task.conjunction == "or"


def test_a_list_of_one_function_and_no_options(files, copy_of):
    for task_id in (DBT, TWIN):
        evaluator = files[task_id]["evaluator"]
        evaluator |= {key: [evaluator[key]] for key in ("func", "result", "expected")} | {"options": {}}
    (comparison,) = copy_of(files)[DBT].comparisons
    assert comparison.expected.type == "rule" and comparison.options == {}


def test_an_infeasible_task(files, copy_of):
    for task_id in (DBT, TWIN):
        files[task_id]["evaluator"] = {"func": "infeasible", "result": {}, "expected": {}}
    task = copy_of(files)[DBT]
    assert task.infeasible and not task.comparisons


def test_files_that_the_runner_makes_and_addresses_stay_text(files, copy_of):
    for task_id in (DBT, TWIN):
        for name in ("cache/aaaa/query_ids.txt", "https://example.org/a.csv"):
            step = {"type": "copyfile_from_host_to_guest", "parameters": {"src": name, "dest": "/home/user/a"}}
            files[task_id]["config"].append(step)
    sources = [step["src"] for step in copy_of(files)[DBT].config if "src" in step.parameters]
    assert sources[1:] == ["cache/aaaa/query_ids.txt", "https://example.org/a.csv"] and isinstance(sources[0], Path)


def test_twins(files, copy_of):
    collection = copy_of(files)
    task, twin = collection[DBT], collection[TWIN]
    assert (task.variant, task.counterpart, twin.variant, twin.counterpart) == ("abstract", TWIN, "verbose", DBT)
    assert collection.instruction(twin, "abstract") == task.instruction == "Make the table."
    assert collection.instruction(task, "verbose") == twin.instruction
    assert twin.instruction.count("1. Open the terminal.") == 1 and task.tutorial.startswith("1. Open the terminal.")


def test_a_twin_with_mistakes_still_has_its_instruction(files, copy_of):
    verbose = files[TWIN]["instruction"]
    files[TWIN]["action_number"] = 0
    collection = copy_of(files)
    assert TWIN not in collection
    assert collection.instruction(collection[DBT], "verbose") == verbose


def test_lists(files, copy_of):
    for task_id in (DBT, TWIN):
        files[task_id]["tags"].append("account")
    lists = {
        "test_all": {"excel": ["cccc3333", "dddd4444", "gone0000"], "dbt": ["bbbb2222", "aaaa1111"]},
        "test_account": {"dbt": []},
        "test_non_account": {"dbt": ["bbbb2222", "aaaa1111"], "excel": ["cccc3333", "dddd4444"]},
    }
    mended = copy_of(files, **lists)
    assert not mended.problems
    assert mended.lists == {
        "test_all": (EXCEL, EXCEL_TWIN, TWIN, DBT),  # in the list's order, without what the copy does not have
        "test_account": (DBT, TWIN),
        "test_non_account": (EXCEL, EXCEL_TWIN),
    }
    assert mended[DBT].lists == ("test_all", "test_account") and "upstream lists it" in mended[DBT].notes[0]
    as_published = copy_of(files, mode="paper", **lists)
    assert as_published.lists["test_account"] == () and as_published[DBT].lists == ("test_all", "test_non_account")
    assert not as_published[DBT].notes


def test_documents(files, copy_of):
    task = copy_of(files)[DBT]
    assert list(task.contexts) == ["txt", "md", "html"] and task.contexts["md"].read_text() == "documents as md"


def test_ids(files, copy_of):
    files["dbt/aaaa2222"] = files[DBT] | {"id": "aaaa2222", "counterpart": "bbbb3333"}
    files["dbt/bbbb3333"] = files[TWIN] | {"id": "bbbb3333", "counterpart": "aaaa2222", "config": files[DBT]["config"]}
    files["dbt/bbbb3333"]["evaluator"] = files[DBT]["evaluator"]
    collection = copy_of(files)
    assert collection["excel/cccc"].id == EXCEL and collection["dbt/aaaa1"].id == DBT
    assert [task.id for task in collection.select("excel/*")] == [EXCEL, EXCEL_TWIN]
    with pytest.raises(TaskError, match="is the beginning of 2 tasks: 'dbt/aaaa1111' or 'dbt/aaaa2222'"):
        collection["dbt/aaaa"]
    with pytest.raises(TaskError, match="no task 'excel/c' in"):
        collection["excel/c"]
    with pytest.raises(TaskError, match="did you mean 'dbt/aaaa1111'"):
        collection["dbt/aaaa1112"]
    assert DBT in collection and "dbt/aaaa" not in collection
