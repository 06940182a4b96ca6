"""What the names in a symbol mean: where they are looked up."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """What a name means outside a symbol.

    Attributes:
        key: of a symbol of ours, or "".
        text: what stands in the normal form where it is none of ours.
        used: how many of the attributes behind the name belong to it.
        is_error: whether it is an exception class.
        is_text: whether it is a function that returns a text.
    """

    key: str = ""
    text: str = ""
    used: int = 0
    is_error: bool = False
    is_text: bool = False


class Finds(Protocol):
    """Where names are looked up."""

    def find(self, name: str, attributes: list[str]) -> Found:
        """What a name means, with the attributes behind it."""
        ...


class Names(Finds, Protocol):
    """What the names in a symbol mean in its module."""

    def imports(self, node: ast.Import | ast.ImportFrom) -> Mapping[str, Finds]:
        """The local names that an import within a symbol binds: for each, where to find it."""
        ...

    def method(self, name: str) -> str:
        """The key of a private method of the symbol's class, or ""."""
        ...

    def dotted(self, text: str) -> str:
        """The key of the symbol or module that a text names, or ""."""
        ...

    def program(self, name: str) -> str:
        """The key of the program of a name, or ""."""
        ...

    def path(self, node: ast.expr) -> Path | None:
        """The file or folder beside a module that an expression means, or None."""
        ...

    def data(self, path: Path) -> str:
        """The key of the data at a path, or "" where there are none."""
        ...
