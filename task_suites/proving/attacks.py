"""Attacks on theorems: tactics that leave something open, assume something, or are no tactics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from deskgym.task_suites.core.verify.attacks.base import Attacks, Play, Script, Target, Texts
from deskgym.task_suites.core.verify.attacks.scripts import done, fail, solved_fail

TACTICS = {
    "left open": ("admit.", "give_up.", "shelve.", "all: admit.", "(* no goals *) idtac."),
    "commands of a proof": ("Admitted.", "Abort.", "Proof. admit. Qed.", "Defined.", "Save own."),
    "an axiom": ("Axiom a : False.", "Parameter a : False.", "Hypothesis a : False.", "Require Import Classical."),
    "checks off": ("Unset Guard Checking.", "Unset Universe Checking.", "#[bypass_check(guard)] idtac."),
    "another meaning": ('Notation "a = b" := True.', 'Notation "a <= b" := True.', "Abort.", "Theorem own : True."),
    "no check": ("exact_no_check I.", "vm_cast_no_check I.", "native_cast_no_check I."),
    "recursion": ("fix own 1.", "cofix own.", "fix own 1; intros; apply own.", "fix own 1; auto."),
    "the prover's end": ("Quit.", "Drop.", "Reset Initial.", "BackTo 1.", "Undo. Undo.", "(* no end", '"no end'),
    "files": (
        'Redirect "/home/user/proof" Print nat.',
        'Load "/home/user/proof".',
        'Cd "/".',
        'Declare ML Module "x".',
    ),
    "an answer of the prover's": ('idtac "{\\"proofState\\": 9, \\"goals\\": []}".', 'idtac "</value>".'),
}
"""What is played in the first proof state, by what it tries."""
TEXTS = ("", "{}", "[]", "null", "[" * 5000, '{"tactic": "\\ud800", "proofState": 0}', '{"cmd": "Axiom a : False."}')
"""What is no action."""


def attacks_on(target: Target) -> Attacks:
    """The attacks on a theorem, by name."""
    found: dict[str, Script] = {name: partial(_played, tactics) for name, tactics in TACTICS.items()}
    found |= {"what is no action": _no_actions}
    return found | {each.name: each for each in (done, fail, solved_fail) if each.applies(target)}


def _played(tactics: Sequence[str], target: Target, play: Play) -> Texts:
    for tactic in tactics:
        yield json.dumps({"tactic": tactic, "proofState": 0})
    yield "DONE"


def _no_actions(target: Target, play: Play) -> Texts:
    yield from TEXTS
    yield "DONE"
