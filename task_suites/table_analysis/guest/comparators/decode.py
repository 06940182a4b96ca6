"""Bytes to values, whoever wrote the bytes: nothing in them is run, imported or opened.

What comes out is at most a few times as large as the bytes. Numpy's types are in ``decode_numpy``,
pandas' in ``decode_pandas``.
"""

from __future__ import annotations

import datetime
import types as types_module
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import msgpack

from deskgym.task_suites.table_analysis.guest.results.value_format import (
    BUILT,
    LARGEST,
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ITEMS,
    NATIVE,
    SAME_HASH,
    TYPES,
    ZONE,
    Opaque,
)

_LEAVES = NATIVE | {int}


def decode_value(data: bytes, restore: Callable[[Opaque], Any] = lambda opaque: opaque) -> Any:
    """The value that ``encode`` made the bytes of.

    Args:
        data: the bytes.
        restore: what stands for a value that could not be sent.

    Raises:
        ValueError: the bytes are not of ``encode``, whatever they are.
    """
    tree = unpacked(data)
    try:
        return Decoder(restore).value(tree)
    except Exception as error:
        raise ValueError(f"not an encoded value: {type(error).__name__}: {str(error)[:200]}") from None


def unpacked(data: bytes) -> Any:
    """The msgpack tree of ``data``.

    Raises:
        ValueError: it is none, or larger than ``MAX_BYTES``.
    """
    if not isinstance(data, bytes) or len(data) > MAX_BYTES:
        got = f"{len(data)} bytes" if isinstance(data, bytes) else f"a {type(data).__name__}"
        raise ValueError(f"not an encoded value: {got}; legal are at most {MAX_BYTES} bytes")
    try:
        return msgpack.unpackb(
            data,
            raw=False,
            unicode_errors="surrogatepass",
            max_array_len=min(len(data), MAX_ITEMS),
            max_map_len=min(len(data), 10_000),
            max_ext_len=0,
        )
    except Exception as error:
        raise ValueError(f"not an encoded value: {type(error).__name__}: {str(error)[:200]}") from None


def answers(data: bytes) -> dict[str, dict[str, Any]]:
    """What ``taking.take`` gave, by name, with the values still encoded.

    Raises:
        ValueError: it is not of ``take``.
    """
    found = unpacked(data)
    if not isinstance(found, dict) or not all(isinstance(answer, dict) for answer in found.values()):
        raise ValueError("not results: legal is what taking.take gives")
    return {str(name): answer for name, answer in found.items()}


def decode(data: bytes, restore: Callable[[Opaque], Any] = lambda opaque: opaque) -> dict[str, dict[str, Any]]:
    """What ``taking.take`` gave: ``{name: {"ok": value} | {"missing": True} | {"error": text}}``.

    Args:
        data: the bytes.
        restore: what stands for a value that could not be sent.

    Raises:
        ValueError: it is not of ``take``, or a value in it is not of ``encode``.
    """
    return {
        name: {key: decode_value(value, restore) if key == "ok" else value for key, value in answer.items()}
        for name, answer in answers(data).items()
    }


class Decoder:
    """Makes the value of one msgpack tree."""

    def __init__(self, restore: Callable[[Opaque], Any] = lambda opaque: opaque) -> None:
        self.restore = restore
        self._depth = 0

    def value(self, node: Any) -> Any:
        """The value of ``node``."""
        if type(node) in _LEAVES:
            return node
        if not isinstance(node, list) or not node or not isinstance(node[0], str):
            raise ValueError(f"a {type(node).__name__} where a value should be")
        if self._depth >= MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        self._depth += 1
        try:
            make = _MAKERS.get(node[0])
            if make is not None:
                return make(self, *node[1:])
            from deskgym.task_suites.table_analysis.guest.comparators import decode_numpy, decode_pandas

            make = decode_numpy.MAKERS.get(node[0]) or decode_pandas.MAKERS.get(node[0])
            if make is None:
                raise ValueError(f"unknown tag {node[0][:20]!r}")
            return make(self, *node[1:])
        finally:
            self._depth -= 1

    def items(self, nodes: Any) -> list[Any]:
        """The values of many nodes."""
        if not isinstance(nodes, list):
            raise ValueError(f"a {type(nodes).__name__} where a list should be")
        return nodes if set(map(type, nodes)) <= _LEAVES else [self.value(node) for node in nodes]

    def keys(self, nodes: Any) -> list[Any]:
        """The values of many nodes, which all can be hashed in a reasonable time."""
        return spread(self.items(nodes))

    def array(self, node: Any, kinds: str = "", dimensions: int | None = 1) -> Any:
        """A numpy array, of one of the dtypes' ``kinds`` and so many ``dimensions``."""
        import numpy as np

        found = self.value(node)
        if not isinstance(found, np.ndarray) or (kinds and found.dtype.kind not in kinds):
            raise ValueError(f"a {type(found).__name__} where an array of kind {kinds or 'any'} should be")
        if dimensions is not None and found.ndim != dimensions:
            raise ValueError(f"an array of {found.ndim} dimensions; legal is {dimensions}")
        return found


def spread(keys: list[Any]) -> list[Any]:
    """The ``keys``, when their hashes are spread.

    Raises:
        ValueError: more than ``SAME_HASH`` of them have the same hash: a dict of them would take minutes.
    """
    if len(keys) > SAME_HASH and max(Counter(map(hash, keys)).values()) > SAME_HASH:
        raise ValueError(f"more than {SAME_HASH} keys with the same hash")
    return keys


def text(value: Any, longest: int = 1000) -> str:
    """A str that is not long.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError(f"a {type(value).__name__} where a short text should be")
    return value


def raw(value: Any) -> bytes:
    """Bytes.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, bytes):
        raise ValueError(f"a {type(value).__name__} where bytes should be")
    return value


def _wrapped(decoder: Decoder, node: Any) -> Any:
    return decoder.value(node)


def _dict(decoder: Decoder, keys: Any, values: Any) -> dict[Any, Any]:
    return dict(zip(decoder.keys(keys), decoder.items(values), strict=True))


def _opaque(decoder: Decoder, kind: Any, shown: Any, pickled: Any = b"") -> Any:
    return decoder.restore(Opaque(text(kind), text(shown), raw(pickled)))


def _built(decoder: Decoder, name: Any, nodes: Any) -> Any:
    """A value of one of the classes ``BUILT``, whose arguments are of the types that it names."""
    types = BUILT[text(name)].types
    arguments = decoder.items(nodes)
    if not all(isinstance(value, kind) for value, kind in zip(arguments, types, strict=True)):
        raise ValueError(f"arguments of {name} that are none")
    if any(type(value) is int and value.bit_length() > LARGEST for value in arguments):
        raise ValueError(f"an argument of {name} of more than {LARGEST} bits")
    if name == "zoneinfo.ZoneInfo" and not ZONE.fullmatch(arguments[0]):
        raise ValueError(f"the time zone {arguments[0]!r}")
    if name == "types.SimpleNamespace":
        return types_module.SimpleNamespace(**arguments[0])
    if name == "collections.OrderedDict":
        spread([key for key, _ in arguments[0]])
    module, _, kind = str(name).rpartition(".")
    return getattr(import_module(module), kind)(*arguments)


def _type(decoder: Decoder, module: Any, name: Any) -> type:
    if module not in TYPES or not isinstance(found := getattr(import_module(module), text(name), None), type):
        raise ValueError(f"the class {name!r} of {str(module)[:40]!r}")
    return found


def _singleton(decoder: Decoder, name: Any) -> Any:
    return {"Ellipsis": ..., "NotImplemented": NotImplemented}[name]


def _dtype(decoder: Decoder, node: Any) -> Any:
    return decoder.value(node).dtype


def _zoned(decoder: Decoder, written: Any, zone: Any, fold: Any) -> datetime.datetime:
    moment = datetime.datetime.fromisoformat(text(written, 100))
    return moment.replace(tzinfo=decoder.value(zone), fold=1 if fold else 0)


def _large(decoder: Decoder, data: Any) -> int:
    return int.from_bytes(raw(data), "little", signed=True)


def _complex(decoder: Decoder, real: Any, imaginary: Any) -> complex:
    return complex(float(real), float(imaginary))


def _sequence(make: Callable[[Sequence[Any]], Any], hashed: bool = False) -> Callable[[Decoder, Any], Any]:
    def made(decoder: Decoder, nodes: Any) -> Any:
        return make(decoder.keys(nodes) if hashed else decoder.items(nodes))

    return made


def _iso(make: Callable[[str], Any]) -> Callable[[Decoder, Any], Any]:
    def made(decoder: Decoder, written: Any) -> Any:
        return make(text(written, 100))

    return made


def _delta(decoder: Decoder, days: Any, seconds: Any, microseconds: Any) -> datetime.timedelta:
    return datetime.timedelta(days, seconds, microseconds)


_MAKERS: dict[str, Callable[..., Any]] = {
    "l": _sequence(list),
    "t": _sequence(tuple),
    "s": _sequence(set, hashed=True),
    "fs": _sequence(frozenset, hashed=True),
    "d": _dict,
    "i": _large,
    "c": _complex,
    "w": _wrapped,
    "dt": _iso(datetime.datetime.fromisoformat),
    "date": _iso(datetime.date.fromisoformat),
    "time": _iso(datetime.time.fromisoformat),
    "delta": _delta,
    "dtz": _zoned,
    "b": _built,
    "ty": _type,
    "is": _singleton,
    "dtype": _dtype,
    "?": _opaque,
}
