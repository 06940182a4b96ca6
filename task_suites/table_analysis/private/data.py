"""Reads what private libraries are made of: the YAML files of this folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def read(name: str) -> dict[str, Any]:
    """The content of ``NAME.yaml``; nobody changes it."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.load(text, _LOADER)
    return content
