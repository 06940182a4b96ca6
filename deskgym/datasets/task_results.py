"""Success rates of recorded episodes, by what their tasks are: the tables of Spider2-V's paper, for any suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean
from typing import Any

from deskgym.agents.base import LEFT_OUT, judge
from deskgym.envs.errors import TaskError
from deskgym.task_suites import find_entry
from deskgym.task_suites.table_analysis.metrics import wilson
from deskgym.wrappers.recording.recording import Recording

ACTION_COUNTS = ("<5", "5-15", ">15")
"""Spider2-V's groups, by the number of actions that an expert took."""

BUDGETS = {"up to 5": 5.0, "6 to 10": 10.0, "11 to 15": 15.0, "above 15": float("inf")}
"""ScienceBoard's difficulty, which is a task's step limit: easy, medium, hard and open (Table 2 of its paper)."""
_TEXTS = {"instruction", "feedback"}  # no observations of the screen


@dataclass(frozen=True)
class Played:
    """An episode that counts.

    Attributes:
        task: the id of what was played.
        suite: the suite's name, or ``""``.
        tags: the task's.
        instruction: ``"abstract"`` or ``"verbose"``: what the agent was told.
        actions: how many an expert took; None where nobody counted.
        difficulty: ``"easy"``, ``"medium"`` or ``"hard"``.
        budget: the task's step limit, in responses; None in recordings that do not tell it.
        solved: whether its score is 1.
        score: in [0, 1].
        steps: actions that were taken.
        observation: what the agent was shown, such as ``"a11y+screenshot"``.
    """

    task: str
    suite: str
    tags: tuple[str, ...]
    instruction: str
    actions: int | None
    difficulty: str
    budget: int | None
    solved: bool
    score: float
    steps: int
    observation: str


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes:
        label: what the line is about, such as ``"gui"``.
        episodes: how many count.
        solved: how many of them were solved.
        rate: their share; None where there is no episode, as in what follows.
        low: lower end of the rate's 95 % Wilson interval.
        high: its upper end.
        score: the mean score, which is more than the rate where parts of a task count.
        steps: the mean number of steps.
    """

    label: str
    episodes: int
    solved: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    steps: float | None = None


@dataclass(frozen=True)
class TaskResults:
    """The tables.

    Attributes:
        tables: title → rows.
        episodes: how many count.
        left_out: those that do not, by the reason.
    """

    tables: Mapping[str, tuple[Row, ...]]
    episodes: int
    left_out: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        tables = {title: [asdict(row) for row in rows] for title, rows in self.tables.items()}
        return {"episodes": self.episodes, "left_out": dict(self.left_out), "tables": tables}


def task_results(recordings: Sequence[Recording]) -> TaskResults:
    """The tables of recorded episodes. What broke without the agent's doing is left out, and counted."""
    played: list[Played] = []
    left_out: Counter[str] = Counter()
    for recording in recordings:
        found = played_of(recording)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            played.append(found)
    tables = {title: rows for title, rows in _tables(played) if any(row.episodes for row in rows)}
    return TaskResults(tables, len(played), dict(left_out))


def played_of(recording: Recording) -> Played | str:
    """The episode, or why it does not count."""
    outcome, score, _ = judge(recording.ending)
    if outcome in LEFT_OUT:
        return "with a broken machine" if outcome == "fault" else "that could not be judged"
    if score is None:
        return "not finished"
    task: Mapping[str, Any] = recording.meta.get("task", {})
    made: Mapping[str, Any] = recording.meta.get("env") or {}
    tags = tuple(map(str, task.get("tags", ())))
    count = task.get("params", {}).get("action_number")
    return Played(
        task=str(task.get("id", "")),
        suite=str(made.get("suite", "")),
        tags=tags,
        instruction=str(made.get("instruction") or ("verbose" if "verbose" in tags else "abstract")),
        actions=count if isinstance(count, int) else None,
        difficulty=str(task.get("difficulty", "")),
        budget=budget if isinstance(budget := task.get("max_steps"), int) else None,
        solved=outcome == "solved",
        score=score,
        steps=int(recording.steps[-1].get("step", 0)),
        observation="+".join(sorted({*(made.get("observation") or ("screenshot",))} - _TEXTS)) or "none",
    )


def _tables(played: Sequence[Played]) -> list[tuple[str, tuple[Row, ...]]]:
    """Title and rows of each table; rows are in the order of the paper where it has them."""
    tables: list[tuple[str, tuple[Row, ...]]] = [("", (row_of("all", played),))]
    families = dict.fromkeys(episode.task.partition("/")[0] for episode in played)
    tables.append(("by family", _rows(played, sorted(families), lambda it: it.task.partition("/")[0])))
    for title, tags in _tag_tables(played).items():
        tables.append((f"by {title}", tuple(row_of(tag, [it for it in played if tag in it.tags]) for tag in tags)))
        if len(tags) == 1:
            others = [it for it in played if tags[0] not in it.tags]
            tables[-1] = (tables[-1][0], (*tables[-1][1], row_of(f"no {tags[0]}", others)))
    tables.append(("by instruction", _rows(played, ("abstract", "verbose"), lambda it: it.instruction)))
    shown = sorted({it.observation for it in played})
    tables.append(("by observation", _rows(played, shown, lambda it: it.observation)))
    counted = [it for it in played if it.actions is not None]
    tables.append(("by an expert's actions", _rows(counted, ACTION_COUNTS, _action_count)))
    tables.append(("by difficulty", _rows(played, ("easy", "medium", "hard"), lambda it: it.difficulty)))
    budgeted = [it for it in played if it.budget is not None]
    tables.append(("by step budget", _rows(budgeted, tuple(BUDGETS), _budget)))
    return tables


def _tag_tables(played: Sequence[Played]) -> dict[str, tuple[str, ...]]:
    """What the suites of these episodes are counted by."""
    found: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(episode.suite for episode in played):
        try:
            found |= find_entry(name).result_tags
        except TaskError:
            continue  # a folder that is gone
    return found


def _action_count(episode: Played) -> str:
    count = episode.actions or 0
    return ACTION_COUNTS[0] if count < 5 else ACTION_COUNTS[1] if count <= 15 else ACTION_COUNTS[2]


def _budget(episode: Played) -> str:
    return next(label for label, most in BUDGETS.items() if (episode.budget or 0) <= most)


def _rows(played: Sequence[Played], labels: Sequence[str], label: Callable[[Played], str]) -> tuple[Row, ...]:
    return tuple(row_of(name, [episode for episode in played if label(episode) == name]) for name in labels)


def row_of(label: str, played: Sequence[Played]) -> Row:
    """The line of some episodes."""
    solved = sum(episode.solved for episode in played)
    if not played:
        return Row(label, 0, 0)
    low, high = wilson(solved, len(played))
    rate = solved / len(played)
    return Row(
        label, len(played), solved, rate, low, high,
        mean(episode.score for episode in played), mean(episode.steps for episode in played),
    )  # fmt: skip
