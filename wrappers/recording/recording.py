"""A recorded episode as a folder: what its files are called and hold, and how they are read back.

=====================  ===============================================================================================
file                   holds
=====================  ===============================================================================================
``meta.json``          what was run: task, parameters, seed, screen, versions, machine, when
``steps.jsonl``        one JSON object per line; line 0 is the reset, line k the k-th step and what came of it
``frames/NNNNN``       ``.npy.zst``: a frame as uint8 (H, W, 3) RGB in NumPy's format, compressed by zstandard
``elements/NNNNN``     ``.json``: the accessible elements, ``{"rows": [[8 ints]], "texts": [[4 texts]], "cut": ...}``
``verdict.json``       the verdict; missing where the episode was not evaluated
``changes.json``       the rows that it has changed, where a check compared databases; see ``row_changes``
``aborted.json``       why the episode was given up before its end, where its player said so
``state.json``         what the evaluator read, so that the episode can be scored again without a machine
=====================  ===============================================================================================

A step's ``action`` is the computer action that was carried out, in screen pixels; where there is none, or several, and
of other forms of action, it is what was given. ``given`` is there where that is another one: in the frame, marks or
numbers of the wrapper that the recorder is around. ``performed`` has the screen actions that a discrete action came to,
or the program that ran, where that is not what was given.

Of a conversation about tables a frame is the plot, whether the agent sees it or not. The line with
which a turn begins has ``texts``: the ``instruction``, ``dialogue``, ``tables`` and ``library`` that the agent may
know. There is no ``state.json``: results are compared in a machine, so it cannot be scored again from files.

Equal consecutive frames and elements are stored once: each line of ``steps.jsonl`` names the number of its frame and of
its elements. Frames are zstandard and not PNG because encoding one takes 1.2 ms instead of 31 ms at 1920x1080, and the
recorder shares the machine's cores with the desktop (level 1, KAlgebra's window; 16 kB instead of 46 kB).
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from deskgym.envs.errors import DeskgymError

FORMAT = 1
"""Version of the folder's format, in ``meta.json``."""

META, STEPS, VERDICT, STATE, ABORTED = "meta.json", "steps.jsonl", "verdict.json", "state.json", "aborted.json"
CHANGES = "changes.json"
_ROW = {"database", "table", "kind", "old", "new", "columns"}
_MAX_FRAME_BYTES = 7680 * 4320 * 3 + 4096


class RecordingError(DeskgymError):
    """An episode could not be written or read back; the message names the file."""


@dataclass(frozen=True)
class Recording:
    """One recorded episode, read back. A recording that was cut off by a crash reads as far as it got.

    Attributes:
        folder: where it is.
        meta: ``meta.json``.
        steps: the lines of ``steps.jsonl``; the first is the reset.
        verdict: ``verdict.json``, or None.
        complete: the episode was recorded to its end.
        aborted: why it was given up, or None.
    """

    folder: Path
    meta: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]
    verdict: Mapping[str, Any] | None
    complete: bool
    aborted: str | None = None

    @property
    def is_conversation(self) -> bool:
        """Whether it is of a ``KernelEnv``, such as turns about tables: without a screen."""
        return bool(self.steps) and "texts" in self.steps[0]

    @property
    def ending(self) -> dict[str, Any]:
        """The info of the last step, with the verdict where there is one."""
        info = dict((self.steps[-1].get("info") if self.steps else None) or {})
        return info | ({"verdict": dict(self.verdict)} if self.verdict is not None else {})

    @property
    def row_changes(self) -> dict[str, Any]:
        """The ``rows`` of databases that the episode has changed, and ``more``, see ``row_changes.row_changes``.

        Raises:
            RecordingError: the file is damaged.
        """
        path = self.folder / CHANGES
        if not path.exists():
            return {"rows": [], "more": False}
        found = _read_object(path)
        rows = found.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) and _ROW <= row.keys() for row in rows):
            raise RecordingError(f"{path} has no rows as a recorder writes them")
        return {"rows": rows, "more": bool(found.get("more"))}

    @classmethod
    def load(cls, folder: str | Path) -> Recording:
        """Read an episode's folder.

        Raises:
            RecordingError: it is none, or of another format.
        """
        folder = Path(folder)
        meta = _read_object(folder / META)
        if meta.get("format") != FORMAT:
            raise RecordingError(
                f"{folder / META} says format {meta.get('format')!r}; this deskgym reads format {FORMAT}"
            )
        steps = tuple(_read_lines(folder / STEPS))
        verdict = _read_object(folder / VERDICT) if (folder / VERDICT).exists() else None
        last = steps[-1] if steps else {}
        complete = bool(last.get("terminated") or last.get("truncated"))
        aborted = str(_read_object(folder / ABORTED).get("reason")) if (folder / ABORTED).exists() else None
        return cls(folder, meta, steps, verdict, complete, aborted)

    def frame(self, number: int | None) -> NDArray[np.uint8] | None:
        """Frame by its number: uint8 (H, W, 3) RGB; None if it was not recorded or is lost or damaged."""
        if not isinstance(number, int):
            return None
        try:
            packed = frame_path(self.folder, number).read_bytes()
            raw = zstandard.ZstdDecompressor().stream_reader(packed).read(_MAX_FRAME_BYTES)
            frame = np.load(io.BytesIO(raw), allow_pickle=False)
        except (OSError, ValueError, EOFError, zstandard.ZstdError):
            return None
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            return None
        return frame  # type: ignore[no-any-return]

    def elements(self, number: int | None) -> Mapping[str, Any] | None:
        """Elements by their number: ``{"rows", "texts", "cut"}``; None if they were not recorded or are lost."""
        if not isinstance(number, int):
            return None
        try:
            return _read_object(elements_path(self.folder, number))
        except RecordingError:
            return None


def frame_path(folder: Path, number: int) -> Path:
    """Where a frame is kept."""
    return folder / "frames" / f"{number:05d}.npy.zst"


def elements_path(folder: Path, number: int) -> Path:
    """Where a step's elements are kept."""
    return folder / "elements" / f"{number:05d}.json"


def pack_frame(frame: NDArray[np.uint8]) -> bytes:
    """A frame, C-contiguous uint8 (H, W, 3), as the content of its file."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(frame))
    packer = zstandard.ZstdCompressor(level=1).compressobj()  # no copy of the pixels is made
    return packer.compress(header.getvalue()) + packer.compress(frame.data) + packer.flush()


def find_recordings(folder: str | Path) -> list[Recording]:
    """The episode in ``folder``, or all in the folders below it, in order of their names.

    Raises:
        RecordingError: there is none.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise RecordingError(f"no folder {folder}")
    found = [folder] if (folder / META).exists() else sorted(path.parent for path in folder.glob(f"**/{META}"))
    if not found:
        raise RecordingError(f"no recorded episode in {folder}; record one with 'deskgym run ... --record {folder}'")
    return [Recording.load(path) for path in found]


def write_json(path: Path, data: Any) -> None:
    """Write a JSON file that is either there whole or not at all."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(json.dumps(data, ensure_ascii=False, indent=1, default=repr) + "\n", "utf-8", "surrogatepass")
    os.replace(partial, path)


def _read_object(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8", "surrogatepass"))
    except FileNotFoundError as error:
        raise RecordingError(f"{path} is missing") from error
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise RecordingError(f"{path} holds a {type(data).__name__}, not an object")
    return data


def _read_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines that are whole; a crash may have cut the last one."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    for line in lines:
        try:
            data = json.loads(line.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return
        if isinstance(data, dict):
            yield data
