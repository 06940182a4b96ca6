"""How strictly two results are compared, and how a message shows a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

_SHOWN = 60


class GoldError(ValueError):
    """The reference's result cannot be compared: the evaluator's fault, never the agent's."""


@dataclass(frozen=True)
class Rules:
    """The options of a comparison, all by keyword in a dialogue file.

    Attributes:
        rtol: relative tolerance of numbers; None is 1e-6, and 1e-3 of the range of the axis in plots. Two ints must
            be equal, unless a tolerance is given.
        atol: absolute tolerance of numbers; None is 1e-9 (in plots 0).
        ordered: rows, and the items of lists, must be in the gold's order.
        index: the index of tables and series must be the gold's.
        names: the names of columns, series and index must be the gold's; else a column whose name is missing may be
            any equal one.
    """

    rtol: float | None = None
    atol: float | None = None
    ordered: bool = True
    index: bool = True
    names: bool = False

    @property
    def exact(self) -> bool:
        """Ints must be equal."""
        return self.rtol is None and self.atol is None

    @property
    def relative(self) -> float:
        """Relative tolerance."""
        return 1e-6 if self.rtol is None else self.rtol

    @property
    def absolute(self) -> float:
        """Absolute tolerance."""
        return 1e-9 if self.atol is None else self.atol


def rules_of(options: Mapping[str, Any]) -> Rules:
    """The rules of these options.

    Raises:
        ValueError: an option is unknown or has a value that is not legal.
    """
    legal = [field.name for field in fields(Rules)]
    for name, value in options.items():
        if name not in legal:
            raise ValueError(f"option {name!r} of a comparison; legal are {', '.join(legal)}")
        if name in ("rtol", "atol"):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
                raise ValueError(f"option {name}={value!r} of a comparison; legal is a number from 0")
        elif not isinstance(value, bool):
            raise ValueError(f"option {name}={value!r} of a comparison; legal are true and false")
    return Rules(**options)


def shown(value: Any) -> str:
    """A short text of a value, for messages."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__}"
    text = " ".join(text[: 4 * _SHOWN].split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
