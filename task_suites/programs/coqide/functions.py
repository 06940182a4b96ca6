"""What tasks ask of proofs: the texts of files with a theorem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OPEN = "Proof.\n(* to be done *)\nAdmitted.\n"


def file(name: str, statement: str, proof: str = "", requires: str = "", before: str = "") -> str:
    """A file with one theorem.

    Args:
        name: of the theorem.
        statement: what it says.
        proof: tactics, one after the other; left out, it is admitted.
        requires: libraries that are imported, such as ``"Arith Lia"``.
        before: what stands before the theorem.
    """
    return "".join([
        f"Require Import {requires}.\n\n" if requires else "",
        f"{before.rstrip()}\n\n" if before else "",
        f"Theorem {name} : {statement}.\n",
        f"Proof.\n{proof.strip()}\nQed.\n" if proof else OPEN,
    ])  # fmt: skip


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"coqide.file": file}
"""By the names that task files use."""
