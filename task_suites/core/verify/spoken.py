"""Texts that only people read: messages of errors, of checks, and of verdicts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from deskgym.task_suites.core.verify.bindings import FUNCTIONS, Bindings

CHECK_RETURNS = ("tuple[bool, str]", "Outcome")
"""The return annotations of functions whose second value is a message."""
MESSAGES: Mapping[str, tuple[int | str, ...]] = {"CheckResult": (2, "message"), "Verdict": ("error", "notes")}
"""The calls that take messages: positions and keywords of those."""
NOT_READ = frozenset(("annotation", "returns", "type_comment", "type_params", "ctx", "kind"))
"""Fields of syntax trees that do nothing."""
_TEXT_METHODS = frozenset(("join", "format"))


class Spoken:
    """What is only said in some statements.

    Args:
        nodes: the statements.
        bindings: what they bind.

    Attributes:
        messages: the ids of the expressions that are messages.
    """

    def __init__(self, nodes: Sequence[ast.stmt], bindings: Bindings) -> None:
        self._nodes, self._bindings = nodes, bindings
        self.messages = set(self._messages())

    def _messages(self) -> Iterator[int]:
        """The ids of the expressions that are messages."""
        for top in self._nodes:
            yield from self._messages_in(top, checks=False)

    def _messages_in(self, node: ast.AST, checks: bool) -> Iterator[int]:
        if isinstance(node, FUNCTIONS):
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
        name = last(call.func)
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
        chain = chain_of(function)
        if chain is None or self._bindings.is_local(chain[0]):
            return False
        return self._bindings.find(*chain).is_error

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
        if (
            isinstance(node, ast.Name)
            and node.id in self._bindings.assigned
            and node.id not in self._bindings.parameters | seen
        ):
            return all(self._is_text(value, seen | {node.id}) for value in self._bindings.assigned[node.id])
        if isinstance(node, ast.Call):
            return self._calls_text(node, seen)
        return False

    def _calls_text(self, node: ast.Call, seen: frozenset[str]) -> bool:
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TEXT_METHODS:
            return self._is_text(node.func.value, seen)
        chain = chain_of(node.func)
        if chain is None or self._bindings.is_local(chain[0]):
            return False
        return chain == ("str", []) or self._bindings.find(*chain).is_text

    def unread(self) -> set[int]:
        """The ids of assignments to local names that only messages use."""
        found: set[int] = set()
        spoken = [
            node
            for top in self._nodes
            if isinstance(top, (*FUNCTIONS, ast.ClassDef))
            for node in ast.walk(top)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign))
            and (node.value is None or self._is_text(node.value))
        ]
        while spoken:
            read = {
                node.id
                for top in self._nodes
                for node in _walk(top, self.messages | found)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            }
            more = {id(node) for node in spoken if self._binds_no_other(node, read)}
            if not more - found:
                break
            found |= more
        return found

    def _binds_no_other(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, read: set[str]) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        return len(names) == len(targets) and not set(names) & (read | self._bindings.globals)


def _walk(node: ast.AST, without: set[int]) -> Iterator[ast.AST]:
    """All nodes of a tree that are not below those of these ids, and stand in no annotation."""
    if id(node) in without:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in NOT_READ:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child, without)


def chain_of(node: ast.expr) -> tuple[str, list[str]] | None:
    """A name and the attributes behind it, or None."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, attributes[::-1]) if isinstance(node, ast.Name) else None


def last(node: ast.expr) -> str:
    """The last of the names in an expression, or ""."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
