"""Judged turns of table analysis, read from a folder of recorded episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from deskgym.task_suites.table_analysis.embeddings import Embeddings
from deskgym.task_suites.table_analysis.metrics import check_outcome
from deskgym.task_suites.table_analysis.results import Results, make_results
from deskgym.task_suites.table_analysis.turns import Outcome
from deskgym.wrappers.recording.recording import Recording, RecordingError, find_recordings


def read_results(folder: str | Path, embeddings: Embeddings | None = None) -> Results:
    """The tables of the recorded episodes in a folder, or in the folders below it.

    Raises:
        RecordingError: there is no recorded episode of table analysis, or one is damaged.
    """
    results = analysis_results(find_recordings(folder), embeddings)
    if not results.episodes:
        reasons = ", ".join(f"{count} {reason}" for reason, count in results.left_out.items())
        raise RecordingError(
            f"no finished episode of table analysis in {folder} ({reasons}); "
            f"record some with 'deskgym run table_analysis --record {folder}'"
        )
    return results


def analysis_results(recordings: Sequence[Recording], embeddings: Embeddings | None = None) -> Results:
    """The tables of recorded episodes.

    Raises:
        RecordingError: one is damaged.
    """
    outcomes: list[Outcome] = []
    left_out: Counter[str] = Counter()
    episodes = 0
    for recording in recordings:
        found = recorded_outcomes(recording)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            outcomes += found
            episodes += 1
    return make_results(outcomes, embeddings, episodes=episodes, left_out=dict(left_out))


def is_analysis(recording: Recording) -> bool:
    """Whether an episode is of table analysis, as far as it was recorded."""
    return recording.is_conversation or "analysis" in recording.ending


def recorded_outcomes(recording: Recording) -> list[Outcome] | str:
    """The outcomes of an episode's turns; where it has none, why.

    Raises:
        RecordingError: what it has are no outcomes.
    """
    last = recording.steps[-1] if recording.steps else {}
    info = last.get("info")
    analysis = info.get("analysis") if isinstance(info, dict) else None
    if analysis is None:
        if isinstance(info, dict) and "fault" in info:
            return "with a broken machine"
        return "of other suites" if recording.complete else "not finished"
    try:
        outcomes = [Outcome.from_dict(turn) for turn in analysis["turns"]]
        for outcome in outcomes:
            check_outcome(outcome)
    except (KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise RecordingError(f"{recording.folder}: its 'analysis' cannot be read: {problem}") from error
    return outcomes
