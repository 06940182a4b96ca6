"""Finding operations in code: which operation an expression is, and with which parameters and settings."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from deskgym.task_suites.table_analysis.private.constants import clause
from deskgym.task_suites.table_analysis.private.operations import Op, operation
from deskgym.task_suites.table_analysis.private.parameters import described
from deskgym.task_suites.table_analysis.private.scope import Scope

SELF = "self"
"""The name, inside this package, of the parameter that holds what a method works on."""
_ACCESSORS = ("str", "dt", "plot")
_MASKS = {
    "isin", "between", "isna", "isnull", "notna", "notnull", "duplicated", "contains", "startswith", "endswith",
    "match", "fullmatch", "gt", "ge", "lt", "le", "eq", "ne",
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Shape:
    """A way to use an operation; each becomes one private function.

    Attributes:
        op: the operation's key.
        names: real names of the parameters that are given, what a method works on first.
        settings: keyword and source of the value of those that are a part of the function.
        through: whether further keywords are passed through.
    """

    op: str
    names: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    through: bool = False


@dataclass(frozen=True)
class Part:
    """An argument: its real name, its code, and whether it stands there by position."""

    name: str
    node: ast.expr
    positional: bool = True


@dataclass(frozen=True)
class Match:
    """An operation that was found.

    Attributes:
        op: the operation.
        parts: its arguments, in the order in which Python evaluates them.
        settings: see ``Shape``.
        through: keywords to pass through.
    """

    op: Op
    parts: tuple[Part, ...]
    settings: tuple[tuple[str, str], ...] = ()
    through: tuple[ast.keyword, ...] = ()

    @property
    def shape(self) -> Shape:
        """What is common to all uses of the same private function."""
        given = {part.name for part in self.parts}
        ordered = [name for name in (SELF, *_numbered(self.op, len(given))) if name in given]
        names = (*ordered, *sorted(given.difference(ordered)))
        return Shape(self.op.key, names, self.settings, bool(self.through))

    @property
    def pure(self) -> bool:
        """Whether it changes nothing."""
        return self.op.pure and ("inplace", "True") not in self.settings


def match_call(node: ast.Call, scope: Scope) -> Match | None:
    """The operation that a call is, or None."""
    path = scope.path(node.func)
    if path:
        op = operation(path)
        return _bound(op, node, None) if op and not op.receiver else None
    if not isinstance(node.func, ast.Attribute) or isinstance(node.func.value, (ast.Constant, ast.JoinedStr)):
        return None
    receiver, key = _method(node.func, scope)
    if key == ".transform" and not (node.args and isinstance(node.args[0], (ast.Constant, ast.Lambda))):
        return None
    op = operation(key)
    if not op or op.body and not key.endswith("()") or scope.path(receiver):
        return None
    return _bound(op, node, receiver)


def match_subscript(node: ast.Subscript, scope: Scope) -> Match | None:
    """The operation that a subscript is, such as the choice of a column, or None."""
    if scope.path(node.value):
        return None
    key = node.slice
    if isinstance(node.value, ast.Attribute) and node.value.attr in ("loc", "iloc", "at", "iat"):
        return _indexed(node.value.attr, node.value.value, key)
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return _special("[]column", node.value, key=key)
    if isinstance(key, ast.List):
        return _special("[]columns", node.value, keys=key)
    if _is_condition(key):
        return _special("[]rows", node.value, condition=key)
    return None


def match_attribute(node: ast.Attribute, scope: Scope) -> Match | None:
    """The operation that an attribute is, such as the year of dates, or None."""
    if not isinstance(node.value, ast.Attribute) or node.value.attr != "dt" or scope.path(node):
        return None
    op = operation(f".dt.{node.attr}")
    return Match(op, (Part(SELF, node.value.value),)) if op and op.body else None


def match_assignment(target: ast.expr, value: ast.expr) -> Match | None:
    """The operation that ``target = value`` is, such as writing a column, or None."""
    if not isinstance(target, ast.Subscript):
        return None
    table, key = target.value, target.slice
    if isinstance(table, ast.Name) and (
        isinstance(key, ast.List) or isinstance(key, ast.Constant) and isinstance(key.value, str)
    ):
        return _written("[]=", value, table, key=key)
    if isinstance(table, ast.Attribute) and table.attr == "loc" and isinstance(table.value, ast.Name):
        if isinstance(key, ast.Tuple) and len(key.elts) == 2 and not _has_slice(key):
            return _written(".loc[,]=", value, table.value, rows=key.elts[0], columns=key.elts[1])
    return None


def _method(function: ast.Attribute, scope: Scope) -> tuple[ast.expr, str]:
    """What a method is called on, and the key that it would have."""
    owner, name = function.value, function.attr
    drawing = scope.drawing(owner)
    if drawing:
        return owner, f"{drawing}.{name}"
    if isinstance(owner, ast.Attribute) and owner.attr in _ACCESSORS:
        return owner.value, f".{owner.attr}.{name}"
    if name.startswith("set_") and not operation(f".{name}"):
        return owner, f"axes.{name}"
    return owner, ".size()" if name == "size" else f".{name}"


def _bound(op: Op, node: ast.Call, receiver: ast.expr | None) -> Match | None:
    if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
        return None
    names = _numbered(op, len(node.args))
    if len(node.args) > len(names):
        return None
    parts = [Part(SELF, receiver)] if receiver is not None else []
    parts += [Part(name, argument) for name, argument in zip(names, node.args, strict=False)]
    settings, through = [], []
    for keyword in node.keywords:
        name, value = str(keyword.arg), _constant(keyword.value)
        if op.through and name not in op.positional and not clause(op.key, name, value):
            through.append(keyword)
        elif value and clause(op.key, name, value):
            settings.append((name, value))
        elif described(name):
            parts.append(Part(name, keyword.value, positional=False))
        else:
            return None
    given = {part.name for part in parts}.union(name for name, _ in settings)
    if not given.issuperset(name for name in op.required if not name.endswith("...")):
        return None
    return Match(op, tuple(parts), tuple(sorted(settings)), tuple(through))


def _indexed(how: str, table: ast.expr, key: ast.expr) -> Match | None:
    if isinstance(key, ast.Tuple) and len(key.elts) == 2:
        rows, columns = key.elts
        if how == "loc" and ast.dump(rows) == "Slice()" and not isinstance(columns, ast.Slice):
            return _special(".loc[:,]", table, columns=columns)
        return None if _has_slice(key) else _special(f".{how}[,]", table, rows=rows, columns=columns)
    if how == "loc" and not _has_slice(key):
        return _special(".loc[]", table, rows=key)
    if how == "iloc" and isinstance(key, ast.Slice) and key.step is None and (key.lower or key.upper):
        given = {name: node for name, node in (("start", key.lower), ("stop", key.upper)) if node}
        return _special(f".iloc[{'a' if key.lower else ''}:{'b' if key.upper else ''}]", table, **given)
    if how == "iloc" and not _has_slice(key):
        return _special(".iloc[]", table, position=key)
    return None


def _special(form: str, table: ast.expr, /, **parts: ast.expr) -> Match | None:
    op = operation(form)
    return Match(op, (Part(SELF, table), *(Part(name, node) for name, node in parts.items()))) if op else None


def _written(form: str, value: ast.expr, table: ast.expr, /, **parts: ast.expr) -> Match | None:
    op = operation(form)
    rest = (Part(name, node) for name, node in parts.items())
    return Match(op, (Part("value", value), Part(SELF, table), *rest)) if op else None


def _numbered(op: Op, count: int) -> tuple[str, ...]:
    """The positional parameters, with ``step...`` as ``step1``, ``step2``, ... up to ``count``."""
    names: list[str] = []
    for name in op.positional:
        names += [f"{name[:-3]}{k + 1}" for k in range(count)] if name.endswith("...") else [name]
    return tuple(names)


def _is_condition(key: ast.expr) -> bool:
    if isinstance(key, ast.Compare):
        return True
    if isinstance(key, ast.BinOp):
        return isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    if isinstance(key, ast.UnaryOp):
        return isinstance(key.op, ast.Invert)
    return isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr in _MASKS


def _has_slice(key: ast.expr) -> bool:
    return any(isinstance(node, ast.Slice) for node in (key, *(key.elts if isinstance(key, ast.Tuple) else ())))


def _constant(node: ast.expr) -> str:
    return repr(node.value) if isinstance(node, ast.Constant) else ""
