"""Judging a turn: the agent's results against the reference's, compared in a machine that the agent never had."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.machines.kernels import Kernel, KernelLimits
from deskgym.task_suites.table_analysis.guest import COMPARATORS, RESULTS
from deskgym.task_suites.table_analysis.prepared import PreparedTurn
from deskgym.task_suites.table_analysis.turns import Intent, IntentOutcome

TIMEOUT = 60.0  # seconds of the reference, and of the comparison
READING = 20.0  # seconds of reading the agent's results: its functions are called, its models asked, its plots drawn
PROBES, TRUTH = "probes_of_", "truth_of_"
COMPARED_WITH = {"model": "sklearn.metrics", "plot": "skimage.metrics"}
"""What comparing a result needs beside pandas, and takes long to load."""
Wanted = dict[str, dict[str, Any]]


class JudgeError(Exception):
    """The reference could not be run, or the comparison is broken: nobody's fault but ours."""


def judge(prepared: PreparedTurn, final: FinalState, limits: KernelLimits, mode: str) -> tuple[IntentOutcome, ...]:
    """Compare the agent's variables with the reference's.

    Args:
        prepared: the turn.
        final: with the agent's machine, whose kernel is as the agent left it.
        limits: of the kernels.
        mode: ``"corrected"`` or ``"paper"``, see ``guest.comparators``.

    Raises:
        JudgeError: the reference could not be run, or the comparison is broken.
        MachineError: a machine broke.
    """
    if final.clean_machine is None:
        raise JudgeError("there is no second machine to compare in")
    turn = prepared.turn
    second = Kernel(final.clean_machine((RESULTS, COMPARATORS)), limits)
    try:
        wanted, truths = _reference(second, prepared)
        gold = _take(second, wanted, TIMEOUT)
    except GuestCallError as error:
        raise JudgeError(f"the reference failed: {error}") from error
    try:
        got = _take(Kernel(final.machine, limits), wanted, READING)
    except GuestCallError as error:
        return all_wrong(turn.intents, f"the results could not be read: {error}")
    except GuestLost as error:
        if not final.machine.alive:  # a fault
            raise
        return all_wrong(turn.intents, f"the results make no sense: {error}")
    try:
        return compare(second, gold, got, turn.intents, truths, mode)
    except GuestLost as error:
        return all_wrong(turn.intents, f"the machine that compared them did not survive it: {error}")
    except JudgeError as error:
        try:
            second.open(preload=prepared.preload)
        except GuestCallError as broken:
            raise JudgeError(f"there is no kernel to compare in: {broken}") from error
        compare(second, gold, gold, turn.intents, truths, mode)  # raises where it is not the agent's results
        return all_wrong(turn.intents, str(error))


def all_wrong(intents: Sequence[Intent], why: str) -> tuple[IntentOutcome, ...]:
    """All of a turn's results are wrong, for the same reason."""
    return tuple(IntentOutcome(intent.name, intent.kind, False, why[:500]) for intent in intents)


def compare(
    kernel: Kernel, gold: bytes, got: bytes, intents: Sequence[Intent], truths: Mapping[str, Any], mode: str
) -> tuple[IntentOutcome, ...]:
    """Compare encoded results in a kernel that the agent has never had.

    Raises:
        JudgeError: the comparison is broken.
    """
    asked = [
        {
            "name": intent.name,
            "kind": intent.kind,
            "options": dict(intent.options),
            "metric": intent.metric,
            **({"truth": truths[intent.name]} if intent.name in truths else {}),
        }
        for intent in intents
    ]
    arguments = {"gold": gold, "got": got, "intents": asked, "mode": mode}
    try:
        found = kernel.call(f"{COMPARATORS}:compare_results", arguments, timeout=TIMEOUT)
        return tuple(
            IntentOutcome(intent.name, intent.kind, bool(one["correct"]), str(one["message"]))
            for intent, one in zip(intents, found, strict=True)
        )
    except (GuestCallError, KeyError, TypeError, ValueError) as error:
        raise JudgeError(f"the results could not be compared: {error}") from error


def _reference(kernel: Kernel, prepared: PreparedTurn) -> tuple[Wanted, dict[str, Any]]:
    """Run the reference; what is to be taken from both kernels, and the true values of models' rows.

    Functions are called with arguments that are drawn now: those of the file may be known by heart.
    """
    turn = prepared.turn
    extra = [
        f"{prefix}{intent.name} = {expression}"
        for intent in turn.intents
        for prefix, expression in ((PROBES, intent.probes), (TRUTH, intent.truth))
        if expression
    ]
    drawing = f"rng = __import__('numpy').random.default_rng({secrets.randbits(64)})"
    cells = [*prepared.reference_cells, turn.code, *(["\n".join([drawing, *extra])] if extra else [])]
    preload = {
        *prepared.preload,
        *(COMPARED_WITH[intent.kind] for intent in turn.intents if intent.kind in COMPARED_WITH),
    }
    kernel.open(prepared.files(reference=True), cells, preload=sorted(preload), timeout=TIMEOUT)
    wanted: Wanted = {intent.name: {"type": intent.kind} for intent in turn.intents}
    for name, probes in _pickled(kernel, PROBES, [intent.name for intent in turn.intents if intent.probes]).items():
        wanted[name]["probes"] = probes
    return wanted, _pickled(kernel, TRUTH, [intent.name for intent in turn.intents if intent.truth])


def _pickled(kernel: Kernel, prefix: str, names: Sequence[str]) -> dict[str, bytes]:
    """Variables of the reference's kernel, by their names without the prefix."""
    if not names:
        return {}
    arguments = {"names": [prefix + name for name in names]}
    found = kernel.call(f"{RESULTS}:pickled", arguments, variables=True, timeout=TIMEOUT)
    return {name: found[prefix + name] for name in names}


def _take(kernel: Kernel, wanted: Wanted, timeout: float) -> bytes:
    return kernel.take(f"{RESULTS}:take", {"wanted": wanted}, timeout=timeout)
