"""Trees to numpy's scalars, arrays and dtypes; the trees may say anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from deskgym.task_suites.table_analysis.guest.comparators.decode import raw, text
from deskgym.task_suites.table_analysis.guest.results.value_format import DTYPE, MAX_ITEMS

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.guest.comparators.decode import Decoder


def _dtype(name: Any) -> Any:
    if not DTYPE.fullmatch(text(name, 40)):
        raise ValueError(f"the dtype {name!r}")
    return np.dtype(name)


def _array(decoder: Decoder, name: Any, shape: Any, data: Any) -> Any:
    dtype = _dtype(name)
    lengths = _shape(shape)
    if math.prod(lengths) * dtype.itemsize != len(raw(data)):
        raise ValueError(f"{len(data)} bytes for shape {shape} of {name}")
    if dtype.kind == "b":
        return np.frombuffer(data, "u1").reshape(lengths) != 0
    return np.frombuffer(data, dtype).reshape(lengths).copy()


def _shape(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or len(shape) > 32:
        raise ValueError("a shape must be a list of at most 32 lengths")
    if not all(type(length) is int and 0 <= length <= MAX_ITEMS for length in shape):
        raise ValueError(f"a length of a shape must be 0..{MAX_ITEMS}")
    return tuple(shape)


def _objects(decoder: Decoder, shape: Any, nodes: Any) -> Any:
    values = decoder.items(nodes)
    lengths = _shape(shape)
    if math.prod(lengths) != len(values):
        raise ValueError(f"{len(values)} objects for shape {shape}")
    return np.fromiter(values, dtype=object, count=len(values)).reshape(lengths)


def _texts(decoder: Decoder, shape: Any, nodes: Any) -> Any:
    found = _objects(decoder, shape, nodes)
    if not set(map(type, found.ravel().tolist())) <= {str}:
        raise ValueError("an array of texts with other values in it")
    return found.astype(np.dtypes.StringDType())


def _record(decoder: Decoder, names: Any, shape: Any, nodes: Any, recarray: Any) -> Any:
    lengths = _shape(shape)
    columns = [decoder.array(node, dimensions=None) for node in nodes]
    fields = []
    for name, column in zip(names, columns, strict=True):
        if column.shape[: len(lengths)] != lengths:
            raise ValueError(f"a field of shape {column.shape} for records of {lengths}")
        fields.append((text(name), column.dtype, column.shape[len(lengths) :]))
    made = np.empty(lengths, fields)
    for name, column in zip(names, columns, strict=True):
        made[name] = column
    return made.view(np.recarray) if recarray is True else made


def _masked(decoder: Decoder, data: Any, mask: Any, fill: Any) -> Any:
    values, hidden = decoder.array(data, dimensions=None), decoder.array(mask, "b", dimensions=None)
    if values.shape != hidden.shape:
        raise ValueError(f"a mask of {hidden.shape} for {values.shape}")
    return np.ma.MaskedArray(values, hidden, fill_value=decoder.value(fill))


def _matrix(decoder: Decoder, node: Any) -> Any:
    return decoder.array(node, dimensions=2).view(np.matrix)


def _generic(decoder: Decoder, name: Any, data: Any) -> Any:
    return _array(decoder, name, [1], data)[0]


def _scalar_text(decoder: Decoder, value: Any) -> Any:
    return np.str_(text(value, len(value))) if isinstance(value, str) else np.bytes_(raw(value))


def _void(decoder: Decoder, node: Any) -> Any:
    return decoder.array(node, dimensions=0)[()]


MAKERS: dict[str, Callable[..., Any]] = {
    "a": _array,
    "o": _objects,
    "nts": _texts,
    "rec": _record,
    "ma": _masked,
    "mx": _matrix,
    "g": _generic,
    "nt": _scalar_text,
    "void": _void,
}
