"""Where our modules lie, and which files beside them are no data of theirs."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec
from pathlib import Path

LEDGER = "proofs.jsonl"
"""The name of the file with a suite's proofs."""
OWN_PROOFS = frozenset(("tasks", "dialogues", "demonstrations", "states", "__pycache__"))
"""Folders beside modules, or below those, that are no data of theirs."""
MAX_DATA = 1 << 20  # bytes
ROOT = Path(__file__).parents[3]
_RESOLVED = {entry.resolve(): entry for entry in ROOT.iterdir() if entry.is_dir()}


@cache
def called_from_outside() -> frozenset[str]:
    """The attributes by which environments, which no proof follows, may call what suites and programs give them."""
    folders = (ROOT / "envs", ROOT / "envs" / "provision", *(ROOT / "task_suites").iterdir())
    suites = ROOT / "task_suites"
    files = [path for folder in folders for path in folder.glob("env.py" if folder.parent == suites else "*.py")]
    trees = (ast.parse(path.read_text()) for path in files)
    return frozenset(
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not node.attr.startswith("_")
    )


@cache
def module_path(name: str) -> Path | None:
    """The source file of a module; None where there is none. Nothing of deskgym is imported to find it."""
    head, _, rest = name.partition(".")
    if head == "deskgym":
        place = ROOT.joinpath(*rest.split(".")) if rest else ROOT
        return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def module_at(path: Path) -> str:
    """The name of the module of deskgym that a file is, or ""."""
    place = unresolved(path)
    if place is None or not (place.parent / "__init__.py").is_file():
        return ""
    parts = place.relative_to(ROOT).with_suffix("").parts
    return ".".join(("deskgym", *(part for part in parts if part != "__init__")))


def unresolved(path: Path) -> Path | None:
    """A path in the package as its modules name it, also where the package's folders are links; None for another."""
    if path.is_relative_to(ROOT):
        return path
    place = path.resolve()
    for parent in place.parents:
        if parent in _RESOLVED:
            return _RESOLVED[parent] / place.relative_to(parent)
    return None
