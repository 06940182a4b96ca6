"""ScienceBoard's theorems in Lean's text REPL (its Raw split), for those who have Lean 4; and one of them in Coq.

The environment variable ``LEAN_LIB_PATH`` names the folder of a Lake project with Mathlib, as upstream; ``lake env
repl`` must start leanprover-community/repl there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, FinalState, Screen
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.task import Hook
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask
from deskgym.task_suites.programs import load_program

LIBRARY = "LEAN_LIB_PATH"
PROVER, COQIDE = load_program("prover"), load_program("coqide")
NOTE = PROVER.parts["lean_note"]
INSTALL = f"install Lean 4, and a Lake project with Mathlib and leanprover-community/repl; name its folder in {LIBRARY}"

_PT_1 = (
    "theorem PT_1 {R : Sort u → Sort u → Prop} (h₁ : ∀ x, ∀ y, R x y → R y x) "
    "(h₂ : ∀ x, ∀ y, ∀ z, R x y ∧ R y z →  R x z) (h₃ : ∀ x, ∃ y, R x y) : ∀ x, R x x := by sorry"
)
COQ = {
    _PT_1: (
        "forall R : Type -> Type -> Prop, (forall x y, R x y -> R y x) -> (forall x y z, R x y /\\ R y z -> R x z) -> "
        "(forall x, exists y, R x y) -> forall x, R x x",
        "intros R h1 h2 h3 x.\ndestruct (h3 x) as [y H].\napply (h2 x y x).\nsplit; auto.",
    )
}
"""Theorems that say the same in Coq: the statement there, and a proof."""


def installed(which: Callable[[str], str | None]) -> bool:
    """Whether there are Lake and a project."""
    return which("lake") is not None and bool(os.environ.get(LIBRARY))


def asked_in_coq(task: UpstreamTask, which: Callable[[str], str | None]) -> bool:
    """Whether a theorem is asked in Coq: it says the same there, and there is no Lean."""
    return task.sort == "Raw" and not installed(which) and which("coqtop") is not None and _query(task) in COQ


def _query(task: UpstreamTask) -> str:
    return next(str(item["expr"]) for item in task.initialize if item.func == "query")


def headers(task: UpstreamTask) -> list[str]:
    """The commands before the theorem."""
    found: list[str] = []
    for item in task.initialize:
        if item.func == "def":
            found.append(str(item["expr"]))
        elif item.func in ("import", "open"):
            found += [f"{item.func} {name}" for name in item["libs"]]
    return found


def _asked(task: UpstreamTask) -> dict[str, Any]:
    return {"theorem": _query(task), "project": os.environ.get(LIBRARY, ""), "headers": headers(task)}


def needs(task: UpstreamTask) -> Needs:
    """What Lean with Mathlib needs; no Debian package has it."""
    return Needs(memory_mb=20480)


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: the theorem, stated in Lean's REPL."""
    return [Hook("open", partial(PROVER.hooks["prover.lean"], **_asked(task)))]


def test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    """What decides: Lean compiles the whole proof anew. Upstream takes the REPL's word."""
    return partial(PROVER.checks["prover.lean_proved"], **_asked(task)) if item.type == "placeholder" else None


# The same of a theorem that is asked in Coq


def _coq_hooks(task: UpstreamTask) -> list[Hook]:
    stated = partial(PROVER.hooks["prover.coq"], name=_name(task), statement=COQ[_query(task)][0])
    return [Hook("open", stated)]


def _coq_test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    if item.type != "placeholder":
        return None
    return partial(
        COQIDE.checks["coqide.proved"], path="/home/user/proof.v", name=_name(task), statement=COQ[_query(task)][0]
    )


def _name(task: UpstreamTask) -> str:
    return _query(task).split()[1]


def plays(task: UpstreamTask, which: Callable[[str], str | None]) -> dict[str, Callable[[Screen], Bursts]]:
    """Scripts by name: the proof, where it is known, and attempts that prove nothing."""
    known = asked_in_coq(task, which)
    return {
        **({"oracle": partial(_play, COQ[_query(task)][1])} if known else {}),
        "left open": partial(_play, "admit." if known else "sorry"),
        "nothing": partial(_play, ""),
    }


def _play(proof: str, screen: Screen) -> Bursts:
    yield from PROVER.macros["prover.play"](screen, proof)
    yield [Action("done")]


IN_COQ = SimpleNamespace(
    NOTE="asked in Coq, which stands for Lean: Type stands for Sort u, and the rest is the same word for word",
    needs=lambda task: Needs.merged(PROVER.all_needs, COQIDE.all_needs), hooks=_coq_hooks, test=_coq_test,
)  # fmt: skip
"""What this module is for Lean."""
