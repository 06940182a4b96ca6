"""The platform: what carries tasks out (guest, displays, observation, actions, machines). No proof depends on it.

A change in it makes no proof stale, since it would make all stale. Instead one task of each program is played on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b

from deskgym.task_suites.core.verify.modules import ROOT, module_at
from deskgym.task_suites.core.verify.symbols import Index

PACKAGE = "deskgym.envs"
NOT_PLAYED = (
    "evaluation", "ray", "vector", "vector_env.py", "machines/image", "machines/qemu", "machines/vnc",
    "machines/process", "machines/fake", "machines/fake.py",
    "machines/process.py", "machines/vnc.py", "machines/conformance.py",
    "machines/conformance", "machines/doctor", "displays/vnc", "displays/vnc.py",
)  # fmt: skip
"""What no proof is played with, or what proofs follow by symbols."""
ENVIRONMENTS = ("*/env.py", "*/proof.py")
"""Of ``task_suites``: suites' own environments and what these alone use, which no task leads to."""


@cache
def platform() -> str:
    """A digest of what the platform's modules do, wherever they are; 8 hexadecimal digits."""
    index, total = Index((PACKAGE, "deskgym.task_suites")), blake2b(digest_size=4)
    for part in sorted({index.symbol(key).digest for module in modules() for key in _symbols(index, module)}):
        total.update(part.encode())
    return total.hexdigest()


def modules() -> list[str]:
    """The names of the platform's modules, sorted."""
    top, suites = ROOT / "envs", ROOT / "task_suites"
    own = [module_at(path) for pattern in ENVIRONMENTS for path in suites.glob(pattern)]
    return sorted(own) + sorted(
        module_at(path)
        for path in top.rglob("*.py")
        if not str(path.relative_to(top)).startswith(tuple(f"{name}/" for name in NOT_PLAYED))
        and str(path.relative_to(top)) not in NOT_PLAYED
        and "__pycache__" not in path.parts
        and (path.parent / "__init__.py").is_file()
    )


def _symbols(index: Index, module: str) -> Iterator[str]:
    """The keys of all symbols of a module, and of data files beside it."""
    for key in index.symbol(f"{module}:*").references:
        yield key
        symbol = index.symbol(key)
        yield from symbol.methods.values()
        yield from index.reach([reference for reference in symbol.references if reference.startswith("data:")])
