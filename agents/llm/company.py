"""Decision Company: three roles of a model write dialogues about tables, as Tapilot-Crossing's were made.

An administrator thinks of people and their goals, and turns down what is unclear; a user asks, one question after the
other; a data scientist writes the code, and code with plausible mistakes. All code runs in a sandbox: what fails, gives
other types than were asked for, or is wrong and yet the same, goes back to its author. The result is a file in the form
of ``task_suites/table_analysis/dialogues``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import yaml

from deskgym.agents.llm.prompts import prompt
from deskgym.envs.errors import DeskgymError
from deskgym.wrappers.action.responses import fenced_blocks
from deskgym.wrappers.observation.messages import message

if TYPE_CHECKING:
    from deskgym.agents.llm.model import Model

TYPES: Mapping[str, tuple[str, ...]] = {
    "dataframe": ("DataFrame",), "series": ("Series",), "list": ("list",), "dict": ("dict",), "tuple": ("tuple",),
    "value": ("int", "float", "str", "bool", "int64", "float64", "int32", "float32", "bool_", "Timestamp"),
}  # fmt: skip
"""What can be asked for, and the types of Python that it may have."""

SEEDS = (1, 2)
"""Tables of which each code is tried."""
_SLUG = re.compile(r"[^a-z0-9]+")
_MARK = "@@results "
_PROBE = """\
import hashlib as _h, json as _j
def _look(v):
    text = v.round(9).to_csv() if type(v).__name__ in ("DataFrame", "Series") else repr(v)
    return [type(v).__name__, _h.sha256(text.encode("utf-8", "replace")).hexdigest()]
print({mark!r} + _j.dumps({{n: _look(globals()[n]) for n in {names!r} if n in globals()}}))"""


class CompanyError(DeskgymError):
    """A role could not be made to say something that can be used."""


class Persona(NamedTuple):
    """Somebody who asks about tables."""

    name: str
    persona: str
    goal: str
    title: str


@dataclass(frozen=True)
class Asked:
    """A question with its answer.

    Attributes:
        id: kebab-case.
        query: the user's words.
        result: variable → type.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        code: that answers it.
        wrong: code with a mistake, by what is wrong.
    """

    id: str
    query: str
    result: Mapping[str, str]
    difficulty: str
    code: str = ""
    wrong: Mapping[str, str] | None = None

    def told(self) -> str:
        """As it stands in the dialogue."""
        return f"User: {self.query}\n```python\n{self.code}\n```"


class Bench:
    """Runs code over a domain's tables, in a sandbox, each time in a fresh session.

    Args:
        domain: such as ``"wines"``.
        machine: the kind of machine.
    """

    def __init__(self, domain: str, machine: str = "sandbox") -> None:
        self._env = gymnasium.make(
            "deskgym/TableAnalysis-v0", task=f"{domain}/*/normal/*", machine=machine, disable_env_checker=True,
            max_steps=1000, pool={"depth": 1},
        )  # fmt: skip
        inner: Any = self._env.unwrapped
        suite = inner.episodes.suite
        firsts = (suite.dialogue_turns(each, 0)[0] for each in suite.dialogue_ids() if each.startswith(f"{domain}/"))
        # a first question has no history, so that just the tables are there
        self._task = next(turn.id.partition("#")[0] for turn in firsts if turn.choice is None)
        self.tables = self._reset(SEEDS[0])["tables"]

    def digests(self, codes: Sequence[str], names: Sequence[str], seed: int) -> dict[str, list[str]]:
        """Type and digest of each variable after codes that run one after the other.

        Raises:
            CompanyError: code failed, or does not set a variable; the message is for its author.
        """
        self._reset(seed)
        for code in (*codes, _PROBE.format(mark=_MARK, names=list(names))):
            observation, _, terminated, truncated, info = self._env.step(code)
            if terminated or truncated:
                raise CompanyError(f"the session ended: {info.get('fault') or 'a word such as DONE is no code'}")
            said = str(observation["feedback"])
            if "Traceback (most recent call last)" in said or "Error" in said.rpartition("\n")[2]:
                raise CompanyError(f"it failed: {said[-600:]}")
        found: dict[str, list[str]] = json.loads(said[said.index(_MARK) + len(_MARK) :].splitlines()[0])
        if missing := [name for name in names if name not in found]:
            raise CompanyError(f"it does not set {', '.join(missing)}")
        return found

    def close(self) -> None:
        """Stop the machine."""
        self._env.close()

    def _reset(self, seed: int) -> Any:
        return self._env.reset(seed=seed, options={"task": f"{self._task}#{seed}"})[0]


class DecisionCompany:
    """Makes dialogues about a domain's tables.

    Args:
        model: plays all three roles.
        bench: where code runs; it stays the caller's.
        domain: the bench's.
        turns: questions of a dialogue.
        tries: how often each role may mend what it said.
        note: called with a line about what is going on.
    """

    def __init__(
        self,
        model: Model,
        bench: Bench,
        domain: str,
        turns: int = 4,
        tries: int = 3,
        note: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.model, self.bench, self.domain, self.note = model, bench, domain, note
        self.turns, self.tries = turns, tries

    def personas(self, count: int) -> list[Persona]:
        """People who ask. Raises CompanyError where the administrator names none."""
        system = prompt("company_administrator", tables=self.bench.tables, ask="personas", count=count)
        for problem in self._attempts():
            said = self._ask("administrator", system, problem or "Begin.")
            try:
                found = [Persona(**{name: str(each[name]) for name in Persona._fields}) for each in _json(said, list)]
                if found and len({_slug(each.name) for each in found}) == len(found):
                    return found[:count]
                self._problem = "each person needs a name of their own"
            except (ValueError, KeyError, TypeError) as error:
                self._problem = f"it is no such list: {error}"
        raise CompanyError(f"the administrator named nobody, {self.tries} times: {self._problem}")

    def dialogue(self, persona: Persona) -> str:
        """A dialogue file, as YAML. Raises CompanyError where a role cannot be made to say what can be used."""
        done: list[Asked] = []
        while len(done) < self.turns:
            done.append(self._turn(persona, done))
            self.note(f"{persona.name}: {done[-1].id}")
        data = {
            "id": f"{self.domain}/{_slug(persona.name)}", "title": persona.title, "persona": persona.persona,
            "goal": persona.goal, "difficulty": "medium",
            "turns": [
                {"id": each.id, "difficulty": each.difficulty, "query": each.query, "result": dict(each.result),
                 "code": each.code + "\n", "wrong": {name: code + "\n" for name, code in (each.wrong or {}).items()}}
                for each in done
            ],
        }  # fmt: skip
        return yaml.dump(_literal(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=116)

    def _turn(self, persona: Persona, done: Sequence[Asked]) -> Asked:
        """A question that was answered, and accepted."""
        last = ""
        for problem in self._attempts():
            try:
                question = self._question(persona, done, problem)
                code = self._code(question, done)
                solved = Asked(question.id, question.query, question.result, question.difficulty, code)
                if why := self._turned_down(solved):
                    raise CompanyError(why)
                wrong = self._wrong(solved, done)
                return Asked(question.id, question.query, question.result, question.difficulty, code, wrong)
            except CompanyError as error:
                last = self._problem = str(error)
                self.note(f"{persona.name}: turned down: {last[:160]}")
        raise CompanyError(f"{persona.name}: no question could be used, {self.tries} times: {last}")

    def _question(self, persona: Persona, done: Sequence[Asked], problem: str) -> Asked:
        system = prompt(
            "company_user", persona=persona.persona, goal=persona.goal, tables=self.bench.tables,
            dialogue=_so_far(done), types=", ".join(TYPES), problem=problem,
        )  # fmt: skip
        said = self._ask("user", system, "Ask your question.")
        try:
            found = _json(said, dict)
            result = {str(name): str(kind) for name, kind in dict(found["result"]).items()}
            query, name = str(found["query"]).strip(), _slug(str(found["id"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CompanyError(f"it is no such JSON: {error}") from None
        level = str(found.get("difficulty", "medium"))
        if not result or any(kind not in TYPES or not key.isidentifier() for key, kind in result.items()):
            raise CompanyError(f"result={result!r}; legal are variables with the types {', '.join(TYPES)}")
        if not name or name in {each.id for each in done}:
            raise CompanyError(f"id={name!r} is empty, or was used before")
        if missing := [key for key in result if f"`{key}`" not in query]:
            raise CompanyError(f"the question does not name `{missing[0]}`, in backquotes")
        return Asked(name, query, result, level if level in ("easy", "medium", "hard") else "medium")

    def _code(self, question: Asked, done: Sequence[Asked]) -> str:
        """Code that sets what was asked for, on all tables that are tried."""
        last = ""
        for problem in self._attempts():
            system = prompt(
                "company_scientist", tables=self.bench.tables, dialogue=_so_far(done), ask="code", problem=problem
            )
            blocks = fenced_blocks(self._ask("scientist", system, f"{question.query}\nResults: {question.result}"))
            try:
                if not blocks:
                    raise CompanyError("there is no block of code")
                self._check([each.code for each in done], blocks[0], question.result)
                return blocks[0]
            except CompanyError as error:
                last = self._problem = str(error)
        raise CompanyError(f"the data scientist could not answer it: {last}")

    def _check(self, before: Sequence[str], code: str, result: Mapping[str, str]) -> None:
        """See that code gives what was asked for, and not the same whatever the tables.

        Raises:
            CompanyError: it does not.
        """
        seen = [self.bench.digests([*before, code], [*result], seed) for seed in SEEDS]
        for name, (kind, _) in (item for found in seen for item in found.items()):
            if kind not in TYPES[result[name]]:
                raise CompanyError(f"`{name}` is a {kind}, and a {result[name]} was asked for")
        if all(found == seen[0] for found in seen[1:]):
            raise CompanyError("its results are the same for other tables: who guesses them needs no analysis")
        if not calls_library(before, code):
            raise CompanyError("it does nothing with pandas that a private library could do instead")

    def _turned_down(self, solved: Asked) -> str:
        """Why the administrator does not accept a question with its code; "" where he does."""
        system = prompt("company_administrator", tables=self.bench.tables, ask="review")
        try:
            found = _json(self._ask("administrator", system, solved.told()), dict)
        except ValueError:
            return ""  # who says nothing does not object
        return "" if found.get("accept", True) else f"the administrator: {found.get('why') or 'unclear'}"

    def _wrong(self, solved: Asked, done: Sequence[Asked]) -> dict[str, str]:
        """Code with a mistake that shows, by what is wrong; at least two."""
        before = [each.code for each in done]
        right = [self.bench.digests([*before, solved.code], [*solved.result], seed) for seed in SEEDS]
        kept: dict[str, str] = {}
        last = ""
        for problem in self._attempts():
            system = prompt(
                "company_scientist", tables=self.bench.tables, dialogue=_so_far(done), ask="wrong", problem=problem
            )
            try:
                offered = _json(self._ask("scientist", system, solved.told()), dict)
            except ValueError as error:
                last = self._problem = f"it is no such JSON: {error}"
                continue
            for what, code in offered.items():
                try:
                    got = [self.bench.digests([*before, str(code)], [*solved.result], seed) for seed in SEEDS]
                except CompanyError as error:
                    last = f"{what}: {error}"
                    continue
                if all(a != b for a, b in zip(got, right, strict=True)):
                    kept[str(what)[:60]] = str(code).strip("\n")
                else:
                    last = f"{what}: its results are the same as the right ones"
            if len(kept) >= 2:
                return kept
            self._problem = f"two wrong versions are needed, {len(kept)} can be used; {last}"
        raise CompanyError(f"there are no two ways to get it wrong: {last}")

    def _attempts(self) -> Iterator[str]:
        """As often as may be tried, with what was wrong the last time."""
        self._problem = ""
        for _ in range(self.tries):
            yield self._problem

    def _ask(self, role: str, system: str, text: str) -> str:
        return self.model.ask([message("system", [system]), message("user", [text])], user=f"company:{role}").text


def calls_library(before: Sequence[str], code: str) -> bool:
    """Whether code can be asked for in private modes too: translated, it calls functions of the library."""
    from deskgym.task_suites.table_analysis.private import make_library

    return make_library(0, [*before, code]).translate(code) != code


def _so_far(done: Sequence[Asked]) -> str:
    return "\n\n".join(each.told() for each in done)


def _slug(text: str) -> str:
    return _SLUG.sub("-", text.lower()).strip("-")[:40]


def _json(said: str, kind: type[Any]) -> Any:
    """The JSON in an answer, whatever stands around it. Raises ValueError where it is none of that kind."""
    first, last = ("[", "]") if kind is list else ("{", "}")
    start, end = said.find(first), said.rfind(last)
    if not 0 <= start < end:
        raise ValueError(f"there is no {first} ... {last}")
    try:
        found = json.loads(said[start : end + 1])
    except RecursionError:
        raise ValueError("it is too deep") from None
    if not isinstance(found, kind):
        raise ValueError(f"it is a {type(found).__name__}")
    return found


class _Block(str):
    """A text of several lines, which YAML has as a block."""


class _Dumper(yaml.SafeDumper):
    """Writes code as blocks."""


_Dumper.add_representer(_Block, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|"))


def _literal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _literal(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_literal(part) for part in value]
    return _Block(value) if isinstance(value, str) and "\n" in value else value
