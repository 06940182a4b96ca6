"""Makes tasks that run here of ScienceBoard's files: of KAlgebra, TeXstudio, GRASS, Lean as text, of molecules."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deskgym.envs.episode import Bursts, FinalState, Screen
from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.checks.answer import answer_number, answer_text, parse_number, stopped_with
from deskgym.envs.evaluation.evaluator import RIGHT_STOPS, Check, End, Evaluator
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.task_suites.core.task import Hook, Task
from deskgym.task_suites.hooks import files
from deskgym.task_suites.importers.scienceboard import (
    Mode,
    UpstreamTask,
    blockers,
    celestia,
    chimerax,
    chimerax_rest,
    grass,
    lean,
    texstudio,
)
from deskgym.task_suites.importers.scienceboard.check_items import (
    CheckItem,
    PlotCount,
    Plotted,
    Stop,
    VariableNumber,
    VariableText,
)
from deskgym.task_suites.importers.scienceboard.oracles import scripts
from deskgym.task_suites.importers.scienceboard.task import InitItem
from deskgym.task_suites.programs import load_program

SOURCE = "ScienceBoard (MIT)"
KALGEBRA = load_program("kalgebra")
_RESOLUTIONS: Sequence[float] = [*KALGEBRA.parts["resolutions"].values()]
_TABS = ("calculator", "2d", "3d", "dictionary")
_STYLES = {number: name for name, number in KALGEBRA.parts["styles"].items()}
_ENDS: dict[str, End] = {"ANS": "answer", "FAIL": "fail", "DONE": "done"}
_DOMAINS = {
    "KAlgebra": "algebra",
    "Celestia": "astronomy",
    "GrassGIS": "gis",
    "ChimeraX": "biochemistry",
    "Lean": "theorem_proving",
    "TeXstudio": "documentation",
}
_SETUP = ("launch", "opt", "touch", "tab", "func_2d", "func_3d")

Test = Callable[[FinalState], tuple[bool, str]]


def difficulty(task: UpstreamTask) -> str:
    """Ours for the paper's, which is the step limit by another name: its "hard" and "open" are one here."""
    return "easy" if task.steps <= 5 else "medium" if task.steps <= 10 else "hard"


def reasons(task: UpstreamTask) -> list[str]:
    """Everything that keeps a task from running here; empty when nothing does."""
    found = [blocker.reason for blocker in blockers(task)]
    if task.type == "TeXstudio" and task.sort == "VM":
        return found or texstudio.reasons(task)
    if task.type == "Celestia":
        return found or celestia.reasons(task)
    if chimerax.asked_in_pymol(task) or grass.on_own_maps(task):
        return found
    if task.type == "ChimeraX":
        return found or chimerax_rest.reasons(task)
    if task.sort == "Raw":
        return found
    if task.type != "KAlgebra":
        return found or [f"{task.type}'s tasks are not supported yet"]
    strange = sorted({item.func for item in task.initialize if item.func not in _SETUP})
    found.extend(f"deskgym does not do {name!r} in KAlgebra's setup" for name in strange)
    if sum(item.func == "func_3d" for item in task.initialize) > 1:
        found.append("its setup plots more than one surface, and KAlgebra shows one only")
    for item in task.evaluate:
        if isinstance(item, Plotted) and item.resolution not in (None, *_RESOLUTIONS):
            found.append(f"it checks the resolution {item.resolution:g}; KAlgebra has {_RESOLUTIONS}")
        if isinstance(item, Plotted) and item.style not in (None, *_STYLES):
            found.append(f"it checks the style {item.style}; KAlgebra has {_STYLES}")
    return found


def convert(task: UpstreamTask, mode: Mode) -> Task:
    """The task as deskgym runs it; it must have no ``reasons`` against it."""
    played = scripts(task)
    end = _ENDS[task.stop.primitive] if task.stop else "done"
    tests = [Check(_name(item), test) for item in task.evaluate if (test := _test(item, task, mode)) is not None]
    kind = _kind(task)
    make = StateEvaluator if mode == "paper" and task.stop is None else Evaluator
    return Task(
        id=task.id,
        instruction=task.instruction,
        evaluator=make(tests, end, (*task.notes, *([kind.NOTE] if hasattr(kind, "NOTE") else []))),
        solve=played.oracle or partial(_no_oracle, task.id),
        wrong_attempts=played.wrong_attempts,
        hooks=kind.hooks(task) if kind else hooks(task.initialize),
        title=task.instruction,
        max_steps=task.steps,
        difficulty=difficulty(task),
        tags=("scienceboard", task.type, task.sort, _DOMAINS[task.type]),
        source=SOURCE,
        params={"ans": task.ans, "mode": mode} | _penalty(task),
        needs=kind.needs(task) if kind else KALGEBRA.all_needs,
    )


def _penalty(task: UpstreamTask) -> dict[str, str]:
    """What invalid steps cost a Raw task, as its environment reads it."""
    return {} if task.penalty is None else {"penalty": f"{task.penalty.invalid}:{task.penalty.steps}"}


def _kind(task: UpstreamTask) -> Any:
    """The module that knows the setup and the checks of the task's program; None for KAlgebra, which this one does."""
    if task.sort == "Raw":
        return lean.IN_COQ if lean.asked_in_coq(task, shutil.which) else lean
    if task.type == "ChimeraX":
        return chimerax if chimerax.asked_in_pymol(task) else chimerax_rest
    return {"TeXstudio": texstudio, "GrassGIS": grass, "Celestia": celestia}.get(task.type)


def _no_oracle(task_id: str, screen: Screen) -> Bursts:
    raise SetupError(f"{task_id}: there is no oracle: its file does not say how it is solved")


# Setup


def hooks(items: tuple[InitItem, ...]) -> list[Hook]:
    """The setup: files as upstream orders them, and one launch that leaves KAlgebra in the state asked for."""
    functions = [item["expr"] for item in items if item.func == "func_2d"]
    surfaces = [item["expr"] for item in items if item.func == "func_3d"]
    tabs = [item["index"] for item in items if item.func == "tab"]
    open_all = partial(
        KALGEBRA.hooks["kalgebra.open"],
        tab=_TABS[tabs[-1]] if tabs else "calculator",
        functions=functions,
        surface=surfaces[-1] if surfaces else None,
    )
    made: list[Hook] = []
    for item in items:
        if item.func == "launch":
            made.append(Hook("launch", open_all))
        elif item.func == "touch":
            made.append(Hook("touch", partial(files.write, **item.values)))
    return made


# Evaluation


@dataclass(frozen=True)
class StateEvaluator(Evaluator):
    """Upstream's rule for tasks without a ``stop``: the state counts, however the agent ended the episode."""

    def evaluate(self, final: FinalState) -> Verdict:
        """The verdict; never raises."""
        if final.stop in RIGHT_STOPS[self.end]:
            return super().evaluate(final)
        stop = CheckResult("stop", "pass", f"stopped with {final.stop!r}; upstream looks at the state only", weight=0.0)
        return Verdict.from_checks([stop, *(check(final) for check in self.checks)], self.notes)


def _name(item: CheckItem) -> str:
    return f"{item.type} {item.name}" if isinstance(item, VariableNumber | VariableText) else item.type


def _test(item: CheckItem, task: UpstreamTask, mode: Mode) -> Test | None:
    """What decides about an item; None where the evaluator's own look at the stop is all that is needed."""
    kind = _kind(task)
    found: Test | None = kind.test(item, task) if hasattr(kind, "test") else None
    if found is not None:
        return found
    if isinstance(item, Plotted) and item.dimensions == 2:
        return partial(
            KALGEBRA.parts["plotted"], points=dict(item.points), color=item.color, resolution=item.resolution
        )
    if isinstance(item, Plotted):
        style = None if item.style is None else _STYLES[item.style]
        return partial(KALGEBRA.parts["spanned"], points=dict(item.points), style=style)
    if isinstance(item, PlotCount):
        return partial(KALGEBRA.checks["kalgebra.count"], functions=item.count)
    if isinstance(item, VariableNumber):
        return partial(KALGEBRA.checks["kalgebra.value"], name=item.name, equals=item.value, within=item.TOLERANCE)
    if isinstance(item, VariableText):
        return partial(
            KALGEBRA.checks["kalgebra.variable"], name=item.name, equals=item.text, defined=item.text is not None
        )
    if isinstance(item, Stop):
        return _stop(item, mode)
    raise TypeError(f"no check for {item!r}")


def _stop(item: Stop, mode: Mode) -> Test | None:
    """The words of an answer; a number may be written in any way unless the mode is ``paper``."""
    if item.primitive == "DONE":
        return partial(stopped_with, stop="done")
    if item.primitive == "FAIL":
        return None
    number = parse_number(item.answer)
    if mode == "corrected" and number is not None:
        return partial(answer_number, to=number, rel=1e-9)
    return partial(answer_text, to=item.answer, exact=mode == "paper")
