"""Reads ``config`` and ``postconfig``: the steps that upstream's setup code has, and the parameters of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from deskgym.task_suites.importers.json_files import Fields, Readers
from deskgym.task_suites.importers.spider2v.record import Step
from deskgym.task_suites.importers.spider2v.task_file import (
    address,
    addresses,
    any_object,
    any_text,
    any_texts,
    host_file,
    host_file_or_folder,
    nested,
    nested_list,
    port,
    settings_file,
    text_or_texts,
)


def read_steps(fields: Fields, key: str, *, empty: bool = False) -> tuple[Step, ...]:
    """The steps of ``config`` or ``postconfig``, in order."""
    found: list[Step] = []
    for item in fields.objects(key, empty=empty):
        name = item.known("type", STEPS, "step of the setup")
        inner = item.object("parameters")
        item.finish()
        if name is not None and isinstance(item.data.get("parameters"), dict):
            values = inner.read(STEPS[name])
            inner.finish()
            found.append(Step(name, {**DEFAULTS.get(name, {}), **renamed(values)}))
    return tuple(found)


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with dbt Cloud's ``setting_file`` under the name that upstream's code reads it by."""
    return {"settings_file" if key == "setting_file" else key: value for key, value in values.items()}


def actions(kinds: Mapping[str, Readers]) -> Any:
    """A reader of a list of actions, each of one of these kinds."""

    def read(fields: Fields, key: str) -> tuple[Step, ...]:
        found: list[Step] = []
        for item in fields.objects(key, empty=True):
            name = item.known("type", kinds, "action of this step")
            if name is not None:
                values = item.read(kinds[name])
                item.finish()
                found.append(Step(name, values))
        return tuple(found)

    return read


_text, _path, _flag = Fields.text, Fields.path_text, Fields.boolean
_count = partial(Fields.integer, low=0)
_seconds = partial(Fields.number, low=0)

_PROJECT: Readers = {"config_file?": settings_file, "project_name?": _text, "project_index?": _count}
_WINDOW: Readers = {"window_name": _text, "strict?": _flag, "by_class?": _flag}
_COMMAND: Readers = {
    "command": text_or_texts,
    "stdout?": _text,
    "stderr?": _text,
    "shell?": _flag,
    "until?": nested({"returncode?": Fields.integer, "stdout?": _text, "stderr?": _text}),
}
_DBT_SETTINGS: Readers = {"settings_file?": settings_file, "setting_file?": settings_file}

_PROFILE: Readers = {
    "first_name?": _text,
    "last_name?": _text,
    "email?": _text,
    "company?": _text,
    "password?": _text,
}
_METABASE_DATABASE: Readers = {
    "type?": _text,
    "display_name?": _text,
    "host?": _text,
    "port?": Fields.scalar,
    "db_name?": _text,
    "db_user?": _text,
    "db_password?": any_text,
}
_METABASE_SETUP: Readers = {
    "language?": _text,
    "profile?": nested(_PROFILE),
    "add_data?": nested(_METABASE_DATABASE),
}

#: The actions of the steps that have some.
ACTIONS: dict[str, dict[str, Readers]] = {
    "airbyte_webui_init": {"login": {"email?": _text, "company?": _text}},
    "astro_webui_init": {"login": {"username?": _text, "password?": _text}},
    "metabase_webui_init": {
        "login": {"url?": address, "config?": any_object, "retry?": _count},
        "setup": {"config?": nested(_METABASE_SETUP)},
        "delete_database": {"database_url?": address, "database_name?": _text},
    },
    "dagster_webui_init": {
        "close_popups": {},
        "materialize_assets": {"timeout?": _seconds},
        "execute_js": {"script_path": host_file},
        "delete_environment_variables": {"timeout?": _seconds},
    },
    "snowflake_init": {
        "delete_user": {"username?": text_or_texts},
        "delete_database": {"database?": text_or_texts},
        "delete_warehouse": {"warehouse?": text_or_texts},
        "create_database": {"database": _text, "schema?": _text, "delete_first?": _flag},
        "create_table": {"database": _text, "schema?": _text, "table": _text, "sql": _text},
        "execute_script": {"sql_script?": host_file, "sql_command?": text_or_texts, "query_ids_path?": _text},
        "copy_keyfile": {"dest?": _path},
    },
    "bigquery_init": {
        "empty": {},
        "create_table": {
            "dataset_id": _text,
            "table_id": _text,
            "schema_from_json?": nested_list({"name": _text, "type?": _text, "mode?": _text}),
            "data_from_csv?": host_file,
        },
        "copy_keyfile": {"dest?": _path},
    },
    "dbt_cloud_init": {
        "delete_project": {"project_id?": Fields.scalar},
        "create_project": {"project_name?": _text},
        "create_environment": {"env_name?": _text},
        "create_job": {"job_name?": _text, "env_name?": _text, "execute_steps?": text_or_texts},
    },
    "googledrive_init": {
        "delete": {"path?": text_or_texts, "trash?": _flag},
        "mkdirs": {"path": text_or_texts, "exist_ok?": _flag},
        "upload": {"src": host_file_or_folder, "path?": text_or_texts},
    },
}

_PORT: Readers = {"listening_port?": port}
_PAGE: Readers = {**_PORT, "url?": address}
_LOGIN: Readers = {**_PAGE, "settings_file?": settings_file}


def _with_actions(name: str) -> Readers:
    return {"actions?": actions(ACTIONS[name])}


#: Every step that upstream's tasks have, and those that only its code has.
STEPS: dict[str, Readers] = {
    # files, programs and commands
    "copyfile_from_host_to_guest": {"src": host_file, "dest": _path, "json_encode?": _flag},
    "script_and_execute": {"src": host_file, "dest?": _path, "options?": any_texts},
    "launch": {"command": text_or_texts, "shell?": _flag},
    "open": {"path": _path},
    "execute": _COMMAND,
    "sleep": {"seconds": _seconds},
    "activate_window": _WINDOW,
    # web pages
    "google_chrome_browser": {
        "debugging_port?": port,
        "listening_port?": port,
        "urls?": addresses,
        "full_screen?": _flag,
        "incognito?": _flag,
    },
    "airbyte_webui_init": {**_PAGE, **_with_actions("airbyte_webui_init")},
    "astro_webui_init": {**_PAGE, **_with_actions("astro_webui_init")},
    "astro_refresh_page": _PORT,
    "dagster_webui_init": {**_PAGE, **_with_actions("dagster_webui_init")},
    "metabase_webui_init": {**_PAGE, **_with_actions("metabase_webui_init")},
    "superset_webui_init": {**_PAGE, "actions?": actions({})},
    # accounts
    "bigquery_init": {**_PROJECT, **_with_actions("bigquery_init")},
    "bigquery_login": {**_PROJECT, **_LOGIN, "ws?": any_text},
    "dbt_cloud_init": {**_DBT_SETTINGS, **_with_actions("dbt_cloud_init")},
    "dbt_cloud_webui_login": {
        **_PORT,
        **_DBT_SETTINGS,
        "skip_step?": partial(Fields.integer, among=(0, 1, 2)),
        "goto_page?": partial(Fields.text, among=("project_setup", "account_setup", "cli_setup")),
    },
    "googledrive_init": {"settings_file?": settings_file, **_with_actions("googledrive_init")},
    "googledrive_login": {**_LOGIN, "need_login?": _flag},
    "hasura_login": _LOGIN,
    "snowflake_delete_filter": {**_PORT, "filter_name?": _text},
    "snowflake_delete_folder": {**_PORT, "folder_name": _text},
    "snowflake_init": {"settings_file?": settings_file, **_with_actions("snowflake_init")},
    "snowflake_login": _LOGIN,
    "snowflake_write_sqls_in_new_worksheet": {**_PORT, "sqls?": any_texts, "close?": _flag},
    "workarena_task_init": {
        **_PORT,
        "settings_file?": settings_file,
        "task_name": partial(Fields.text, matching=r"[A-Z]\w*Task"),
        "task_kwargs?": any_object,
    },
    "workarena_unique_fields": {"field_mappings?": any_object, "path?": _path},
    # only in upstream's code
    "download": {"files": nested_list({"url": address, "path": _path})},
    "upload_file": {"files": nested_list({"local_path": host_file, "path": _path})},
    "copyfile_from_guest_to_host": {"src": _path, "dest": _text},
    "command": _COMMAND,
    "close_window": _WINDOW,
    "change_wallpaper": {"path": _path},
    "chrome_open_tabs": {"urls_to_open": addresses},
    "chrome_close_tabs": {"urls_to_close": addresses},
    "dagster_cloud_webui_login": {**_LOGIN, **_with_actions("dagster_webui_init")},
    "dagster_environment_variables": {**_LOGIN, "dest?": _path},
    "gcp_upload_keyfile": {**_PROJECT, "dest?": _path},
}

_CDP = {"listening_port": 9222}

#: What upstream's code takes for parameters that a file leaves out, where the setup here needs them.
DEFAULTS: dict[str, Mapping[str, Any]] = {
    "copyfile_from_host_to_guest": {"json_encode": False},
    "script_and_execute": {"dest": "/home/user/init.sh", "options": ()},
    "launch": {"shell": False},
    "execute": {"shell": False},
    "command": {"shell": False},
    "activate_window": {"strict": False, "by_class": False},
    "close_window": {"strict": False, "by_class": False},
    "google_chrome_browser": {**_CDP, "debugging_port": 1337, "urls": (), "full_screen": False, "incognito": False},
    "airbyte_webui_init": {**_CDP, "url": "http://localhost:8000", "actions": ()},
    "astro_webui_init": {**_CDP, "url": "http://localhost:8080", "actions": ()},
    "astro_refresh_page": _CDP,
    "dagster_webui_init": {**_CDP, "url": "http://localhost:3000", "actions": ()},
    "metabase_webui_init": {**_CDP, "url": "http://localhost:3000", "actions": ()},
    "superset_webui_init": {**_CDP, "url": "http://localhost:8088", "actions": ()},
}
