"""A symbol: a function, class, method, constant or data file, and what it refers to."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b


@dataclass(frozen=True)
class Symbol:
    """One symbol.

    Attributes:
        key: where it is now; no digest depends on it.
        text: its normal form.
        references: keys of the symbols that it refers to.
        names: by which it may call methods.
        methods: of a class: keys by name.
        all_methods: whether all of them count, whatever is called.
    """

    key: str
    text: str
    references: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    methods: Mapping[str, str] = field(default_factory=dict)
    all_methods: bool = False

    @cached_property
    def digest(self) -> str:
        """Of its own text: 4 letters."""
        return b64encode(blake2b(self.text.encode(), digest_size=3).digest(), b"-_").decode()
