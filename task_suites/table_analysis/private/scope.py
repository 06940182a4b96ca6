"""What the names in analysis code stand for: modules, drawing areas and figures."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

STANDARD: Mapping[str, str] = {"pd": "pd", "np": "np", "plt": "plt"}
"""Names that are modules without an import (the kernel imports them)."""
_SHORT = (("pandas", "pd"), ("numpy", "np"), ("matplotlib.pyplot", "plt"))
_AXES = re.compile(r"(.*_)?(ax|axs|axes|axis)\d*\Z")
_FIGURE = re.compile(r"(.*_)?(fig|figure)\d*\Z")
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Scope:
    """The names of one or several codes that run one after another.

    Attributes:
        modules: name -> dotted path of the module, class or function that was imported, with ``pd``, ``np`` and
            ``plt`` for the usual three.
    """

    modules: Mapping[str, str]

    def path(self, node: ast.expr) -> str:
        """The dotted path that an expression such as ``np.linalg.norm`` stands for, or ``""``."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id, "")
        if isinstance(node, ast.Attribute):
            before = self.path(node.value)
            return f"{before}.{node.attr}" if before else ""
        return ""

    def drawing(self, node: ast.expr) -> str:
        """``"axes"``, ``"fig"`` or ``""``, by what an expression is called or made of."""
        if isinstance(node, ast.Subscript):
            return self.drawing(node.value)
        if isinstance(node, ast.Name):
            return "axes" if _AXES.match(node.id) else "fig" if _FIGURE.match(node.id) else ""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return {"gca": "axes", "twinx": "axes", "add_subplot": "axes", "gcf": "fig"}.get(node.func.attr, "")
        return ""


def parse(code: str) -> ast.Module:
    """The tree of a code.

    Raises:
        ValueError: it is not Python.
    """
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"not Python code ({error}): {code[:200]!r}") from error


def scope_of(trees: Iterable[ast.Module], base: Mapping[str, str] = STANDARD) -> Scope:
    """What is imported in some codes; a name that also gets another value stands for nothing."""
    modules, stored = dict(base), set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    modules[name.asname or name.name.split(".")[0]] = _short(
                        name.name if name.asname else name.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules |= {name.asname or name.name: _short(f"{node.module}.{name.name}") for name in node.names}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored.add(node.id)
            elif isinstance(node, ast.arg):
                stored.add(node.arg)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                stored.add(node.name)
    return Scope({name: path for name, path in modules.items() if name not in stored})


def words_of(codes: Iterable[str]) -> frozenset[str]:
    """Every word in some codes, names and those in texts alike."""
    return frozenset(word for code in codes for word in _WORD.findall(code))


def _short(path: str) -> str:
    for long, short in _SHORT:
        if path == long or path.startswith(long + "."):
            return short + path[len(long) :]
    return path
