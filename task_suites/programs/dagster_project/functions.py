"""What tasks of projects are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def config(op: str, field: str, value: Any) -> dict[str, Any]:
    """The configuration of a run whose op takes one field."""
    return {"ops": {op: {"config": {field: value}}}}


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"dagster_project.config": config}
"""By the names that task files use."""
