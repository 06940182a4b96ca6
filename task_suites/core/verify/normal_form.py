"""The normal form of a symbol's syntax tree: what it does, without the words around it.

It leaves out comments, docstrings, annotations, formatting, the texts of errors, of check results, of logs and of
warnings, and the names of local variables. A reference to another symbol of ours stands as a number: a digest follows
it by content, so that the names of functions, classes, constants and modules do not count either.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import dataclass, field
from pathlib import Path

from deskgym.task_suites.core.verify.bindings import FUNCTIONS, Bindings
from deskgym.task_suites.core.verify.names import Names
from deskgym.task_suites.core.verify.spoken import NOT_READ, Spoken, chain_of, last

LOGS = ("warnings.warn", "logging.", "logger.", "log.")


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
        self.bindings = Bindings(self.nodes, self.known)
        spoken = Spoken(self.nodes, self.bindings)
        self.messages = spoken.messages
        self.unread: Set[int] = frozenset() if self.keep_locals else spoken.unread()

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
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            self.out.append(
                "" if self.anonymous and node.name in self.bindings.own else f"name {self._local(node.name)} "
            )
        self._any(node)

    def _any(self, node: ast.AST) -> None:
        fields = [(name, value) for name, value in ast.iter_fields(node) if name not in NOT_READ]
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
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
                written = len(self.out)
                self._value(item)
                if len(self.out) > written:
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
            for part in self._made_at_run_time(node):
                self._expression(part)
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
        if not (isinstance(node, ast.Call) and last(node.func) == "load_program" and node.args):
            return ""
        name = node.args[0]
        return self.known.program(name.value) if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""

    def _made_at_run_time(self, node: ast.expr) -> list[ast.expr]:
        """Those parts of a path's names that are no constants."""
        given = [part for call in ast.walk(node) if isinstance(call, ast.Call) for part in call.args]
        left = [part for part in given if not isinstance(part, ast.Constant) and self.known.path(part) is None]
        return [part for part in left if not (isinstance(part, ast.Name) and part.id == "__file__")]

    def _path(self, path: Path) -> None:
        key = self.known.data(path)
        self.out.append("path ")
        if key:
            self._reference(key)

    def _attribute(self, node: ast.Attribute) -> None:
        chain = chain_of(node)
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
        elif name in self.bindings.own and not self.keep_locals and not self.bindings.is_local(name):
            self._find_and_write(name, attributes)
        elif self.bindings.is_local(name):
            self.out.append(self._local(name))
            self._attributes(attributes)
        else:
            self._find_and_write(name, attributes)

    def _find_and_write(self, name: str, attributes: list[str]) -> None:
        found = self.bindings.find(name, attributes)
        if found.key:
            self._reference(found.key)
        else:
            self.out.append(found.text)
        self._attributes(attributes[found.used :])

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

    def _local(self, name: str) -> str:
        if self.keep_locals or name in self.bindings.parameters or name not in self.bindings.locals:
            return name
        return f"%{self.numbers.setdefault(name, len(self.numbers))}"


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition holds for type checkers only."""
    return last(test) == "TYPE_CHECKING"
