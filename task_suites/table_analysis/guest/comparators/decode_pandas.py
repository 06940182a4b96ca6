"""Trees to pandas' scalars, columns, indexes and tables; the trees may say anything."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from deskgym.task_suites.table_analysis.guest.comparators.decode import spread, text
from deskgym.task_suites.table_analysis.guest.results.value_format import (
    ARROW,
    CLOSED,
    FREQUENCY,
    MASKED,
    MAX_ITEMS,
    STORAGES,
    UNITS,
    ZONE,
)

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.guest.comparators.decode import Decoder


def column(decoder: Decoder, node: Any) -> Any:
    """A one-dimensional array of numpy or pandas."""
    import numpy as np
    import pandas as pd

    found = decoder.value(node)
    if not isinstance(found, (np.ndarray, pd.api.extensions.ExtensionArray)) or found.ndim != 1:
        raise ValueError(f"a {type(found).__name__} where a column should be")
    return found


def index(decoder: Decoder, node: Any) -> Any:
    """An Index."""
    import pandas as pd

    found = decoder.value(node)
    if not isinstance(found, pd.Index):
        raise ValueError(f"a {type(found).__name__} where an index should be")
    return found


def _frame(decoder: Decoder, rows: Any, labels: Any, nodes: Any) -> Any:
    import pandas as pd

    found, names = index(decoder, rows), index(decoder, labels)
    values = [column(decoder, node) for node in nodes]
    if len(names) != len(values) or any(len(value) != len(found) for value in values):
        raise ValueError("a table whose columns, labels and rows are not of the same number")
    columns = {place: pd.Series(value, found, dtype=value.dtype, copy=False) for place, value in enumerate(values)}
    table = pd.DataFrame(columns, found)
    table.columns = names
    return table


def _series(decoder: Decoder, rows: Any, values: Any, name: Any) -> Any:
    import pandas as pd

    found, data = index(decoder, rows), column(decoder, values)
    if len(found) != len(data):
        raise ValueError(f"a series of {len(data)} values and {len(found)} labels")
    return pd.Series(data, found, dtype=data.dtype, name=decoder.value(name))


def _index(decoder: Decoder, values: Any, name: Any, frequency: Any = None) -> Any:
    import pandas as pd

    data = column(decoder, values)
    made = pd.Index(data, dtype=data.dtype, name=decoder.value(name))
    if frequency is not None and isinstance(made, (pd.DatetimeIndex, pd.TimedeltaIndex)):
        made.freq = _frequency(frequency)
    return made


def _range(decoder: Decoder, start: Any, stop: Any, step: Any, name: Any) -> Any:
    import pandas as pd

    found = pd.RangeIndex(*(_integer(value) for value in (start, stop, step)), name=decoder.value(name))
    if len(found) > MAX_ITEMS:
        raise ValueError(f"a range of {len(found)} labels; legal are {MAX_ITEMS}")
    return found


def _multi(decoder: Decoder, levels: Any, names: Any) -> Any:
    import pandas as pd

    columns = [column(decoder, node) for node in levels]
    for level in columns:
        if level.dtype == object:
            spread(level.tolist())
    return pd.MultiIndex.from_arrays(columns, names=decoder.items(names))


def _array(decoder: Decoder, node: Any) -> Any:
    import numpy as np
    import pandas as pd

    found = column(decoder, node)
    return pd.array(found, dtype=found.dtype) if isinstance(found, np.ndarray) else found


def _strings(decoder: Decoder, storage: Any, masked: Any, values: Any) -> Any:
    import numpy as np
    import pandas as pd

    if not set(map(type, values)) <= {str, type(None)}:
        raise ValueError("a column of texts with other values in it")
    found = np.fromiter(values, dtype=object, count=len(values))
    if storage == "object":
        return found
    _one_of(storage, STORAGES)
    options: dict[str, Any] = {} if masked is True or storage == "pyarrow_numpy" else {"na_value": np.nan}
    return pd.array(found, dtype=pd.StringDtype(storage, **options))


def _arrow(decoder: Decoder, name: Any, values: Any) -> Any:
    import pandas as pd

    if not ARROW.fullmatch(text(name, 40)):
        raise ValueError(f"the dtype {name!r}")
    kind = import_module("pyarrow").type_for_alias(name.removesuffix("[pyarrow]"))
    return pd.array(decoder.array(values), dtype=pd.ArrowDtype(kind))


def _sparse(decoder: Decoder, values: Any, fill: Any) -> Any:
    import pandas as pd

    return pd.arrays.SparseArray(decoder.array(values), fill_value=decoder.value(fill))


def _categorical(decoder: Decoder, codes: Any, categories: Any, ordered: Any) -> Any:
    import pandas as pd

    labels = index(decoder, categories)
    if labels.dtype == object:
        spread(labels.tolist())
    return pd.Categorical.from_codes(decoder.array(codes, "i"), labels, ordered=ordered is True)


def _zoned(decoder: Decoder, unit: Any, ticks: Any, zone: Any) -> Any:
    import pandas as pd

    values = decoder.array(ticks, "i").astype("i8").view(f"M8[{_unit(unit)}]")
    return pd.DatetimeIndex(values).tz_localize("UTC").tz_convert(_zone(zone)).array


def _masked(decoder: Decoder, name: Any, values: Any, mask: Any) -> Any:
    import pandas as pd

    if name not in MASKED:
        raise ValueError("a masked column of unknown dtype")
    dtype = pd.api.types.pandas_dtype(name)
    data, missing = decoder.array(values), decoder.array(mask, "b")
    if data.dtype != dtype.numpy_dtype or data.shape != missing.shape:
        raise ValueError(f"a mask of {missing.shape} for {data.shape} of {data.dtype}")
    kinds = {"b": pd.arrays.BooleanArray, "f": pd.arrays.FloatingArray}
    return kinds.get(data.dtype.kind, pd.arrays.IntegerArray)(data, missing)


def _periods(decoder: Decoder, ordinals: Any, frequency: Any) -> Any:
    import pandas as pd

    values = decoder.array(ordinals, "i").astype("i8")
    return pd.arrays.PeriodArray(values, dtype=pd.PeriodDtype(_frequency(frequency)))


def _intervals(decoder: Decoder, left: Any, right: Any, closed: Any) -> Any:
    import pandas as pd

    return pd.arrays.IntervalArray.from_arrays(column(decoder, left), column(decoder, right), _closed(closed))


def _timestamp(decoder: Decoder, unit: Any, ticks: Any, zone: Any) -> Any:
    import numpy as np
    import pandas as pd

    moment = pd.Timestamp(np.datetime64(_integer(ticks), _unit(unit)))
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(_zone(zone))


def _timedelta(decoder: Decoder, unit: Any, ticks: Any) -> Any:
    import numpy as np
    import pandas as pd

    return pd.Timedelta(np.timedelta64(_integer(ticks), _unit(unit)))


def _period(decoder: Decoder, ordinal: Any, frequency: Any) -> Any:
    import pandas as pd

    return pd.Period(ordinal=_integer(ordinal), freq=_frequency(frequency))


def _interval(decoder: Decoder, left: Any, right: Any, closed: Any) -> Any:
    import pandas as pd

    return pd.Interval(decoder.value(left), decoder.value(right), _closed(closed))


def _offset(decoder: Decoder, frequency: Any) -> Any:
    import pandas as pd

    return pd.tseries.frequencies.to_offset(_frequency(frequency))


def _nat(decoder: Decoder) -> Any:
    import pandas as pd

    return pd.NaT


def _na(decoder: Decoder) -> Any:
    import pandas as pd

    return pd.NA


def _integer(value: Any) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"a {type(value).__name__} where an int of 64 bits should be")
    return value


def _one_of(value: Any, legal: tuple[str, ...]) -> Any:
    if value not in legal:
        raise ValueError(f"{str(value)[:40]!r}; legal are {', '.join(legal)}")
    return value


def _unit(value: Any) -> Any:
    return _one_of(value, UNITS)


def _closed(value: Any) -> Any:
    return _one_of(value, CLOSED)


def _zone(value: Any) -> str:
    if not ZONE.fullmatch(text(value, 60)):
        raise ValueError(f"the time zone {value!r}")
    return str(value)


def _frequency(value: Any) -> str:
    if not FREQUENCY.fullmatch(text(value, 20)):
        raise ValueError(f"the frequency {value!r}")
    return str(value)


MAKERS: dict[str, Callable[..., Any]] = {
    "df": _frame,
    "sr": _series,
    "ix": _index,
    "ri": _range,
    "mi": _multi,
    "x": _array,
    "str": _strings,
    "pa": _arrow,
    "sp": _sparse,
    "cat": _categorical,
    "dz": _zoned,
    "m": _masked,
    "per": _periods,
    "ivs": _intervals,
    "ts": _timestamp,
    "td": _timedelta,
    "pe": _period,
    "iv": _interval,
    "fq": _offset,
    "nat": _nat,
    "na": _na,
}
