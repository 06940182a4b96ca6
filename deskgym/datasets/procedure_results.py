"""Answers about procedures, read from recorded episodes: WONDERBREAD's metrics by kind of task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from deskgym.task_suites.bpm.metrics import Confusion
from deskgym.wrappers.recording.recording import Recording, RecordingError

SAID = ("right", "said")
"""Metrics of a single answer to a yes-or-no question; many of them make a confusion matrix."""


@dataclass(frozen=True)
class KindRow:
    """The answers of one kind.

    Attributes:
        kind: such as ``"ranking"``.
        episodes: how many there are.
        score: mean reward.
        unreadable: how many gave no answer that could be read; they count with 0 in the score, and in no metric.
        metrics: by name; of validation those of all answers together, else means.
    """

    kind: str
    episodes: int
    score: float
    unreadable: int
    metrics: Mapping[str, float]


def procedure_results(recordings: Sequence[Recording]) -> list[KindRow]:
    """A row for each kind of task about procedures that was recorded to its end, by name.

    Raises:
        RecordingError: a recording is damaged.
    """
    found: dict[str, list[tuple[float, Mapping[str, float]]]] = {}
    for recording in recordings:
        grade = recording.ending.get("grade")
        if grade is None:
            continue
        try:
            score, metrics = float(recording.ending["verdict"]["score"]), grade["metrics"]
            numbers = {str(name): float(value) for name, value in metrics.items()}
            found.setdefault(str(grade["kind"]), []).append((score, numbers))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RecordingError(f"{recording.folder}: its 'grade' cannot be read: {error!r}") from error
    return [_row(kind, answers) for kind, answers in sorted(found.items())]


def _row(kind: str, answers: Sequence[tuple[float, Mapping[str, float]]]) -> KindRow:
    read = [metrics for _, metrics in answers if metrics]
    score = fmean(score for score, _ in answers)
    return KindRow(kind, len(answers), score, len(answers) - len(read), _metrics(read))


def _metrics(read: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    if read and set(SAID) <= set(read[0]):
        right, said = ([bool(metrics[name]) for metrics in read] for name in SAID)
        found: Any = Confusion.of(right, said)
        return {name: getattr(found, name) for name in ("precision", "recall", "f1", "balanced_accuracy", "mcc")}
    names = dict.fromkeys(name for metrics in read for name in metrics)
    return {name: fmean(metrics[name] for metrics in read if name in metrics) for name in names}
