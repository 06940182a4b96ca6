"""Which instances show that a template's oracle solves it with every value that a choice can give."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskgym.task_suites.core.template import Template

SEEDS = 100
"""How many instances are looked at: a value that none of them has is drawn too rarely to matter."""


def seeds_of_choices(template: Template, proven: int) -> list[int]:
    """Few seeds whose instances have every value of every ``choice`` of the template, but for what is proven already.

    Args:
        template: a template.
        proven: how many seeds, from 0 on, its proof has played.
    """
    names = [name for name, call in template.file.params.items() if "choice" in call]
    if template.fixed or not names:
        return []
    draws = (template.draw(seed) for seed in range(SEEDS))
    drawn = [{(name, json.dumps(params[name], sort_keys=True)) for name in names} for params in draws]
    missing = set().union(*drawn) - set().union(*drawn[:proven])
    seeds: list[int] = []
    while missing:
        seeds.append(max(range(len(drawn)), key=lambda seed: len(drawn[seed] & missing)))
        missing -= drawn[seeds[-1]]
    return seeds
