"""Random legal actions of a conversation about tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from deskgym.agents.constant import asked, options
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv

_TABLE = re.compile(r"^Table `(\w+)` .*\n((?:  .+\n)*)", re.MULTILINE)
_COLUMN = re.compile(r"^  (.+): (\w+)", re.MULTILINE)
_RESULT = re.compile(r"`(\w+)` \(")
_NUMBER = ("mean()", "median()", "max()", "min()", "std()", "nunique()", "describe()", "head()", "sum()")
_TEXT = ("nunique()", "value_counts()", "describe()", "head()", "isna().sum()", "unique()")
_WHOLE = ("{table}.head()", "len({table})", "{table}.describe()", "{table}.isna().sum()", "{table}.shape")


def random_text(env: TableAnalysisEnv, rng: np.random.Generator) -> str:
    """A letter where there are options, half of the time; else a line of code over the tables that there are.

    Every other such line leaves its value in one of the variables that are asked for.
    """
    instruction = asked(env)
    letters = list(options(instruction))
    if letters and rng.random() < 0.5:
        return f"ANS {rng.choice(letters)}"
    code = _expression(_tables(env), rng)
    results = _RESULT.findall(instruction.rpartition("Results, as variables:")[2])
    return f"{rng.choice(results)} = {code}" if results and rng.random() < 0.5 else code


def _tables(env: TableAnalysisEnv) -> dict[str, list[tuple[str, str]]]:
    """The tables' columns with their types."""
    text = env.conversation.texts()["tables"] if env.conversation else ""
    return {table: _COLUMN.findall(columns) for table, columns in _TABLE.findall(text)}


def _expression(tables: dict[str, list[tuple[str, str]]], rng: np.random.Generator) -> str:
    if not tables:
        return "dir()"
    table = _any(list(tables), rng)
    if not tables[table] or rng.random() < 0.2:
        return _any(_WHOLE, rng).format(table=table)
    column, kind = tables[table][int(rng.integers(len(tables[table])))]
    method = _any(_NUMBER if kind.startswith(("int", "float")) else _TEXT, rng)
    return f"{table}[{column!r}].{method}"


def _any(texts: Sequence[str], rng: np.random.Generator) -> str:
    return texts[int(rng.integers(len(texts)))]
