"""What a symbol's statements bind themselves: parameters, local names, imports."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from deskgym.task_suites.core.verify.names import Finds, Found, Names

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Bindings:
    """The names that some statements bind.

    Args:
        nodes: the statements.
        known: what other names mean.

    Attributes:
        own: the functions and classes that the statements define.
        parameters: of functions.
        locals: other names, without those that are global.
        globals: names that a ``global`` statement has.
        imported: what imports bind: for each name, where to find it.
        assigned: what names are assigned; None where it is no expression.
    """

    def __init__(self, nodes: Sequence[ast.stmt], known: Names) -> None:
        self.known = known
        self.parameters: set[str] = set()
        self.locals: set[str] = set()
        self.globals: set[str] = set()
        self.imported: dict[str, Finds] = {}
        self.assigned: dict[str, list[ast.expr | None]] = {}
        self.own = {node.name for node in nodes if isinstance(node, (*FUNCTIONS, ast.ClassDef))}
        for node in nodes:
            self._bind(node, top=True)
        self.locals -= self.globals

    def is_local(self, name: str) -> bool:
        """Whether a name is a parameter or a local name."""
        return name not in self.imported and (name in self.parameters or name in self.locals)

    def find(self, name: str, attributes: list[str]) -> Found:
        """What a name means that is not local, with the attributes behind it."""
        finds: Finds = self.imported.get(name, self.known)
        return finds.find(name, attributes)

    def _bind(self, node: ast.AST, top: bool = False) -> None:
        if isinstance(node, ast.arg):
            self.parameters.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self.locals.add(node.id)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not top:
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
