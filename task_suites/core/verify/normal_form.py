"""The normal form of a symbol's syntax tree: what it does, without the words around it.

It leaves out comments, docstrings, annotations, formatting, the texts of errors, of check results, of logs and of
warnings, and the names of local variables. A reference to another symbol of ours stands as a number: a digest follows
it by content, so that the names of functions, classes, constants and modules do not count either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

CHECK_RETURNS = ("tuple[bool, str]", "Outcome")
"""The return annotations of functions whose second value is a message."""
MESSAGES: Mapping[str, tuple[int | str, ...]] = {"CheckResult": (2, "message"), "Verdict": ("error", "notes")}
"""The calls that take messages: positions and keywords of those."""
LOGS = ("warnings.warn", "logging.", "logger.", "log.")
_TEXT_METHODS = frozenset(("join", "format"))
_LEFT_OUT = frozenset(("annotation", "returns", "type_comment", "type_params", "ctx", "kind"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda)


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


@dataclass
class NormalForm:
    """A symbol's normal form.

    Attributes:
        text: the form; ``@0`` is the first of its references.
        references: the keys of the symbols that it refers to, in the order of the text.
        names: identifiers by which it may call methods: attributes, and texts that are identifiers.
    """

    text: str
    references: tuple[str, ...]
    names: frozenset[str]


def normal_form(nodes: list[ast.stmt], names: Names, keep_locals: bool = False, anonymous: bool = True) -> NormalForm:
    """The normal form of a symbol's statements.

    Args:
        nodes: the statements; of a class without the methods that are symbols of their own.
        names: what names mean.
        keep_locals: whether the names that it binds count: those of a class's body do.
        anonymous: whether the name of a function or class that the statements define counts for nothing.
    """
    writer = _Writer(nodes, names, keep_locals, anonymous)
    for node in nodes:
        writer.statement(node)
    return NormalForm("".join(writer.out), tuple(writer.references), frozenset(writer.names))


@dataclass
class _Writer:
    nodes: list[ast.stmt]
    known: Names
    keep_locals: bool
    anonymous: bool
    out: list[str] = field(default_factory=list)
    references: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parameters: set[str] = set()
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.imported: dict[str, Finds] = {}
        self.assigned: dict[str, list[ast.expr | None]] = {}
        self.own = {node.name for node in self.nodes if isinstance(node, (*_FUNCTIONS, ast.ClassDef))}
        for node in self.nodes:
            self._bind(node, top=True)
        self.locals -= self.globals
        self.messages = set(self._messages())
        self.unread = self._unread()

    # what the symbol binds itself

    def _bind(self, node: ast.AST, top: bool = False) -> None:
        if isinstance(node, ast.arg):
            self.parameters.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.locals.add(node.id)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)) and not top:
            self.locals.add(node.name)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.locals.add(node.name)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            self.locals.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.locals.add(node.rest)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imported |= self.known.imports(node)
        elif isinstance(node, ast.Global):
            self.globals.update(node.names)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    self.assigned.setdefault(target.id, []).append(node.value)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            for name in ast.walk(node.target):
                if isinstance(name, ast.Name):
                    self.assigned.setdefault(name.id, []).append(None)
        for child in ast.iter_child_nodes(node):
            self._bind(child)

    # texts that only people read

    def _messages(self) -> Iterator[int]:
        """The ids of the expressions that are messages."""
        for top in self.nodes:
            yield from self._messages_in(top, checks=False)

    def _messages_in(self, node: ast.AST, checks: bool) -> Iterator[int]:
        if isinstance(node, _FUNCTIONS):
            checks = node.returns is not None and ast.unparse(node.returns) in CHECK_RETURNS
        elif isinstance(node, ast.Lambda):
            checks = False
        if checks and isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            yield id(node.value.elts[1])
        if isinstance(node, ast.Call):
            yield from self._messages_of(node)
        for child in ast.iter_child_nodes(node):
            yield from self._messages_in(child, checks)

    def _messages_of(self, call: ast.Call) -> Iterator[int]:
        name = _last(call.func)
        for place in MESSAGES.get(name, ()):
            if isinstance(place, int):
                yield from (id(node) for node in call.args[place : place + 1])
            else:
                yield from (id(keyword.value) for keyword in call.keywords if keyword.arg == place)
        if not self._is_error(call.func):
            return
        for k, argument in enumerate(call.args):
            spoken = isinstance(argument, ast.Constant) and isinstance(argument.value, str) and " " in argument.value
            if (k == 0 or spoken) and self._is_text(argument):
                yield id(argument)

    def _is_error(self, function: ast.expr) -> bool:
        chain = _chain(function)
        if chain is None or self._is_local(chain[0]):
            return False
        return self._find(*chain).is_error

    def _is_text(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a text by its form."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str)
        if isinstance(node, ast.JoinedStr):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
            return self._is_text(node.left, seen) or (isinstance(node.op, ast.Add) and self._is_text(node.right, seen))
        if isinstance(node, ast.IfExp):
            return self._is_text(node.body, seen) and self._is_text(node.orelse, seen)
        if isinstance(node, ast.BoolOp):
            return any(self._is_text(value, seen) for value in node.values)
        if isinstance(node, ast.Name) and node.id in self.assigned and node.id not in self.parameters | seen:
            return all(self._is_text(value, seen | {node.id}) for value in self.assigned[node.id])
        if isinstance(node, ast.Call):
            return self._calls_text(node, seen)
        return False

    def _calls_text(self, node: ast.Call, seen: frozenset[str]) -> bool:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
            return self._is_text(node.func.value, seen)
        chain = _chain(node.func)
        if chain is None or self._is_local(chain[0]):
            return False
        return chain == ("str", []) or self._find(*chain).is_text

    def _unread(self) -> set[int]:
        """The ids of assignments to local names that only messages use."""
        found: set[int] = set()
        if self.keep_locals:
            return found
        while True:
            read = {
                node.id
                for top in self.nodes
                for node in _walk(top, self.messages | found)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            }
            more = {
                id(node)
                for top in self.nodes
                if isinstance(top, (*_FUNCTIONS, ast.ClassDef))
                for node in _walk(top, self.messages | found)
                if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and self._only_spoken(node, read)
            }
            if not more - found:
                return found
            found |= more

    def _only_spoken(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, read: set[str]) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets) or set(names) & (read | self.globals):
            return False
        return node.value is None or self._is_text(node.value)

    # writing

    def statement(self, node: ast.stmt) -> None:
        """Write one statement, or nothing."""
        if id(node) in self.unread or isinstance(node, (ast.Pass, ast.Import, ast.ImportFrom)):
            return
        if isinstance(node, ast.Expr):
            value = node.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return
            if isinstance(value, ast.Call) and ast.unparse(value.func).startswith(LOGS):
                return
        if isinstance(node, ast.If) and is_type_checking(node.test):
            for child in node.orelse:
                self.statement(child)
            return
        if isinstance(node, ast.AnnAssign):  # the same as without its annotation
            self._named("Assign", [("targets", [node.target]), ("value", node.value)])
            return
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            self.out.append("" if self.anonymous and node.name in self.own else f"name {self._local(node.name)} ")
        self._any(node)

    def _any(self, node: ast.AST) -> None:
        fields = [(name, value) for name, value in ast.iter_fields(node) if name not in _LEFT_OUT]
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            fields = [(name, value) for name, value in fields if name != "name"]
        self._named(type(node).__name__, fields)

    def _named(self, kind: str, fields: list[tuple[str, object]]) -> None:
        self.out.append(f"{kind}(")
        for name, value in fields:
            if value is None or value == []:
                continue
            self.out.append(f"{name}=")
            self._value(value)
            self.out.append(",")
        self.out.append(")")

    def _value(self, value: object) -> None:
        if isinstance(value, list):
            self.out.append("[")
            for item in value:
                self._value(item)
                self.out.append(",")
            self.out.append("]")
        elif isinstance(value, ast.stmt):
            self.statement(value)
        elif isinstance(value, ast.expr):
            self._expression(value)
        elif isinstance(value, ast.keyword):
            self.out.append(f"{value.arg}=")
            self._expression(value.value)
        elif isinstance(value, ast.AST):
            self._node(value)
        elif isinstance(value, str):
            self.out.append(self._local(value))
        else:
            self.out.append(repr(value))

    def _node(self, node: ast.AST) -> None:
        if isinstance(node, ast.arg):
            self.out.append(f"arg {node.arg}")
        elif isinstance(node, (ast.MatchClass, ast.MatchMapping)):
            self._any(node)
            self.names.update(getattr(node, "kwd_attrs", ()))
        else:
            self._any(node)

    def _expression(self, node: ast.expr) -> None:
        if id(node) in self.messages:
            self.out.append("message")
            return
        path = self.known.path(node)
        if path is not None:
            self._path(path)
        elif isinstance(node, ast.Name):
            self._chain(node.id, [], node)
        elif isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Constant):
            self._constant(node.value)
        elif key := self._program(node):
            self.out.append("program ")
            self._reference(key)
        else:
            self._any(node)

    def _program(self, node: ast.expr) -> str:
        """The key of the program that ``load_program("name")`` gives."""
        if not (isinstance(node, ast.Call) and _last(node.func) == "load_program" and node.args):
            return ""
        name = node.args[0]
        return self.known.program(name.value) if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""

    def _path(self, path: Path) -> None:
        key = self.known.data(path)
        self.out.append("path ")
        if key:
            self._reference(key)

    def _attribute(self, node: ast.Attribute) -> None:
        chain = _chain(node)
        if chain is None:
            self._expression(node.value)
            self._attributes([node.attr])
        else:
            self._chain(*chain, node)

    def _chain(self, name: str, attributes: list[str], node: ast.expr) -> None:
        """Write a name and the attributes behind it."""
        if name in ("self", "cls") and attributes and (key := self.known.method(attributes[0])):
            self.out.append(f"{name}.")
            self._reference(key)
            self._attributes(attributes[1:])
        elif name in self.own and not self.keep_locals and not self._is_local(name):
            self._find_and_write(name, attributes)
        elif self._is_local(name):
            self.out.append(self._local(name))
            self._attributes(attributes)
        else:
            self._find_and_write(name, attributes)

    def _find_and_write(self, name: str, attributes: list[str]) -> None:
        found = self._find(name, attributes)
        if found.key:
            self._reference(found.key)
        else:
            self.out.append(found.text)
        self._attributes(attributes[found.used :])

    def _find(self, name: str, attributes: list[str]) -> Found:
        finds: Finds = self.imported.get(name, self.known)
        return finds.find(name, attributes)

    def _attributes(self, attributes: list[str]) -> None:
        self.names.update(attributes)
        self.out += [f".{name}" for name in attributes]

    def _constant(self, value: object) -> None:
        if isinstance(value, str):
            if value.isidentifier():
                self.names.add(value)
            elif "." in value and (key := self.known.dotted(value)):
                self._reference(key)
                return
        self.out.append(f"{type(value).__name__}:{value!r}")

    def _reference(self, key: str) -> None:
        self.out.append(f"@{self.references.setdefault(key, len(self.references))}")

    def _is_local(self, name: str) -> bool:
        return name not in self.imported and (name in self.parameters or name in self.locals)

    def _local(self, name: str) -> str:
        if self.keep_locals or name in self.parameters or name not in self.locals:
            return name
        return f"%{self.numbers.setdefault(name, len(self.numbers))}"

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return not self.out


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition holds for type checkers only."""
    return _last(test) == "TYPE_CHECKING"


def _walk(node: ast.AST, without: set[int]) -> Iterator[ast.AST]:
    """All nodes of a tree that are not below those of these ids, and stand in no annotation."""
    if id(node) in without:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in _LEFT_OUT:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, without)


def _chain(node: ast.expr) -> tuple[str, list[str]] | None:
    """A name and the attributes behind it, or None."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, attributes[::-1]) if isinstance(node, ast.Name) else None


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
