"""What the proof of a turn depends on, and mutants of its reference code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from deskgym.task_suites.core.verify.inputs import NO_PART, Parts, ProofInputs
from deskgym.task_suites.core.verify.sources import closure
from deskgym.task_suites.table_analysis import host_run
from deskgym.task_suites.table_analysis.dialogue import say
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, fill
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.sampling import Place, SampledDialogue
from deskgym.task_suites.table_analysis.task import AnalysisTask
from deskgym.task_suites.table_analysis.turns import LETTERS
from deskgym.task_suites.table_analysis.wrong_codes import OTHERS, differ

HERE = __name__.rpartition(".")[0]
READING = (
    "deskgym.task_suites.core.schema_yaml",
    "deskgym.task_suites.core.template",
    f"{HERE}.dialogue_check",
    f"{HERE}.users_openai",
)
"""What reads dialogue files counts by its result, the data; and no proof asks a language model."""
LIBRARIES = ("matplotlib", "numpy", "pandas", "scikit-learn")
NOT_COMPARED = ("plot", "function", "model")
"""Result types that are not compared on the host: whether another parameter gives another result is not known."""
_LABELS = ("set_", "legend", "title", "xlabel", "ylabel", "tight_layout", "grid", "tick_params", "suptitle")
"""Methods that label a figure, which is not judged."""
Script = Callable[[Any], Iterator[str]]


def inputs_of(file: DialogueFile, place: Place | None, domain: Domain) -> ProofInputs:
    """What the proof of a turn depends on: the dialogue up to it, the domain, and what plays and judges it.

    The private libraries count for private modes only. The whole dialogue (``place`` is None) depends on all turns.
    """
    data = {key: value for key, value in asdict(file).items() if key not in NO_PART}
    turns = data["turns"] if place is None else data["turns"][: place.turn + 1]
    data["turns"] = [{key: value for key, value in turn.items() if key not in NO_PART} for turn in turns]
    parts = Parts()
    data |= {"place": parts.of(place), "tables": parts.of(domain)}
    private = place is None or place.mode.startswith("private")
    left_out = READING if private else (*READING, f"{HERE}.private")
    roots = parts.modules | {f"{HERE}.task", f"{HERE}.sampling"}
    return ProofInputs(data, closure(roots, without=left_out), libraries=LIBRARIES)


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
