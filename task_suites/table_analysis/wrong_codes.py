"""Code that must not earn the reward: the author's, a blank plot, and the answer of another seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deskgym.task_suites.table_analysis.guest import comparators

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.sampling import SampledDialogue

HARD_CODED = ("value", "list", "dict", "tuple")
"""Result types that can be typed in without computing."""
OTHERS = 12
"""How many other seeds are looked at for one with another answer."""
BLANK_PLOT = "blank plot"
ANOTHER_SEED = "answer of another seed"


class WrongCodes(Mapping[str, str]):
    """Wrong code by name; what takes a run of the reference to make is made when it is first asked for.

    Args:
        codes: the author's.
        sampled: the dialogue's instance.
        turn: index of the turn.
    """

    def __init__(self, codes: Mapping[str, str], sampled: SampledDialogue, turn: int) -> None:
        self._codes, self._sampled, self._turn = codes, sampled, turn

    @cached_property
    def _all(self) -> dict[str, str]:
        found = dict(self._codes)
        kinds = self._sampled.file.turns[self._turn].result
        plots = [name for name, kind in kinds.items() if kind == "plot"]
        if plots:
            blank = "".join(f"{name} = plt.figure()\n" for name in plots)
            found[BLANK_PLOT] = f"import matplotlib.pyplot as plt\n{blank}"
        code = _of_another_seed(self._sampled, self._turn)
        return found | ({ANOTHER_SEED: code} if code else {})

    def __getitem__(self, name: str) -> str:
        return self._codes[name] if name in self._codes else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"WrongCodes({', '.join(self._codes)}, ...)"


def _of_another_seed(sampled: SampledDialogue, k: int) -> str | None:
    """Code that types in the results of another seed of the same turn, all of them different from this one's."""
    kinds = sampled.file.turns[k].result
    wanted = [name for name, kind in kinds.items() if kind in HARD_CODED]
    if not wanted:
        return None
    own = _plain_results(sampled, k, wanted)
    for other in range(1, OTHERS + 1):
        found = _plain_results(sampled.other((sampled.seed + other) % 2**31), k, wanted)
        names = [name for name in own if name in found and differ(sampled, k, name, own[name], found[name])]
        if names and len(names) == len(own):
            return "\n".join(f"{name} = {literal(found[name])}" for name in names)
    return None


def _plain_results(sampled: SampledDialogue, k: int, wanted: list[str]) -> dict[str, Any]:
    """Those results that can be written as Python expressions."""
    namespace = sampled.results(k)
    found = {}
    for name in wanted:
        with suppress(ValueError):
            literal(namespace.get(name))
            found[name] = namespace.get(name)
    return found


def differ(sampled: SampledDialogue, k: int, name: str, gold: Any, other: Any) -> bool:
    """Whether a result of turn ``k`` differs from its gold, in every way of comparing."""
    turn = sampled.file.turns[k]
    return not any(
        comparators.compare(gold, other, turn.result[name], turn.compare.get(name), mode)[0]
        for mode in comparators.MODES
    )


def literal(value: Any) -> str:
    """A result as a Python expression, which may use ``pd``.

    Raises:
        ValueError: it has parts that are no plain data.

    Examples:
        >>> import numpy as np
        >>> literal({"a": [np.int64(3), float("nan")]})
        "{'a': [3, float('nan')]}"
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, (pd.Timestamp, pd.Timedelta)):
        return f"pd.{type(value).__name__}({str(value)!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    brackets: dict[type[Any], str] = {list: "[{}]", tuple: "({},)", set: "{{{}}}"}
    if type(value) in brackets and value:
        return brackets[type(value)].format(", ".join(map(literal, value)))
    if isinstance(value, (list, tuple, set)):
        return repr(type(value)())
    raise ValueError(f"a {type(value).__name__} is no plain data")
