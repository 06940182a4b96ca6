"""What runs of agents came to: solved at one or several tries, tokens and money; and two runs compared in pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from statistics import mean
from typing import Any

from deskgym.agents.base import LEFT_OUT, judge
from deskgym.agents.llm.exchanges import read_exchanges, read_player, spent
from deskgym.agents.llm.settings import ModelSettings
from deskgym.agents.llm.spending import Usage
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.wrappers.recording.recording import Recording

KS = (1, 2, 4, 8, 16)
"""Of pass@k and pass^k: those up to the number of episodes of each task are shown."""
_ANSWERS = ("temperature", "top_p", "max_tokens", "context", "image_detail", "image_format")
"""Settings of a model that change what it answers: models that differ in them are rows of their own."""


@dataclass(frozen=True)
class RunRow:
    """What one agent came to.

    Attributes:
        agent: its name and options with its model's name, and those of its settings that change answers.
        episodes: that count.
        left_out: that broke without its doing, or were not played to their end.
        solved: of those that count.
        rate: their share; None where none counts, as in what follows.
        low: lower end of the rate's 95 % Wilson interval.
        high: its upper end.
        score: the mean score.
        tries: episodes of each task that was played least often.
        pass_at: k → the chance that one of k tries at a task solves it (Chen et al., 2021), the mean of all tasks.
        pass_all: k → the chance that all of k tries do (Yao et al., 2024).
        prompt_tokens: of all requests, of left out episodes too.
        answer_tokens: the same.
        seconds: that the model took, all requests together.
        cost: dollars; None where no price was given.
        cost_per_solved: the same for each solved episode.
    """

    agent: str
    episodes: int
    left_out: int
    solved: int
    rate: float | None
    low: float | None
    high: float | None
    score: float | None
    tries: int
    pass_at: Mapping[int, float]
    pass_all: Mapping[int, float]
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    cost: float | None
    cost_per_solved: float | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """Two runs over the same instances.

    Attributes:
        pairs: instances that count in both.
        both: solved in both.
        first: solved in the first run only.
        second: solved in the second run only.
        neither: solved in none.
        p: of McNemar's exact test that neither is better; 1 where they never differ.
    """

    pairs: int
    both: int
    first: int
    second: int
    neither: int
    p: float

    def __str__(self) -> str:
        return (
            f"{self.pairs} instances in both runs: {self.both} solved in both, {self.first} in this one only, "
            f"{self.second} in the other only, {self.neither} in none; p = {self.p:.3g} (McNemar's exact test)"
        )


def run_rows(recordings: Iterable[Recording]) -> list[RunRow]:
    """A row for each agent that asked a model, by name."""
    of_agent: dict[str, list[Recording]] = defaultdict(list)
    for recording in recordings:
        if name := agent_of(recording):
            of_agent[name].append(recording)
    return [_row(name, of_agent[name]) for name in sorted(of_agent)]


def agent_of(recording: Recording) -> str:
    """Who played, with the model; "" for one that asked none."""
    player = read_player(recording.folder)
    if not player:
        return ""
    options = ", ".join(f"{name}={value}" for name, value in dict(player.get("options") or {}).items())
    asked = dict(player.get("model") or {})
    model = ", ".join([str(asked.get("name", "")), *_unusual(asked)])
    return f"{player.get('agent', '')}{f' ({options})' if options else ''} with {model}"


def _unusual(asked: Mapping[str, Any]) -> list[str]:
    """What makes a model's answers others, where it is not as it is without being said."""
    usual = ModelSettings("any").to_dict()
    return [f"{name}={asked[name]}" for name in _ANSWERS if name in asked and asked[name] != usual[name]]


def _row(name: str, recordings: Sequence[Recording]) -> RunRow:
    outcomes = [judge(recording.ending) for recording in recordings]
    counted = [(each, score) for each, (outcome, score, _) in zip(recordings, outcomes, strict=True)
               if outcome not in LEFT_OUT and score is not None]  # fmt: skip
    solved = sum(score == 1 for _, score in counted)
    of_task: dict[str, list[bool]] = defaultdict(list)
    for recording, score in counted:
        of_task[str(recording.meta["task"]["id"])].append(score == 1)
    tries = min(map(len, of_task.values()), default=0)
    ks = [k for k in KS if k <= tries]
    usage, seconds, cost = Usage(), 0.0, None
    for recording in recordings:
        used, took, paid = spent_in(recording)
        usage, seconds = usage.plus(used), seconds + took
        cost = cost if paid is None else (cost or 0.0) + paid
    low, high = wilson(solved, len(counted)) if counted else (None, None)
    return RunRow(
        agent=name,
        episodes=len(counted),
        left_out=len(recordings) - len(counted),
        solved=solved,
        rate=solved / len(counted) if counted else None,
        low=low,
        high=high,
        score=mean(score for _, score in counted) if counted else None,
        tries=tries,
        pass_at={k: mean(pass_at(len(each), sum(each), k) for each in of_task.values()) for k in ks},
        pass_all={k: mean(pass_all(len(each), sum(each), k) for each in of_task.values()) for k in ks},
        prompt_tokens=usage.prompt,
        answer_tokens=usage.answer,
        seconds=seconds,
        cost=cost,
        cost_per_solved=cost / solved if cost is not None and solved else None,
    )


def pass_at(tries: int, solved: int, k: int) -> float:
    """The chance that at least one of ``k`` of the tries, drawn without putting back, is a solved one.

    Examples:
        >>> pass_at(4, 1, 2)
        0.5
    """
    return 1 - comb(tries - solved, k) / comb(tries, k)


def pass_all(tries: int, solved: int, k: int) -> float:
    """The chance that all of ``k`` of the tries, drawn without putting back, are solved ones.

    Examples:
        >>> pass_all(4, 2, 2)
        0.16666666666666666
    """
    return comb(solved, k) / comb(tries, k)


def compare(first: Iterable[Recording], second: Iterable[Recording]) -> Comparison:
    """Two runs over the same instances, as pairs; what counts in one of them only is left out.

    Of an instance that was played several times in a run, the first episode is taken.
    """
    one, other = _solved(first), _solved(second)
    pairs = [(one[key], other[key]) for key in one if key in other]
    counts = {(a, b): pairs.count((a, b)) for a in (True, False) for b in (True, False)}
    return Comparison(
        pairs=len(pairs),
        both=counts[True, True],
        first=counts[True, False],
        second=counts[False, True],
        neither=counts[False, False],
        p=mcnemar(counts[True, False], counts[False, True]),
    )


def mcnemar(first: int, second: int) -> float:
    """The two-sided exact p of McNemar's test: so many pairs in which just the first, or just the second, succeeds.

    Examples:
        >>> mcnemar(0, 5)
        0.0625
    """
    count, less = first + second, min(first, second)
    tail: float = sum(comb(count, k) for k in range(less + 1)) / 2**count
    return min(1.0, 2 * tail)


def _solved(recordings: Iterable[Recording]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for recording in recordings:
        outcome, score, _ = judge(recording.ending)
        if outcome not in LEFT_OUT and score is not None:
            found.setdefault(str(recording.meta["task"]["id"]), score == 1)
    return found


def spent_in(recording: Recording) -> tuple[Usage, float, float | None]:
    """Tokens, seconds and dollars of the requests of an episode; what a service did not count is 0."""
    usage, seconds, cost = Usage(), 0.0, None
    for line in read_exchanges(recording.folder):
        tokens, took, paid = spent(line)
        usage, seconds = usage.plus(tokens), seconds + took
        if paid is not None:
            cost = (cost or 0.0) + paid
    return usage, seconds, cost
