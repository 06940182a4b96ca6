"""Final states of attempts, kept beside the ledger: a changed check is judged on them in milliseconds.

A state is what the evaluator read of the machine when an attempt was played. Where a check reads something else now, or
where what has changed is not carried out by judging the state (a reader, a macro, a hook), the task is played.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import zstandard

from deskgym.agents.base import EpisodeResult
from deskgym.envs.errors import DeskgymError
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.wrappers.recording.recorded_state import keep, restore

if TYPE_CHECKING:
    import gymnasium

    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.verify.attempts import AttemptReport
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.core.verify.ledger import Proof

FOLDER = "states"
"""The folder beside a ledger; it is not part of the wheel."""
LIMIT = 16 << 10
"""Bytes, compressed, up to which the states of a task are kept."""
MOST = 1 << 20
"""Characters of one state, beyond which it is not even compressed: reports hold states until a task is through."""
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class PlayedResult(EpisodeResult):
    """An episode's result with its final state.

    Attributes:
        state: as ``recorded_state.keep`` gives it, as JSON; "" where there is none.
    """

    state: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The result without its state."""
        return {name: value for name, value in super().to_dict().items() if name != "state"}


def with_state(result: EpisodeResult, env: gymnasium.Env[Any, Any]) -> PlayedResult:
    """A result with the final state of the environment that was played."""
    final = getattr(env.unwrapped, "final", None)
    state = ""
    if final is not None and result.score is not None:
        try:
            state = json.dumps(keep(final))
        except (TypeError, ValueError, RecursionError):  # what the agent left may be anything
            state = ""
    return PlayedResult(**{**vars(result), "state": state if len(state) <= MOST else ""})


class States:
    """The states of a suite's tasks.

    Args:
        ledger: the path of its ledger; the states lie in a folder beside it.
    """

    def __init__(self, ledger: Path) -> None:
        self.folder = ledger.parent / FOLDER

    def path(self, task: str) -> Path:
        """The file of a task."""
        name = _NO_NAME.sub("_", task)
        return self.folder / f"{name[:80]}.{blake2b(task.encode(), digest_size=3).hexdigest()}.zst"

    def keep(self, task: str, states: Mapping[str, str]) -> None:
        """Keep the states of a task's attempts, by agent; where they are too large or one is missing, none."""
        path = self.path(task)
        whole = bool(states) and all(states.values())
        packed = zstandard.compress(json.dumps(states, sort_keys=True).encode(), 19) if whole else b""
        if not whole or len(packed) > LIMIT:
            path.unlink(missing_ok=True)
            return
        self.folder.mkdir(exist_ok=True)
        path.write_bytes(packed)

    def keep_reports(self, task: str, reports: Iterable[AttemptReport]) -> None:
        """Keep the states of the first episode of each attempt."""
        self.keep(task, {report.attempt.agent: getattr(report.results[0], "state", "") for report in reports})

    def retain(self, tasks: Iterable[str]) -> None:
        """Remove the states of all other tasks: they have no proof any more."""
        kept = {self.path(task) for task in tasks}
        for path in set(self.folder.glob("*.zst")) - kept:
            path.unlink()

    def load(self, task: str) -> dict[str, str]:
        """The states of a task's attempts, by agent; {} where there are none."""
        path = self.path(task)
        if not path.is_file():
            return {}
        try:
            found = json.loads(zstandard.decompress(path.read_bytes(), max_output_size=64 << 20))
        except (zstandard.ZstdError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Rescore:
    """What judging a task's kept states gave.

    Attributes:
        fresh: whether all that has changed was carried out, and every attempt earned what it must.
        problems: where all that has changed was carried out, the attempts that earned something else.
    """

    fresh: bool
    problems: tuple[str, ...] = ()


def rescore(source: TaskSource, task_id: str, proof: Proof, inputs: ProofInputs, states: Mapping[str, str]) -> Rescore:
    """Judge a task's kept states with its checks as they are now."""
    changed = set(proof.changed(inputs))
    if not states or not changed <= inputs.judging_only:
        return Rescore(False)
    carried_out: set[str] = set()
    problems: list[str] = []
    for agent, state in states.items():
        verdict = _verdict(source, state, carried_out)
        if verdict.error is not None:
            return Rescore(False)
        wanted = float(agent == "oracle")
        if verdict.score != wanted:
            failed = "; ".join(f"{check.name}: {check.message}" for check in verdict.checks if not check)
            problems.append(f"{agent}: score {verdict.score:g}, must be {wanted:g} {f'({failed})' if failed else ''}")
    if not all(inputs.was_carried_out(key, carried_out) for key in changed):
        return Rescore(False)
    return Rescore(not problems, tuple(problems))


def renewed(proof: Proof, inputs: ProofInputs) -> Proof:
    """A proof whose states were judged as they must be."""
    return replace(proof, code=inputs.code, symbols="".join(sorted(inputs.symbols)))


def _verdict(source: TaskSource, state: str, carried_out: set[str]) -> Verdict:
    try:
        final = restore(json.loads(state))
        task = source.get(final.task_id)
        with _traced(carried_out):
            return task.evaluate(final)
    except (DeskgymError, ValueError, KeyError, TypeError) as error:
        return Verdict(0.0, error=str(error))


@contextmanager
def _traced(found: set[str]) -> Iterator[None]:
    """Note the keys of the functions that are called."""
    codes: set[tuple[str, Any]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            codes.add((str(frame.f_globals.get("__name__")), frame.f_code))

    before: Callable[..., Any] | None = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
    found.update(f"{module}:{code.co_qualname.partition('.<locals>')[0]}" for module, code in codes)
