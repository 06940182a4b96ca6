"""Prompts: templates beside the agents that use them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import jinja2


def prompt(name: str, **values: Any) -> str:
    """A prompt with its values.

    Args:
        name: of the template ``NAME.jinja`` beside this module.
        **values: what it names. One that is missing is an error.
    """
    text = _templates().get_template(f"{name}.jinja").render(**values)
    return text.strip()


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 - a prompt is no page
    )
