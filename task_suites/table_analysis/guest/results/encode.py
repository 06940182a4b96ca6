"""Values to bytes: Python's own types; numpy's are in ``encode_numpy``, pandas' in ``encode_pandas``."""

from __future__ import annotations

import datetime
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

import msgpack

from deskgym.task_suites.table_analysis.guest.results.value_format import (
    BUILT,
    CARRIED,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_NODES,
    MAX_REPR,
    NATIVE,
    TYPES,
    Opaque,
)


def encode(value: Any, models: bool = False) -> bytes:
    """Bytes from which ``decode_value`` makes an equal value.

    Kept are Python's plain values, dates, times and containers, and those of ``BUILT``; numpy's scalars, arrays and
    dtypes; pandas' scalars, arrays, dtypes, Index, Series and DataFrame. A subclass of anybody's own becomes the class
    that it is made from. Everything else becomes an ``Opaque``.

    Args:
        value: what to encode.
        models: an ``Opaque`` of one of the libraries ``CARRIED`` has its pickle.

    Raises:
        ValueError: it is larger than ``MAX_BYTES``, has too many or too deeply nested parts, or holds itself.
    """
    data: bytes = msgpack.packb(Encoder(models).node(value), use_bin_type=True, unicode_errors="surrogatepass")
    if len(data) > MAX_BYTES:
        raise ValueError(f"the value has {len(data)} bytes; legal are {MAX_BYTES}")
    return data


class Encoder:
    """Makes the msgpack tree of one value."""

    def __init__(self, models: bool = False) -> None:
        self._models = models
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
        name = f"{kind.__module__.split('._')[0]}.{kind.__qualname__}"
        if name in BUILT:
            return self.inside(
                value, lambda found: ["b", name, [self.node(part) for part in BUILT[name].arguments(found)]]
            )
        if isinstance(value, (list, tuple, set, frozenset, dict)) and not (self._models and _root(kind) in CARRIED):
            return self.inside(value, self._container)
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
        """The tree of a numpy array."""
        from deskgym.task_suites.table_analysis.guest.results.encode_numpy import array_node

        return array_node(self, values)

    def inside(self, value: Any, make: Callable[[Any], list[Any]]) -> list[Any]:
        """The tree of a container.

        Raises:
            ValueError: it holds itself, or is nested too deeply.
        """
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
        if "numpy" not in sys.modules:
            return None
        from deskgym.task_suites.table_analysis.guest.results.encode_numpy import numpy_node

        return numpy_node(self, value)

    def _pandas(self, value: Any) -> list[Any] | None:
        if "pandas" not in sys.modules:
            return None
        from deskgym.task_suites.table_analysis.guest.results.encode_pandas import pandas_node

        return pandas_node(self, value)

    def _plain(self, value: Any) -> Any:
        """Python's own types that are rarer, and subclasses of the common ones; None when it is none of them."""
        if isinstance(value, datetime.datetime):
            zone = value.tzinfo
            if type(zone).__name__ == "ZoneInfo":
                return ["dtz", value.replace(tzinfo=None).isoformat(), self.node(zone), value.fold]
            return ["dt", value.isoformat()]
        if isinstance(value, (datetime.date, datetime.time)):
            return ["date" if isinstance(value, datetime.date) else "time", value.isoformat()]
        if isinstance(value, datetime.timedelta):
            return ["delta", value.days, value.seconds, value.microseconds]
        if isinstance(value, complex):
            return ["c", value.real, value.imag]
        if isinstance(value, type):
            return _type_node(value)
        if value is ... or value is NotImplemented:
            return ["is", repr(value)]
        natives: tuple[Any, ...] = (int, float, str, bytes)
        for native in natives:
            if isinstance(value, native):
                return ["w", self.node(native(value))]
        return None

    def _opaque(self, value: Any) -> list[Any]:
        if isinstance(value, Opaque):
            return ["?", value.kind, value.text]
        try:
            text = repr(value)[:MAX_REPR]
        except Exception:
            text = ""
        pickled = _pickled(value) if self._models and _root(type(value)) in CARRIED else b""
        self.spend(len(pickled))
        return ["?", str(type(value).__name__)[:MAX_REPR], text, *filter(None, [pickled])]


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception:
        return b""


def _root(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _type_node(value: type) -> list[Any] | None:
    """The tree of a class that ``TYPES`` has."""
    for module in TYPES:
        if getattr(sys.modules.get(module), value.__name__, None) is value:
            return ["ty", module, value.__name__]
    return None
