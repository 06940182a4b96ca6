"""Makes tasks that run here of Spider2-V's task files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from deskgym.envs.episode import Bursts, Screen, Script
from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Hook, Task
from deskgym.task_suites.importers.spider2v.apps import find_app
from deskgym.task_suites.importers.spider2v.config import POST_STEPS, STEPS, check_setup, run_step
from deskgym.task_suites.importers.spider2v.evaluator import SpiderEvaluator
from deskgym.task_suites.importers.spider2v.frame import App
from deskgym.task_suites.importers.spider2v.getters import EXPECTED, RESULTS
from deskgym.task_suites.importers.spider2v.metrics import METRICS
from deskgym.task_suites.importers.spider2v.metrics.corrections import CORRECTIONS
from deskgym.task_suites.importers.spider2v.outside import PROGRAMS, missing_files, outside_needs
from deskgym.task_suites.importers.spider2v.record import Mode, Step, UpstreamTask

SOURCE = "Spider2-V (Apache-2.0; its spreadsheets GPL-3.0)"
PAPER_STEPS = 15
"""Upstream's limit, in turns of the agent."""


def difficulty(record: UpstreamTask) -> str:
    """The paper's three groups, by the number of actions that an expert took."""
    return "easy" if record.action_number < 5 else "medium" if record.action_number <= 15 else "hard"


def max_steps(record: UpstreamTask, mode: Mode) -> int:
    """Upstream's limit; in ``corrected`` mode three times what an expert took, who saw what to do next, at least 20."""
    return PAPER_STEPS if mode == "paper" else max(20, 3 * record.action_number)


def reasons(record: UpstreamTask) -> list[str]:
    """All that keeps a task from running here; empty when nothing does."""
    app = find_app(record.app)
    outside = [f"needs {need}" for need in outside_needs(record)]
    if app is None and record.app in PROGRAMS:
        outside.insert(0, f"needs {PROGRAMS[record.app]}")
    found = [*outside, *missing_files(record), *_unknown(record, app)]
    if app is not None and not outside:
        found += app.lacks(record)
    elif not outside:
        found.append(f"no program for the tasks of {record.app!r} yet")
    return list(dict.fromkeys(found))


def _unknown(record: UpstreamTask, app: App | None) -> Iterator[str]:
    """Steps, getters and metrics that deskgym does not have."""
    steps, after, getters = (app.config, app.postconfig, app.getters) if app else ({}, {}, {})
    known = (
        ("setup step", (step.type for step in record.config), {*STEPS, *steps}),
        ("step before the evaluation", (step.type for step in record.postconfig), {*POST_STEPS, *after}),
        ("getter", (each.result.type for each in record.comparisons), {*RESULTS, *getters}),
        (
            "getter of what is right",
            (each.expected.type for each in record.comparisons if each.expected),
            {*EXPECTED, *getters},
        ),
        ("metric", (each.metric for each in record.comparisons), set(METRICS)),
    )
    for noun, types, legal in known:
        yield from (f"no {noun} {name!r}" for name in types if name not in legal)


def convert(record: UpstreamTask, mode: Mode, instruction: str | None = None) -> Task:
    """The task as deskgym runs it; it must have no ``reasons`` against it.

    Args:
        record: as it was read.
        mode: which rules judge; ``"corrected"`` mends what is known to be weak, and says so in the notes.
        instruction: what the agent is told; its own if None.
    """
    app = find_app(record.app)
    if app is None:
        raise ValueError(f"{record.id}: {reasons(record)[0]}")
    if mode == "corrected" and (correction := app.correction(record)) is not None:
        mended = correction.mend(record) if correction.mend else record
        record = replace(mended, notes=(*record.notes, f"corrected: {correction.why}"))
    if mode == "corrected":
        record = replace(record, notes=(*record.notes, *_mended(record)))
    own = [f"own data: deskgym made {name}, which is not in this copy" for name in record.missing]
    record = replace(record, notes=(*record.notes, *own))
    attempts = app.attempts(record, mode)
    text = record.instruction if instruction is None else instruction
    return Task(
        id=record.id,
        instruction=text,
        verbose=tuple(line for line in record.tutorial.splitlines() if line.strip()),
        evaluator=SpiderEvaluator(
            end="fail" if record.infeasible else "done", notes=record.notes, record=record, mode=mode
        ),
        solve=cast(Script, attempts.oracle or partial(_no_oracle, record.id)),
        wrong_attempts=cast(Mapping[str, Script], attempts.wrong),
        hooks=hooks(record),
        title=text.partition("\n")[0][:120],
        max_steps=max_steps(record, mode),
        difficulty=difficulty(record),
        tags=("spider2v", record.app, *record.tags),
        source=SOURCE,
        params={"mode": mode, "counterpart": record.counterpart, "action_number": record.action_number},
        needs=app.all_needs,
    )


def _mended(record: UpstreamTask) -> list[str]:
    """What is mended of its metric functions."""
    names = dict.fromkeys(each.metric for each in record.comparisons)
    return [f"corrected: {name}: {CORRECTIONS[name]}" for name in names if name in CORRECTIONS]


def hooks(record: UpstreamTask) -> list[Hook]:
    """The setup: the steps of ``config`` in their order, and the app's look at what they left."""
    made = [Hook(_name(step), partial(run_step, record, index)) for index, step in enumerate(record.config)]
    return [*made, Hook("check", partial(check_setup, record))]


def has_oracle(record: UpstreamTask, mode: Mode) -> bool:
    """Whether there is a script that solves it."""
    app = find_app(record.app)
    return app is not None and not reasons(record) and app.attempts(record, mode).oracle is not None


def _name(step: Step) -> str:
    place = step.parameters.get("dest") or step.parameters.get("path") or ""
    return f"{step.type} {place}".strip()


def _no_oracle(task_id: str, screen: Screen) -> Bursts:
    raise SetupError(f"{task_id}: there is no oracle")
