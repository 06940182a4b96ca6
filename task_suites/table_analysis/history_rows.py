"""What the history database keeps of a turn, and what a turn is in a history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from deskgym.task_suites.table_analysis.turns import Past, Turn


@dataclass(frozen=True)
class StoredDialogue:
    """A dialogue with its parameters drawn.

    Attributes:
        id: such as ``"penguins/ines/normal#17"``.
        domain: name of the domain.
        persona: who asks.
        goal: what for.
        title: of the dialogue.
        variant: of the tables.
        seed: of the instance.
        private: whether code is over a private library.
        turns: how many turns of it are there.
    """

    id: str
    domain: str
    persona: str
    goal: str
    title: str
    variant: int
    seed: int
    private: bool
    turns: int


@dataclass(frozen=True)
class StoredTurn:
    """A turn, as the columns of the table ``turns``.

    Attributes:
        id: such as ``"penguins/ines/normal/mean-mass#17"``.
        dialogue: id of its dialogue.
        number: its place there, from 1.
        domain: name of the domain.
        variant: of the tables.
        persona: who asks.
        goal: what for.
        mode: one of ``turns.MODES``.
        action: one of ``turns.ACTION_TYPES``, or ``""``.
        query: the user's words.
        code: the reference's, at the level of pandas.
        answer: the right option's text, or ``""``.
        result_types: of its intents, with spaces between.
        plot: whether it draws or is about a figure.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        split: ``"train"`` or ``"test"``.
        seed: of the instance.
    """

    id: str
    dialogue: str
    number: int
    domain: str
    variant: int
    persona: str
    goal: str
    mode: str
    action: str
    query: str
    code: str
    answer: str
    result_types: str
    plot: bool
    difficulty: str
    split: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self)


COLUMNS = tuple(field.name for field in fields(StoredTurn))
"""The columns of the table ``turns``."""


def _columns(of: type[StoredDialogue] | type[StoredTurn]) -> str:
    types = {"str": "TEXT", "int": "INTEGER", "bool": "INTEGER"}
    columns = (f"{field.name} {types[str(field.type)]} NOT NULL" for field in fields(of) if field.name != "turns")
    return ", ".join(columns).replace("id TEXT NOT NULL", "id TEXT PRIMARY KEY", 1)


SCHEMA = f"""
CREATE TABLE dialogues ({_columns(StoredDialogue)});
CREATE TABLE turns ({_columns(StoredTurn)}, FOREIGN KEY (dialogue) REFERENCES dialogues(id));
CREATE INDEX turns_by_dialogue ON turns (dialogue, number);
CREATE TABLE pasts (
    turn TEXT NOT NULL REFERENCES turns(id), position INTEGER NOT NULL,
    query TEXT NOT NULL, code TEXT NOT NULL, answer TEXT NOT NULL, plot INTEGER NOT NULL,
    PRIMARY KEY (turn, position)
);
"""
"""``pasts`` has the one or two entries that a turn is in a history, see ``entries``."""


def dialogue_id(turn: Turn) -> str:
    """The id of the dialogue that a turn is of, such as ``"penguins/ines/normal#17"``."""
    parts = turn.id.partition("#")[0].split("/")
    names = parts[:2] if len(parts) > 2 else [turn.domain, turn.persona]
    return "/".join([*names, "private" if turn.mode.startswith("private") else "normal"]) + f"#{turn.seed}"


def dialogue_row(turn: Turn) -> dict[str, Any]:
    """The dialogue that a turn is of, as columns."""
    names = ("domain", "persona", "goal", "title", "variant", "seed")
    columns = {name: getattr(turn, name) for name in names}
    return {"id": dialogue_id(turn), **columns, "private": turn.mode.startswith("private")}


def turn_row(turn: Turn, number: int) -> dict[str, Any]:
    """A turn as columns."""
    own = {
        "dialogue": dialogue_id(turn),
        "number": number,
        "answer": _answer(turn),
        "result_types": " ".join(intent.kind for intent in turn.intents),
        "plot": turn.action == "plot_qa" or _draws(turn),
    }
    return {name: own[name] if name in own else getattr(turn, name) for name in COLUMNS}


def entries(turn: Turn) -> tuple[Past, ...]:
    """What a turn is in the history of a later one: its own beginning, if it has one, and its reference."""
    last = Past(turn.query, turn.code, _answer(turn), plot=_draws(turn))
    return (*(replace(past, runs=True) for past in own_beginning(turn)), last)


def own_beginning(turn: Turn) -> tuple[Past, ...]:
    """The end of a turn's history that it makes no sense without: the attempt to correct, or the plot it is about."""
    last = turn.history[-1:]
    if turn.action == "update_code" or (turn.action == "plot_qa" and last and last[0].plot):
        return last
    return ()


def with_history(turn: Turn, history: Iterable[Past]) -> Turn:
    """The turn after another history; what it makes no sense without, such as the plot that it asks about, stays.

    Its code and right answer stay too: they are right where the new history leaves the variables that they use, and
    nothing that changes them.
    """
    return replace(turn, history=(*history, *own_beginning(turn)))


def _answer(turn: Turn) -> str:
    return turn.choice.options[turn.choice.right] if turn.choice else ""


def _draws(turn: Turn) -> bool:
    return any(intent.kind == "plot" for intent in turn.intents)
