"""Pandas' scalars, columns, indexes and tables to the trees of ``encode``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from deskgym.task_suites.table_analysis.guest.results.value_format import ARROW, FREQUENCY, MASKED, UNITS

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.guest.results.encode import Encoder


# numpy's arrays as columns: pandas 2.0 has another name for them
_WRAPPED = getattr(pd.arrays, "NumpyExtensionArray", None) or pd.arrays.PandasArray


def pandas_node(encoder: Encoder, value: Any) -> list[Any] | None:
    """The tree of a value of pandas, or None when it is none."""
    if isinstance(value, pd.DataFrame):
        columns = [column_node(encoder, value.iloc[:, place].array) for place in range(value.shape[1])]
        return ["df", index_node(encoder, value.index), index_node(encoder, value.columns), columns]
    if isinstance(value, pd.Series):
        return ["sr", index_node(encoder, value.index), column_node(encoder, value.array), encoder.node(value.name)]
    if isinstance(value, pd.Index):
        return index_node(encoder, value)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return ["x", column_node(encoder, value)]
    if isinstance(value, pd.api.extensions.ExtensionDtype):
        empty = value.construct_array_type()._from_sequence([], dtype=value)
        return ["dtype", column_node(encoder, empty)]
    return _scalar(encoder, value)


def index_node(encoder: Encoder, index: Any) -> list[Any]:
    """The tree of an Index of any kind."""
    if isinstance(index, pd.RangeIndex):
        return ["ri", index.start, index.stop, index.step, encoder.node(index.name)]
    if isinstance(index, pd.MultiIndex):
        levels = [column_node(encoder, index.get_level_values(level).array) for level in range(index.nlevels)]
        return ["mi", levels, encoder.items(index.names, index.nlevels)]
    frequency = getattr(index, "freqstr", None) if isinstance(index, (pd.DatetimeIndex, pd.TimedeltaIndex)) else None
    return ["ix", column_node(encoder, index.array), encoder.node(index.name), frequency]


def column_node(encoder: Encoder, column: Any) -> list[Any]:
    """The tree of a one-dimensional array of pandas."""
    dtype = column.dtype
    if isinstance(dtype, pd.StringDtype):
        return ["str", dtype.storage, dtype.na_value is pd.NA, _texts(encoder, column.to_numpy(object))]
    if isinstance(column, _WRAPPED):
        return _numpy_column(encoder, column.to_numpy())
    if isinstance(dtype, pd.ArrowDtype) and ARROW.fullmatch(dtype.name):
        return ["pa", dtype.name, encoder.array(column.to_numpy(object))]
    if isinstance(dtype, pd.CategoricalDtype):
        categories = index_node(encoder, column.categories)
        return ["cat", encoder.array(column.codes), categories, bool(column.ordered)]
    if isinstance(dtype, pd.DatetimeTZDtype):
        zone = _zone(column.tz)
        return ["dz", dtype.unit, encoder.array(column.asi8), zone]
    if dtype.name in MASKED:
        mask = column.isna()
        kind = dtype.numpy_dtype
        return ["m", dtype.name, encoder.array(column.to_numpy(kind, na_value=kind.type(0))), encoder.array(mask)]
    if isinstance(dtype, pd.PeriodDtype):
        return ["per", encoder.array(column.asi8), dtype.name.removeprefix("period[").removesuffix("]")]
    if isinstance(dtype, pd.IntervalDtype):
        sides = (column_node(encoder, side.array) for side in (column.left, column.right))
        return ["ivs", *sides, column.closed]
    if isinstance(dtype, pd.SparseDtype):
        return ["sp", _numpy_column(encoder, column.to_dense()), encoder.node(dtype.fill_value)]
    if dtype.kind in "mM":
        return encoder.array(column.to_numpy())
    return _numpy_column(encoder, column.to_numpy(object))


def _numpy_column(encoder: Encoder, values: Any) -> list[Any]:
    from pandas.api.types import infer_dtype

    if values.dtype == object and infer_dtype(values, skipna=False) == "string":
        return ["str", "object", False, _texts(encoder, values)]
    return encoder.array(values)


def _texts(encoder: Encoder, values: Any) -> list[str | None]:
    texts = [value if isinstance(value, str) else None for value in values.tolist()]
    encoder.count(len(texts))
    encoder.spend(sum(map(len, filter(None, texts))))
    return texts


def _scalar(encoder: Encoder, value: Any) -> list[Any] | None:
    if value is pd.NaT:
        return ["nat"]
    if value is pd.NA:
        return ["na"]
    if isinstance(value, pd.Timestamp):
        ticks = int(value.asm8.astype("i8"))
        return ["ts", _unit(value), ticks, None if value.tz is None else _zone(value.tz)]
    if isinstance(value, pd.Timedelta):
        return ["td", _unit(value), int(value.asm8.astype("i8"))]
    if isinstance(value, pd.Period):
        return ["pe", value.ordinal, value.freqstr]
    if isinstance(value, pd.Interval):
        return ["iv", encoder.node(value.left), encoder.node(value.right), value.closed]
    if isinstance(value, pd.offsets.BaseOffset) and FREQUENCY.fullmatch(value.freqstr):
        return ["fq", value.freqstr]
    return None


def _unit(value: Any) -> str:
    if value.unit not in UNITS:
        raise ValueError(f"a time of unit {value.unit!r}; legal are {', '.join(UNITS)}")
    return str(value.unit)


def _zone(zone: Any) -> str:
    """``Europe/Berlin``, or an offset such as ``+02:00``."""
    import datetime

    if isinstance(zone, datetime.timezone):
        offset = zone.utcoffset(None)
        if not offset:
            return "UTC"
        minutes = round(offset.total_seconds() / 60)
        return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    return str(zone)
