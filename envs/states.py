"""Saved states of episodes: what ``save_state`` gives and ``restore_state`` takes, and how a restored one is checked.

There are three ways back to a state, of which ``save_state`` takes the best that there is:

- ``"snapshot"``: the machine's snapshots keep running programs (``qemu``). Any environment on this host can use it.
- ``"process"``: the kernel's process was forked, and the copy stands still. Only the machine that it is in can use it.
- ``"replay"``: the episode is set up anew, and what was done in it is done again. Possible everywhere; what programs
  take from elsewhere (the time, random numbers, the network) may come out otherwise, so the end is compared.
"""

from __future__ import annotations

import io
import itertools
import os
import pickle
import socket
import time
import weakref
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from deskgym._version import __version__
from deskgym.envs.action.form import Performed
from deskgym.envs.episode import Stop, TaskLike, TaskSource
from deskgym.envs.errors import StateError
from deskgym.envs.machines.base import Snapshot

if TYPE_CHECKING:
    from deskgym.envs.guest.client import GuestClient
    from deskgym.envs.observation.elements import Elements

Way = Literal["snapshot", "process", "replay"]

DIFFERENT_PIXELS = 0.002, 0.1
"""The share of a screen that may differ where two are called the same: without elements (a text cursor blinks), and
where all elements are equal (KAlgebra draws each plot in a colour of its own)."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Done:
    """One step of an episode, as it is replayed.

    Attributes:
        performed: what was carried out; nothing where the action was invalid.
        stop: how a stage ended with it, or None.
        answer: that was given, or None.
        said: the feedback that it got, where code was run in a kernel.
    """

    performed: Performed
    stop: Stop | None = None
    answer: str | None = None
    said: str = ""


@dataclass(frozen=True)
class Seen:
    """What a state looks like.

    Attributes:
        shape: of the frame; empty where there is no screen.
        frame: uint8 RGB, compressed; a screen of one colour takes a few bytes.
        rows: places, roles and texts of the accessible elements; their order is a program's whim.
    """

    shape: tuple[int, ...] = ()
    frame: bytes = b""
    rows: tuple[tuple[Any, ...], ...] = ()

    @classmethod
    def screen(cls, frame: NDArray[np.uint8], elements: Elements) -> Seen:
        """What is on a screen."""
        places = elements.rows[:, :4].tolist()
        return cls.picture(frame, tuple((*at, *texts[:3]) for at, texts in zip(places, elements.texts, strict=True)))

    @classmethod
    def picture(cls, frame: NDArray[np.uint8], rows: tuple[tuple[Any, ...], ...] = ()) -> Seen:
        """What a picture shows."""
        return cls(frame.shape, zlib.compress(frame.tobytes(), 1), rows)

    def differs(self, other: Seen) -> str:
        """What is otherwise there, in words; "" where they are the same."""
        gone, new = Counter(self.rows) - Counter(other.rows), Counter(other.rows) - Counter(self.rows)
        if gone or new:
            return f"{_words(next(iter(new), None))} where {_words(next(iter(gone), None))} was"
        if self.shape != other.shape:
            return f"a screen of {other.shape} where one of {self.shape} was"
        if self.shape and self.frame != other.frame:
            share = float((self._pixels() != other._pixels()).any(axis=-1).mean())
            if share > DIFFERENT_PIXELS[bool(self.rows)]:
                return f"{share:.2%} of the screen's pixels"
        return ""

    def _pixels(self) -> NDArray[np.uint8]:
        return np.frombuffer(zlib.decompress(self.frame), np.uint8).reshape(self.shape)


def _words(row: Sequence[Any] | None) -> str:
    return "nothing" if row is None else " ".join(str(cell) for cell in row if cell != "")[:200]


@dataclass(frozen=True)
class Kept:
    """What a way back keeps outside of this process.

    Attributes:
        value: a ``Snapshot``, or the number of a held kernel.
        guest: of the only machine that can use it, since its last start; None for any machine of the kind.
        release: deletes it; may be called from any thread, once.
    """

    value: Snapshot | int
    guest: weakref.ref[GuestClient] | None
    release: Callable[[], None]


class SavedState:
    """An episode as it was at one moment; may be restored any number of times, until it is closed.

    Ending: ``close()``, or the end of a ``with`` block, or of the last reference to it. What was restored from it goes
    on. Restoring and closing are for one thread at a time. A pickle of it is for other processes of this host while
    this one lives: it is lent to them, and closing it there does nothing.

    Args:
        task: of the episode.
        log: what was done in it.
        seen: what it looks like.
        fits: what an environment must have in common with that of the episode, by name.
        parts: what the environment keeps of an episode, by name; copied by whoever restores.
        kept: what the way back needs, or None for a replay.
        why: why it is a replay.
        baselines: what the checks of the task read when its setup was done.

    Attributes:
        number: counts a process's states.
        saved_at: host, process and moment: no two states have the same.
        how: the way back, as far as is known: a kernel that was kept may have ended since.
        why: why it is a replay; "" where it is none.
        steps: taken in the episode.
        acted: whether the agent had done anything in it.
        layers: what wrappers keep, see ``deskgym.envs.branching``; None where only the environment itself was saved.
        observation: what the outermost wrapper gave last; None with ``layers``.
    """

    def __init__(
        self,
        task: TaskLike,
        log: Sequence[Done],
        seen: Seen,
        *,
        fits: Mapping[str, Any],
        parts: bytes,
        kept: Kept | None,
        why: str = "",
        baselines: Mapping[str, Any] | None = None,
        steps: int = 0,
        acted: bool = False,
    ) -> None:
        self.number, self.version = next(_numbers), __version__
        self.saved_at = socket.gethostname(), os.getpid(), time.monotonic_ns()
        self.task_id = task.id
        self.log, self.seen, self.fits, self.parts = tuple(log), seen, dict(fits), parts
        self.why, self.baselines, self.steps, self.acted = why, dict(baselines or {}), steps, acted
        self.how: Way = "replay"
        self.layers: tuple[bytes, ...] | None = None
        self.observation: Any = None
        self._task: TaskLike | None = task
        self._kept, self._closed = kept, False
        self._release: Callable[[], object] = _nothing
        if kept is not None:
            self.how = "snapshot" if isinstance(kept.value, Snapshot) else "process"
            self._release = weakref.finalize(self, kept.release)

    def __repr__(self) -> str:
        state = "closed" if self._closed else self.how
        return f"<SavedState {self.number}: {self.task_id} after {self.steps} steps, {state}>"

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Delete what it keeps. Idempotent."""
        self._closed = True
        self._kept, self.observation, self.layers = None, None, None
        self._release()

    def task(self, suite: TaskSource) -> TaskLike:
        """The episode's task."""
        if self._task is None:  # in another process; an id is the same instance everywhere
            self._task = suite.draw(np.random.default_rng(0), self.task_id, None)
        return self._task

    def snapshot(self) -> Snapshot | None:
        """The snapshot to restore a machine to, if there is one."""
        return self._kept.value if self._kept is not None and isinstance(self._kept.value, Snapshot) else None

    def held_by(self, guest: GuestClient) -> int | None:
        """The number of the kernel that stands still in this guest's machine, if there is one."""
        kept = self._kept
        if kept is None or kept.guest is None or isinstance(kept.value, Snapshot):
            return None
        if kept.guest() is None:
            self.has_gone("the machine that it was kept in has been started anew")
        return kept.value if kept.guest() is guest else None

    def has_gone(self, why: str) -> None:
        """What was kept for the way back is no more: from now on it is a replay."""
        self._kept, self.how, self.why = None, "replay", why
        self._release()

    def check(self, fits: Mapping[str, Any]) -> None:
        """Raise StateError where it cannot be used, in an environment of which this is true."""
        if self._closed:
            raise StateError(f"{self!r} cannot be restored: it was closed; save_state() gives another one")
        if self.version != __version__:
            raise StateError(f"the state was saved by deskgym {self.version}, and this is {__version__}: save it anew")
        for name, value in self.fits.items():
            if fits.get(name) != value:
                raise StateError(
                    f"the state is of an environment with {name}={value!r}, and this one has {fits.get(name)!r}: "
                    "restore it in one that was made with the same arguments, such as of fork(n)"
                )

    def __enter__(self) -> SavedState:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._closed:
            raise StateError(f"{self!r} cannot be pickled: it was closed")
        kept = self._kept
        lent = Kept(kept.value, None, _nothing) if kept is not None and isinstance(kept.value, Snapshot) else None
        how = "snapshot" if lent else "replay"
        return {**vars(self), "_task": None, "_kept": lent, "_release": _nothing, "how": how}


def checked_state(value: Any) -> SavedState:
    """The value. Raises StateError where it is no state."""
    if not isinstance(value, SavedState):
        raise StateError(f"a state is what save_state() gives, got {value!r}")
    return value


def _nothing() -> None:
    """There is nothing to release."""


class Copier:
    """Copies what an environment or a wrapper keeps, without the environment itself and what belongs to it.

    Args:
        own: the environment and what it is made of, in an order that is the same for all of its kind: a copy refers to
            them by their number, so that it can be taken to another environment, even in another process.
    """

    def __init__(self, own: Sequence[Any]) -> None:
        self._own = tuple(own)

    def pack(self, value: Any) -> bytes:
        """A copy. What the value is made of decides what it raises where there can be none."""
        stream = io.BytesIO()
        _Packer(stream, {id(part): k for k, part in enumerate(self._own)}).dump(value)
        return stream.getvalue()

    def unpack(self, data: bytes) -> Any:
        """What was copied, for this environment; a copy of its own each time."""
        return _Unpacker(io.BytesIO(data), self._own).load()


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, stream: io.BytesIO, numbers: Mapping[int, int]) -> None:
        super().__init__(stream)
        self._numbers = numbers

    def persistent_id(self, value: Any) -> int | None:
        return self._numbers.get(id(value))


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, own: Sequence[Any]) -> None:
        super().__init__(stream)
        self._own = own

    def persistent_load(self, number: int) -> Any:
        return self._own[number]
