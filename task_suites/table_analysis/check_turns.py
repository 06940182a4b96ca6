"""Checks of a dialogue's turns: their references and wrong codes run on the host, and results are compared."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis import check_results, host_run
from deskgym.task_suites.table_analysis.choices import OPTIONS, read_answers
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.sampling import (
    SampledDialogue,
    answers_of,
    places,
    right_of,
    sample_dialogue,
    sample_turn,
)
from deskgym.task_suites.table_analysis.wrong_codes import WrongCodes

BALANCE = 40
"""How many seeds the balance of fast_fail and the options of choices are counted over."""
ANSWERABLE = (12, 28)
"""How many of those may be answerable: outside of this lies a fair coin once in a hundred times."""


@dataclass
class Report:
    """What a check found.

    Attributes:
        problems: a line each, without repetitions.
        times: milliseconds of processor time of the reference, by turn, one per seed.
        draws: milliseconds of processor time of drawing one task of the turn, by turn, one per seed.
    """

    problems: list[str] = field(default_factory=list)
    times: dict[str, list[float]] = field(default_factory=dict)
    draws: dict[str, list[float]] = field(default_factory=dict)

    def note(self, message: str) -> None:
        """A problem."""
        if message not in self.problems:
            self.problems.append(message)


def check_file(file: DialogueFile, domain: Domain, seeds: int, report: Report) -> None:
    """Check a dialogue with the seeds 0 to ``seeds`` - 1."""
    golds: dict[int, list[Any]] = {}
    for seed in range(seeds):
        try:
            _Line(file, domain, seed, report, golds).run()
            sample_dialogue(file, domain, seed)
        except TaskError as error:
            report.note(str(error))
    for k, turn in enumerate(file.turns):
        if turn.action:
            _check_options(file, domain, k, report)
        elif seeds > 1 and len(golds.get(k, [])) == 1:
            report.note(f"{file.id} {turn.id}: all of {seeds} seeds have the same result")
    for task_id, place in places(file).items():
        for seed in range(seeds):
            answers_of.cache_clear()
            right_of.cache_clear()  # it is measured as if it was drawn for the first time
            started = time.process_time()
            try:
                sample_turn(file, domain, task_id, place, seed)
            except TaskError as error:
                report.note(str(error))
            spent = (time.process_time() - started) * 1000
            report.draws.setdefault(f"{file.id} {file.turns[place.turn].id}", []).append(spent)


class _Line:
    """One seed of a dialogue, turn after turn in one namespace, with every wrong code in a copy of it."""

    def __init__(
        self, file: DialogueFile, domain: Domain, seed: int, report: Report, golds: dict[int, list[Any]]
    ) -> None:
        self._sampled, self._report, self._golds = SampledDialogue(file, domain, seed), report, golds
        self._namespace = host_run.start(domain, self._sampled.variant)

    def run(self) -> None:
        for k, turn in enumerate(self._sampled.file.turns):
            (self._choice if turn.action else self._code)(k)

    def _note(self, k: int, message: str) -> None:
        self._report.note(
            f"{self._sampled.file.id} {self._sampled.file.turns[k].id} seed {self._sampled.seed}: {message}"
        )

    def _code(self, k: int) -> None:
        sampled, turn = self._sampled, self._sampled.file.turns[k]
        before = host_run.fork(self._namespace)
        code = sampled.fill(k, turn.code)
        started = time.process_time()
        host_run.run_in(self._namespace, code, sampled.name(k))
        spent = (time.process_time() - started) * 1000
        self._report.times.setdefault(f"{sampled.file.id} {turn.id}", []).append(spent)
        missing = [name for name in turn.result if name not in self._namespace]
        for name, kind in turn.result.items():
            if name in missing:
                self._note(k, f"the reference leaves no {name!r}")
            elif check_results.mistyped(self._namespace[name], kind):
                got = type(self._namespace[name]).__name__
                self._note(k, f"{name!r} is declared a {kind}, and is a {got}")
            if kind == "function" and not re.search(r"\brng\b", turn.probes[name]):
                self._note(k, f"the arguments of {name!r} are always the same; draw more with 'rng' in its probes")
        if not missing:
            self._compare(k, before)

    def _compare(self, k: int, before: dict[str, Any]) -> None:
        sampled, turn = self._sampled, self._sampled.file.turns[k]
        given = check_results.expressions(sampled, k, self._namespace)
        gold = check_results.taken(sampled, k, self._namespace, given)
        seen = self._golds.setdefault(k, [])
        told = not {"plot", "function", "model"} & {*turn.result.values()}
        if (
            told
            and len(seen) < 2
            and not any(_all_right(check_results.right(sampled, k, one, gold, given)) for one in seen)
        ):
            seen.append(gold)
        code = sampled.fill(k, turn.code)
        self._must_be_right(k, before, [code], gold, given, "the reference, run again,")
        for name, text in WrongCodes({n: sampled.fill(k, c) for n, c in turn.wrong.items()}, sampled, k).items():
            namespace = self._attempt(k, before, [text], f"the wrong code {name!r}")
            if namespace is None:
                continue
            got = check_results.taken(sampled, k, namespace, given)
            for variable, difference in check_results.right(sampled, k, gold, got, given).items():
                if difference is None:
                    self._note(k, f"the wrong code {name!r} gives the right {variable!r}")
                elif variable not in namespace and name in turn.wrong:
                    self._note(k, f"the wrong code {name!r} leaves no {variable!r}")
        self._check_history(k, before, gold, given)
        if turn.update:
            wrong = sampled.fill(k, turn.wrong[turn.update.from_])
            self._must_be_right(k, before, [wrong, code], gold, given, "the reference, run after update.from,")

    def _check_history(self, k: int, before: dict[str, Any], gold: Any, given: dict[str, Any]) -> None:
        """No result is there before the turn: a new name for it would earn a reward, or a part of one."""
        kinds = self._sampled.file.turns[k].result
        for name, value in before.items():
            if isinstance(value, ModuleType) or name == "__builtins__":
                continue
            got = check_results.taken(self._sampled, k, dict.fromkeys(kinds, value), given)
            for variable, difference in check_results.right(self._sampled, k, gold, got, given).items():
                if difference is None and kinds[variable] != "plot":
                    self._note(k, f"{name!r} of the history is the right {variable!r} already")

    def _must_be_right(
        self, k: int, before: dict[str, Any], codes: list[str], gold: Any, given: dict[str, Any], what: str
    ) -> None:
        namespace = self._attempt(k, before, codes, what)
        if namespace is None:
            return
        got = check_results.taken(self._sampled, k, namespace, given)
        for variable, difference in check_results.right(self._sampled, k, gold, got, given).items():
            if difference is not None:
                self._note(k, f"{what} gives another {variable!r}: {difference}")

    def _attempt(self, k: int, before: dict[str, Any], codes: list[str], what: str) -> dict[str, Any] | None:
        namespace = host_run.fork(before)
        for name in self._sampled.file.turns[k].result:
            namespace.pop(name, None)
        try:
            for code in codes:
                host_run.run_in(namespace, code, what)
        except TaskError as error:
            self._note(k, f"{error}")
            return None
        return namespace

    def _choice(self, k: int) -> None:
        sampled, turn = self._sampled, self._sampled.file.turns[k]
        for code in (turn.plot, turn.code):
            host_run.run_in(self._namespace, sampled.fill(k, code), sampled.name(k))
        namespace = host_run.fork(self._namespace)
        started = time.process_time()
        host_run.run_in(namespace, sampled.fill(k, turn.choice), sampled.name(k))
        spent = (time.process_time() - started) * 1000
        self._report.times.setdefault(f"{sampled.file.id} {turn.id}", []).append(spent)
        answers = read_answers(namespace, turn.action or "", sampled.name(k))
        if answers != sampled.answers(k) or (answers.right, answers.tied) != (
            sampled.right(k).right,
            sampled.right(k).tied,
        ):
            self._note(
                k, "the options differ where statements are left out that it does not seem to need; write it plainer"
            )


def _all_right(differences: dict[str, str | None]) -> bool:
    return all(difference is None for difference in differences.values())


def _check_options(file: DialogueFile, domain: Domain, k: int, report: Report) -> None:
    """A choice has options in most draws, and a fast_fail turn is answerable in half of them."""
    turn = file.turns[k]
    task_id, place = next((task_id, place) for task_id, place in places(file).items() if place.turn == k)
    enough, answerable, rights = 0, 0, Counter[str]()
    for seed in range(BALANCE):
        try:
            sampled = SampledDialogue(file, domain, seed)
            drawn = sampled.turn(task_id, place)
        except TaskError as error:
            report.note(str(error))
            return
        answerable += sampled.answers(k).answerable is True
        if drawn and drawn.choice:
            enough += 1
            rights[drawn.choice.options[drawn.choice.right]] += 1
    what = f"{file.id} {turn.id}"
    if enough < BALANCE // 2:
        report.note(f"{what}: only {enough} of {BALANCE} seeds have {OPTIONS} options that differ")
    if turn.action == "fast_fail" and not ANSWERABLE[0] <= answerable <= ANSWERABLE[1]:
        low, high = ANSWERABLE
        report.note(f"{what}: answerable for {answerable} of {BALANCE} seeds; legal are {low} to {high}")
    common, count = max(rights.items(), key=lambda item: item[1], default=("", 0))
    if turn.action != "fast_fail" and count > enough * 0.8:
        share = "all" if count == enough else f"{count} of {enough}"
        report.note(f"{what}: {common!r} is right for {share} seeds; make it depend on the parameters")
