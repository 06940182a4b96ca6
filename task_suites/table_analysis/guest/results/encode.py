"""Values to bytes: Python's own types and numpy's; pandas' are in ``encode_pandas``."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgpack

from deskgym.task_suites.table_analysis.guest.results.value_format import (
    DTYPE,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_NODES,
    MAX_REPR,
    NATIVE,
    Opaque,
)

_TIMES: tuple[tuple[Any, str], ...] = (
    (datetime.datetime, "dt"),
    (datetime.date, "date"),
    (datetime.time, "time"),
)


def encode(value: Any) -> bytes:
    """Bytes from which ``decode_value`` makes an equal value.

    Kept are None, bool, int, float, complex, str, bytes, dates and times, lists, tuples, sets, dicts, numpy's scalars
    and arrays with their dtypes, and pandas' scalars, arrays, Index, Series and DataFrame. Subclasses become the
    class that they are made from. Everything else becomes an ``Opaque``.

    Raises:
        ValueError: it is larger than ``MAX_BYTES``, has too many or too deeply nested parts, or holds itself.
    """
    data: bytes = msgpack.packb(Encoder().node(value), use_bin_type=True, unicode_errors="surrogatepass")
    if len(data) > MAX_BYTES:
        raise ValueError(f"the value has {len(data)} bytes; legal are {MAX_BYTES}")
    return data


class Encoder:
    """Makes the msgpack tree of one value."""

    def __init__(self) -> None:
        self._path: set[int] = set()
        self._nodes = 0
        self._bytes = 0

    def node(self, value: Any) -> Any:
        """The tree of ``value``."""
        self.count(1)
        kind = type(value)
        if kind is str or kind is bytes:
            self.spend(len(value))
            return value
        if kind in NATIVE:
            return value
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 64 else self._large(value)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return self._inside(value, self._container)
        return self._numpy(value) or self._pandas(value) or self._plain(value) or self._opaque(value)

    def count(self, nodes: int) -> None:
        """Note that so many more values are in it.

        Raises:
            ValueError: these are too many.
        """
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise ValueError(f"the value has more than {MAX_NODES} parts")

    def spend(self, size: int) -> None:
        """Note that so many more bytes are in it.

        Raises:
            ValueError: these are too many.
        """
        self._bytes += size
        if self._bytes > MAX_BYTES:
            raise ValueError(f"the value has more than {MAX_BYTES} bytes")

    def items(self, values: Iterable[Any], length: int) -> list[Any]:
        """The trees of many values."""
        if length > MAX_ITEMS:
            raise ValueError(f"{length} items in one list; legal are {MAX_ITEMS}")
        return [self.node(value) for value in values]

    def array(self, values: Any) -> list[Any]:
        """The tree of a numpy array of any dtype; of an unusual one as objects."""
        import numpy as np

        values = np.asarray(values)
        if max(values.shape, default=0) > MAX_ITEMS:
            raise ValueError(f"an array of shape {values.shape}; legal are {MAX_ITEMS} along an axis")
        shape = list(values.shape)
        if DTYPE.fullmatch(values.dtype.str):
            self.spend(values.nbytes)
            return ["a", values.dtype.str, shape, values.tobytes()]
        return self._inside(values, lambda found: ["o", shape, self.items(found.ravel().tolist(), found.size)])

    def _inside(self, value: Any, make: Callable[[Any], list[Any]]) -> list[Any]:
        if id(value) in self._path:
            raise ValueError(f"a {type(value).__name__} holds itself")
        if len(self._path) >= MAX_DEPTH:
            raise ValueError(f"the value is nested more than {MAX_DEPTH} deep")
        self._path.add(id(value))
        try:
            return make(value)
        finally:
            self._path.discard(id(value))

    def _container(self, value: Any) -> list[Any]:
        if isinstance(value, dict):
            pairs = list(dict.items(value))
            keys = self.items((key for key, _ in pairs), len(pairs))
            return ["d", keys, self.items((item for _, item in pairs), len(pairs))]
        names = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "fs"))
        return [next(tag for kind, tag in names if isinstance(value, kind)), self.items(value, len(value))]

    def _large(self, value: int) -> list[Any]:
        size = value.bit_length() // 8 + 1
        self.spend(size)
        return ["i", value.to_bytes(size, "little", signed=True)]

    def _numpy(self, value: Any) -> list[Any] | None:
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        if isinstance(value, numpy.ndarray):
            filled = value.filled(numpy.nan) if isinstance(value, numpy.ma.MaskedArray) else value
            return self.array(filled)
        if not isinstance(value, numpy.generic) or isinstance(value, numpy.void):
            return None
        if isinstance(value, (str, bytes)):
            return ["w", str(value) if isinstance(value, str) else bytes(value)]
        return ["g", value.dtype.str, value.tobytes()]

    def _pandas(self, value: Any) -> list[Any] | None:
        if "pandas" not in sys.modules:
            return None
        from deskgym.task_suites.table_analysis.guest.results.encode_pandas import pandas_node

        return pandas_node(self, value)

    def _plain(self, value: Any) -> Any:
        """Python's own types that are rarer, and subclasses of the common ones; None when it is none of them."""
        for kind, tag in _TIMES:
            if isinstance(value, kind):
                return [tag, value.isoformat()]
        if isinstance(value, datetime.timedelta):
            return ["delta", value.days, value.seconds, value.microseconds]
        if isinstance(value, complex):
            return ["c", value.real, value.imag]
        natives: tuple[Any, ...] = (int, float, str, bytes)
        for native in natives:
            if isinstance(value, native):
                return ["w", self.node(native(value))]
        return None

    @staticmethod
    def _opaque(value: Any) -> list[Any]:
        if isinstance(value, Opaque):
            return ["?", value.kind, value.text]
        try:
            text = repr(value)[:MAX_REPR]
        except Exception:
            text = ""
        return ["?", str(type(value).__name__)[:MAX_REPR], text]
