"""A theorem in Coq's text REPL."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.prover.session import About, open_repl

NAME = "/home/user/proof.v"


def open_coq(setup: Setup, name: str, statement: str, requires: str = "", path: str = NAME) -> None:
    """State a theorem in Coq's text REPL; returns when its first proof state is there.

    Args:
        setup: the machine.
        name: of the theorem.
        statement: what it says.
        requires: libraries that are imported before, such as ``"Arith Lia"``.
        path: of the file that a whole proof is written into.

    Raises:
        SetupError: Coq does not take it.
    """
    headers = f"Require Import {requires}." if requires else ""
    theorem = f"Theorem {name} : {statement}."
    before = f"{headers}\n\n{theorem}\nProof.\n" if headers else f"{theorem}\nProof.\n"
    open_repl(
        setup,
        ["python3", "GUEST/coq_repl.py"],
        [{"cmd": text} for text in (headers, theorem) if text],
        About(headers, path, before, "Qed.\n"),
    )
