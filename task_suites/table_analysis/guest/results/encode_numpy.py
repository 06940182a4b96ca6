"""Numpy's scalars, arrays and dtypes to the trees of ``encode``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deskgym.task_suites.table_analysis.guest.results.value_format import DTYPE, MAX_ITEMS

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.guest.results.encode import Encoder


def numpy_node(encoder: Encoder, value: Any) -> list[Any] | None:
    """The tree of a value of numpy, or None when it is none, or one of no kind that is kept."""
    import numpy as np

    if isinstance(value, np.ma.MaskedArray):
        parts = np.ma.getdata(value), np.ma.getmaskarray(value)
        return ["ma", *(array_node(encoder, part) for part in parts), encoder.node(value.fill_value)]
    if isinstance(value, np.ndarray):
        array = array_node(encoder, value)
        return ["mx", array] if isinstance(value, np.matrix) else array
    if isinstance(value, np.dtype):
        return ["dtype", array_node(encoder, np.empty(0, value))]
    if not isinstance(value, np.generic):
        return None
    if isinstance(value, (np.str_, np.bytes_)):
        return ["nt", value.item()]
    if isinstance(value, np.void):
        return ["void", array_node(encoder, np.array(value))]
    return ["g", value.dtype.str, value.tobytes()]


def array_node(encoder: Encoder, values: Any) -> list[Any]:
    """The tree of a numpy array of any dtype; of an unusual one as objects.

    Raises:
        ValueError: it is too large.
    """
    import numpy as np

    recarray = isinstance(values, np.recarray)
    values = np.asarray(values)
    if max(values.shape, default=0) > MAX_ITEMS:
        raise ValueError(f"an array of shape {values.shape}; legal are {MAX_ITEMS} along an axis")
    shape = list(values.shape)
    if DTYPE.fullmatch(values.dtype.str):
        encoder.spend(values.nbytes)
        return ["a", values.dtype.str, shape, values.tobytes()]
    if values.dtype.names is not None:
        columns = [array_node(encoder, values[name]) for name in values.dtype.names]
        return ["rec", list(values.dtype.names), shape, columns, recarray]
    kind = "nts" if values.dtype.kind == "T" else "o"
    return encoder.inside(values, lambda found: [kind, shape, encoder.items(found.ravel().tolist(), found.size)])
