"""What pdflatex makes of the agent's documents: in the clean machine, from the sources alone, within limits."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.predicates import Predicate, plain
from deskgym.envs.evaluation.readers.clean_run import run_clean
from deskgym.envs.evaluation.readers.files import parse_json, read_text
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.hooks.files import legal_path

TYPESET = Path(__file__).parent / "site" / "typeset.py"
TIMEOUT = 100.0
LIMIT = 8 << 20  # bytes of each file
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")


def pdf(
    final: FinalState,
    path: str,
    that: Predicate | None = None,
    like: str | None = None,
    files: list[str] | None = None,
    with_: dict[str, str] | None = None,
    given: list[list[str]] | None = None,
    looks: bool = False,
) -> Outcome:
    """The document compiles, and its pages have the right text, or the same as another document's.

    It is compiled anew, in a folder that has the named files and nothing else, without a shell, and may read and write
    nothing outside. Words are not hyphenated, and white space counts as one blank.

    Args:
        final: the final state.
        path: the document.
        that: what the text of its pages must be.
        like: the source of a document with the right pages.
        files: other files of its folder that it needs, as the agent left them, by their names.
        with_: what some of these files should be, by their names: ``like`` has them so.
        given: pairs of texts: in the source the first is replaced by the second before, so that what was typed in, and
            does not follow from the document, shows.
        looks: the pages must look like those of ``like`` too: bold type, formulas, places.

    Example:
        ```yaml
        - texstudio.pdf: {path: /home/user/paper/main.tex, that: {contains: [1 Results, see Section 1]}}
        ```
    """
    path = legal_path(path)
    key = f"tex:{path}:{files}:{given}:{looks}"
    beside = {name: "" for name in files or []}

    def agents(machine: Machine) -> dict[str, Any]:
        return _typeset(final, read_text(final, path, limit=LIMIT), path, beside, given or [], looks)

    def ours(machine: Machine) -> dict[str, Any]:
        return _typeset(final, str(like), path, {**beside, **(with_ or {})}, given or [], looks)

    made = final.read_once(key, agents)
    if made["error"]:
        return False, f"{path} does not compile: {made['error']}"
    if that is not None and not that(made["text"]):
        return False, f"the pages of {path} have the text {shown(made['text'], 600)}; right is {that}"
    if like is None:
        return True, f"{path} compiles, and its pages are right"
    right = final.read_once(f"{key}:{like}:{with_}", ours)
    if right["error"] and not {*beside} - {*(with_ or {})}:
        raise RuntimeError(f"the right document does not compile: {right['error']}")
    if made["text"] != right["text"]:
        found, wanted = shown(made["text"], 600), shown(right["text"] or right["error"], 600)
        return False, f"the pages of {path} have the text {found}; right is {wanted}"
    if looks and made["looks"] != right["looks"]:
        return False, f"the pages of {path} have the right text, but do not look as they should"
    return True, f"the pages of {path} are as they should be"


def source(final: FinalState, path: str, that: Predicate) -> Outcome:
    """The source of a document, without its comments and with white space as one blank, fits a predicate.

    Args:
        final: the final state.
        path: the document.
        that: what it must be.
    """
    text = without_comments(read_text(final, legal_path(path), limit=LIMIT))
    return that(text), f"without comments, {path} is {shown(text, 2000)}; right is {that}"


def without_comments(text: str) -> str:
    """A LaTeX source without comments, and what follows the document's end; white space is one blank."""
    text = "\n".join(_COMMENT.sub(r"\1", line) for line in text.splitlines())
    return " ".join(text.partition(r"\end{document}")[0].split())


def _typeset(
    final: FinalState, text: str, path: str, files: dict[str, str], given: list[list[str]], looks: bool
) -> dict[str, Any]:
    """What ``typeset.py`` prints of a source: ``error``, ``text``, ``looks``; files without a text are the agent's."""
    folder, name = posixpath.split(path)
    for old, new in given:
        text = text.replace(old, new)
    placed: dict[str, bytes | Path] = {
        f"{folder}/{file}": content.encode() or _file(final.machine, f"{folder}/{file}")
        for file, content in files.items()
    }
    placed |= {path: text.encode(), "/tmp/typeset.py": TYPESET}
    argv = ["python3", "-I", "/tmp/typeset.py", folder, name, str(int(looks))]
    _, done = run_clean(final, argv, placed, f"compile {path}", TIMEOUT)
    if done.returncode != 0:
        raise CheckFailed(f"{path} cannot be compiled: {done.stderr.decode(errors='replace')[-400:]}")
    made = parse_json(done.stdout.decode(errors="replace"), "what came of the document")
    return {**made, "text": plain(made["text"], case=True)}


def _file(machine: Machine, path: str) -> bytes:
    try:
        return machine.get(path, limit=LIMIT)
    except GuestCallError as error:
        raise CheckFailed(f"{path}: {error}") from None


CHECKS: Mapping[str, CheckFunction] = {"texstudio.pdf": pdf, "texstudio.source": source}
"""By the names that task files use."""
