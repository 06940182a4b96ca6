"""A recorded conversation about tables as a page shows it: turns, and in each what was said, run, drawn and judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from deskgym.viewer.frames import data_uri
from deskgym.viewer.highlight import tokens
from deskgym.wrappers.recording.recording import Recording

TEXTS = {"dialogue": "before this turn", "tables": "tables", "library": "private library"}
"""What is known at the beginning of a turn: its name in a recording, and on the page."""

_OUTCOME = {"mode": "", "action": "", "error": None, "intents": (), "recall": None, "reference": ""}
_INTENT = {"name": "", "kind": "", "correct": False, "message": ""}
_WORDS = {"ASK": "ask", "ANS": "answer", "DONE": "done", "FAIL": "fail"}


def turns(recording: Recording) -> list[dict[str, Any]]:
    """The turns of an episode, in order.

    Args:
        recording: one whose ``is_conversation`` is true.

    Returns:
        Per turn ``instruction``, ``known`` (pairs of a title and a text), ``plot`` (a data URI or None), ``cells`` (see
        ``_cell``) and ``outcome`` (see ``deskgym.task_suites.table_analysis.turns.Outcome``; None where it was not
        judged).
    """
    found: list[dict[str, Any]] = []
    plots, before = _Plots(recording), None
    for step in recording.steps:
        plot = plots.new(step)
        if found:
            found[-1]["cells"].append(_cell(step, None if step.get("texts") else plot))
        if texts := step.get("texts"):
            instruction, known = str(texts.get("instruction", "")), list(_new(texts, before))
            found.append({"instruction": instruction, "known": known, "plot": plot, "cells": [], "outcome": None})
            before = texts
    for turn, outcome in zip(found, _outcomes(recording), strict=False):
        turn["outcome"] = outcome
    return found


def _new(texts: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """What is known at the beginning of a turn and not seen above: titles and texts."""
    for name, title in TEXTS.items():
        above = before is not None and (name == "dialogue" or texts.get(name) == before.get(name))
        if texts.get(name) and not above:
            yield title, str(texts[name])


class _Plots:
    """The figures of an episode, each as a data URI where it is first seen."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._last: int | None = None

    def new(self, step: Mapping[str, Any]) -> str | None:
        """The figure after a step, if the step changed it and there is one."""
        number = step.get("frame")
        if number == self._last or not isinstance(number, int):
            return None
        self._last = number
        frame = self._recording.frame(number)
        if frame is None or bool(np.all(frame == 255)):
            return None
        return data_uri(frame)


def _cell(step: Mapping[str, Any], plot: str | None) -> dict[str, Any]:
    """A step: ``kind`` (code, ask, answer, done, fail), its ``tokens``, the ``output``, and what to note of it."""
    action = step.get("action")
    kind, text = _said(action if isinstance(action, str) else str(action))
    info, output = step.get("info") or {}, str(step.get("feedback") or "")
    fault = info.get("fault")
    execution = info.get("execution") or {}
    if kind == "ask":
        output = output.removeprefix("User: ")
    return {
        "number": step.get("step"),
        "kind": kind,
        "tokens": tokens(text) if kind == "code" else [("", text)] if text else [],
        "output": f"{fault.get('kind')}: {fault.get('message')}" if fault else output,
        "plot": plot,
        "notes": list(_notes(step, info, execution)),
        "wrong": bool(fault or info.get("invalid_action")) or execution.get("status", "ok") != "ok",
    }


def _said(action: str) -> tuple[str, str]:
    """What kind of action a text is, and what it says."""
    word, _, rest = action.strip().partition(" ")
    if word in _WORDS and (word in ("ASK", "ANS") or not rest):
        return _WORDS[word], rest.strip()
    return "code", action.strip("\n")


def _notes(step: Mapping[str, Any], info: Mapping[str, Any], execution: Mapping[str, Any]) -> Iterator[str]:
    milliseconds = (step.get("timing") or {}).get("act")
    if isinstance(milliseconds, int | float):
        yield f"{milliseconds:.0f} ms"
    if execution.get("status", "ok") != "ok":
        yield str(execution["status"])
    if info.get("invalid_action"):
        yield "not legal"
    if step.get("reward"):
        yield f"reward {step['reward']:g}"
    if step.get("truncated"):
        yield "truncated"


def _outcomes(recording: Recording) -> list[Mapping[str, Any]]:
    last = recording.steps[-1] if recording.steps else {}
    found = ((last.get("info") or {}).get("analysis") or {}).get("turns") or ()
    return [_OUTCOME | outcome | {"intents": [_INTENT | each for each in outcome["intents"]]} for outcome in found]
