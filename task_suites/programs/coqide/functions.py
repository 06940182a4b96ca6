"""What tasks ask of proofs: statements with numbers in them, and the texts of files with a theorem."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.toolkits.texts import edit

OPEN = "(* to be done *)\nAdmitted.\n"


def filled(text: str, numbers: dict[str, int | str]) -> str:
    """A text with words in capitals replaced, such as ``A`` by 3."""
    return re.sub(r"\b[A-Z]\b", lambda found: str(numbers.get(found[0], found[0])), text)


def file(name: str, statement: str, proof: str = "", requires: str = "", before: str = "") -> str:
    """A file with one theorem.

    Args:
        name: of the theorem.
        statement: what it says.
        proof: tactics, one after the other; left out, the theorem is admitted.
        requires: libraries that are imported, such as ``"Arith Lia"``.
        before: what stands before the theorem.
    """
    return "".join([
        f"Require Import {requires}.\n\n" if requires else "",
        f"{before.rstrip()}\n\n" if before else "",
        f"Theorem {name} : {statement}.\nProof.\n",
        f"{proof.strip()}\nQed.\n" if proof else OPEN,
    ])  # fmt: skip


def lists(what: str, name: str, a: int, b: int, seed: int) -> list[list[str]]:
    """What a function on lists gives for some of them: types, terms and values as ``coqide.computes`` takes them."""
    draw = random.Random(f"lists {seed}")
    given = [[], *([draw.randint(0, 30), b, *draw.choices(range(31), k=draw.randint(2, 5))] for _ in range(4))]
    return [["list nat", f"@{name} {_literal(items)}", _literal(_ON_LISTS[what](items, a, b))] for items in given]


_ON_LISTS: Mapping[str, Callable[[list[int], int, int], list[int]]] = {
    "affine": lambda items, a, b: [a * n + b for n in items],
    "larger": lambda items, a, b: [n for n in items if n > b],
    "framed": lambda items, a, b: [a, *items, b],
    "reversed": lambda items, a, b: [n + b for n in items[::-1]],
}


def _literal(items: list[int]) -> str:
    return f"({' :: '.join([*map(str, items), 'nil'])})"


def recurrence(a: int, b: int, c: int, n: int) -> int:
    """The value at ``n`` of a function: ``a`` at 0, and at m + 1 ``b`` times its value at m, plus m + ``c``."""
    value = a
    for m in range(n):
        value = b * value + m + c
    return value


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"coqide.{function.__name__}": function for function in (edit, filled, file, lists, recurrence)
}
"""By the names that task files use."""
