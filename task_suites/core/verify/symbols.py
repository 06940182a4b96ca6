"""Our code as symbols: functions, classes, their methods, constants and data files, each with what it refers to.

A symbol's key is ``module:name``, ``module:Class.method``, ``module:*`` for a module and ``package:**`` for a package
as a whole, ``module:`` for the statements that a module runs when it is imported, or ``data:path``. Followed are
references by name, also through imports, texts that name a module or something in one (``"package.module:name"``),
``load_program("name")`` (a program as a whole), and paths that are made of ``__file__``. A module that is used as a
value counts as a whole.

Not followed are names that are made at run time (``getattr``, registries that task files call by name): what a task
got from a registry is among its roots. A method counts where something that is reached has its name, as an attribute
or as a text, or where what is not followed may call it; where a base class is not ours, all methods count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b

from deskgym.task_suites.core.verify.data_symbols import data_symbol
from deskgym.task_suites.core.verify.module_table import ModuleTable
from deskgym.task_suites.core.verify.modules import module_path
from deskgym.task_suites.core.verify.names import Found
from deskgym.task_suites.core.verify.symbol import Symbol

ROUNDS = 3
"""How many references deep a digest tells which symbol is meant; all that are reached count anyway."""
_DOTTED = re.compile(r"(\w+(?:\.\w+)+)(?::(\w+))?\Z")


class Index:
    """All symbols of some packages, parsed when they are asked for.

    Args:
        packages: what is followed; of the rest of deskgym and of other libraries only the names count.
        called: names by which what is not followed may call methods.
    """

    def __init__(self, packages: Iterable[str], called: frozenset[str] = frozenset()) -> None:
        self.called = called
        self.packages = tuple(sorted(packages))
        self._modules: dict[str, ModuleTable | None] = {}
        self._symbols: dict[str, Symbol] = {}
        self._levels: dict[tuple[tuple[str, ...], int], dict[str, bytes]] = {}
        self._reached: dict[tuple[tuple[str, ...], tuple[str, ...]], frozenset[str]] = {}
        self._digests: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}

    def module(self, name: str) -> ModuleTable | None:
        """A followed module; None where it is not followed or has no source."""
        if name not in self._modules:
            path = module_path(name) if self.follows(name) else None
            self._modules[name] = ModuleTable(self, name, path) if path is not None else None
        return self._modules[name]

    def follows(self, name: str) -> bool:
        """Whether a module belongs to the packages."""
        return any(name == package or name.startswith(f"{package}.") for package in self.packages)

    def symbol(self, key: str) -> Symbol:
        """The symbol of a key."""
        if key not in self._symbols:
            self._symbols[key] = self._make(key)
        return self._symbols[key]

    def keys_of(self, module: str, name: str) -> list[str]:
        """The symbol that defines a name, such as ``Class.method`` or ``function.<locals>.inner``, and those it needs.

        Where there is no such name, the module as a whole; nothing where the module is not followed.
        """
        table = self.module(module)
        if table is None:
            return []
        first = name.partition(".")[0]
        if first not in table.bound:
            return [f"{module}:*"]
        found = table.find(first, [])
        return [found.key] if found.key else []

    def is_function(self, key: str) -> bool:
        """Whether a symbol is a function or a method."""
        module, _, name = key.partition(":")
        table = self.module(module) if not key.startswith("data:") else None
        return table is not None and table.is_function(name)

    def reach(self, roots: Iterable[str], without: tuple[str, ...] = ()) -> frozenset[str]:
        """All symbols that those of ``roots`` lead to, themselves among them; all methods of root classes count.

        Args:
            roots: keys.
            without: the beginnings of keys that are left out.
        """
        asked = tuple(roots), without
        if asked not in self._reached:
            self._reached[asked] = frozenset(self._reach(*asked))
        return self._reached[asked]

    def digest(self, roots: Iterable[str], without: tuple[str, ...] = ()) -> str:
        """A digest of what some roots, in order, and all that they reach do. Names and places do not count."""
        asked = tuple(roots), without
        if asked not in self._digests:
            total = blake2b(digest_size=6)
            for key in asked[0]:
                total.update(self._level(key, ROUNDS, without))
            for part in sorted(self._level(key, ROUNDS, without) for key in self.reach(*asked)):
                total.update(part)
            self._digests[asked] = total.hexdigest()
        return self._digests[asked]

    def _reach(self, roots: tuple[str, ...], without: tuple[str, ...]) -> set[str]:
        found: set[str] = set()
        names = set(self.called)
        waiting: dict[str, list[str]] = {}
        stack, whole = list(roots), frozenset(roots)
        while stack:
            key = stack.pop()
            if key in found or key.startswith(without):
                continue
            found.add(key)
            symbol = self.symbol(key)
            stack += symbol.references
            for name in symbol.names.difference(names):
                names.add(name)
                stack += waiting.pop(name, ())
            for name, method in symbol.methods.items():
                if symbol.all_methods or key in whole or name in names or name.startswith("__"):
                    stack.append(method)
                else:
                    waiting.setdefault(name, []).append(method)
        return found

    def _level(self, key: str, depth: int, without: tuple[str, ...]) -> bytes:
        """A digest of a symbol's text, and of those that it refers to, so many references deep."""
        known = self._levels.setdefault((without, depth), {})
        if key not in known:
            symbol = self.symbol(key)
            if depth == 0:
                known[key] = blake2b(symbol.text.encode(), digest_size=8).digest()
            else:
                followed = [key, *(each for each in symbol.references if not each.startswith(without))]
                parts = [self._level(each, depth - 1, without) for each in followed]
                known[key] = blake2b(b"".join(parts), digest_size=8).digest()
        return known[key]

    def _make(self, key: str) -> Symbol:
        if key.startswith("data:"):
            return data_symbol(key)
        module, _, name = key.partition(":")
        table = self.module(module)
        if table is None:
            return Symbol(key, "")
        return table.symbol(name)

    def key_of_text(self, text: str) -> str:
        """The key of what a text names, such as ``"package.module:name"``, or ""."""
        dotted = _DOTTED.match(text)
        if dotted is None or not self.follows(dotted[1]):
            return ""
        table = self.module(dotted[1])
        if table is None:
            return ""
        found = table.find(dotted[2], []) if dotted[2] in table.bound else Found()
        if found.key:
            return found.key
        return f"{dotted[1]}:**" if table.file.name == "__init__.py" and not dotted[2] else f"{dotted[1]}:*"
