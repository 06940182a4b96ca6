"""Which of our sources a function depends on, and a digest of them that is the same on every machine."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

SCOPES: tuple[str, ...] = ("deskgym.task_suites", "deskgym.envs.evaluation")
"""What is followed of deskgym: what tasks are made of and judged by. The rest carries out, and decides nothing."""

SERVICES = ("deskgym.envs.provision", "deskgym.envs.guest.companion")
"""What is followed beside it for a task with services: it rolls their data back, and reads the truth in them."""

LEDGER = "proofs.jsonl"
"""The name of the file with a suite's proofs."""
OWN_PROOFS = frozenset(("tasks", "dialogues", "demonstrations", "__pycache__"))
"""Folders beside modules, or below those, that are no data of theirs."""
MAX_DATA = 1 << 20  # bytes

_ROOT = Path(__file__).parents[3]
_DOTTED = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?\Z")


def closure(roots: Iterable[str], without: Iterable[str] = (), scopes: Iterable[str] = SCOPES) -> list[str]:
    """The modules that those of ``roots`` import, and these in turn, sorted; the roots are among them.

    Followed are the modules in ``scopes``, and those beside a root that is not deskgym's. An import counts wherever it
    stands, in a function too, except below ``if TYPE_CHECKING``; so does a text that is a module's name, as
    ``import_module`` gets. A package's ``__init__`` counts where something is imported from it.

    Args:
        roots: names of modules; those of the standard library have no sources to follow.
        without: packages that are left out.
        scopes: packages of deskgym's.
    """
    left_out = tuple(f"{name}." for name in without)
    waiting = list(roots)
    packages = {name.partition(".")[0] for name in waiting} - {"deskgym"} - sys.stdlib_module_names
    followed = tuple(f"{name}." for name in (*scopes, *packages))
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found or not f"{name}.".startswith(followed) or f"{name}.".startswith(left_out):
            continue
        path = module_path(name)
        if path is not None:
            found.add(name)
            waiting += _imports(name, path)
    return sorted(found)


def digest_of_sources(modules: Iterable[str]) -> str:
    """A digest of what modules do, and of the data files that lie beside them.

    Of the modules, comments, docstrings and blank lines count for nothing. Data files are those in a module's folder
    that are no Python, and those in its folders that are no packages, such as scripts that run in a machine, but for
    ledgers, and for ``tasks``, ``dialogues`` and ``demonstrations``, which have proofs of their own; of one above 1 MiB
    only the size counts.
    """
    total = blake2b(digest_size=6)
    folders: dict[Path, str] = {}
    for name in modules:
        path = module_path(name)
        total.update(f"{name}\n{_significant(path) if path else ''}\n".encode())
        if path is not None:
            folders[path.parent] = name
    for folder, name in folders.items():
        total.update(f"{name}\n{_data_of(folder)}\n".encode())
    return total.hexdigest()


@cache
def _data_of(folder: Path) -> str:
    """A digest of the data files of a folder with modules."""
    found: list[Path] = []
    for entry in folder.iterdir():
        if entry.is_file() and entry.suffix != ".py":
            found.append(entry)
        elif entry.is_dir() and not (entry / "__init__.py").is_file():
            found += (path for path in entry.rglob("*") if path.is_file())
    found = [path for path in found if path.name != LEDGER and not {*path.relative_to(folder).parts} & OWN_PROOFS]
    total = blake2b(digest_size=6)
    for path in sorted(found):
        size = path.stat().st_size
        total.update(f"{path.relative_to(folder)}\n{size}\n".encode())
        total.update(path.read_bytes() if size <= MAX_DATA else b"")
    return total.hexdigest()


@cache
def module_path(name: str) -> Path | None:
    """The source file of a module; None where there is none. Nothing of deskgym is imported to find it."""
    head, _, rest = name.partition(".")
    if head == "deskgym":
        place = _ROOT.joinpath(*rest.split(".")) if rest else _ROOT
        return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _imports(name: str, path: Path) -> tuple[str, ...]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return tuple(dict.fromkeys(_imported(ast.parse(path.read_text()), package)))


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """The names of modules that a syntax tree imports, and texts that look like one."""
    if isinstance(tree, ast.If) and ast.unparse(tree.test).endswith("TYPE_CHECKING"):
        yield from (name for part in tree.orelse for name in _imported(part, package))
        return
    if isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        base = package.rsplit(".", tree.level - 1)[0] if tree.level else ""
        module = ".".join(part for part in (base, tree.module) if part)
        for alias in tree.names:
            inner = f"{module}.{alias.name}"
            yield inner if module_path(inner) else module
    elif isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        dotted = _DOTTED.match(tree.value)
        if dotted:
            yield dotted[1]
    for part in ast.iter_child_nodes(tree):
        yield from _imported(part, package)


@cache
def _significant(path: Path) -> str:
    """A source text without comments, docstrings (of attributes too) and blank lines; the same in every Python."""
    source = path.read_text()
    lines = source.splitlines()
    inside: set[int] = set()  # lines within a text
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno:
            inside.update(range(node.lineno + 1, node.end_lineno + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for k in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                lines[k - 1] = ""
                inside.discard(k)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and lines[token.start[0] - 1]:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    kept = (line if k in inside else line.rstrip() for k, line in enumerate(lines, 1) if k in inside or line.strip())
    return "\n".join(kept)
