"""The files of a recording are written by a thread, so that a step waits for a copy in memory and not for the disk."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from deskgym.wrappers.recording.recording import (
    STEPS,
    RecordingError,
    elements_path,
    frame_path,
    pack_frame,
    write_json,
)

_WAITING_FRAMES = 8  # about 50 MB at 1920x1080; a slower disk slows the steps down instead of filling the memory


class RecordingWriter:
    """Writes one episode's folder.

    Step lines are flushed at once; frames and elements follow from the thread. An error of the disk is raised once, by
    the next call, as a RecordingError.

    Args:
        folder: an existing, empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(_WAITING_FRAMES)
        self._error: OSError | None = None
        self._frame: NDArray[np.uint8] | None = None
        self._elements: tuple[bytes, Any] | None = None
        self._frames = self._element_sets = 0
        self._steps: IO[str] | None = None
        self._thread: threading.Thread | None = None
        try:
            for name in ("frames", "elements"):
                (folder / name).mkdir()
            self._steps = (folder / STEPS).open("w", encoding="utf-8", errors="surrogatepass")
        except OSError as error:
            raise self._failure(error) from error
        self._thread = threading.Thread(target=self._work, name=f"record {folder.name}", daemon=True)
        self._thread.start()

    def frame(self, frame: NDArray[np.uint8] | None) -> int | None:
        """Keep a frame, uint8 (H, W, 3) RGB; returns its number, which is the last one's if nothing changed."""
        if frame is None:
            return None
        if self._frame is None or not _equal(frame, self._frame):
            kept = frame.copy(order="C")  # its owner may draw on it, or capture into it again
            self._frame = kept
            self._frames += 1
            path = frame_path(self.folder, self._frames - 1)
            self._put(lambda: _write(path, pack_frame(kept)))
        return self._frames - 1

    def elements(self, rows: NDArray[np.int32], texts: Any, cut: str | None) -> int | None:
        """Keep the accessible elements; returns their number, which is the last one if nothing changed."""
        content = (rows.tobytes(), (texts, cut))
        if content != self._elements:
            self._elements = content
            self._element_sets += 1
            path = elements_path(self.folder, self._element_sets - 1)
            data = {"rows": rows.tolist(), "texts": [list(row) for row in texts], "cut": cut}
            self._put(lambda: write_json(path, data))
        return self._element_sets - 1

    def line(self, data: Any) -> None:
        """Add a line to ``steps.jsonl``, flushed."""
        self._check()
        if self._steps is None:
            raise RecordingError(f"the recording in {self.folder} is closed")
        try:
            self._steps.write(json.dumps(data, ensure_ascii=False, default=repr) + "\n")
            self._steps.flush()
        except OSError as error:
            raise self._failure(error) from error

    def file(self, name: str, data: Any) -> None:
        """Write a JSON file beside the others, whole or not at all, before this returns."""
        self._check()
        try:
            write_json(self.folder / name, data)
        except OSError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        """Wait until everything is on disk. Idempotent.

        Raises:
            RecordingError: something could not be written.
        """
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        if self._steps is not None:
            steps, self._steps = self._steps, None
            try:
                steps.close()
            except OSError as error:
                raise self._failure(error) from error
        self._check()

    def _put(self, job: Callable[[], None]) -> None:
        self._check()
        self._queue.put(job)

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            if self._error is None:
                try:
                    job()
                except OSError as error:
                    self._error = error

    def _check(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> RecordingError:
        return RecordingError(f"cannot record into {self.folder}: {error.strerror or error} ({error.filename or '-'})")


def _equal(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    """``numpy.array_equal`` of contiguous frames, eight bytes at a time where that is possible: a third of the time."""
    if one.shape != other.shape:
        return False
    if one.size % 8 or not one.flags.c_contiguous:
        return np.array_equal(one, other)
    return np.array_equal(one.reshape(-1).view(np.uint64), other.reshape(-1).view(np.uint64))


def _write(path: Path, content: bytes) -> None:
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(content)
    partial.replace(path)
