"""What task files and dialogue files have in common, beyond what a signature can say: parameters and splits."""

from __future__ import annotations

import keyword
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import KEY, UNKNOWN, Call, CallMistakes, Convert, Mistake, bind, shown, unknown
from deskgym.task_suites.core.params import BUILTIN, DRAWS, Parameters, render
from deskgym.task_suites.core.schema_yaml import Document

SPLIT_DRAWS = 300
"""How many draws may pass before a split counts as empty."""
SPLIT_SECONDS = 5.0
"""Of this thread's processor, for all these draws."""


class HasSplits(Protocol):
    """The keys of a file that deal its instances to splits."""

    @property
    def splits(self) -> Mapping[str, float]: ...  # noqa: D102
    @property
    def split_by(self) -> Sequence[str] | None: ...  # noqa: D102
    @property
    def split_salt(self) -> int: ...  # noqa: D102


class FileChecker:
    """Notes what is wrong in a document. Keys that are missing or of a wrong type are reported already."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def _note(self, message: str, *path: str | int) -> None:
        self._document.add(Mistake(path, message))

    def _add(self, wrong: CallMistakes, *path: str | int) -> None:
        for mistake in wrong.mistakes:
            self._document.add(mistake, *path)

    def _check_params(self, parameters: Parameters, before: Collection[str] = (), *path: str | int) -> bool:
        """Whether parameters and constraints are well as far as can be said without drawing.

        Args:
            parameters: those of the file, or of a part of it.
            before: the names of parameters that there are already.
            path: of that part.
        """
        found = len(self._document.problems)
        functions = {**parameters.functions, **BUILTIN}
        constraints = {name: function for name, function in functions.items() if name not in DRAWS}
        known: dict[str, Any] = dict.fromkeys(before, UNKNOWN)
        for name, data in parameters.declared.items():
            if not name.isidentifier() or keyword.iskeyword(name) or name in before:
                new = "new " if before else ""
                self._note(f"a parameter's name is a {new}Python name, got {name!r}", *path, "params", name, KEY)
            self._check_call(data, functions, parameters.converters, known, *path, "params", name)
            known[name] = UNKNOWN
        for k, data in enumerate(parameters.where):
            self._check_call(data, constraints, parameters.converters, known, *path, "where", k)
        return len(self._document.problems) == found

    def _check_call(
        self,
        data: Any,
        functions: Mapping[str, Callable[..., Any]],
        converters: Mapping[Any, Convert],
        known: Mapping[str, Any],
        *path: str | int,
    ) -> None:
        try:
            call = Call.parse(data, functions, "draw or function" if "choice" in functions else "function")
        except CallMistakes as wrong:
            return self._add(wrong, *path)
        try:
            arguments = render(call.arguments, known)
            bind(functions[call.name], arguments, leading=int(call.name in BUILTIN), converters=converters)
        except CallMistakes as wrong:
            self._add(wrong, *path, call.name)

    def _draw(self, parameters: Parameters, key: str, *path: str | int) -> dict[str, Any] | None:
        """One draw, to try texts and arguments with; None where there is none."""
        try:
            return parameters.draw(key)
        except CallMistakes as wrong:
            self._add(wrong, *path)
        except TaskError as error:
            self._note(str(error), *path, "where")
        return None

    def _check_splits(self, file: HasSplits, drawn: Sequence[str]) -> bool:
        """Whether the shares are legal, and what they are dealt by is drawn."""
        before = len(self._document.problems)
        shares = file.splits
        if not shares or any(share <= 0 for share in shares.values()):
            self._note(f"legal are shares above 0, such as {{train: 0.8, test: 0.2}}, got {shown(shares)}", "splits")
        elif not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-9):
            self._note(f"the shares add up to {sum(shares.values()):g}, not to 1", "splits")
        for k, name in enumerate(file.split_by or ()):
            if name not in drawn:
                self._note(unknown("drawn parameter", name, drawn), "split_by", k)
        if file.split_by == []:
            self._note("split_by is empty; leave it out to split by all drawn parameters", "split_by")
        return len(self._document.problems) == before

    def _check_split_sizes(self, file: HasSplits, split: Callable[[int], str]) -> None:
        """Every split has instances (``split`` gives that of a seed): few values may leave one empty."""
        missing = set(file.splits)
        end = time.thread_time() + SPLIT_SECONDS
        try:
            for seed in range(SPLIT_DRAWS):
                if time.thread_time() > end:
                    raise TaskError(f"{seed} draws take more than {SPLIT_SECONDS:g} s: 'where' hardly ever holds")
                missing.discard(split(seed))
                if not missing:
                    return
        except TaskError as error:
            return self._note(str(error), "params")
        self._note(
            f"no instance of {SPLIT_DRAWS} is in the split {sorted(missing)[0]!r}: give it a larger share, more values "
            f"to draw, choose another split_salt than {file.split_salt}, or write splits: {{train: 1}}",
            "splits" if "splits" in self._document.data else "params",
        )
