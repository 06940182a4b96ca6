"""The checks that every suite has, by the name that task files use: one module per kind."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.envs.evaluation.checks import answer, file, state
from deskgym.envs.evaluation.evaluator import CheckFunction

CHECKS: Mapping[str, CheckFunction] = {**answer.CHECKS, **file.CHECKS, **state.CHECKS}
"""Functions of the final state and the task file's arguments that return (passed, message)."""
