"""A break: one function of deskgym's with a mistake in it, written into a copy of the sources.

The function is found by its name in the module's syntax tree, and what is changed in it by its meaning, never by lines:
a break survives code that moves about, and says so where what it changes is gone.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

DEPTH = 3
"""Folders from the top that a folder of tests has at least: ``tests/envs/guest`` or ``tests/task_suites/programs``."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


class BreakError(Exception):
    """A break does not fit the sources: the message names its target, and what is missing."""


@dataclass(frozen=True)
class Break:
    """A plausible mistake in one function.

    Attributes:
        name: in a few words, with dashes.
        kind: ``check``, ``reader``, ``macro``, ``settle`` or ``guest``.
        target: ``module:qualname`` of a function or a method.
        noticed_by: why a task must notice it, in a sentence.
        named: ``suite:task`` of a task that should notice it, for ``--named``.
        body: statements in place of the function's own; its docstring stays.
        old: in place of ``body``: a statement or an expression that the function has once.
        new: what stands there instead of ``old``.
    """

    name: str
    kind: str
    target: str
    noticed_by: str
    named: str
    body: str = ""
    old: str = ""
    new: str = ""

    def path(self, root: Path) -> Path:
        """The module's file in a checked-out tree. Raises BreakError where there is none."""
        module = self.target.partition(":")[0]
        place = root / "src" / Path(*module.split("."))
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
        raise BreakError(f"{self.name}: there is no module {module} (target {self.target})")

    def tests(self, root: Path) -> list[str]:
        """The tests beside the target: of a program the files that name it, else the folder of the module's package."""
        parts = ["tests", *self.target.partition(":")[0].split(".")[1:]]
        program = parts[3] if parts[1:3] == ["task_suites", "programs"] else ""
        while len(parts) > DEPTH and not (root / Path(*parts)).is_dir():
            parts.pop()
        folder = root / Path(*parts)
        files = sorted(folder.rglob("test_*.py")) if folder.is_dir() else []
        return [str(file.relative_to(root)) for file in files if program in file.read_text()]

    def changed(self, source: str) -> str:
        """The module's source with the mistake in it. Raises BreakError where it does not fit."""
        function = self._function(ast.parse(source))
        if self.body:
            first = 1 if ast.get_docstring(function, clean=False) is not None else 0
            statements = function.body[first:] or function.body
            return _replaced(source, statements[0], self.body, statements[-1])
        old = ast.unparse(ast.parse(textwrap.dedent(self.old)))
        found = {
            (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset): node
            for node in ast.walk(function)
            if isinstance(node, (ast.expr, ast.stmt)) and ast.unparse(node) == old
        }
        if len(found) != 1:
            raise BreakError(f"{self.name}: {self.target} has {self.old!r} {len(found)} times; it must have it once")
        return _replaced(source, next(iter(found.values())), self.new)

    def apply(self, root: Path) -> None:
        """Write it into the sources below ``root``, a copy. Raises BreakError where it does not fit."""
        path = self.path(root)
        path.write_text(self.changed(path.read_text()))

    def _function(self, tree: ast.Module) -> Function:
        node: ast.AST = tree
        for name in self.target.partition(":")[2].split("."):
            inside = [
                each
                for each in ast.iter_child_nodes(node)
                if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and each.name == name
            ]
            if len(inside) != 1:
                raise BreakError(f"{self.name}: the target {self.target} is gone: there are {len(inside)} of {name!r}")
            node = inside[0]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            raise BreakError(f"{self.name}: the target {self.target} is no function")
        return node


def _replaced(source: str, first: ast.expr | ast.stmt, new: str, last: ast.stmt | None = None) -> str:
    """The source with other text from the start of one node to the end of it, or of another one."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    end = last or first
    assert end.end_lineno is not None and end.end_col_offset is not None  # a parsed tree has them
    text = textwrap.indent(textwrap.dedent(new).strip("\n"), " " * first.col_offset).lstrip(" ")
    before = source.encode()[: starts[first.lineno - 1] + first.col_offset]
    after = source.encode()[starts[end.end_lineno - 1] + end.end_col_offset :]
    return (before + text.encode() + after).decode()


def copy_tree(source: Path, target: Path) -> None:
    """Copy a checked-out tree as it is now: what git tracks or would track, with its links.

    Raises:
        OSError, subprocess.CalledProcessError: it cannot be read, or is no checkout.
    """
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(argv, cwd=source, capture_output=True, check=True).stdout
    for name in filter(None, map(os.fsdecode, listed.split(b"\0"))):
        if not os.path.lexists(source / name):
            continue  # deleted, and not yet committed
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, target / name, follow_symlinks=False)
