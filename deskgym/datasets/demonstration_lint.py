"""What is wrong with a demonstration: WONDERBREAD's own quality checks (``wonderbread/collect/qa``), and more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import cv2

from deskgym.task_suites.bpm.demonstration import Demonstration
from deskgym.task_suites.bpm.demonstration_text import element_of

_STEP = re.compile(r"\s*(\d+)[.)]\s*(.*)")
ACTIONS = ("mouseup", "mousedown", "keystroke", "keypress", "keyrelease", "scroll", "click")
"""The types of actions that are known; ``mousedown`` and ``keyrelease`` are those of a raw trace."""
MOST_STEPS = 1000
"""Steps of a procedure that somebody can follow."""


def problems_of(demonstration: Demonstration) -> list[str]:
    """One text per problem; [] where there is none."""
    return [*_event_problems(demonstration), *_file_problems(demonstration), *_procedure_problems(demonstration)]


def _event_problems(demonstration: Demonstration) -> Iterator[str]:
    if not demonstration.actions:
        yield "nothing is done in it"
    before = float("-inf")
    for number, event in enumerate(demonstration.events):
        where = f"event {number}"
        if event.get("id", number) != number:
            yield f"{where} has the id {event['id']}; legal is its place, {number}"
        seconds = event.get("secs_from_start")
        if isinstance(seconds, int | float):
            if seconds < before:
                yield f"{where} is {before - seconds:.3f} s before the one in front of it"
            before = seconds
        if number % 2:
            yield from _action_problems(where, event)


def _action_problems(where: str, action: Mapping[str, Any]) -> Iterator[str]:
    kind = action.get("type")
    if kind not in ACTIONS:
        yield f"{where} is of type {kind!r}; legal are {', '.join(ACTIONS)}"
    elif kind in ("mousedown", "keyrelease"):
        yield f"{where} is a {kind}: the trace is a raw one"
    elif kind in ("keystroke", "keypress") and not action.get("key"):
        yield f"{where} has no key"
    elif kind == "mouseup" and not element_of(action):
        yield f"{where} was done to nothing that is known"


def _file_problems(demonstration: Demonstration) -> Iterator[str]:
    sizes = set()
    for number in range(len(demonstration.states)):
        path = demonstration.screenshot(number)
        picture = cv2.imread(str(path)) if path.exists() else None
        if picture is None:
            yield f"screenshots/{number}.png is {'no picture' if path.exists() else 'missing'}"
        else:
            sizes.add(picture.shape[:2])
    if len(sizes) > 1:
        yield f"the screenshots are of {len(sizes)} sizes"
    video = demonstration.folder / f"{demonstration.name}.mp4"
    if not video.exists() or not video.stat().st_size:
        yield f"{video.name} is {'empty' if video.exists() else 'missing'}"


def _procedure_problems(demonstration: Demonstration) -> Iterator[str]:
    text = demonstration.procedure
    if text is None or not text.strip():
        yield f"SOP - {demonstration.name}.txt is {'missing' if text is None else 'empty'}"
        return
    lines = [line for line in text.splitlines() if line.strip()]
    if _STEP.match(lines[0]):
        yield "the procedure has no title"
    numbers = [int(found[1]) for line in lines if (found := _STEP.match(line)) and len(found[1]) < 10]
    if len(numbers) > MOST_STEPS:
        yield f"the procedure has {len(numbers)} steps, more than anybody follows ({MOST_STEPS})"
    if not numbers:
        yield "the procedure has no numbered step"
    for place, number in enumerate(numbers, 1):
        if number != place:
            yield f"step {place} of the procedure has the number {number}"
            break
    yield from (
        f"step {found[1]} of the procedure is empty" for line in lines if (found := _STEP.match(line)) and not found[2]
    )
