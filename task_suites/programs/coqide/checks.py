"""What Coq's kernel says of the agent's files: in the clean machine, where the statement is the evaluator's own."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import open_clean, surviving
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.hooks.files import legal_path

TIMEOUT = 60.0
LIMIT = 1 << 20  # bytes of a file
_AGENTS, _OURS = "/tmp/agents", "/tmp/ours"
_CLOSED = "Closed under the global context"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_']*\Z")


def proved(
    final: FinalState, path: str, name: str, statement: str, requires: str = "", allow: list[str] | None = None
) -> Outcome:
    """A file of the agent's proves a statement, and assumes nothing.

    The file is compiled in the clean machine. What it proves is compared with the statement by the kernel, from a
    file of the evaluator's that does not import the agent's: so neither notations nor definitions of the same name
    count. An axiom, ``Admitted`` or a check that was switched off shows among the proof's assumptions.

    Args:
        final: the final state.
        path: the file.
        name: of the theorem in it.
        statement: what it must say.
        requires: libraries of Coq's that the statement needs, such as ``"Arith List"``.
        allow: axioms that it may use, by their full names.

    Example:
        ```yaml
        - coqide.proved: {path: /home/user/proofs/sum.v, name: sum_up, statement: "forall n, n + 0 = n"}
        ```
    """
    asked = f"Definition asked : Prop := {statement}."
    check = f"Definition given : asked.asked := {{file}}.{name}.\nPrint Assumptions given."
    done = final.read_once(
        f"coq:{path}:{name}:{statement}:{requires}",
        lambda machine: _ask(final, legal_path(path), {"asked": f"{_required(requires)}{asked}", "given": check}),
    )
    if done["error"]:
        return False, done["error"]
    said = done["said"].strip()
    if said == _CLOSED:
        return True, f"{name} is proved, and assumes nothing"
    assumed = _assumptions(said)
    if assumed and set(assumed) <= {*(allow or [])}:
        return True, f"{name} is proved from {', '.join(assumed)}"
    return False, f"{name} is not proved: {shown(said, 400)}"


def computes(final: FinalState, path: str, values: list[list[str]], requires: str = "") -> Outcome:
    """Terms over what a file of the agent's defines compute to these values.

    Args:
        final: the final state.
        path: the file.
        values: types, closed terms and their values, such as ``["nat", "@f 3", "6"]``; names that the file defines are
            written after ``@``.
        requires: libraries of Coq's that the terms need.
    """
    lines = [
        f"Definition given{k} : @eq ({type}) ({_inside(term)}) ({value}) := eq_refl.\nPrint Assumptions given{k}."
        for k, (type, term, value) in enumerate(values)
    ]
    done = final.read_once(
        f"coq:{path}:{values}:{requires}",
        lambda machine: _ask(final, legal_path(path), {"given": _required(requires) + "\n".join(lines)}),
    )
    if done["error"]:
        return False, done["error"]
    right = done["said"].split("\n") == [*[_CLOSED] * len(values), ""]
    return right, f"{path} computes what it should" if right else f"it assumes something: {shown(done['said'], 400)}"


def _inside(term: str) -> str:
    return re.sub(r"@(\w+)", r"{file}.\1", term)


def _required(requires: str) -> str:
    return f"Require Import {requires}.\n" if requires else ""


def _assumptions(said: str) -> list[str]:
    """The names of axioms in what ``Print Assumptions`` prints; none where it says anything else."""
    head, _, rest = said.partition("\n")
    lines = [line for line in rest.splitlines() if line and not line.startswith(" ")]
    names = [line.partition(" :")[0] for line in lines]
    return names if head == "Axioms:" and all(" : " in f"{line} " for line in lines) else []


def _ask(final: FinalState, path: str, files: dict[str, str]) -> dict[str, Any]:
    """Compile the agent's file, and then these, in which ``{file}`` is its name; what the last one prints."""
    text = read_text(final, path, limit=LIMIT)
    clean, name = open_clean(final, "check the proof"), posixpath.basename(path).removesuffix(".v")
    if not _NAME.match(name):
        raise ValueError(f"a file of Coq's has a name of letters, digits and _, such as 'sum.v', got {path!r}")
    clean.put(f"{_AGENTS}/{name}.v", text.encode())
    code, said = _compile(clean, f"{_AGENTS}/{name}.v")
    if code:
        return {"error": f"{path} is not accepted: {shown(said[-400:], 400)}", "said": ""}
    for file, lines in files.items():
        clean.put(
            f"{_OURS}/{file}.v", f"{_loading(file, files, name)}{lines.replace('{file}', f'Agents.{name}')}\n".encode()
        )
        code, said = _compile(clean, f"{_OURS}/{file}.v")
        if code and file == "asked":
            raise RuntimeError(f"the statement is not accepted: {said}")
        if code:
            return {"error": f"{path} does not have what is asked for: {shown(said[-400:], 400)}", "said": ""}
    return {"error": "", "said": said}


def _loading(file: str, files: dict[str, str], name: str) -> str:
    """What a file of ours needs, without importing it; the statement knows nothing of the agent's."""
    if file == "asked":
        return ""
    return f"{'Require asked.' if 'asked' in files else ''}\nRequire Agents.{name}.\n"


def _compile(clean: Machine, path: str) -> tuple[int, str]:
    """The exit status of Coq's compiler, and what it prints."""
    folder = posixpath.dirname(path)
    argv = ["coqc", "-q", "-Q", _AGENTS, "Agents", "-Q", _OURS, "", posixpath.basename(path)]
    with surviving(clean, "check the proof"):
        clean.run(["mkdir", "-p", _OURS], timeout=10.0)
        done = clean.run(argv, cwd=folder, timeout=TIMEOUT)
    if done.timed_out:
        return 1, f"it is not checked within {TIMEOUT:g} s"
    return done.returncode, (done.stdout + done.stderr if done.returncode else done.stdout).decode(errors="replace")


CHECKS: Mapping[str, CheckFunction] = {"coqide.proved": proved, "coqide.computes": computes}
"""By the names that task files use."""
