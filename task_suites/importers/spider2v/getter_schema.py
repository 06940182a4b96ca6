"""Reads ``evaluator.result`` and ``evaluator.expected``: the getters that upstream has, and the fields of each."""

from __future__ import annotations

from functools import partial

from deskgym.task_suites.importers.json_files import Fields, Readers
from deskgym.task_suites.importers.spider2v.config_schema import renamed
from deskgym.task_suites.importers.spider2v.record import Getter
from deskgym.task_suites.importers.spider2v.task_file import (
    any_text,
    host_file,
    host_file_or_folder,
    naturals,
    nested,
    path_or_paths,
    port,
    settings_file,
    text_or_texts,
)


def read_getter(fields: Fields, kinds: dict[str, Readers], noun: str) -> Getter | None:
    """A getter of one of these kinds; None after a mistake."""
    name = fields.known("type", kinds, noun)
    if name is None:
        return None
    values = fields.read(kinds[name])
    fields.finish()
    return Getter(name, renamed(values))


_text, _path, _texts, _flag = Fields.text, Fields.path_text, Fields.texts, Fields.boolean
_name = partial(Fields.text, matching=r"(?!/|.*\.\.)[^\0]+")  # of a file in the folder of the evaluation
_PROJECT: Readers = {
    "config_file?": settings_file,
    "project_name?": _text,
    "project_index?": partial(Fields.integer, low=0),
}
_SNOWFLAKE: Readers = {"settings_file?": settings_file}
_TABLE: Readers = {**_SNOWFLAKE, "database": _text, "schema?": _text, "table": _text}
_DBT: Readers = {"settings_file?": settings_file, "setting_file?": settings_file, "fields": _texts}
_PAGE: Readers = {"url?": _text, "title?": _text}
_SCRIPT: Readers = {"src": host_file, "dest": _path, "shell?": _flag}
_PORT: Readers = {"listening_port?": port}

_FILE: Readers = {
    "path": path_or_paths,
    "dest?": text_or_texts,
    "multi?": _flag,
    "gives?": naturals,
    "time_suffix?": _flag,
    "time_format?": _text,
}

#: What the agent made.
RESULTS: dict[str, Readers] = {
    # files and commands of the machine
    "vm_file": _FILE,
    "vm_script_output": _SCRIPT,
    "vm_command_line": {"command": text_or_texts, "shell?": _flag},
    "dbt_profiles": {"dirs": _texts, "dest": _name},
    # web pages
    "active_tab_info": {"goto_prefix?": any_text},
    "active_url_from_accessTree": {"goto_prefix?": any_text, "config?": nested({"goto_prefix?": any_text})},
    "validate_correct_url": {**_SCRIPT, "goto_prefix?": any_text},
    "html_check": {**_SCRIPT, "css_paths": _texts, "goto_prefix?": any_text},
    "airbyte_localhost_page": _PAGE,
    "superset_localhost_page": _PAGE,
    "metabase_question_sql": _PORT,
    # accounts
    "bigquery_connections": _PROJECT,
    "bigquery_datasets": _PROJECT,
    "bigquery_sql_result_to_csv": {**_PROJECT, "sql": host_file, "dest": _name},
    "bigquery_table_to_csv": {**_PROJECT, "dataset_id": _text, "table_id": _text, "schema": _texts, "dest": _name},
    "dbt_environment_info": {**_DBT, "name?": _text},
    "dbt_job_info": {**_DBT, "name?": _text, "prev_name?": _text},
    "dbt_project_info": _DBT,
    "googlesheet_active_file": {"dest": _name},
    "snowflake_database_schema_to_csv": {
        **_SNOWFLAKE,
        "database": text_or_texts,
        "schema?": text_or_texts,
        "include_type?": _flag,
        "dest": _name,
    },
    "snowflake_execution_result": {
        **_SNOWFLAKE,
        "sql_command?": _text,
        "sql_script?": host_file,
        "include_header?": _flag,
        "return_string?": _flag,
        "dest?": _name,
    },
    "snowflake_function_result": {**_TABLE, "function": _text},
    "snowflake_log_message": {**_TABLE, "logger": _text},
    "snowflake_table_to_csv": {**_TABLE, "include_header?": _flag, "dest?": _name},
    "snowflake_user_info": {**_SNOWFLAKE, "username": _text},
    "snowflake_worksheet_names_in_folder": {**_PORT, "folder_name": _text},
    "snowflake_worksheet_sql": {**_PORT, **_SNOWFLAKE},
    "snowflake_worksheet_sql_result": {
        **_PORT,
        **_SNOWFLAKE,
        "worksheet": _text,
        "database": _text,
        "schema": _text,
        "dest": _name,
    },
    "workarena_task_result": {"settings_file?": settings_file, "path?": _path, "dest?": _name, "close?": _flag},
}

LOCAL_FILE: Readers = {"path": host_file_or_folder, "dest?": _name}
"""``local_file``: a file of the copy that is right."""

GUEST_FILE: Readers = _FILE
"""``vm_file``: a file of the machine that is right, such as one that an evaluation script made."""
