"""What both layouts check in the same way: result types, messages, code and reference answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from deskgym.envs.errors import near
from deskgym.task_suites.importers.json_files import Fields, Json, described
from deskgym.task_suites.importers.tapilot.answers import right_options
from deskgym.task_suites.importers.tapilot.prompts import Prompt, messages_of, split_prompt
from deskgym.task_suites.importers.tapilot.scripts import syntax_mistake
from deskgym.task_suites.importers.tapilot.turn import Message, Options
from deskgym.task_suites.importers.tapilot.words import RESULT_TYPES, TABLES, plain, table_of

ROLES = ("system", "user", "assistant")

Fault = Callable[[str], None]
_TAGS = re.compile(r"^[ \t]*</?code\d*>[ \t]*\n?", re.MULTILINE)


def result_types(fields: Fields, notes: list[str]) -> tuple[str, ...]:
    """The field ``result_type``: one, or a list. Those that the benchmark does not document are noted."""
    value = fields.value("result_type")
    items = value if isinstance(value, list) else [value]
    if "result_type" in fields.data and (not items or not all(isinstance(item, str) and item for item in items)):
        fields.fault("result_type", f"must be a result type or a list of them, is {described(value)}")
        return ()
    found = tuple(plain(item) for item in items if isinstance(item, str))
    for item in found:
        if item not in RESULT_TYPES:
            notes.append(f"result type {item!r} is not one that the benchmark documents{near(item, RESULT_TYPES)}")
    return found


def data_id(fields: Fields) -> str:
    """The field ``data_id``: a number or a name without spaces, ``/`` and ``#``."""
    value = fields.value("data_id")
    text = str(value)
    good = isinstance(value, str | int) and not isinstance(value, bool) and text and not set(text) & set(" /#*?[]\n")
    if "data_id" in fields.data and not good:
        fields.fault(
            "data_id", f"must be a whole number, or a name without spaces and / # * ? [ ], is {described(value)}"
        )
    return text if good else ""


def domain_name(name: str, fault: Fault) -> str:
    """A domain that there is a table for."""
    if table_of(name) is None:
        fault(f"must be one of {', '.join(TABLES)}, is {name!r:.80}{near(name.lower(), TABLES)}")
    return name


def messages_from(value: Json, fault: Fault) -> tuple[Message, ...]:
    """The messages of a prompt: a list of objects, or the text of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            fault(f"is not JSON: {error!s:.120}")
            return ()
    if not isinstance(value, list) or not value:
        fault(f"must be a list of messages, is {described(value)}")
        return ()
    made: list[Message] = []
    for index, item in enumerate(value):
        role, content = (item.get("role"), item.get("content")) if isinstance(item, dict) else (None, None)
        if role in ROLES and isinstance(role, str) and isinstance(content, str):
            made.append(Message(role, content))
        else:
            fault(f"[{index}] must have a role ({', '.join(ROLES)}) and a content, is {described(item)}")
    return tuple(made)


def prompt_from(messages: tuple[Message, ...], text: str, fault: Fault) -> Prompt:
    """The prompt taken apart, from its messages or else its text."""
    if messages and not any(message.role == "system" for message in messages) and text:
        messages = tuple(message for message in messages_of(text)[:1] if message.role == "system") + messages
    try:
        return split_prompt(messages or messages_of(text))
    except ValueError as error:
        fault(str(error))
        return Prompt("", (), "", None)


def python(code: str, fault: Fault, *, required: bool = True) -> str:
    """Code that is Python, and not blank where it is required; without the tags of a template's gaps."""
    code = _TAGS.sub("", code)
    if not code.strip():
        if required:
            fault("must not be empty")
        return ""
    mistake = syntax_mistake(code)
    if mistake:
        fault(mistake)
    return code


def right_answer(text: str, fault: Fault) -> Options:
    """The reference answer of a multiple-choice turn."""
    try:
        return right_options(text)
    except ValueError as error:
        fault(str(error))
        return Options("A")
