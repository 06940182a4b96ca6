"""The operations of data analysis that a private library can hide: what each is called there, and what it does.

An operation's key says how it is written: ``.groupby`` a method, ``.str.upper`` one behind an accessor,
``axes.bar`` and ``fig.suptitle`` a method of a drawing, ``pd.concat`` or ``sklearn.cluster.KMeans`` a function, and
``[]column`` or ``.loc[,]=`` a form of subscript or assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Op:
    """One operation.

    Attributes:
        key: how it is written, see the module.
        signature: its positional parameters in their real order; those before ``|`` are what a call at least has;
            ``step...`` takes any number, ``**new`` any further keywords.
        words: ``"verb verb / noun noun"``, from which a descriptive private name is made.
        does: what it does, in plain English.
        returns: what comes back.
        like: keys of operations that are easily mistaken for it and give something else.
        body: for subscripts and attributes its code, with parameters in braces.
        receiver: what it works on, a key of ``RECEIVERS``; ``""`` for functions.
        pure: it changes nothing, so that it does not matter when it runs.
    """

    key: str
    signature: str
    words: str
    does: str
    returns: str
    like: str = ""
    body: str = ""
    receiver: str = "table"
    pure: bool = True

    @property
    def positional(self) -> tuple[str, ...]:
        """The real names of the positional parameters, in order."""
        return tuple(word for word in self.signature.split() if word not in ("|",) and not word.startswith("**"))

    @property
    def required(self) -> tuple[str, ...]:
        """Those that every call has."""
        return tuple(word for word in self.signature.partition("|")[0].split() if not word.startswith("**"))

    @property
    def through(self) -> str:
        """The name of the parameter that takes any further keywords, or ``""``."""
        return next((word[2:] for word in self.signature.split() if word.startswith("**")), "")

    @property
    def name(self) -> str:
        """What pandas and its kin call it, such as ``"groupby"``."""
        return self.key.split("[")[0].split(".")[-1].rstrip("()")


RECEIVERS: Mapping[str, tuple[str, str]] = {
    "table": ("holdings source data body stock content subject material", "the table, column or groups to work on"),
    "texts": ("phrases wording strings entries labels_in", "the column of texts"),
    "dates": ("moments stamps times dates_in calendar", "the column of dates or durations"),
    "axes": ("panel canvas surface area board", "the drawing area"),
    "fig": ("page poster picture sheet_of_panels", "the whole figure"),
    "model": ("learner engine unit machine device", "the model or preparation step"),
}
"""What an operation works on -> words for that parameter, and its description."""

ALIASES: Mapping[str, str] = {
    ".isnull": ".isna",
    ".notnull": ".notna",
    ".aggregate": ".agg",
    ".to_list": ".tolist",
    ".kurtosis": ".kurt",
    ".dt.weekday": ".dt.day_of_week",
    ".dt.dayofweek": ".dt.day_of_week",
    ".dt.dayofyear": ".dt.day_of_year",
    "pd.isnull": "pd.isna",
    "pd.notnull": "pd.notna",
    "np.amax": "np.max",
    "np.amin": "np.min",
    "np.absolute": "np.abs",
    "np.around": "np.round",
}
"""Other spellings of an operation."""


@cache
def operations() -> Mapping[str, Op]:
    """All operations by key."""
    from deskgym.task_suites.table_analysis.private import (
        ops_models,
        ops_numbers,
        ops_plots,
        ops_statistics,
        ops_tables,
        ops_values,
    )

    parts = (ops_tables, ops_statistics, ops_values, ops_numbers, ops_plots, ops_models)
    return {op.key: op for part in parts for op in part.OPERATIONS}


def operation(key: str) -> Op | None:
    """The operation with that key or an alias of it, or None."""
    return operations().get(ALIASES.get(key, key))
