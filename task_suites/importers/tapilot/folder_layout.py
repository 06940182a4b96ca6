"""Reads the release of 2024: a folder per turn, ``{domain}/{persona}/{mode}/{turn}`` (its README).

The README calls the folder of histories ``reference``, the published code ``src``; both are taken.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

from deskgym.task_suites.importers.json_files import Fields, JsonFile, Problem, described
from deskgym.task_suites.importers.tapilot import fields as check
from deskgym.task_suites.importers.tapilot.prompts import Prompt
from deskgym.task_suites.importers.tapilot.turn import Message, UpstreamTurn, is_choice
from deskgym.task_suites.importers.tapilot.words import CHOICE_TYPES, action_in, action_named, mode_of
from deskgym.task_suites.table_analysis.turns import ActionType, Mode

TURN = re.compile(r"turn_\d+(_\w+)?", re.IGNORECASE)
HISTORIES = ("reference", "src")
ANSWERS = ("reference_answer.txt", "workplace.txt")
_CHOICE_ACTIONS = "fast_fail, best_guess, plot_qa, insight_mining"


def turn_folders(root: Path) -> tuple[list[Path], list[Path]]:
    """The folders of turns below ``interaction_data``, sorted; and folders in their places that are none."""
    found = sorted(path for path in root.glob("*/*/*/*") if path.is_dir())
    return [path for path in found if TURN.fullmatch(path.name)], [
        path for path in found if not TURN.fullmatch(path.name)
    ]


class _Folder:
    """The files of a turn's folder that is being read, and the mistakes found so far."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.problems: list[Problem] = []

    def fault(self, file: str, message: str) -> None:
        self.problems.append(Problem(f"{self.name}/{file}" if file else self.name, 1, "", message))

    def first(self, *names: str) -> str | None:
        """The first of these files that is there."""
        return next((name for name in names if (self.path / name).is_file()), None)

    def text(self, *names: str, required: bool = True) -> tuple[str, str]:
        """The name and the text of the first of these files that is there."""
        name = self.first(*names)
        if name is None:
            if required:
                self.fault(names[0], "is missing")
            return names[0], ""
        try:
            return name, (self.path / name).read_text(encoding="utf-8-sig").replace("\r\n", "\n")
        except (OSError, UnicodeDecodeError) as error:
            self.fault(name, f"cannot be read: {error!s:.200}")
            return name, ""

    def code(self, *names: str, required: bool = True) -> str:
        name, text = self.text(*names, required=required)
        found = self.first(*names) is not None
        return check.python(text, partial(self.fault, name), required=required and found)


def read_turn(path: Path, root: Path) -> tuple[UpstreamTurn | None, list[Problem]]:
    """The turn in a folder, or None, and every mistake in it."""
    name = path.relative_to(root).as_posix()
    domain, persona, place, _ = name.split("/")
    folder = _Folder(path, name)
    mode = mode_of(place)
    if mode is None:
        folder.fault("", f"must be in a folder normal, private, action or action_private, is in {place!r}")
        return None, folder.problems
    meta = JsonFile(path / "meta_data.json", f"{name}/meta_data.json")
    notes: list[str] = []
    fields = meta.root() or Fields(meta, "", {})
    types = check.result_types(fields, notes)
    number = check.data_id(fields)
    action = _action(fields, mode, path.name, types, folder)
    folder.problems = meta.problems[: 1 if meta.data is None else None] + folder.problems
    turn = UpstreamTurn(
        id=name,
        layout="folders",
        file=path,
        data_id=number,
        domain=check.domain_name(domain, partial(folder.fault, "")),
        persona=persona,
        mode=mode,
        action=action,
        result_types=types,
        notes=tuple(notes),
        **_contents(folder, action),
    )
    return (turn if not folder.problems else None), folder.problems


def _action(fields: Fields, mode: Mode, place: str, types: tuple[str, ...], folder: _Folder) -> ActionType:
    """The action type: as the meta data says, else the folder's name, else what the files must mean."""
    value = fields.value("action")
    words = [word for word in (value if isinstance(value, list) else [value]) if word is not None]
    if not all(isinstance(word, str) for word in words):
        fields.fault("action", f"must be a string, is {described(value)}")
        return ""
    if not mode.endswith("action"):
        return ""
    named = [found for word in words if (found := action_named(str(word)))]
    action: ActionType = named[0] if named else action_in(place)
    if not action and (set(types) & set(CHOICE_TYPES) or folder.first(*ANSWERS)):
        action = "fast_fail" if "unanswerable" in types else "insight_mining"
    if not action:
        legal = f"update_code (correction), clarification, {_CHOICE_ACTIONS}"
        fields.fault("action", f"must be one of {legal} in an action folder, is {described(value)}")
    return action


def _contents(folder: _Folder, action: ActionType) -> dict[str, Any]:
    """The fields of a turn that come from its texts and codes."""
    prompt = _prompt(folder)
    history = next((name for name in HISTORIES if (folder.path / name).is_dir()), HISTORIES[0])
    past = folder.code(f"{history}/ref_code_hist.py", required=any("'''" in said.content for said in prompt.dialogue))
    made: dict[str, Any] = {
        "query": prompt.query,
        "context": prompt.context,
        "dialogue": prompt.dialogue,
        "template": prompt.template,
        "history_code": past,
    }
    if is_choice(action):
        name, text = folder.text(*ANSWERS)
        if folder.first(*ANSWERS):
            made["choice"] = check.right_answer(text, partial(folder.fault, name))
        return made
    return made | {
        "reference_code": folder.code("ref_code.py", "ref_code.txt"),
        "reference_all": folder.code(f"{history}/ref_code_all.py", "ref_code_all.py", required=False),
        "eval_code": folder.code("eval.py"),
    }


def _prompt(folder: _Folder) -> Prompt:
    """The prompt with its history; upstream's own copy where its preparation for clarification changed the file."""
    stems = [f"{place}/{stem}" for place in HISTORIES for stem in ("prompt_code_hist_origin", "prompt_code_hist")]
    structured = folder.first(*(f"{stem}.json" for stem in stems))
    messages: tuple[Message, ...] = ()
    if structured:
        file = JsonFile(folder.path / structured, f"{folder.name}/{structured}")
        folder.problems.extend(file.problems)
        if file.data is not None:
            messages = check.messages_from(file.data, partial(folder.fault, structured))
    name, text = folder.text(*(f"{stem}.txt" for stem in stems), required=structured is None)
    current, words = folder.text("prompt_curr.txt")
    if folder.first("prompt_curr.txt") and not words.strip():
        folder.fault(current, "must not be empty")
    if not messages and not text:
        return Prompt("", (), "", None)
    return check.prompt_from(messages, text, partial(folder.fault, structured or name))
