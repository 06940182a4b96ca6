"""The checks that every suite has, by the name that task files use."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.evaluation import answers, files, state

CHECKS: Mapping[str, Callable[..., tuple[bool, str]]] = {
    "answer.text": answers.answer_text,
    "answer.number": answers.answer_number,
    "answer.items": answers.answer_items,
    "answer.fits": answers.answer_fits,
    "stopped_with": answers.stopped_with,
    "state": state.state,
    "file.exists": files.exists,
    "file.absent": files.absent,
    "file.text": files.text,
    "file.json": files.json_,
    "file.csv": files.csv_,
    "file.csv_gold": files.csv_gold,
    "file.csv_cell": files.csv_cell,
    "file.sha256": files.sha256,
}
"""Functions of the final state and the task file's arguments that return (passed, message)."""
