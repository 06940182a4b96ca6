"""The setup hooks that every suite has, by the name that task files use.

A hook returns when its state is reached and raises SetupError when its deadline passes: none waits for a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.task_suites.hooks import browser, files, input, programs, services, waits

HOOKS: Mapping[str, Callable[..., None]] = {
    "write": files.write,
    "write_bytes": files.write_bytes,
    "copy": files.copy,
    "run": programs.run,
    "launch": programs.launch,
    "click": input.click,
    "type": input.type_,
    "press": input.press,
    "wait_for_element": waits.wait_for_element,
    "wait_for_file": waits.wait_for_file,
    "wait_for_command": waits.wait_for_command,
    "browser": browser.browser,
    "http": services.http,
    "sql": services.sql,
    "wait_for_sql": services.wait_for_sql,
}
"""Functions of a ``Setup`` and the task file's arguments."""
