"""One turn of Tapilot-Crossing as typed data, the same for both published layouts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deskgym.task_suites.table_analysis.turns import CHOICE_ACTIONS, LETTERS, ActionType, Mode

Layout = Literal["folders", "lines"]
"""``"folders"``: the release of 2024, a folder per turn; ``"lines"``: the JSONL files of version 1.0."""

Scoring = Literal["paper", "corrected"]


@dataclass(frozen=True)
class Message:
    """A part of a prompt.

    Attributes:
        role: ``"system"``, ``"user"`` or ``"assistant"``.
        content: its text.
    """

    role: str
    content: str


@dataclass(frozen=True)
class Template:
    """The code that a turn has the agent complete.

    Attributes:
        text: the whole of it, as in the prompt.
        head: what stands before the first gap: imports, and the table being read.
        tail: what stands after the last gap: the results being saved.
    """

    text: str
    head: str
    tail: str


@dataclass(frozen=True)
class Options:
    """What a multiple-choice turn expects.

    Attributes:
        letter: the right one, A to J.
        texts: the options without their letters; empty where the files have them in the query only.
    """

    letter: str
    texts: tuple[str, ...] = ()

    def text(self) -> str:
        """The options, a line each, such as ``A. 12.4``."""
        return "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, self.texts, strict=False))


@dataclass(frozen=True, kw_only=True)
class UpstreamTurn:
    """One turn.

    Attributes:
        id: the folder below ``interaction_data``, or file and data id, such as ``"normal/12"``.
        layout: where it was read from.
        file: the folder, or the JSONL file.
        data_id: the benchmark's own number or name.
        domain: such as ``"ATP_tennis"``.
        persona: who asks, as the folder is called; ``""`` in JSONL files, which do not say.
        mode: ours.
        action: ours.
        result_types: one per intent, as the benchmark writes them.
        query: the user's words of this turn.
        context: the prompt's first part: table, columns, what they mean.
        dialogue: the turns before.
        template: the code to complete, where the prompt has one.
        history_code: leaves the state of the turns before.
        reference_code: this turn's.
        reference_all: both together; saves the reference's results.
        eval_code: prints True, False or a number per intent.
        choice: what is right, for multiple choice.
        notes: what a reader of its score should know.
    """

    id: str
    layout: Layout
    file: Path
    data_id: str
    domain: str
    persona: str = ""
    mode: Mode
    action: ActionType
    result_types: tuple[str, ...]
    query: str
    context: str = ""
    dialogue: tuple[Message, ...] = ()
    template: Template | None = None
    history_code: str = ""
    reference_code: str = ""
    reference_all: str = ""
    eval_code: str = ""
    choice: Options | None = None
    notes: tuple[str, ...] = ()

    @property
    def private(self) -> bool:
        """It uses the private library."""
        return self.mode.startswith("private")

    @property
    def intents(self) -> int:
        """How many results are scored: one per result type, and one letter for a choice."""
        return 1 if self.choice is not None else max(1, len(self.result_types))


def is_choice(action: ActionType) -> bool:
    """Whether turns of this action type are answered by a letter."""
    return action in CHOICE_ACTIONS
