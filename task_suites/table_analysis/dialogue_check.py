"""Looks at what a dialogue file's types cannot say, and reports every mistake with its line."""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from deskgym.envs.evaluation.calls import KEY, shown, unknown
from deskgym.task_suites.core.file_checker import FileChecker
from deskgym.task_suites.core.params import Parameters, split_of
from deskgym.task_suites.core.schema_yaml import Document, Problem
from deskgym.task_suites.table_analysis.code_names import names
from deskgym.task_suites.table_analysis.dialogue_file import FUNCTIONS, DialogueFile, TurnFile, fill
from deskgym.task_suites.table_analysis.turns import CODE_RESULTS

TURNS = (3, 8)
"""How many turns a dialogue has, at least and at most."""
WRONG = 2
"""How many wrong codes a turn has at least."""
COMPARE = ("rtol", "atol", "ordered", "index", "names")
"""Options of the comparator."""
RESERVED = ("blank plot", "answer of another seed", "without the library")
"""Names of wrong attempts that are made for every turn they fit."""
_ID = re.compile(r"[a-z][a-z0-9_]*/[a-z0-9][a-z0-9_-]*\Z")
_TURN_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


def check_dialogue(document: Document, file: DialogueFile, domains: Iterable[str]) -> None:
    """Note what is wrong in ``document.problems``."""
    _Checker(document, file).run(tuple(domains))


class _Checker(FileChecker):
    def __init__(self, document: Document, file: DialogueFile) -> None:
        super().__init__(document)
        self._file = file
        self._params: dict[str, Any] = {}

    def run(self, domains: tuple[str, ...]) -> None:
        file = self._file
        self._check_head(domains)
        params = self._sample(file.parameters) if self._check_params(file.parameters) else None
        if params is not None:
            self._params = params
            drawn = file.parameters.drawn
            if self._check_splits(file, drawn) and (by := file.split_by or drawn):
                self._check_split_sizes(file, partial(self._split, by))
            for name in ("title", "persona", "goal"):
                self._check_text(getattr(file, name), params, name)
            for k, turn in enumerate(file.turns):
                self._check_turn(k, turn)

    def _sample(self, parameters: Parameters, *path: str | int) -> dict[str, Any] | None:
        return self._draw(parameters, f"{self._file.id}#0", *path)

    def _split(self, by: Sequence[str], seed: int) -> str:
        params = self._file.parameters.draw(f"{self._file.id}#{seed}")
        shares, salt = self._file.splits, self._file.split_salt
        return split_of(self._file.id, {name: params[name] for name in by}, shares, salt)

    def _check_head(self, domains: tuple[str, ...]) -> None:
        file = self._file
        if not _ID.match(file.id):
            self._note(f"legal is domain/persona such as 'penguins/ines', got {shown(file.id)}", "id")
        elif file.domain not in domains:
            self._note(unknown("domain", file.domain, domains), "id")
        if not TURNS[0] <= len(file.turns) <= TURNS[1]:
            self._note(f"a dialogue has {TURNS[0]} to {TURNS[1]} turns, got {len(file.turns)}", "turns")
        seen: set[str] = set()
        for k, turn in enumerate(file.turns):
            if not _TURN_ID.match(turn.id):
                self._note(f"legal is kebab-case such as 'mean-mass', got {shown(turn.id)}", "turns", k, "id")
            if turn.id in seen:
                self._note(f"duplicate turn id {turn.id!r}", "turns", k, "id")
            seen.add(turn.id)

    def _check_text(self, text: str, params: Mapping[str, Any], *path: str | int) -> None:
        if not text.strip():
            self._note("it is empty", *path)
        for name in _FIELD.findall(text):
            if name not in params:
                self._note(unknown("parameter", name, params), *path)

    def _check_turn(self, k: int, turn: TurnFile) -> None:
        own = Parameters(turn.params, turn.where, FUNCTIONS)
        well = self._check_params(own, self._params, "turns", k)
        params = self._sample(turn.parameters(self._params), "turns", k) if well else None
        if params is None:
            return
        self._check_text(turn.query, params, "turns", k, "query")
        (self._check_choice if turn.action or turn.choice else self._check_code_turn)(k, turn, params)

    def _check_choice(self, k: int, turn: TurnFile, params: Mapping[str, Any]) -> None:
        for key in ("result", "wrong", "compare", "probes", "truth", "metric", "clarify", "update"):
            if getattr(turn, key):
                self._note(f"a choice turn has no {key!r}", "turns", k, key)
        for key in ("action", "choice"):
            if not getattr(turn, key):
                self._note(f"a choice turn has 'action' and 'choice'; {key!r} is missing", "turns", k)
        if bool(turn.plot) != (turn.action == "plot_qa"):
            self._note("a plot_qa turn has 'plot', the code that draws the figure; others have none", "turns", k)
        if turn.plot_query:
            self._check_text(turn.plot_query, params, "turns", k, "plot_query")
        sets = set(self._check_code(turn.choice, params, "turns", k, "choice"))
        for name in {"right", "wrong", *(["answerable"] if turn.action == "fast_fail" else [])} - sets:
            self._note(f"the code sets no variable {name!r}", "turns", k, "choice")
        for key in ("code", "plot"):
            self._check_code(getattr(turn, key), params, "turns", k, key)

    def _check_code_turn(self, k: int, turn: TurnFile, params: Mapping[str, Any]) -> None:
        if not turn.result:
            self._note("a turn has either 'result' and 'code', or 'action' and 'choice'", "turns", k)
        for key in ("plot", "plot_query"):
            if getattr(turn, key):
                self._note(f"only a plot_qa turn has {key!r}", "turns", k, key)
        sets = self._check_code(turn.code, params, "turns", k, "code")
        for name, kind in turn.result.items():
            self._check_result(k, turn, name, kind)
            if turn.code and name not in sets:
                self._note(f"the code sets no variable {name!r}", "turns", k, "code")
        for key in ("compare", "probes", "truth", "metric"):
            for name in getattr(turn, key):
                if name not in turn.result:
                    self._note(unknown("result", name, turn.result), "turns", k, key, name, KEY)
        self._check_wrong(k, turn, params)
        self._check_twins(k, turn, params)

    def _check_result(self, k: int, turn: TurnFile, name: str, kind: str) -> None:
        if not name.isidentifier() or keyword.iskeyword(name) or name == "choice":
            self._note(f"a result is a Python name other than 'choice', got {name!r}", "turns", k, "result", name, KEY)
        if kind not in CODE_RESULTS:
            self._note(unknown("result type", kind, CODE_RESULTS), "turns", k, "result", name)
        needs = {"function": ("probes",), "model": ("probes", "truth", "metric")}.get(kind, ())
        for key in ("probes", "truth", "metric"):
            if key in needs and name not in getattr(turn, key):
                self._note(f"the {kind} {name!r} needs {key!r}", "turns", k, "result", name)
            if key not in needs and name in getattr(turn, key):
                self._note(f"a {kind} has no {key!r}", "turns", k, key, name)
        for option in turn.compare.get(name, ()):
            if option not in COMPARE:
                self._note(unknown("option", option, COMPARE), "turns", k, "compare", name, option, KEY)

    def _check_wrong(self, k: int, turn: TurnFile, params: Mapping[str, Any]) -> None:
        if len(turn.wrong) < WRONG:
            self._note(f"name at least {WRONG} wrong codes of different kinds, got {len(turn.wrong)}", "turns", k)
        for name, code in turn.wrong.items():
            if name in RESERVED:
                self._note(f"the wrong code {name!r} is made for you", "turns", k, "wrong", name, KEY)
            sets = self._check_code(code, params, "turns", k, "wrong", name)
            for result in sorted({*turn.result} - {*sets}) if code.strip() else ():
                self._note(f"the wrong code sets no variable {result!r}", "turns", k, "wrong", name)

    def _check_twins(self, k: int, turn: TurnFile, params: Mapping[str, Any]) -> None:
        if turn.update:
            self._check_text(turn.update.complaint, params, "turns", k, "update", "complaint")
            if turn.update.from_ not in turn.wrong:
                self._note(unknown("wrong code", turn.update.from_, turn.wrong), "turns", k, "update", "from")
        if turn.clarify:
            self._check_text(turn.clarify.query, params, "turns", k, "clarify", "query")
            if turn.clarify.query.strip() == turn.query.strip():
                self._note("the vague query is the turn's own query", "turns", k, "clarify", "query")
            if not turn.clarify.facts:
                self._note("name at least one fact that the user knows", "turns", k, "clarify", "facts")
            for j, fact in enumerate(turn.clarify.facts):
                self._check_text(fact.answer, params, "turns", k, "clarify", "facts", j, "answer")
                if not fact.about or any(not word.strip() for word in fact.about):
                    self._note("name words by which a question is about it", "turns", k, "clarify", "facts", j, "about")

    def _check_code(self, code: str, params: Mapping[str, Any], *path: str | int) -> frozenset[str]:
        """The names that the code sets; a mistake in it is noted at its own line."""
        if not code.strip():
            if path[-1] not in ("code", "plot") or self._file.turns[int(path[1])].result:
                self._note("the code is empty", *path)
            return frozenset()
        line, column = self._document.place(path)
        try:
            compile(fill(code, params), "code", "exec", ast.PyCF_ONLY_AST)
            sets = names(fill(code, params)).sets
        except (SyntaxError, ValueError) as error:
            at = (line + (getattr(error, "lineno", None) or 1), getattr(error, "offset", None) or column)
            self._document.problems.append(Problem(self._document.file, *at, f"the code is not Python: {error}"))
            return frozenset()
        for name in sorted(sets & params.keys()):
            self._note(f"the code's variable {name!r} is named like a parameter; rename one", *path)
        return sets
