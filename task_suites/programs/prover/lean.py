"""A theorem in Lean's text REPL (leanprover-community/repl), for those who have Lean 4, and the check of its proof.

Neither Debian nor deskgym has Lean. So this is tested against minimal programs of our own that speak the same
protocols, and never against the real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.envs.evaluation.readers.clean_run import run_clean
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.prover.session import About, open_repl

NOTE = "the adapter to Lean was tested against minimal programs of deskgym's own"
AXIOMS = ("propext", "Classical.choice", "Quot.sound")
"""Those that Lean's own library assumes."""
LEFT_OPEN = ("sorry", "admit")
UNTRUSTED = (
    "run_tac", "run_cmd", "run_elab", "run_meta", "by_elab", "elab", "eval%", "unsafe", "skipKernelTC", "IO", "#eval",
    "#print", "#exit", "#reduce", "abbrev", "axiom", "builtin_initialize", "class", "declare_syntax_cat", "def",
    "elab_rules", "export", "import", "inductive", "infix", "infixl", "infixr", "initialize", "instance", "lemma",
    "macro", "macro_rules", "mutual", "namespace", "notation", "opaque", "postfix", "prefix", "section", "structure",
    "syntax", "theorem", "universe", "variable",
)  # fmt: skip
"""Words by which a tactic would run programs in Lean's own process, which then says what they like; and words with
which commands begin, of which a proof has none: they could give the check's own line another meaning."""
PATH = "/home/user/proof.lean"
_FILE = "/tmp/checked/proof.lean"
_INDENT = "  "
_LOADING = 300.0  # seconds; Mathlib is large
_MEMORY_MB = 16384
_LIMIT = 1 << 20  # bytes of a file
_COMMENT = re.compile(r"--[^\n]*")


def open_lean(setup: Setup, theorem: str, project: str, headers: list[str] | None = None) -> None:
    """State a theorem in Lean's text REPL; returns when its first proof state is there.

    Args:
        setup: the machine.
        theorem: as a declaration that ends with ``by sorry``.
        project: the folder of a Lake project, in which ``lake env repl`` starts the REPL.
        headers: commands that stand before it, such as ``import Mathlib``.

    Raises:
        SetupError: Lean does not take it.
    """
    before = [*(headers or []), stated(theorem)]
    about = About(
        "\n".join(headers or []), PATH, "\n".join([*before, ""]), "", _INDENT, forbidden=(*LEFT_OPEN, *UNTRUSTED)
    )
    open_repl(
        setup, ["lake", "env", "repl"], [{"cmd": text} for text in (*(headers or []), theorem)], about, cwd=project,
        memory_mb=_MEMORY_MB, patience=_LOADING,
    )  # fmt: skip


def stated(theorem: str) -> str:
    """A declaration up to the ``by`` after which its tactics stand.

    Raises:
        ValueError: it does not end with ``by sorry``.
    """
    found = re.fullmatch(r"(.*\bby)\s+sorry\s*", theorem, re.DOTALL)
    if found is None:
        raise ValueError(f"a theorem ends with 'by sorry', got {theorem!r:.200}")
    return found[1]


def lean_proved(final: FinalState, theorem: str, project: str, headers: list[str] | None = None) -> Outcome:
    """A proof that the agent has played is one: Lean compiles it anew, in the clean machine.

    The file has the theorem as it was stated, and below it nothing but the indented lines of its proof. Lean tells
    which axioms it stands on, and at which line it says so: what tactics print stands at other lines.

    Args:
        final: the final state.
        theorem: as it was stated.
        project: the folder of the Lake project.
        headers: what stood before it.
    """
    text = read_text(final, PATH, limit=_LIMIT)
    before = "\n".join([*(headers or []), stated(theorem), ""])
    proof = text.removeprefix(before).splitlines()
    if not text.startswith(before) or not proof or not all(line.startswith(_INDENT) for line in proof):
        return False, f"{PATH} has not the theorem, and its proof alone: {shown(text, 400)}"
    if word := forbidden_word("\n".join(proof), UNTRUSTED):
        return False, f"{word!r} is not taken in a proof"
    name = theorem.split()[1]
    whole = "\n".join([before.rstrip("\n"), *proof, "", f"#print axioms _root_.{name}", ""])
    argv = ["lake", "env", "lean", "--json", _FILE]
    _, done = run_clean(final, argv, {_FILE: whole.encode()}, "check the proof", _LOADING, cwd=project)
    return _judge(done.stdout.decode(errors="replace"), done.returncode, name, whole.count("\n"))


def _judge(said: str, status: int, name: str, line: int) -> Outcome:
    """What Lean's messages mean, one JSON object in a line; what is said of the axioms belongs to ``line``."""
    messages: list[dict[str, Any]] = []
    for text in said.splitlines():
        try:
            message = json.loads(text)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("pos"), dict):
            return False, f"Lean says what is no message: {shown(text, 400)}"
        messages.append(message)
    wrong = [str(message.get("data")) for message in messages if message.get("severity") == "error"]
    if status or wrong:
        return False, f"{name} is not accepted: {shown(wrong[0] if wrong else said, 400)}"
    told = [str(message.get("data")) for message in messages if message["pos"].get("line") == line]
    if told == [f"'{name}' does not depend on any axioms"]:
        return True, f"{name} is proved, and assumes nothing"
    found = re.fullmatch(rf"'{re.escape(name)}' depends on axioms: \[([^\]]*)\]", told[0]) if len(told) == 1 else None
    axioms = [axiom.strip() for axiom in found[1].split(",")] if found else []
    if axioms and set(axioms) <= {*AXIOMS}:
        return True, f"{name} is proved from {', '.join(axioms)}"
    return False, f"{name} is not proved: {shown(said, 400)}"


def forbidden_word(text: str, words: Sequence[str]) -> str:
    """The first of these words that Lean reads in a text, outside comments; or nothing."""
    text = without_comments(text)
    for word in words:
        if re.search(rf"(?<![\w'!?.]){re.escape(word)}(?![\w'])", text):
            return word
    return ""


def without_comments(text: str) -> str:
    """Lean's text without ``-- ...`` and ``/- ... -/``, which may be nested. A comment that does not end stays."""
    kept, depth, at, start = "", 0, 0, 0
    while at < len(text):
        if text.startswith("/-", at):
            start = start if depth else at
            depth, at = depth + 1, at + 2
        elif depth and text.startswith("-/", at):
            depth, at = depth - 1, at + 2
        elif depth:
            at += 1
        elif found := _COMMENT.match(text, at):
            at = found.end()
        else:
            kept, at = kept + text[at], at + 1
    return kept + (text[start:] if depth else "")
