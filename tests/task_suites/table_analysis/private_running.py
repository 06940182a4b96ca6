"""Runs code and its translation and compares what they leave (helpers of the tests of private libraries)."""

from __future__ import annotations

import contextlib
import io
import math
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from deskgym.task_suites.table_analysis.private import PrivateLibrary

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

IGNORED = ("__builtins__", "__warningregistry__", "pd", "np", "plt")


def module_of(library: PrivateLibrary) -> types.ModuleType:
    """The library as a module that code can import."""
    module = types.ModuleType(library.module)
    exec(compile(library.source, library.module, "exec"), module.__dict__)
    sys.modules[library.module] = module
    return module


def ran(codes: Sequence[str], tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """What codes leave that run one after another, on copies of tables; figures are closed,
    and what is printed is dropped."""
    namespace = {name: table.copy() for name, table in tables.items()} | {"pd": pd, "np": np, "plt": plt}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in codes:
            exec(compile(code, "<code>", "exec"), namespace)
    plt.close("all")
    return namespace


def differences(codes: Sequence[str], tables: Mapping[str, pd.DataFrame], library: PrivateLibrary) -> list[str]:
    """The names of the variables in which codes and their translations differ; [] is as it must be."""
    module_of(library)
    expected, got = ran(codes, tables), ran(library.translate_all(codes), tables)
    return [
        name
        for name, value in expected.items()
        if name not in IGNORED and not (name in got and same(value, got[name]))
    ]  # fmt: skip


def same(left: Any, right: Any) -> bool:
    """Whether two results are the same; functions and drawing areas by their kind only."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (pd.DataFrame, pd.Series, pd.Index)):
        check = {pd.DataFrame: "frame", pd.Series: "series"}.get(type(left), "index")
        try:
            getattr(pd.testing, f"assert_{check}_equal")(left, right)
        except AssertionError:
            return False
        return True
    if isinstance(left, np.ndarray):
        return left.shape == right.shape and all(map(same, left.ravel().tolist(), right.ravel().tolist()))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(map(repr, left)) == list(map(repr, right)) and all(map(same, left.values(), right.values()))
    if isinstance(left, float):
        return left == right or math.isnan(left) and math.isnan(right)
    if isinstance(left, plt.Figure):
        return _picture(left) == _picture(right)
    if hasattr(left, "get_params"):
        return repr(left) == repr(right) and _learned(left) == _learned(right)
    if type(left).__module__.split(".")[0] in ("builtins", "datetime", "pandas", "numpy") and not callable(left):
        return isinstance(left, types.ModuleType) or " object at 0x" in repr(left) or bool(left == right)
    return True


def _picture(figure: plt.Figure) -> bytes:
    data = io.BytesIO()
    figure.savefig(data, format="raw", dpi=50)
    return data.getvalue()


def _learned(model: Any) -> list[str]:
    """What a model has learned, as text."""
    return [
        f"{name}={value}" for name, value in vars(model).items() if name.endswith("_") and " at 0x" not in str(value)
    ]
