"""What attacks do inside the machine: these modules are sent there as one program; nothing here calls them.

Each function tries one thing, swallows what is refused, and prints ``GOT_IN`` where it reached what it must not reach.
What must outlast the action is a program of its own: forks of the action's interpreter end with it.
"""

from __future__ import annotations

import ast
import inspect
from functools import cache

from deskgym.task_suites.core.verify.attacks.inside import channels, files, floods, processes, settings, windows

MODULES = (processes, channels, settings, windows, floods, files)


@cache
def source() -> str:
    """The text of all modules, without what they import of each other, as it was when it was first asked for."""
    found = [part for module in MODULES for part in ast.parse(inspect.getsource(module)).body]
    return ast.unparse(ast.Module([part for part in found if not _is_ours(part)], []))


def _is_ours(part: ast.stmt) -> bool:
    return isinstance(part, ast.ImportFrom) and str(part.module).startswith(("deskgym.", "__future__"))
