"""The items of a task's ``evaluate`` list, as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

Primitive = Literal["ANS", "FAIL", "DONE"]


@dataclass(frozen=True, kw_only=True)
class CheckItem:
    """One condition on the final state; a task is solved when all of its conditions hold.

    Attributes:
        type: upstream's name of the check.
        values: the fields of a check that is only read: deskgym has those of KAlgebra, which are classes of their own.
    """

    type: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        """The value of a field."""
        return self.values[name]


@dataclass(frozen=True, kw_only=True)
class Stop(CheckItem):
    """The episode must end with this primitive; ``ANS`` with exactly these words."""

    type: str = "stop"
    primitive: Primitive
    args: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The words of the answer as the agent must give them."""
        return " ".join(self.args)


@dataclass(frozen=True, kw_only=True)
class Plotted(CheckItem):
    """KAlgebra: some plotted item has these points on or off it, and these looks.

    Attributes:
        points: each point (2 or 3 coordinates) and whether it lies on the item.
        color: ``"#rrggbb"``, when the colour counts.
        resolution: when it counts (2D).
        style: upstream's number for it, when it counts (3D; 2 is "Lines").
    """

    type: str = "eqn"
    points: tuple[tuple[tuple[float, ...], bool], ...]
    color: str | None = None
    resolution: float | None = None
    style: int | None = None

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return len(self.points[0][0])


@dataclass(frozen=True, kw_only=True)
class PlotCount(CheckItem):
    """KAlgebra: so many items are plotted (upstream's ``"#SIZE"``)."""

    type: str = "eqn"
    count: int


@dataclass(frozen=True, kw_only=True)
class VariableNumber(CheckItem):
    """KAlgebra: a variable's value is within 1e-6 of this."""

    TOLERANCE: ClassVar[float] = 1e-6
    type: str = "val"
    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class VariableText(CheckItem):
    """KAlgebra: a variable is written exactly so; None: it must not be defined (upstream's ``"#UNDEF"``)."""

    type: str = "var"
    name: str
    text: str | None
