"""Data files as symbols."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

from deskgym.task_suites.core.verify.modules import LEDGER, MAX_DATA, OWN_PROOFS, ROOT
from deskgym.task_suites.core.verify.names import Finds, Found
from deskgym.task_suites.core.verify.normal_form import normal_form
from deskgym.task_suites.core.verify.symbol import Symbol


def data_key(path: Path) -> str:
    """The key of a data file or folder: its place in the package, or its path."""
    return f"data:{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}"


def data_symbol(key: str) -> Symbol:
    """A data file, or the data files of a folder. Ledgers and folders of tasks, which have proofs, are none."""
    path = ROOT / key.removeprefix("data:")
    if path.is_file():
        return Symbol(key, _content(path))
    parts = [
        entry
        for entry in sorted(path.iterdir() if path.is_dir() else ())
        if entry.name not in OWN_PROOFS | {LEDGER}
        and (not (path / "__init__.py").is_file() or entry.suffix != ".py")
        and not (entry.is_dir() and (entry / "__init__.py").is_file() and (path / "__init__.py").is_file())
        and entry.suffix != ".pyc"
    ]
    return Symbol(key, "\n".join(entry.name for entry in parts), tuple(map(data_key, parts)))


def _content(path: Path) -> str:
    """What a data file holds; of Python the normal form; of one above 1 MiB only the size."""
    size = path.stat().st_size
    if size > MAX_DATA:
        return f"{size} bytes"
    raw = path.read_bytes()
    if path.suffix == ".py":
        try:
            return normal_form(ast.parse(raw).body, _Elsewhere(), keep_locals=True, anonymous=False).text
        except (SyntaxError, ValueError):
            pass
    return blake2b(raw, digest_size=16).hexdigest()


class _Elsewhere:
    """The names of a script that runs in a machine: they count as they stand, imports too."""

    def find(self, name: str, attributes: list[str]) -> Found:
        return Found(text=name)

    def imports(self, node: ast.Import | ast.ImportFrom) -> Mapping[str, Finds]:
        return {}

    def method(self, name: str) -> str:
        return ""

    def dotted(self, text: str) -> str:
        return ""

    def program(self, name: str) -> str:
        return ""

    def path(self, node: ast.expr) -> Path | None:
        return None

    def data(self, path: Path) -> str:
        return ""
