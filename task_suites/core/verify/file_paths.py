"""Paths in our code that are made of ``__file__``: which file or folder an expression means."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from deskgym.task_suites.core.verify.modules import module_path


class FilePaths:
    """The paths of a module.

    Args:
        file: the module's own.
        imported: what its imports bind: names, with module and the name in it.
        bound: the statements at its top that bind a name.
        paths_of: gives the paths of another module; None where it is not followed.
    """

    def __init__(
        self,
        file: Path,
        imported: Mapping[str, tuple[str, str]],
        bound: Mapping[str, Sequence[ast.stmt]],
        paths_of: Callable[[str], FilePaths | None],
    ) -> None:
        self._file, self._imported, self._bound, self._paths_of = file, imported, bound, paths_of
        self._known: dict[str, Path | None] = {}

    def path(self, node: ast.expr) -> Path | None:
        """The path that an expression means, or None."""
        if isinstance(node, ast.Name):
            return self.constant(node.id)
        if isinstance(node, ast.Call):
            return self._called_path(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
            left = self.path(node.left)
            return left / node.right.value if left is not None and isinstance(node.right.value, str) else None
        if isinstance(node, ast.Attribute):
            if node.attr == "__file__" and isinstance(node.value, ast.Name):
                module, name = self._imported.get(node.value.id, ("", ""))
                return module_path(f"{module}.{name}" if name else module) if module else None
            if node.attr == "parent":
                inner = self.path(node.value)
                return inner.parent if inner is not None else None
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "parents":
            inner = self.path(node.value.value)
            if inner is not None and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                return inner.parents[node.slice.value]
        return None

    def _called_path(self, node: ast.Call) -> Path | None:
        if isinstance(node.func, ast.Name) and node.func.id == "Path" and len(node.args) == 1:
            given = node.args[0]
            return self._file if isinstance(given, ast.Name) and given.id == "__file__" else self.path(given)
        if not isinstance(node.func, ast.Attribute):
            return None
        if node.func.attr not in ("resolve", "absolute", "with_name", "joinpath"):
            return None
        inner = self.path(node.func.value)
        words = [part.value for part in node.args if isinstance(part, ast.Constant) and isinstance(part.value, str)]
        if inner is None or len(words) != len(node.args):  # what is made at run time may be any file of the folder
            return inner.parent if inner is not None and node.func.attr == "with_name" else None
        return inner.with_name(words[0]) if node.func.attr == "with_name" else inner.joinpath(*words)

    def constant(self, name: str) -> Path | None:
        """The path that a constant of this module, or one that it imports, is."""
        if name not in self._known:
            self._known[name] = None
            module, inner = self._imported.get(name, ("", ""))
            if module:
                others = self._paths_of(module) if inner else None
                self._known[name] = others.constant(inner) if others is not None else None
            else:
                nodes = self._bound.get(name, [])
                if len(nodes) == 1 and isinstance(nodes[0], (ast.Assign, ast.AnnAssign)) and nodes[0].value is not None:
                    self._known[name] = self.path(nodes[0].value)
        return self._known[name]
