"""A procedure (SOP, standard operating procedure) as text, and the steps in it."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"\s*(?:step\s*)?\d+\s*[.):]\s*", re.IGNORECASE)
_FENCE = re.compile(r"\s*```")


def steps_of(text: str) -> list[str]:
    r"""The steps of a procedure, without their numbers.

    A step begins with a number. A line without one goes on with the step before it; lines before the first step are the
    title. A procedure without any numbers has a step on every line.

    Examples:
        >>> steps_of("Close the ticket\n\n1. Open it.\n2. Choose Closed,\n   and save. Twice.")
        ['Open it.', 'Choose Closed, and save. Twice.']
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _FENCE.match(line)]
    if not any(_NUMBER.match(line) for line in lines):
        return lines
    steps: list[str] = []
    for line in lines:
        if found := _NUMBER.match(line):
            steps.append(line[found.end() :])
        elif steps:
            steps[-1] += f" {line}"
    return [step for step in steps if step]


def published_steps_of(text: str) -> list[str]:
    r"""The steps as WONDERBREAD's own evaluation takes them (``sop_generation/eval.py``).

    Every line that is not blank is a step; what is up to its first full stop counts as the number. So a line whose only
    full stop ends it is none.

    Examples:
        >>> published_steps_of("1. Open it.\nChoose Closed. Save.\nThat is all.")
        ['Open it.', 'Save.']
    """
    steps = (line.partition(".")[2] if "." in line else line for line in text.split("\n"))
    return [step.strip() for step in steps if step.strip()]
