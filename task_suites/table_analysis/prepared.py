"""A turn as it is played: its history as cells, its reference, and in private modes both over the private library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from deskgym.task_suites.table_analysis.domains import HOLDOUT, domain, read_tables, table_files
from deskgym.task_suites.table_analysis.turns import Past, Turn

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.private import PrivateLibrary

_HEAD = "import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n"
SKLEARN = tuple(
    f"sklearn.{name}"
    for name in ("cluster", "ensemble", "linear_model", "metrics", "model_selection", "neighbors", "pipeline",
                 "preprocessing", "tree")
)  # fmt: skip
"""The modules of scikit-learn that analyses use."""
SHOWN_ROWS = 3


@dataclass(frozen=True)
class PreparedTurn:
    """A turn, ready to be played.

    Attributes:
        turn: as it was drawn, its code being pandas'.
        codes: what the private library is made of: the code of the whole dialogue, as far as it is known.
    """

    turn: Turn
    codes: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether there is a private library."""
        return self.turn.library_seed is not None

    @cached_property
    def library(self) -> PrivateLibrary | None:
        """The private library, or None in other modes."""
        return None if self.turn.library_seed is None else _library(self.turn.library_seed, self.codes)

    @cached_property
    def history(self) -> tuple[Past, ...]:
        """The turns before, as the agent sees them."""
        return tuple(replace(past, code=self.translate(past.code)) for past in self.turn.history)

    @cached_property
    def code(self) -> str:
        """The reference's code."""
        return self.translate(self.turn.code)

    @cached_property
    def wrong(self) -> Mapping[str, str]:
        """Code that must not earn the reward, by name."""
        found = {name: self.translate(code) for name, code in self.turn.wrong.items()}
        if self.private and self.turn.choice is None:
            found["without the library"] = self.turn.code
        return found

    def translate(self, code: str) -> str:
        """The code over the private library, where there is one."""
        return code if self.library is None or not code.strip() else self.library.translate(code)

    @property
    def cells(self) -> tuple[str, ...]:
        """What runs before the turn: the tables are read, and what the turns before did."""
        return (head(self._tables(False)), *(past.code for past in self.history if past.runs and past.code.strip()))

    @property
    def reference_cells(self) -> tuple[str, ...]:
        """The same where results are compared, with the tables that the agent does not have."""
        past = (past.code for past in self.turn.history if past.runs and past.code.strip())
        return (head(self._tables(True)), *past)

    def files(self, *, reference: bool = False) -> dict[str, bytes]:
        """The files of the kernel's folder: the tables, and the private library."""
        tables = table_files(self.turn.domain, self.turn.variant)
        files = {f"{name}.csv": tables[name] for name in self._tables(reference)}
        if self.library is not None and not reference:
            files[f"{self.library.module}.py"] = self.library.source.encode()
        return files

    @property
    def preload(self) -> tuple[str, ...]:
        """Modules that its code imports and that take long to load: all of scikit-learn's together, for it is once."""
        return SKLEARN if any("sklearn" in code for code in self.codes) else ()

    def _tables(self, reference: bool) -> list[str]:
        names = table_files(self.turn.domain, self.turn.variant)
        return [name for name in names if reference or not name.startswith(HOLDOUT)]


@lru_cache(maxsize=64)
def _library(seed: int, codes: tuple[str, ...]) -> PrivateLibrary:
    from deskgym.task_suites.table_analysis.private import make_library

    return make_library(seed, codes)


def prepare_turns(turns: Sequence[Turn]) -> tuple[PreparedTurn, ...]:
    """The turns of one episode; they share a private library."""
    last = turns[-1]
    codes = dict.fromkeys(code for code in (*(past.code for past in last.history), *(turn.code for turn in turns)))
    return tuple(PreparedTurn(turn, tuple(code for code in codes if code.strip())) for turn in turns)


def head(tables: Iterable[str]) -> str:
    """The first cell: the usual imports, and the tables in variables of their names."""
    return _HEAD + "".join(f'{name} = pd.read_csv("{name}.csv")\n' for name in tables)


@lru_cache(maxsize=256)
def described(name: str, variant: int) -> str:
    """A domain's tables for the agent: what they are, and each one's size, columns with their types, and first rows."""
    parts = [domain(name).about.strip()]
    for table, frame in read_tables(name, variant).items():
        if table.startswith(HOLDOUT):
            continue
        columns = "\n".join(
            f"  {column}: {dtype}" + (f", {missing} missing" if missing else "")
            for (column, dtype), missing in zip(frame.dtypes.items(), frame.isna().sum(), strict=True)
        )
        rows = frame.head(SHOWN_ROWS).to_csv(index=False).strip()
        parts.append(f"Table `{table}` ({table}.csv): {len(frame)} rows\n{columns}\nFirst rows:\n{rows}")
    return "\n\n".join(parts)
