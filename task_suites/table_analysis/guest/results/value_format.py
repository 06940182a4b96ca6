"""What the encoder and the decoder of values agree on: limits, and the stand-in for what cannot be sent.

An encoded value is msgpack. None, bool, int of 64 bits, float, str and bytes stand for themselves; all else is a list
whose first item is a short tag, such as ``["l", items]`` for a list. Nothing in it names code to run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

MAX_BYTES = 15 << 20
"""Of one encoded value, and of all that one ``take`` gives: it must fit into one frame of the guest's protocol."""
MAX_ITEMS = 1_000_000
"""In one list, and along one axis of an array."""
MAX_NODES = 1_200_000
"""Values inside one value."""
MAX_DEPTH = 100
"""Of containers in containers."""
MAX_REPR = 200
"""Characters kept of what cannot be sent."""
LARGEST = 10_000
"""Bits of an int from which a value is built, such as a Fraction: its arithmetic takes the square of them."""
SAME_HASH = 64
"""Keys of one dict or set that may have the same hash: more is an attack on the time that they take."""

DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|f16|c8|c16|c32|[SU][1-9]\d{0,6}|[mM]8(\[\d{0,4}[A-Za-z]{1,7}\])?)")
"""Numpy's names of the dtypes that are sent as raw bytes."""
UNITS = ("s", "ms", "us", "ns")
"""Of pandas' times."""
ZONE = re.compile(
    r"(?!dateutil)(?!.*\.\.)(UTC[+-]?[\d:]*|[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,3}|[+-]\d\d:\d\d)"
)
"""Time zones: a name of the zone database, or an offset from UTC. No path, and nothing that pandas reads as one."""
FREQUENCY = re.compile(r"\d{0,6}[A-Za-z]{1,6}(-[A-Za-z]{3})?")
"""Of periods, as pandas writes them."""
MASKED = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "boolean")
"""Pandas' dtypes with a mask."""
NATIVE = frozenset({type(None), bool, float, str, bytes})
"""Types that stand for themselves, whatever their value."""
CLOSED = ("left", "right", "both", "neither")
"""The sides of an interval."""
STORAGES = ("python", "pyarrow", "pyarrow_numpy")
"""Where pandas keeps the texts of a ``string`` column."""
ARROW = re.compile(r"(u?int(8|16|32|64)|halffloat|float|double|bool|(large_)?string|binary|date(32\[day\]|64\[ms\])|"
                   r"(timestamp|duration)\[(s|ms|us|ns)\])\[pyarrow\]")  # fmt: skip
"""Pandas' names of the dtypes of Arrow that are kept."""
TYPES = ("builtins", "datetime", "decimal", "fractions", "numpy", "pandas")
"""Modules whose public classes can be values themselves, such as ``numpy.float64``."""
CARRIED = ("numpy", "pandas", "scipy", "sklearn")
"""Libraries whose other objects, models among them, may go along as pickles; see ``Opaque.pickled``."""


@dataclass(frozen=True)
class Built:
    """A class whose values are sent as the arguments that make them anew.

    Attributes:
        arguments: of a value.
        types: of each argument; only these are taken.
    """

    arguments: Callable[[Any], tuple[Any, ...]]
    types: tuple[type, ...]


def _written(value: Any) -> tuple[Any, ...]:
    return (str(value),)


BUILT: dict[str, Built] = {
    "builtins.range": Built(lambda value: (value.start, value.stop, value.step), (int, int, int)),
    "builtins.slice": Built(lambda value: (value.start, value.stop, value.step), (object, object, object)),
    "builtins.bytearray": Built(lambda value: (bytes(value),), (bytes,)),
    "array.array": Built(lambda value: (value.typecode, value.tobytes()), (str, bytes)),
    "collections.ChainMap": Built(lambda value: tuple(map(dict, value.maps[:2])), (dict, dict)),
    "collections.Counter": Built(lambda value: (dict(value),), (dict,)),
    "collections.OrderedDict": Built(lambda value: (list(value.items()),), (list,)),
    "collections.UserDict": Built(lambda value: (dict(value),), (dict,)),
    "collections.UserList": Built(lambda value: (list(value),), (list,)),
    "collections.UserString": Built(_written, (str,)),
    "collections.defaultdict": Built(lambda value: (_known(value.default_factory), dict(value)), (object, dict)),
    "collections.deque": Built(lambda value: (list(value), value.maxlen), (list, object)),
    "datetime.timezone": Built(lambda value: (value.utcoffset(None),), (timedelta,)),
    "decimal.Decimal": Built(_written, (str,)),
    "fractions.Fraction": Built(lambda value: (value.numerator, value.denominator), (int, int)),
    "ipaddress.IPv4Address": Built(_written, (str,)),
    "ipaddress.IPv6Address": Built(_written, (str,)),
    "ipaddress.IPv4Network": Built(_written, (str,)),
    "ipaddress.IPv6Network": Built(_written, (str,)),
    "pathlib.PosixPath": Built(_written, (str,)),
    "pathlib.PurePosixPath": Built(_written, (str,)),
    "pathlib.PureWindowsPath": Built(_written, (str,)),
    "statistics.NormalDist": Built(lambda value: (value.mean, value.stdev), (float, float)),
    "types.SimpleNamespace": Built(lambda value: (dict(vars(value)),), (dict,)),
    "uuid.UUID": Built(_written, (str,)),
    "zoneinfo.ZoneInfo": Built(_written, (str,)),
}
"""Classes of the standard library that hold plain data, by module and name."""


def _known(factory: Any) -> Any:
    """What a defaultdict makes values with, where that can be sent: otherwise it makes none any more."""
    return factory if isinstance(factory, type) and factory.__module__ in TYPES else None


@dataclass(frozen=True)
class Opaque:
    """What a value that cannot be sent is decoded to.

    Attributes:
        kind: name of its type.
        text: the first ``MAX_REPR`` characters of its repr.
        pickled: its pickle, where it was asked for; whoever unpickles it must not trust it.
    """

    kind: str
    text: str
    pickled: bytes = field(default=b"", compare=False, repr=False)

    @property
    def comparable(self) -> bool:
        """Its repr is all there and holds no address: two of the same text are the same thing."""
        return bool(self.text) and len(self.text) < MAX_REPR and " at 0x" not in self.text
