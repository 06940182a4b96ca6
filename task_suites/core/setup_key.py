"""What a setup is known by: a digest of its hooks with all that they are given."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from types import FunctionType
from typing import Any


def digest(setup: Any) -> str | None:
    """A digest of hooks: equal for those that do the same, and for no others.

    Functions of modules count by their names, partials and dataclasses by their parts, paths by the files that they
    lead to. What a hook reads of its own accord on the host is not seen.

    Returns:
        None where there is something in it of which nobody can tell what it does, such as a function within a function.
    """
    try:
        return blake2b(repr(_parts(setup)).encode(errors="surrogatepass"), digest_size=16).hexdigest()
    except (TypeError, OSError):
        return None


def _parts(value: Any) -> Any:
    """Nested tuples whose ``repr`` tells what the value is. Raises TypeError where nobody can tell."""
    kind = type(value)
    if value is None or kind in (bool, int, float, complex, str, bytes):
        return kind.__name__, value
    if isinstance(value, Path):
        return _file(value)
    if isinstance(value, FunctionType):
        return _function(value)
    if kind is partial:
        return "partial", _parts(value.func), _parts(value.args), _parts(value.keywords)
    if is_dataclass(value) and not isinstance(value, type):
        parts = tuple((entry.name, _parts(getattr(value, entry.name))) for entry in fields(value))
        return "object", kind.__module__, kind.__qualname__, parts
    if isinstance(value, Mapping):
        return "mapping", tuple((_parts(key), _parts(item)) for key, item in value.items())
    if isinstance(value, Sequence):
        return "sequence", tuple(_parts(item) for item in value)
    raise TypeError(f"a {kind.__name__}")


def _function(function: FunctionType) -> Any:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not function:
        raise TypeError(f"{function.__qualname__} is not found by its name")
    return "function", function.__module__, function.__qualname__


def _file(path: Path) -> Any:
    if path.is_dir():
        return "folder", tuple((item.name, _file(item)) for item in sorted(path.iterdir()))
    return "file", path.stat().st_mode, path.read_bytes()
