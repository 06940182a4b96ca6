"""Runs the reference's code on the host: code of our own task files, never the agent's."""

from __future__ import annotations

import builtins
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis import domains as packaged
from deskgym.task_suites.table_analysis.domains import HOLDOUT, Domain

if TYPE_CHECKING:
    import pandas as pd

_QUIET = {**vars(builtins), "print": lambda *values, **options: None}
"""What code finds as built in: prints of the reference are for the agent's kernel, not for the host's terminal."""
_DRAWS = re.compile(r"\b(plt|matplotlib|seaborn)\b|\.(plot|hist|boxplot)\b")


class PackagedDomains(Mapping[str, Domain]):
    """All domains of the package by name; one is imported when it is asked for."""

    def __getitem__(self, name: str) -> Domain:
        if name not in packaged.domain_names():
            raise KeyError(name)
        return packaged.domain(name)

    def __iter__(self) -> Iterator[str]:
        return iter(packaged.domain_names())

    def __len__(self) -> int:
        return len(packaged.domain_names())


def tables(domain: Domain, variant: int) -> Mapping[str, pd.DataFrame]:
    """The tables as the machine reads them, those of the comparison too; hand out copies."""
    if domain.name in packaged.domain_names() and packaged.domain(domain.name) is domain:
        return packaged.read_tables(domain.name, variant)
    return _tables(domain, variant)


@lru_cache(maxsize=64)
def _tables(domain: Domain, variant: int) -> Mapping[str, pd.DataFrame]:
    import io

    import pandas as pd

    made = domain.tables(variant)
    return {name: pd.read_csv(io.StringIO(frame.to_csv(index=False))) for name, frame in made.items()}


def run(domain: Domain, variant: int, codes: Sequence[str], what: str) -> dict[str, Any]:
    """What codes leave that run one after the other, on copies of the tables.

    Args:
        domain: whose tables.
        variant: of the tables.
        codes: Python, trusted.
        what: is run, for messages.

    Returns:
        The variables: tables without those of the comparison, ``pd``, ``np``, ``plt`` if something draws, and what
        the codes set.

    Raises:
        TaskError: one failed; the message names the line.
    """
    namespace = start(domain, variant, codes)
    for code in codes:
        run_in(namespace, code, what)
    return namespace


def start(domain: Domain, variant: int, codes: Sequence[str] | None = None) -> dict[str, Any]:
    """The variables before the first turn; with ``codes`` only the tables that those mention."""
    import numpy as np
    import pandas as pd

    text = None if codes is None else "\n".join(codes)
    found = {
        name: frame.copy()
        for name, frame in tables(domain, variant).items()
        if not name.startswith(HOLDOUT) and (text is None or name in text)
    }
    return {"__builtins__": _QUIET, "__name__": "__main__", "pd": pd, "np": np, **found}


def run_in(namespace: dict[str, Any], code: str, what: str) -> None:
    """Run code in a namespace; it changes it.

    Raises:
        TaskError: it failed; the message names the line.
    """
    if not code.strip():
        return
    try:
        if _DRAWS.search(code):
            with _drawing() as plt:
                namespace["plt"] = plt
                exec(_compiled(code), namespace)
        else:
            exec(_compiled(code), namespace)
    except Exception as error:
        raise TaskError(f"{what}: {type(error).__name__}: {error}{_place(error, code)}") from error


def evaluate(namespace: Mapping[str, Any], expression: str, domain: Domain, variant: int, what: str) -> Any:
    """A Python expression where results are compared: the tables of the comparison are there too, and ``rng``.

    Raises:
        TaskError: it failed.
    """
    import numpy as np

    holdout = {name: frame.copy() for name, frame in tables(domain, variant).items() if name.startswith(HOLDOUT)}
    try:
        return eval(expression, {**namespace, **holdout, "rng": np.random.default_rng(variant)})
    except Exception as error:
        raise TaskError(f"{what}: {expression!r}: {type(error).__name__}: {error}") from error


def fork(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which code can run without changing the first one's data; modules and functions are shared."""
    import numpy as np
    import pandas as pd

    plain = (list, dict, set, np.ndarray)
    return {
        name: value.copy() if isinstance(value, (pd.DataFrame, pd.Series))
        else copy.deepcopy(value) if isinstance(value, plain) and name != "__builtins__" and not _holds_figures(value)
        else value
        for name, value in namespace.items()
    }  # fmt: skip


def _holds_figures(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else getattr(value, "flat", value)
    return any(type(item).__module__.startswith("matplotlib") or isinstance(item, ModuleType) for item in items)


@contextmanager
def _drawing() -> Iterator[ModuleType]:
    """Pyplot without a display; its figures are let go afterwards, and the backend is what it was."""
    import matplotlib
    import matplotlib.pyplot as plt

    before = matplotlib.get_backend()
    if before.lower() != "agg":
        plt.switch_backend("agg")
    there = set(plt.get_fignums())
    try:
        yield plt
    finally:
        for number in set(plt.get_fignums()) - there:
            plt.close(number)
        if before.lower() != "agg":
            plt.switch_backend(before)


@lru_cache(maxsize=4096)
def _compiled(code: str) -> CodeType:
    return compile(code, "<reference>", "exec")


def _place(error: BaseException, code: str) -> str:
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<reference>":
            line = trace.tb_lineno
        trace = trace.tb_next
    lines = code.splitlines()
    return f" (line {line}: {lines[line - 1].strip()})" if line and line <= len(lines) else ""
