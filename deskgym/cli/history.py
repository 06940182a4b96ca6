"""History: make, list and show a database of turns, to recombine them into other histories."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from deskgym.cli.output import print_json, print_table, progress
from deskgym.envs.errors import near

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.turns import Turn

_QUERY_WIDTH = 100


@runtime_checkable
class HasDialogues(Protocol):
    """A suite whose tasks are turns of dialogues."""

    def dialogue_ids(self) -> Sequence[str]:
        """The ids of all dialogues; they begin with the domain and a slash."""
        ...

    def dialogue_turns(self, dialogue_id: str, seed: int) -> tuple[Turn, ...]:
        """The turns of a dialogue, its parameters drawn by the seed."""
        ...


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """``build``, ``list`` and ``show``, with their arguments."""
    actions = parser.add_subparsers(dest="what", metavar="build|list|show", required=True)
    build = actions.add_parser("build", help="make a database of the suite's dialogues")
    build.add_argument("--domain", action="append", metavar="NAME", help="only this one; may be given again")
    build.add_argument("--seed", type=int, default=0, metavar="S", help="draws the first instance (default: 0)")
    build.add_argument("--seeds", type=int, default=1, metavar="N", help="instances of each dialogue (default: 1)")
    listed = actions.add_parser("list", help="list the turns in a database")
    listed.add_argument("--where", metavar="SQL", help="a condition, such as \"mode = 'normal' AND plot = 1\"")
    show = actions.add_parser("show", help="show a turn")
    for command in (build, listed, show):
        command.add_argument("database", metavar="DB", help="the file")
        command.add_argument("--json", action="store_true", help="print JSON")
    show.add_argument("turn", metavar="TURN_ID", help="such as penguins/ines/normal/mean-mass#0")


def run(arguments: argparse.Namespace) -> int:
    """Do what is named."""
    return {"build": _build, "list": _list, "show": _show}[arguments.what](arguments)


def _build(arguments: argparse.Namespace) -> int:
    from deskgym.envs.errors import TaskError
    from deskgym.task_suites import load_suite
    from deskgym.task_suites.table_analysis.history_db import build

    if arguments.seeds < 1 or arguments.seed < 0:
        raise ValueError(f"--seed {arguments.seed} --seeds {arguments.seeds}; legal are a seed from 0 and 1 or more")
    suite = load_suite("table_analysis")
    if not isinstance(suite, HasDialogues):
        raise TaskError("the suite 'table_analysis' has no dialogues")
    ids = _dialogues(suite, arguments.domain or [])
    turns = build(arguments.database, _drawn(suite, ids, arguments))
    if arguments.json:
        print_json({"database": arguments.database, "dialogues": len(ids) * arguments.seeds, "turns": turns})
    else:
        print(f"{arguments.database}: {turns} turns of {len(ids) * arguments.seeds} dialogues")
    return 0


def _dialogues(suite: HasDialogues, domains: Sequence[str]) -> list[str]:
    ids = list(suite.dialogue_ids())
    legal = sorted({name.partition("/")[0] for name in ids})
    for domain in domains:
        if domain not in legal:
            raise ValueError(f"no domain {domain!r}; legal are {', '.join(legal)}{near(domain, legal)}")
    return [name for name in ids if not domains or name.partition("/")[0] in domains]


def _drawn(suite: HasDialogues, ids: Sequence[str], arguments: argparse.Namespace) -> Iterator[Turn]:
    with progress(arguments.json) as bar:
        dialogues = bar.add_task("dialogues", total=len(ids) * arguments.seeds)
        for seed in range(arguments.seed, arguments.seed + arguments.seeds):
            for name in ids:
                bar.update(dialogues, description=name)
                yield from suite.dialogue_turns(name, seed)
                bar.update(dialogues, advance=1)


def _list(arguments: argparse.Namespace) -> int:
    from deskgym.task_suites.table_analysis.history_db import HistoryDB

    with HistoryDB(arguments.database, read_only=True) as database:
        rows = database.turns() if arguments.where is None else database.select(arguments.where)
    if arguments.json:
        print_json({"database": arguments.database, "turns": [row.to_dict() for row in rows]})
        return 0
    print_table(
        f"{arguments.database}: {len(rows)} turns",
        ("turn", "no.", "variant", "mode", "action", "result", "split", "query"),
        (
            (
                row.id,
                row.number,
                row.variant,
                row.mode,
                row.action or "-",
                row.result_types,
                row.split,
                row.query if len(row.query) <= _QUERY_WIDTH else row.query[: _QUERY_WIDTH - 1] + "…",
            )
            for row in rows
        ),
    )
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from deskgym.task_suites.table_analysis.history_db import HistoryDB

    with HistoryDB(arguments.database, read_only=True) as database:
        turn, entries = database.get(arguments.turn), database.entries(arguments.turn)
    if arguments.json:
        print_json(turn.to_dict() | {"entries": [asdict(entry) for entry in entries]})
        return 0
    texts = ("query", "code", "answer")
    print_table("", ("", turn.id), [(name, value) for name, value in turn.to_dict().items() if name not in texts])
    for entry in entries:
        print(f"\nUser: {entry.query}")
        for text in (entry.code.rstrip(), entry.answer):
            if text:
                print(f"\n{text}")
    return 0
