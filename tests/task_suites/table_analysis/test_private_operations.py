"""The table of operations against the real pandas, numpy, matplotlib and scikit-learn."""

from __future__ import annotations

import builtins
import importlib
import inspect
import keyword
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")
import matplotlib.axes  # noqa: E402
import matplotlib.figure  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402

from deskgym.task_suites.table_analysis.private.constants import DEFAULTS, TURNS, UNUSED  # noqa: E402
from deskgym.task_suites.table_analysis.private.library import _plain, look_alikes  # noqa: E402
from deskgym.task_suites.table_analysis.private.naming import NOUNS, VERBS, Words  # noqa: E402
from deskgym.task_suites.table_analysis.private.operations import ALIASES, RECEIVERS, Op, operation, operations  # noqa: E402
from deskgym.task_suites.table_analysis.private.parameters import (  # noqa: E402
    MEANINGS,  # noqa: E402
    PARAMETERS,
    described,
)

TABLE = pd.DataFrame({"a": [1, 2, 2], "b": [1.0, 2.0, 4.0]})
DATES = pd.Series(pd.to_datetime(["2024-01-01", "2024-02-02"]))
FRAMES = (
    TABLE, TABLE["a"], TABLE.groupby("a"), TABLE.groupby("a")["b"], TABLE["a"].rolling(2), TABLE.index, TABLE.plot,
    TABLE.to_numpy(),
)  # fmt: skip
DATE_HOLDERS = (DATES.dt, DATES.dt.to_period("M").dt, (DATES - DATES[0]).dt)
TEXTS = pd.Series(["x"]).str
MODELS = ("linear_model.LogisticRegression", "preprocessing.StandardScaler", "cluster.KMeans")
PLAIN = [op for op in operations().values() if not op.body and not op.key.startswith(".size")]


def holders(op: Op) -> list[Any]:
    """What may have the operation as an attribute."""
    module = op.key.rpartition(".")[0]
    if op.receiver == "model":
        return [getattr(importlib.import_module(f"sklearn.{one.split('.')[0]}"), one.split(".")[1]) for one in MODELS]
    if op.receiver in ("axes", "fig"):
        return [matplotlib.axes.Axes if op.receiver == "axes" else matplotlib.figure.Figure]
    if module in (".str", ".dt", "", ".plot"):
        return {".str": [TEXTS], ".dt": list(DATE_HOLDERS), "": list(FRAMES), ".plot": [TABLE.plot]}[module]
    root = {"pd": pd, "np": np, "plt": plt}.get(module.split(".")[0])
    if root is None:
        return [importlib.import_module(module)]
    for part in module.split(".")[1:]:
        root = getattr(root, part)
    return [root]


def signatures(op: Op) -> list[inspect.Signature]:
    found = []
    for holder in holders(op):
        real = getattr(holder, op.name, None)
        try:
            found += [inspect.signature(real)] if real is not None else []
        except TypeError:  # what a group makes of a plot or a column on the fly
            continue
        except ValueError:  # a function of C without a signature
            found.append(inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]))
    return found


def fits(op: Op, signature: inspect.Signature) -> bool:
    """Whether the operation's positional parameters are the first real ones, in order."""
    real = [one for one in signature.parameters.values() if one.name != "self"]
    if any(one.kind == one.VAR_POSITIONAL for one in real):
        return True
    names = [
        one.name.replace("start_or_stop", "start")
        for one in real
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    return tuple(names[: len(op.positional)]) == op.positional


@pytest.mark.parametrize("op", PLAIN, ids=lambda op: op.key)
def test_the_positional_parameters_are_the_real_ones(op: Op) -> None:
    found = signatures(op)
    assert found, f"nothing has {op.key}"
    assert any(fits(op, one) for one in found), f"{op.key}: {op.positional}, really {found}"


@pytest.mark.parametrize("key", UNUSED)
def test_parameters_of_unused_functions_exist(key: str) -> None:
    op = operation(key)
    assert op is not None
    names = [
        {
            name.replace("start_or_stop", "start")
            for name, one in signature.parameters.items()
            if one.kind != one.VAR_POSITIONAL
        }
        for signature in signatures(op)
        if not any(one.kind == one.VAR_KEYWORD for one in signature.parameters.values())
    ]
    anything = len(names) < len(signatures(op))
    assert anything or any(set(UNUSED[key].split()) <= found for found in names), f"{UNUSED[key]} of {names}"


@pytest.mark.parametrize("op", operations().values(), ids=lambda op: op.key)
def test_every_operation_is_complete(op: Op) -> None:
    verbs, nouns = (part.split() for part in op.words.split(" / "))
    assert len(verbs) * len(nouns) >= 9
    assert op.does.endswith(".") and op.does[0].isupper() and op.gives
    assert not op.receiver or op.receiver in RECEIVERS
    assert all(operation(key) and operation(key) is not op for key in op.like.split())
    for name in (*op.positional, *UNUSED.get(op.key, "").split(), *([op.through] if op.through else [])):
        assert described(name.replace("...", "1"), op.key), f"{op.key}: {name} is not described"


def test_no_private_word_is_a_public_one() -> None:
    public = {name for one in (*FRAMES, TEXTS, *DATE_HOLDERS, np, plt, pd, TABLE.groupby("a")) for name in dir(one)}
    for op in operations().values():
        verbs, nouns = (part.split() for part in op.words.split(" / "))
        names = {f"{verb}_{noun}" for verb in verbs for noun in nouns}
        assert all(name.isidentifier() for name in names), op.key
        assert not names & public, op.key
        hidden = op.name.replace("_", "").lower()
        tell = [name for name in names if len(hidden) > 3 and hidden in name.replace("_", "").lower()]
        assert not tell, f"{op.key}: {tell}"
    assert len(VERBS) * len(NOUNS) > 1500


def test_words_for_parameters_are_names_and_not_the_real_ones() -> None:
    reserved = {*keyword.kwlist, *dir(builtins), "pd", "np", "plt"}
    for name, (words, meaning) in {**PARAMETERS, **RECEIVERS}.items():
        assert len(set(words.split())) >= 3 and meaning
        assert all(word.isidentifier() and word not in reserved and word != name for word in words.split()), name


def test_tables_of_exceptions_name_operations_and_parameters() -> None:
    for key in (*MEANINGS, *TURNS, *DEFAULTS, *UNUSED, *ALIASES.values()):
        assert operation(key), key
    assert not set(ALIASES) & set(operations())
    assert all(described(name) for names in MEANINGS.values() for name in names)


def test_every_look_alike_is_a_complete_function() -> None:
    words = Words(0, [])
    for op in operations().values():
        plain = _plain(op)
        for shape in look_alikes(plain) if plain else []:
            assert words.parameters(operations()[shape.op], shape.names).keys() == set(shape.names)
            assert shape != plain
