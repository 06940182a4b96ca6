"""``deskgym verify --rescore``: score recorded episodes again, without a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deskgym.agents.base import judge
from deskgym.cli.output import note, print_json, print_table
from deskgym.envs.errors import DeskgymError
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.wrappers.recording.recorded_state import NOT_AGAIN, recorded_tasks, rescore
from deskgym.wrappers.recording.recording import Recording, RecordingError, find_recordings


@dataclass(frozen=True)
class Rescored:
    """A recorded episode, its score then and its verdict now."""

    recording: Recording
    verdict: Verdict

    @property
    def before(self) -> float | None:
        """The recorded score, None where there was none."""
        return judge(self.recording.ending)[1]

    @property
    def now(self) -> float | None:
        """The score now, None where there is none."""
        return None if self.verdict.error is not None else self.verdict.score

    @property
    def outcome(self) -> str:
        """``"error"``, ``"changed"`` or ``"ok"``."""
        if self.verdict.error is not None:
            return "error"
        return "ok" if self.before == self.now else "changed"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {
            "folder": str(self.recording.folder),
            "task": self.recording.meta["task"]["id"],
            "before": self.before,
            "now": self.now,
            "outcome": self.outcome,
            "verdict": self.verdict.to_dict(),
        }


def rescore_all(folder: str, source_path: str | None, as_json: bool) -> int:
    """Score the episodes in ``folder`` again and print a table; 1 if any could not be scored.

    Raises:
        RecordingError: there are no episodes, or none that can be scored again.
    """
    found = find_recordings(folder)
    recordings = [recording for recording in found if not recording.is_conversation]
    if not recordings:
        raise RecordingError(f"{folder} ({len(found)} episodes): {NOT_AGAIN}, or see 'deskgym results {folder}'")
    if len(recordings) < len(found):
        note(f"deskgym: {len(found) - len(recordings)} episodes left out: {NOT_AGAIN}")
    rows = [_rescored(recording, source_path) for recording in recordings]
    if as_json:
        print_json({"episodes": [row.to_dict() for row in rows]})
    else:
        print_table(
            f"{len(rows)} episodes scored again",
            ("task", "then", "now", "outcome", "folder"),
            (
                (
                    row.recording.meta["task"]["id"],
                    _shown(row.before),
                    _shown(row.now),
                    f"error: {row.verdict.error}" if row.verdict.error else row.outcome,
                    row.recording.folder,
                )
                for row in rows
            ),
        )
    return int(any(row.outcome == "error" for row in rows))


def _rescored(recording: Recording, source_path: str | None) -> Rescored:
    outcome, _, message = judge(recording.ending)
    if outcome == "failed" and recording.verdict is None:  # there is no state of a machine that the agent broke
        return Rescored(recording, Verdict(0.0, notes=(message,)))
    try:
        tasks = recorded_tasks(recording, source_path)
        return Rescored(recording, rescore(recording.folder, tasks))
    except DeskgymError as error:
        return Rescored(recording, Verdict(0.0, error=str(error)))


def _shown(score: float | None) -> str:
    return "-" if score is None else f"{score:g}"
