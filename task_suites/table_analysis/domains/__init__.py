"""The tables that dialogues are about: one module per domain, with a ``DOMAIN``."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from deskgym.envs.errors import MachineError, TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.sandbox.host import cache_folder

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1  # of the kept tables
HOLDOUT = "holdout_"
"""Tables whose names begin so are there only where results are compared, never in the agent's machine."""


@dataclass(frozen=True)
class Domain:
    """Tables of one subject.

    Attributes:
        name: the module's name.
        title: a few words.
        about: for the agent: what the tables are, their columns and units.
        source: the package that the tables come from, or how they are generated.
        licence: of the tables.
        tables: the tables by name, of a variant (0 to ``variants`` - 1); the same variant is the same tables for ever.
        variants: how many there are.
    """

    name: str
    title: str
    about: str
    source: str
    licence: str
    tables: Callable[[int], Mapping[str, pd.DataFrame]]
    variants: int = 32


@lru_cache(maxsize=1)
def domain_names() -> tuple[str, ...]:
    """All domains, sorted; imports none of them."""
    return tuple(sorted(module.name for module in iter_modules([str(Path(__file__).parent)])))


@lru_cache(maxsize=64)
def domain(name: str) -> Domain:
    """The domain of that name.

    Raises:
        TaskError: there is none.
    """
    if name not in domain_names():
        raise TaskError(unknown("domain", name, domain_names()))
    try:
        found: Domain = import_module(f"{__name__}.{name}").DOMAIN
    except ModuleNotFoundError as error:
        raise TaskError(f"table analysis needs {error.name}: run `deskgym install table_analysis`") from error
    return found


@lru_cache(maxsize=512)
def table_files(name: str, variant: int) -> Mapping[str, bytes]:
    """The tables of a domain's variant as CSV files (UTF-8, with a header, without an index), by table name.

    They are made once per host and kept in the cache: making them takes ten times as long as reading them.
    """
    folder = _cache(name)
    if folder is None:
        return _made(name, variant)
    kept = build_once(folder / str(variant), lambda building: _write(_made(name, variant), building))
    return {path.stem: path.read_bytes() for path in sorted(kept.iterdir(), key=_number)}


def _made(name: str, variant: int) -> dict[str, bytes]:
    tables = domain(name).tables(variant)
    return {table: frame.to_csv(index=False).encode() for table, frame in tables.items()}


@lru_cache(maxsize=64)
def _cache(name: str) -> Path | None:
    """Where a domain's tables are kept: another folder for another source, or other libraries; None if nowhere."""
    import numpy as np
    import pandas as pd

    about = f"{FORMAT} {domain(name).source} {np.__version__} {pd.__version__}"
    source = Path(str(import_module(f"{__name__}.{name}").__file__)).read_bytes()
    digest = hashlib.sha256(about.encode() + source).hexdigest()[:16]
    try:
        folder = cache_folder() / "tables" / f"{name}-{digest}"
        folder.mkdir(parents=True, exist_ok=True)
    except (MachineError, OSError):
        return None
    return folder


def _write(files: Mapping[str, bytes], folder: Path) -> None:
    for number, (table, data) in enumerate(files.items()):
        (folder / f"{table}.{number}").write_bytes(data)
    folder.chmod(0o755)


def _number(path: Path) -> int:
    return int(path.suffix[1:])


@lru_cache(maxsize=96)
def read_tables(name: str, variant: int) -> Mapping[str, pd.DataFrame]:
    """The same as the machine reads them; hand out copies."""
    import io

    import pandas as pd

    return {table: pd.read_csv(io.BytesIO(data)) for table, data in table_files(name, variant).items()}
