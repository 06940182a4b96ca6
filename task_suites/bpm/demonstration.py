"""A demonstration of a workflow in the format of WONDERBREAD (arXiv:2406.13264, appendix B): a folder with these files.

==========================  ===========================================================================================
``NAME.json``               the trace: ``{"trace": [...], "webarena": {...}}``; states and actions in turn, a state at
                            both ends, and the task, of which ``task_id`` and ``intent`` are needed
``screenshots/K.png``       what the K-th state showed, from 0
``NAME.mp4``                the video
``SOP - NAME.txt``          the procedure: what it is for, a blank line, then numbered steps
==========================  ===========================================================================================

NAME is the folder's name, such as ``179 @ 2023-12-28-11-13-06``. Beside the trace there may be ``[raw] NAME.json`` and
``[gt] NAME.json``, and beside the procedure ``[orig] SOP - NAME.txt``; they are left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from deskgym.envs.errors import DeskgymError
from deskgym.envs.evaluation.calls import shown

MAX_TRACE = 1 << 30
"""Bytes of a trace: the published ones hold the source of every page."""

EventType = Literal["state", "action"]


class DemonstrationError(DeskgymError):
    """A demonstration could not be read or written; the message names the file and what is legal."""


@dataclass(frozen=True)
class Demonstration:
    """A demonstration, read back.

    Attributes:
        folder: where it is.
        task: of the trace, as it stands: ``webarena``.
        events: the data of each event of the trace.
        procedure: the text of the SOP, or None where there is no such file.
    """

    folder: Path
    task: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    procedure: str | None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def intent(self) -> str:
        """What the workflow is for, in a sentence."""
        return str(self.task["intent"])

    @property
    def states(self) -> Sequence[Mapping[str, Any]]:
        """What was there before the first action, and after each."""
        return self.events[::2]

    @property
    def actions(self) -> Sequence[Mapping[str, Any]]:
        """What was done; one less than there are states."""
        return self.events[1::2]

    def screenshot(self, state: int) -> Path:
        """The picture of a state, by its number."""
        return self.folder / "screenshots" / f"{state}.png"

    @classmethod
    def load(cls, folder: str | Path) -> Demonstration:
        """Read a folder.

        Raises:
            DemonstrationError: it has no trace, or the trace is none.
        """
        folder = Path(folder)
        path = _trace_path(folder)
        data = _read_json(path)
        task, trace = _member(path, data, "webarena", dict), _member(path, data, "trace", list)
        for key, kinds in (("task_id", (int, str)), ("intent", (str,))):
            if not isinstance(task.get(key), kinds):
                raise DemonstrationError(f"{path}: webarena.{key} is {shown(task.get(key))}; legal is a text")
        if len(trace) % 2 == 0:
            raise DemonstrationError(f"{path}: the trace has {len(trace)} events; legal is state, action, ..., state")
        events = tuple(_event(path, number, event) for number, event in enumerate(trace))
        text = folder / f"SOP - {folder.name}.txt"
        try:
            procedure = text.read_text("utf-8") if text.exists() else None
        except (OSError, ValueError) as error:
            raise DemonstrationError(f"{text} cannot be read as UTF-8: {error}") from None
        return cls(folder, task, events, procedure)


def find_demonstrations(folder: str | Path) -> list[Path]:
    """The demonstrations in a folder, or the folder itself where it is one; sorted by name.

    Raises:
        DemonstrationError: there is none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise DemonstrationError(f"no folder {folder}")
    if _traces(folder):
        return [folder]
    if found := sorted(path for path in folder.iterdir() if path.is_dir() and _traces(path)):
        return found
    raise DemonstrationError(f"no demonstration in {folder}: none of its folders has a trace, NAME.json")


def _traces(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.json") if not path.name.startswith(("[gt]", "[raw]")))


def _trace_path(folder: Path) -> Path:
    if not (found := _traces(folder)):
        raise DemonstrationError(f"{folder} has no trace; legal is {folder.name}.json in it")
    return found[0]


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_TRACE:
            raise DemonstrationError(f"{path} has more than {MAX_TRACE >> 20} MiB, too many for a trace")
        return json.loads(path.read_bytes())
    except RecursionError:
        raise DemonstrationError(f"{path} is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise DemonstrationError(f"{path} is not JSON: {error!s:.200}") from None


def _member(path: Path, data: Any, key: str, kind: type) -> Any:
    found = data.get(key) if isinstance(data, dict) else None
    if not isinstance(found, kind):
        legal = "an object" if kind is dict else "a list"
        raise DemonstrationError(f"{path}: {key} is {shown(found)}; legal is {legal}")
    return found


def _event(path: Path, number: int, event: Any) -> Mapping[str, Any]:
    kind: EventType = "action" if number % 2 else "state"
    data = event.get("data") if isinstance(event, dict) and event.get("type") == kind else None
    if not isinstance(data, dict):
        raise DemonstrationError(
            f'{path}: event {number} is {shown(event)}; legal is {{"type": "{kind}", "data": {{...}}}}'
        )
    return data
