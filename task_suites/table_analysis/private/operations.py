"""The operations of data analysis that a private library can hide: what each is called there, and what it does.

An operation's key says how it is written: ``.groupby`` a method, ``.str.upper`` one behind an accessor,
``axes.bar`` and ``fig.suptitle`` a method of a drawing, ``pd.concat`` or ``sklearn.cluster.KMeans`` a function, and
``[]column`` or ``.loc[,]=`` a form of subscript or assignment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from deskgym.task_suites.table_analysis.private.data import read


@dataclass(frozen=True)
class Op:
    """One operation.

    Attributes:
        key: how it is written, see the module.
        takes: its positional parameters in their real order; those before ``|`` are what a call at least has;
            ``step...`` takes any number, ``**new`` any further keywords.
        words: ``"verb verb / noun noun"``, from which a descriptive private name is made.
        does: what it does, in plain English.
        gives: what comes back.
        like: keys of operations that are easily mistaken for it and give something else.
        body: for subscripts and attributes its code, with parameters in braces.
        receiver: what it works on, a key of ``RECEIVERS``; ``""`` for functions.
        pure: it changes nothing, so that it does not matter when it runs.
    """

    key: str
    takes: str
    words: str
    does: str
    gives: str
    like: str = ""
    body: str = ""
    receiver: str = "table"
    pure: bool = True

    @property
    def positional(self) -> tuple[str, ...]:
        """The real names of the positional parameters, in order."""
        return tuple(word for word in self.takes.split() if word not in ("|",) and not word.startswith("**"))

    @property
    def required(self) -> tuple[str, ...]:
        """Those that every call has."""
        return tuple(word for word in self.takes.partition("|")[0].split() if not word.startswith("**"))

    @property
    def through(self) -> str:
        """The name of the parameter that takes any further keywords, or ``""``."""
        return next((word[2:] for word in self.takes.split() if word.startswith("**")), "")

    @property
    def name(self) -> str:
        """What pandas and its kin call it, such as ``"groupby"``."""
        return self.key.split("[")[0].split(".")[-1].rstrip("()")


RECEIVERS: Mapping[str, tuple[str, str]] = read("names")["receivers"]
"""What an operation works on -> words for that parameter, and its description."""
ALIASES: Mapping[str, str] = read("names")["aliases"]
"""Other spellings of an operation."""


@cache
def operations() -> Mapping[str, Op]:
    """All operations by key."""
    parts = ("tables", "statistics", "values", "numbers", "plots", "models")
    return {key: Op(key, **keys) for part in parts for key, keys in read(f"operations_{part}").items()}


def operation(key: str) -> Op | None:
    """The operation with that key or an alias of it, or None."""
    return operations().get(ALIASES.get(key, key))
