"""Reads version 1.0: eight JSONL files, one turn per line (its ``data/dialogue_data/README.md``)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deskgym.task_suites.importers.json_files import Fields, Problem
from deskgym.task_suites.importers.tapilot import fields as check
from deskgym.task_suites.importers.tapilot.json_lines import JsonLine, optional_text, read_lines, text_or_json
from deskgym.task_suites.importers.tapilot.turn import Options, UpstreamTurn, is_choice
from deskgym.task_suites.table_analysis.turns import ActionType, Mode

LIBRARY_KEYS = ("private_lib", "private_lib_json")


def read_file(
    path: Path, name: str, mode: Mode, action: ActionType, prefix: str
) -> tuple[list[UpstreamTurn], list[Problem]]:
    """The turns of a file, and every mistake in it.

    Args:
        path: of the file.
        name: what its mistakes call it.
        mode: that the file's name stands for.
        action: the kind of action that the name stands for.
        prefix: of its turns' ids.
    """
    turns: dict[str, UpstreamTurn] = {}
    problems: list[Problem] = []
    for line in read_lines(path, name):
        fields = line.root()
        if fields is not None and not (_is_library(fields) and mode.startswith("private")):
            turn = _turn(fields, line, path, mode, action, prefix)
            if turn.id in turns:
                line.fault("data_id", f"{turn.data_id!r} is that of an earlier line")
            if not line.problems:
                turns[turn.id] = turn
        problems.extend(line.problems)
    return list(turns.values()), problems


def _is_library(fields: Fields) -> bool:
    """The line that holds the private library instead of a turn."""
    return "prompt_with_hist_txt" not in fields and any(key in fields for key in LIBRARY_KEYS)


def _turn(fields: Fields, line: JsonLine, path: Path, mode: Mode, action: ActionType, prefix: str) -> UpstreamTurn:
    notes: list[str] = []
    number = check.data_id(fields)
    types = check.result_types(fields, notes)
    messages = check.messages_from(
        fields.value("prompt_with_hist_json"), partial(fields.fault, "prompt_with_hist_json")
    )
    text = fields.text("prompt_with_hist_txt")
    prompt = check.prompt_from(messages, text, partial(fields.fault, "prompt_with_hist_json"))
    query = fields.text("current_query")
    history = check.python(
        optional_text(fields, "ref_code_hist"), partial(fields.fault, "ref_code_hist"), required=False
    )
    reference = whole = evaluation = ""
    choice: Options | None = None
    if is_choice(action):
        choice = check.right_answer(text_or_json(fields, "reference_answer"), partial(fields.fault, "reference_answer"))
    else:
        reference = _code(fields, "reference_answer")
        evaluation = _code(fields, "eval_metrics")
        whole = check.python(
            optional_text(fields, "ref_code_all"), partial(fields.fault, "ref_code_all"), required=False
        )
    return UpstreamTurn(
        id=f"{prefix}/{number}",
        layout="lines",
        file=path,
        data_id=number,
        domain=check.domain_name(fields.text("domain_name"), partial(fields.fault, "domain_name")),
        mode=mode,
        action=action,
        result_types=types,
        query=query,
        context=prompt.context,
        dialogue=prompt.dialogue,
        template=prompt.template,
        history_code=history,
        reference_code=reference,
        reference_all=whole,
        eval_code=evaluation,
        choice=choice,
        notes=tuple(notes),
    )


def _code(fields: Fields, key: str) -> str:
    """A field with code that must be there."""
    value = fields.text(key)
    return check.python(value, partial(fields.fault, key)) if value else ""
