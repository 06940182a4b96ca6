"""The checks that every suite has, by the name that task files use: one module per kind."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.envs.evaluation.checks import (
    answer,
    command,
    file,
    http,
    image,
    sheet,
    sheet_changes,
    sheet_objects,
    sql,
    state,
    table,
    web,
)
from deskgym.envs.evaluation.evaluator import CheckFunction

KINDS = (answer, file, table, sheet, sheet_changes, sheet_objects, sql, http, web, image, command, state)

CHECKS: Mapping[str, CheckFunction] = {name: check for kind in KINDS for name, check in kind.CHECKS.items()}
"""Functions of the final state and the task file's arguments that return (passed, message)."""
