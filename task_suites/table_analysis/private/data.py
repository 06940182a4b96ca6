"""Reads what private libraries are made of: the YAML files of this folder."""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
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


@cache
def digest() -> str:
    """Of what all files say."""
    contents = {path.stem: read(path.stem) for path in sorted(Path(__file__).parent.glob("*.yaml"))}
    return blake2b(json.dumps(contents).encode(), digest_size=6).hexdigest()
