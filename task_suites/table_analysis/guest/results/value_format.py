"""What the encoder and the decoder of values agree on: limits, and the stand-in for what cannot be sent.

An encoded value is msgpack. None, bool, int of 64 bits, float, str and bytes stand for themselves; all else is a list
whose first item is a short tag, such as ``["l", items]`` for a list. Nothing in it names code to run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Opaque:
    """What a value that cannot be sent is decoded to.

    Attributes:
        kind: name of its type.
        text: the first ``MAX_REPR`` characters of its repr.
    """

    kind: str
    text: str

    @property
    def comparable(self) -> bool:
        """Its repr is all there and holds no address: two of the same text are the same thing."""
        return bool(self.text) and len(self.text) < MAX_REPR and " at 0x" not in self.text
