"""What an evaluator read of a machine, kept as JSON, so that an episode can be scored again without a machine."""

from __future__ import annotations

import base64
import builtins
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from deskgym.envs import errors
from deskgym.envs.episode import FinalState
from deskgym.envs.errors import DeskgymError, MachineError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine, Snapshot
from deskgym.wrappers.recording.recording import STATE, Recording, RecordingError

if TYPE_CHECKING:
    from deskgym.envs.displays.base import Display
    from deskgym.envs.episode import TaskSource
    from deskgym.envs.guest.client import GuestClient

NOT_AGAIN = "a conversation about tables is judged in a machine and cannot be scored again from files; play it again"
_TAG = "$kept"
MAX_READ = 64 << 20
"""Bytes of JSON up to which one read is kept; of a larger one, only that it was not."""


def keep(final: FinalState) -> dict[str, Any]:
    """A final state and all that was read through it, JSON-able."""
    return {
        "stop": final.stop,
        "answer": final.answer,
        "task": final.task_id,
        "seed": final.seed,
        "steps": final.steps,
        "acted": final.acted,
        "reads": {key: _kept_read(value, failure) for key, (value, failure) in final.reads.items()},
    }


def _kept_read(value: Any, failure: Exception | None) -> dict[str, Any]:
    if failure is not None:
        raised = {"type": type(failure).__name__, "message": str(failure)}
        return {"raised": raised | ({"kind": failure.kind} if hasattr(failure, "kind") else {})}
    try:
        packed = pack(value)
        size = len(json.dumps(packed))
    except (TypeError, RecursionError) as error:
        return {"lost": str(error)}
    return {"value": packed} if size <= MAX_READ else {"lost": f"{size >> 20} MiB are over the limit"}


def restore(data: Mapping[str, Any]) -> FinalState:
    """The final state that ``keep`` kept. What was not kept raises a MachineError when a check reads it."""
    final = FinalState(KeptMachine(), data["stop"], data["answer"], data["task"], data["seed"], data["steps"])
    final.acted = data.get("acted", False)
    for key, read in data["reads"].items():
        if "raised" in read:
            final.reads[key] = (None, _exception(**read["raised"]))
        elif "lost" in read:
            final.reads[key] = (None, _not_kept(f"{key!r} was not kept: {read['lost']}"))
        else:
            final.reads[key] = (unpack(read["value"]), None)
    return final


def rescore(folder: str | Path, tasks: TaskSource | None = None) -> Verdict:
    """Evaluate a recorded episode again, with its task's checks as they are now, on the state that was kept.

    Args:
        folder: one episode's folder.
        tasks: where its task is found; None loads the suite that ``meta.json`` names.

    Returns:
        The verdict. Where the state was not kept, or no longer holds what the checks read, it is an error.

    Raises:
        RecordingError: the folder cannot be read.
        TaskError: the task or its suite is not there.
    """
    recording = Recording.load(folder)
    path = recording.folder / STATE
    if recording.is_conversation:
        return Verdict(0.0, error=NOT_AGAIN)
    if not path.exists() and recording.aborted:
        return Verdict(0.0, error=f"the episode was given up: {recording.aborted}")
    if not path.exists():
        return Verdict(0.0, error=f"the state was not kept: there is no {path}")
    try:
        final = restore(json.loads(path.read_text("utf-8", "surrogatepass")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    task = (tasks or recorded_tasks(recording)).get(final.task_id)
    return task.evaluate(final)


def recorded_tasks(recording: Recording, source_path: str | None = None) -> TaskSource:
    """The suite that an episode's task is from, as ``meta.json`` has it.

    Args:
        recording: the episode.
        source_path: where the benchmark's task files are now, if not where they were.

    Raises:
        RecordingError: the episode does not say.
        TaskError: the suite cannot be loaded.
    """
    from deskgym.task_suites import load_suite

    made = recording.meta.get("env") or {}
    if "suite" not in made:
        raise RecordingError(f"{recording.folder} does not say which suite its task is from")
    source = made.get("source")
    return load_suite(
        made["suite"],
        source=source,
        source_path=(source_path or made.get("source_path")) if source else None,
        mode=made.get("mode", "corrected"),
    )


def pack(value: Any) -> Any:
    """JSON-able data from what readers return: also bytes, tuples, sets, and mappings with any such keys.

    Raises:
        TypeError: the value holds something else.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return {_TAG: "bytes", "of": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return [pack(item) for item in value]
    if isinstance(value, (tuple, set, frozenset)):
        return {_TAG: type(value).__name__, "of": [pack(item) for item in value]}
    if isinstance(value, dict):
        if _TAG not in value and all(isinstance(key, str) for key in value):
            return {key: pack(item) for key, item in value.items()}
        return {_TAG: "dict", "of": [[pack(key), pack(item)] for key, item in value.items()]}
    raise TypeError(f"a {type(value).__name__} cannot be kept as JSON")


def unpack(data: Any) -> Any:
    """The inverse of ``pack``."""
    if isinstance(data, list):
        return [unpack(item) for item in data]
    if not isinstance(data, dict):
        return data
    kind = data.get(_TAG)
    if kind is None:
        return {key: unpack(item) for key, item in data.items()}
    if kind == "bytes":
        return base64.b64decode(data["of"])
    if kind == "dict":
        return {unpack(key): unpack(item) for key, item in data["of"]}
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](unpack(item) for item in data["of"])


def _exception(type: str, message: str, kind: str | None = None) -> Exception:  # noqa: A002 - the stored key
    """An exception of the same class where it is one of ours or Python's own, else a DeskgymError that names it."""
    known = {"CheckFailed": CheckFailed}.get(type) or getattr(errors, type, None) or getattr(builtins, type, None)
    try:
        if isinstance(known, builtins.type) and issubclass(known, Exception):
            return known(message, kind) if kind is not None else known(message)
    except TypeError:
        pass  # one that wants other arguments, such as UnicodeDecodeError
    return DeskgymError(f"{type}: {message}")


def _not_kept(message: str) -> MachineError:
    return MachineError(message, "not_kept")


class KeptMachine(Machine):
    """Stands for the machine of a recorded episode: whatever the recording does not hold cannot be read."""

    kind = "kept"

    def start(self) -> None:
        """Cannot be done."""
        self._refuse()

    def stop(self) -> None:
        """Nothing is there to stop."""

    @property
    def alive(self) -> bool:
        """Never."""
        return False

    def snapshot(self) -> Snapshot:
        """Cannot be done."""
        self._refuse()

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Cannot be done."""
        self._refuse()

    def drop(self, snapshot: Snapshot) -> None:
        """Nothing is there to drop."""

    @property
    def guest(self) -> GuestClient:
        """There is none."""
        self._refuse()

    @property
    def display(self) -> Display:
        """There is none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise _not_kept(
            "the episode's recording does not hold what this check reads: its state was kept by other checks"
        )
