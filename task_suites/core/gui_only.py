"""The GUI-only variant of a template: the command lines of its programs are closed, as in ScienceBoard's Dual split."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from deskgym.task_suites.core.discovery import load_program
from deskgym.task_suites.core.template import Template

PREFIX = "gui/"
"""What the ids of variants begin with."""


def gui_only(template: Template) -> Template | None:
    """The variant of a template; the template itself where its programs have no command line.

    A program says under ``parts`` with which arguments its hooks close its command line (``without_prompt``), and which
    macros type there (``prompt_macros``). Scripts that do are left out; a file gives others under ``gui``.

    Returns:
        None where no oracle or no wrong attempt is left.
    """
    programs = [load_program(name, template.registry.folders).parts for name in template.programs]
    closing = {name: given for parts in programs for name, given in parts.get("without_prompt", {}).items()}
    if not closing:
        return template
    typed = {name for parts in programs for name in parts.get("prompt_macros", ())}
    file = template.file
    scripts = {**file.wrong, "oracle": file.oracle, **file.gui}
    wrong = {name: steps for name, steps in scripts.items() if not typed & set(_names(steps))}
    oracle = wrong.pop("oracle", None)
    if not oracle or not wrong:
        return None
    variant = replace(
        file,
        id=f"{PREFIX}{file.id}",
        setup=[_closed(call, closing) for call in file.setup],
        oracle=oracle,
        gui={},
        wrong=wrong,
        tags=[*file.tags, "gui_only"],
    )
    return replace(template, file=variant)


def _names(steps: list[Any]) -> Iterator[str]:
    for step in steps:
        yield next(iter(step)) if isinstance(step, Mapping) else str(step)


def _closed(call: Any, closing: Mapping[str, Mapping[str, Any]]) -> Any:
    """A hook's call, with the arguments that close its program's command line."""
    if not isinstance(call, Mapping):
        return {call: dict(closing[call])} if call in closing else call
    return {name: {**(given or {}), **closing[name]} if name in closing else given for name, given in call.items()}
