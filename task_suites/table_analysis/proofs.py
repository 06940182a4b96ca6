"""What the proof of a turn depends on, and mutants of its reference code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from deskgym.task_suites.core.verify.inputs import NO_PART, SCOPES, Parts, ProofInputs, given
from deskgym.task_suites.table_analysis import host_run
from deskgym.task_suites.table_analysis.dialogue import say
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, fill
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.prepared import PreparedTurn, prepare_turns
from deskgym.task_suites.table_analysis.sampling import Place, SampledDialogue, sample_dialogue, sample_turn
from deskgym.task_suites.table_analysis.task import AnalysisTask
from deskgym.task_suites.table_analysis.turns import LETTERS
from deskgym.task_suites.table_analysis.wrong_codes import OTHERS, differ

HERE = __name__.rpartition(".")[0]
COMPARATORS = f"{HERE}.guest.comparators"
READING = (
    "deskgym.task_suites.core.schema_yaml:",
    "deskgym.task_suites.core.template:",
    f"{HERE}.dialogue_check:",
    f"{HERE}.users_openai:",
)
"""What reads dialogue files counts by its result, the data; and no proof asks a language model."""
_DRAWING = ("choices:", "code_names:", "domains.", "domains:", "host_run:", "prepared:", "private.", "private:",
            "sampling:", "wrong_codes:")  # fmt: skip
DRAWING = tuple(f"{HERE}.{name}" for name in _DRAWING)
"""What draws and prepares a turn counts by its result, the first instance."""
LIBRARIES = ("matplotlib", "numpy", "pandas", "scikit-learn")
NOT_COMPARED = ("plot", "function", "model")
"""Result types that are not compared on the host: whether another parameter gives another result is not known."""
_LABELS = ("set_", "legend", "title", "xlabel", "ylabel", "tight_layout", "grid", "tick_params", "suptitle")
"""Methods that label a figure, which is not judged."""
Script = Callable[[Any], Iterator[str]]


def inputs_of(
    file: DialogueFile, place: Place | None, domain: Domain, first: Callable[[], AnalysisTask]
) -> ProofInputs:
    """What the proof of a turn depends on: the dialogue up to it, the domain, and what draws, plays and judges it.

    Args:
        file: the dialogue.
        place: of the turn; None for the whole dialogue, which depends on all turns.
        domain: of its tables.
        first: gives the first instance.
    """
    data = given(file)
    turns = data["turns"] if place is None else data["turns"][: place.turn + 1]
    data["turns"] = [{key: value for key, value in turn.items() if value and key not in NO_PART} for turn in turns]
    parts = Parts()
    made = {"place": parts.of(place), "tables": parts.of(domain)}
    parts.of(AnalysisTask)
    drawers = Parts()
    for each in (SampledDialogue, PreparedTurn, sample_turn, sample_dialogue, prepare_turns):
        drawers.of(each)
    return ProofInputs(
        [data, parts.files],
        made,
        parts.roots_in(frozenset(SCOPES)),
        without=(*READING, *DRAWING, *_not_reached(file, place)),
        libraries=LIBRARIES,
        programs=(f"table_analysis {'private' if _private(place) else 'normal'}",),
        drawers=drawers.roots_in(frozenset(SCOPES)),
        draw=lambda: _drawn(first()),
    )


def _drawn(task: AnalysisTask) -> Any:
    return Parts().of([task.instruction, *map(_prepared, task.prepared)])


def _prepared(prepared: PreparedTurn) -> list[Any]:
    library = prepared.library
    return [
        prepared.turn, prepared.history, prepared.code, dict(prepared.wrong), prepared.cells, prepared.reference_cells,
        prepared.preload, library and library.source, sorted(prepared.files(reference=True)),
    ]  # fmt: skip


def _private(place: Place | None) -> bool:
    return place is None or place.mode.startswith("private")


def _not_reached(file: DialogueFile, place: Place | None) -> Iterator[str]:
    """What a turn does not get to, by its mode and by the types of its results: beginnings of keys."""
    yield f"{COMPARATORS}.paper:"
    if place is None:
        return
    turn = file.turns[place.turn]
    if turn.choice:
        yield f"{COMPARATORS}."
    if place.action != "clarification":
        yield f"{HERE}.users:"
    kinds = set(turn.result.values())
    if "plot" not in kinds:
        yield from (f"{COMPARATORS}.{name}:" for name in ("plots", "figures", "axes"))
        yield from (f"{HERE}.guest.results.{name}:" for name in ("figure_marks", "figure_data"))
    if "model" not in kinds:
        yield f"{COMPARATORS}.models:"
    if kinds <= {"plot", "model"}:
        yield from (f"{COMPARATORS}.{name}:" for name in ("tables", "columns"))


def mutants_of(file: DialogueFile, place: Place | None, domain: Domain, task: AnalysisTask) -> dict[str, Script]:
    """The mutants of a turn's reference, by name; none of a whole dialogue.

    ``drop last`` leaves out the last statement that does more than label a figure; ``other pct`` gives the parameter
    ``pct`` the value of another seed, one by which the results differ. Of a choice every other letter is one.
    """
    if place is None:
        return {}
    (prepared,) = task.prepared
    choice = prepared.turn.choice
    if choice is not None:
        letters = (letter for k, letter in enumerate(LETTERS[: len(choice.options)]) if k != choice.right)
        return {f"answer {letter}": partial(say, [f"ANS {letter}"]) for letter in letters}
    codes = {"drop last": _without_last(prepared.turn.code)}
    sampled = SampledDialogue(file, domain, task.seed or 0)
    for name in sampled.turn_params(place.turn):
        if f"{{{name}}}" in file.turns[place.turn].code:
            codes[f"other {name}"] = _with_another(sampled, place.turn, name)
    return {name: partial(say, [prepared.translate(code), "DONE"]) for name, code in codes.items() if code}


def _without_last(code: str) -> str:
    """Code without its last statement and what labels its figure after that, or ""."""
    body = ast.parse(code).body
    while body and _labels(body[-1]):
        body.pop()
    return "\n".join(code.splitlines()[: body[-1].lineno - 1]) if len(body) > 1 else ""


def _labels(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr.startswith(_LABELS)


def _with_another(sampled: SampledDialogue, k: int, name: str) -> str:
    """The code of turn ``k`` with another seed's value of a parameter that gives other results, or ""."""
    turn, params = sampled.file.turns[k], sampled.turn_params(k)
    compared = [result for result, kind in turn.result.items() if kind not in NOT_COMPARED]
    own = sampled.results(k) if compared else {}
    for seed in range(1, OTHERS + 1):
        value = sampled.other((sampled.seed + seed) % 2**31).turn_params(k)[name]
        code = fill(turn.code, {**params, name: value}).strip("\n")
        if value == params[name]:
            continue
        if not compared:
            return code
        found: Mapping[str, Any] = host_run.run(
            sampled.domain, sampled.variant, sampled.needed_for(k, code), sampled.name(k)
        )
        if any(differ(sampled, k, result, own[result], found.get(result)) for result in compared):
            return code
    return ""
